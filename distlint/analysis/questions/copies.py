"""Copies of a model that are made before its wrapper makes the ranks' weights equal."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import dotted_name, last_name
from distlint.analysis.program.syntax import mentions_rank, own_nodes
from distlint.knowledge import facts
from distlint.nodes import walk

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Function

_AVERAGES: Final = re.compile(r"(?:^|_)ema(?:_|$)|E(?:MA|ma)|AveragedModel|ExponentialMoving")
"""Names of what keeps a moving average of a model, which begins as a copy."""
_USES: Final = re.compile(r"eval|valid|test|predict|sampl|generat")
"""Names of what runs a model on this rank's share."""
_EQUALS: Final = ("load_state_dict", "broadcast", "copy_", "sync")
"""Parts of the names of what gives a copy the weights of all ranks."""
_LOADED: Final = ("from_pretrained", "load")


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy of a model: its name, where it is made, and where each rank runs its own."""

    name: str
    made: ast.Call
    used: ast.Call


def copied_before_ddp(
    live: LiveProgram, function: Function, after: list[CallSite], seeded: int
) -> Copy | None:
    """A copy of a model that is drawn below a line, made before DDP sends rank 0's weights to all, and run by all.

    ConvNeXt 048efce main.py:314: `ModelEma(model)` above the wrap, `evaluate(loader, model_ema.ema)`.
    """
    for site in after:
        fact = facts.wrapper(site.name)
        if fact is None or fact.kinds != ("ddp",) or not site.node.args:
            continue
        model = dotted_name(site.node.args[0])
        drawn = _drawn(function, model, seeded, site.node.lineno) if model else None
        if drawn is None:
            continue
        for name, made in _copies(function, model, drawn, site.node.lineno):
            used = _used_by_all(live, function, name, site.node.lineno)
            if used is not None and not _made_equal(function, name, made.lineno):
                return Copy(name, made, used)
    return None


def _drawn(function: Function, model: str, seeded: int, wrapped: int) -> int | None:
    """The line between two others in which a model is made from random numbers; None where it is loaded."""
    made = None
    for name, value in _assigned(function):
        if name == model and seeded < value.lineno < wrapped:
            if any(word in dotted_name(value.func) for word in _LOADED):
                return None
            if not any(dotted_name(part) == model for part in walk(value)):
                made = value.lineno
    if made is None or _made_equal(function, model, made, wrapped):
        return None
    return made


def _copies(
    function: Function, model: str, first: int, last: int
) -> Iterator[tuple[str, ast.Call]]:
    for name, value in _assigned(function):
        called = last_name(value.func)
        if not first < value.lineno < last or not value.args or name == model:
            continue
        if dotted_name(value.args[0]) == model and (
            called == "deepcopy" or _AVERAGES.search(called)
        ):
            yield name, value


def _assigned(function: Function) -> Iterator[tuple[str, ast.Call]]:
    """The calls of a function whose result a name keeps, in source order."""
    nodes = [n for n in own_nodes(function) if isinstance(n, ast.Assign)]
    for node in sorted(nodes, key=lambda n: n.lineno):
        value = node.value.body if isinstance(node.value, ast.IfExp) else node.value
        if isinstance(value, ast.Call):
            for target in node.targets:
                name = dotted_name(target)
                if name:
                    yield name, value


def _used_by_all(live: LiveProgram, function: Function, name: str, wrapped: int) -> ast.Call | None:
    of_some = {
        id(inner)
        for node in own_nodes(function)
        if isinstance(node, ast.If) and mentions_rank(node.test)
        for inner in walk(node)
    }
    for node in own_nodes(function):
        if not isinstance(node, ast.Call) or node.lineno < wrapped or id(node) in of_some:
            continue
        given = [dotted_name(value) for value in (*node.args, *(k.value for k in node.keywords))]
        if not any(each == name or each.startswith(f"{name}.") for each in given):
            continue
        call = live.call_at(node)
        if _USES.search(last_name(node.func)) and not (call is not None and call.guarded_by_rank):
            return node
    return None


def _made_equal(function: Function, name: str, first: int, last: float = float("inf")) -> bool:
    """Whether a model gets other weights between two lines, under no condition."""
    for statement in function.body:
        if isinstance(statement, ast.If | ast.For | ast.While):
            continue
        for node in walk(statement):
            if isinstance(node, ast.Call) and first < node.lineno < last:
                parts = [dotted_name(part) for part in (node.func, *node.args)]
                names = any(part == name or part.startswith(f"{name}.") for part in parts)
                if names and any(word in last_name(node.func) for word in _EQUALS):
                    return True
    return False
