"""Models that are trained beside a wrapped one: a wrapper synchronises the model inside, and no other."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import Class, Function, dotted_name
from distlint.analysis.program.linked import linked
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.analysis.questions.origins import Origin, origins
from distlint.analysis.questions.replicated import engines
from distlint.analysis.questions.training import Backward
from distlint.knowledge import facts
from distlint.nodes import last_name, walk
from distlint.patterns import pattern
from distlint.records import dataclass

from .synchronised import sends_gradients

if TYPE_CHECKING:
    from distlint.analysis.live.summaries import CallGroup
    from distlint.analysis.model import Model

_MODULE: Final = "torch.nn.Module"
_OPTIMIZER: Final = pattern(r"optim|adam|sgd|adafactor|lamb|lion|rmsprop|adagrad", re.IGNORECASE)
_PUT_IN: Final = frozenset({"append", "extend", "update", "add_param_group"})
_MAY_WRAP: Final = pattern(
    r"prepare|(?<!un)wrap|(?<!^data)parallel|shard|ddp|dist|sync|broadcast", re.IGNORECASE
)
"""What may, whatever else its name says. `DataParallel` joins the GPUs of one process."""
_ONLY_READS: Final = pattern(
    r"save|load|eval|valid|test|count|print|log|ema|summary|info|state|copy|param|isinstance|hasattr|len$|loss|unwrap"
    r"|checkpoint|^DataParallel$",
    re.IGNORECASE,
)
"""What wraps no model that it is handed, by its name."""
BY_HAND: Final = pattern(
    r"horovod|\bhvd\b|byteps|comm_hook|register_hook|post_accumulate_grad|DistributedOptimizer|deepspeed\.initialize"
)
_NETS: Final = ("torch.nn.", "transformers.", "diffusers.")
_LOADERS: Final = pattern(r"load|data|(?:\b|_)(?:dl|iter)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, eq=False)
class Beside:
    """A model that ranks train apart: its name, its forward, and what wraps another model."""

    function: Function
    name: str
    forward: ast.Call
    wrap: CallGroup


def trained_beside(model: Model) -> Iterator[Beside]:
    """The models that a loss goes through and an optimizer steps, and nothing wraps, where another one is wrapped."""
    done: set[tuple[Function, ...]] = set()
    for wrap in model.answer(engines):
        scope = _scope(wrap.site.function)
        if wrap.guarded_by_rank or scope in done or not _shares_data(model, wrap, scope):
            continue
        done.add(scope)
        if any(BY_HAND.search(m.source.text) for m in {f.module for f in scope}) or any(
            sends_gradients(f)
            for m in linked(model.program, wrap.site.module)
            for f in m.all_functions
        ):
            continue
        for name in sorted({n for function in scope for n in _optimised(function)}):
            found = _forward(scope, name)
            if found and not _may_wrap(scope, name) and _is_plain(model, found[0], name):
                yield Beside(*found, wrap)


def _scope(function: Function) -> tuple[Function, ...]:
    """A function, or the methods of its class: where what it wraps is trained."""
    return (function,) if function.cls is None else tuple(function.cls.methods.values())


def _shares_data(model: Model, wrap: CallGroup, scope: tuple[Function, ...]) -> bool:
    """Whether each rank gets a part of the data of its own: another batch, and another gradient."""
    if wrap.site.name.startswith("accelerate."):
        return any(
            isinstance(node, ast.Call)
            and last_name(node.func).startswith("prepare")
            and any(_LOADERS.search(ast.unparse(given)) for given in node.args)
            for function in scope
            for node in own_nodes(function)
        )
    return any(
        "DistributedSampler(" in each.source.text
        for each in linked(model.program, wrap.site.module)
    )


def _optimised(function: Function) -> Iterator[str]:
    """The models whose parameters an optimizer gets, by way of whatever variables."""
    made = [
        node
        for node in own_nodes(function, ast.Call)
        if _OPTIMIZER.search(last_name(node.func)) and (node.args or node.keywords)
    ]
    nodes: list[ast.expr] = [g for c in made for g in (*c.args, *(k.value for k in c.keywords))]
    seen: set[str] = set()
    flows = assignments(function)
    for node in nodes:
        for part in walk(node, ast.Call, ast.Name):
            match part:
                case ast.Call(func=ast.Attribute(attr=attr, value=owner)) if attr.endswith(
                    "parameters"
                ):
                    if path := dotted_name(owner):
                        yield path
                case ast.Name(id=name) if name not in seen:
                    seen.add(name)
                    nodes += flows.get(name, ())
                    nodes += _put_into(function, name)


def _put_into(function: Function, name: str) -> Iterator[ast.expr]:
    for node in own_nodes(function, ast.Call):
        match node:
            case ast.Call(func=ast.Attribute(attr=attr, value=ast.Name(id=owner)), args=args) if (
                owner == name and attr in _PUT_IN
            ):
                yield from args


def _forward(scope: tuple[Function, ...], name: str) -> tuple[Function, str, ast.Call] | None:
    """The forward of a model that a loss goes through."""
    for function in scope:
        backward = Backward(function)
        for node in own_nodes(function) if backward else ():
            if (
                isinstance(node, ast.Call)
                and dotted_name(node.func) == name
                and backward.reaches(node)
            ):
                return function, name, node
    return None


def _may_wrap(scope: tuple[Function, ...], name: str) -> bool:
    """Whether anything that is handed a model may wrap or synchronise it, or another name stands for it."""
    for function in scope:
        for node in own_nodes(function, ast.Call, ast.Assign, ast.Return, ast.Attribute):
            match node:
                case ast.Call(func=func, args=args, keywords=keywords):
                    given = (*args, *(k.value for k in keywords))
                    called = last_name(func)
                    reads = _ONLY_READS.search(called) and not _MAY_WRAP.search(called)
                    if not reads and any(_holds(g, name) for g in given):
                        return True
                case ast.Assign(value=value) | ast.Return(value=ast.expr() as value):
                    if _holds(value, name):
                        return True
                case ast.Attribute(attr="requires_grad" | "requires_grad_", value=owner):
                    if dotted_name(owner) == name:
                        return True
    return False


def _holds(node: ast.expr, name: str) -> bool:
    """Whether an expression is a model, or a collection with it."""
    match node:
        case ast.Starred(value=inner):
            return _holds(inner, name)
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Dict(values=parts):
            return any(_holds(part, name) for part in parts)
    return dotted_name(node) == name


def _is_plain(model: Model, function: Function, name: str) -> bool:
    """Whether all that may make a model are classes, which wrap nothing."""
    made = [
        each
        for each in origins(model, function, ast.parse(name, mode="eval").body)
        if each is None or not _is_one_process(each)
    ]
    return bool(made) and all(each is not None and _makes_net(model, each) for each in made)


def _is_one_process(made: Origin) -> bool:
    fact = facts.wrapper(made.meaning) if isinstance(made.meaning, str) else None
    return fact is not None and set(fact.kinds) <= {"dp", "compile"}


def _makes_net(model: Model, made: Origin) -> bool:
    meaning = made.meaning
    if meaning is None and isinstance(made.call.func, ast.Attribute):
        # `Net.from_scratch(path)`: what a class method gives is an object of the class.
        meaning = model.resolve(made.function.module, made.call.func.value)
    if isinstance(meaning, Class):
        return _MODULE in facts.with_bases(model.program.mro(meaning)[1])
    return isinstance(meaning, str) and meaning.startswith(_NETS) and facts.wrapper(meaning) is None
