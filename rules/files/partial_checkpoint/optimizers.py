"""States of optimizers of sharded parameters, of which each rank holds a part and rank 0 alone writes its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.interpreter.ranks import MAIN, NODE_MAIN
from distlint.analysis.program.definitions import dotted_name
from distlint.analysis.program.handed import argument_of, callers_by_name
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.nodes import last_name, walk
from distlint.patterns import pattern

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.interpreter.values import Wrap
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function

_SHARDED: Final = ("fsdp1", "fsdp2")
_GATHERS: Final = pattern(r"optim(?:izer)?_state|get_state_dict")
"""Names of what gathers the state of such an optimizer: whoever calls one has another arm for FSDP."""
_WHOLE: Final = "NO_SHARD"
_STEPS: Final = 3


def parts_of_optimizers(model: Model) -> Iterator[tuple[CallSite, ast.Call, Wrap]]:
    """Each write of rank 0 alone, with the `state_dict()` of an optimizer in it, and what shards its parameters.

    pytorch_transformer b7626b7 train_fsdp.py:217: `FSDP.state_dict_type` changes nothing for `optimizer.state_dict()`.
    """
    for call in model.calls("torch.save"):
        site = call.site
        if call.classes - {NODE_MAIN} != {MAIN} or not site.node.args or _gathers(site.function):
            continue
        for state in _states(site):
            assert isinstance(state.func, ast.Attribute)
            wraps = list(_wraps(model, site.function, state.func.value, _STEPS))
            if wraps and all(wrap is not None for wrap in wraps) and wraps[0] is not None:
                yield site, state, wraps[0]


def _gathers(function: Function) -> bool:
    return any(_GATHERS.search(last_name(node.func)) for node in own_nodes(function, ast.Call))


def _states(site: CallSite) -> Iterator[ast.Call]:
    """The calls `….state_dict()` whose results are written as they are: alone, or as values of a dict."""
    given = [site.node.args[0]]
    if isinstance(given[0], ast.Name):
        given = assignments(site.function).get(given[0].id, [])
    for each in given:
        for value in each.values if isinstance(each, ast.Dict) else (each,):
            match value:
                case ast.Call(func=ast.Attribute(attr="state_dict"), args=[], keywords=[]):
                    yield value


def _wraps(model: Model, function: Function, node: ast.expr, steps: int) -> Iterator[Wrap | None]:
    """What shards the parameters that an optimizer is made of, for each place that makes it; None where nothing does."""
    name = dotted_name(node)
    attr = name.removeprefix("self.") if function.cls is not None else name
    places = [function]
    if attr != name and function.cls is not None:
        places = list(function.cls.self_assigned.get(attr, ()))
    made = [value for place in places for value in assignments(place).get(name, ())]
    for value in made:
        yield _of_parameters(model, value) if isinstance(value, ast.Call) else None
    if not made and name in function.parameters and steps:
        for user, call in callers_by_name(model.program, function):
            given = argument_of(call, function, name)
            if given is None:
                yield None
            else:
                yield from _wraps(model, user, given, steps - 1)


def _of_parameters(model: Model, made: ast.Call) -> Wrap | None:
    """What shards a model whose `parameters()` are the first argument of a call: `AdamW(model.parameters(), lr=…)`."""
    match made.args[:1]:
        case [ast.Call(func=ast.Attribute(attr="parameters")) as asked]:
            call = model.call_at(asked)
            receiver = call.site.receiver if call is not None else None
            for wrap in receiver.wraps if receiver is not None else ():
                if wrap.kind in _SHARDED and not _is_whole(wrap):
                    return wrap
    return None


def _is_whole(wrap: Wrap) -> bool:
    """Whether FSDP is told to divide nothing."""
    return any(last_name(each) == _WHOLE for each in walk(wrap.node, ast.Attribute))
