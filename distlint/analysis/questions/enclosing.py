"""Nets that a program builds around a model before it wraps that model: they hold the bare one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import Class, Function, dotted_name
from distlint.analysis.program.syntax import own_nodes
from distlint.analysis.questions.idle import TAKE_MODULE, Idle
from distlint.analysis.questions.training import Backward
from distlint.knowledge import facts
from distlint.nodes import last_name, walk

if TYPE_CHECKING:
    from distlint.analysis.live.program import LiveProgram

_PREPARE: Final = "accelerate.Accelerator.prepare"
_MODULE: Final = "torch.nn.Module"
_ASK: Final = frozenset({"unwrap_model", "unwrap", "hasattr", "exists", "id"})
"""What is handed a model and does not run its forward, beside `TAKE_MODULE`."""


def bare_inside(live: LiveProgram) -> Iterator[Idle]:
    """Models that are prepared after a net has been built around them, whose forward the loss goes through instead.

    audiolm-pytorch d65fd15 audiolm_pytorch/trainer.py:1362: `self.train_wrapper = FineTransformerWrapper(transformer
    = transformer)`, then `self.transformer = prepare(self.transformer)`, then `self.train_wrapper(...)`.
    """
    for call in live.calls(_PREPARE):
        site = call.site
        scope = _scope(site.function)
        prepared = {path for f in scope for path in _prepared(f)}
        for given in site.node.args:
            path = dotted_name(given)
            if not path or not isinstance(given, ast.Name | ast.Attribute):
                continue
            for net in _built_around(live, site.function, path, site.node.lineno):
                forward = _forward(scope, net)
                if (
                    forward is not None
                    and net not in prepared
                    and _is_stepped(scope, {path, *_same(site.function, path)})
                    and not _is_run(scope, path, net, site.node)
                ):
                    yield Idle(site.module, given, site.node, forward)


def _scope(function: Function) -> list[Function]:
    """A function, or the methods of its class: what may use what it prepares."""
    return [function] if function.cls is None else list(function.cls.methods.values())


def _prepared(function: Function) -> Iterator[str]:
    for node in own_nodes(function, ast.Call):
        if last_name(node.func).startswith("prepare"):
            yield from (dotted_name(argument) for argument in node.args)


def _same(function: Function, path: str) -> set[str]:
    """The other names of a model: `self.transformer = transformer`."""
    return {
        dotted_name(node.value)
        for node in own_nodes(function, ast.Assign)
        if any(dotted_name(target) == path for target in node.targets)
    } - {""}


def _built_around(live: LiveProgram, function: Function, path: str, line: int) -> Iterator[str]:
    """The nets that are made of a model before a line, by the paths they are kept at."""
    names = {path, *_same(function, path)}
    for node in own_nodes(function, ast.Assign):
        match node:
            case ast.Assign(targets=[target], value=ast.Call() as made) if node.lineno < line:
                kept = dotted_name(target)
                if kept and kept not in names and _keeps(live, function, made, names):
                    yield kept


def _keeps(live: LiveProgram, function: Function, made: ast.Call, names: set[str]) -> bool:
    """Whether a call makes a net of the program that keeps one of some models as a part."""
    meaning = live.resolve(function.module, made.func)
    if not isinstance(meaning, Class) or _MODULE not in facts.with_bases(
        live.program.mro(meaning)[1]
    ):
        return False
    init = live.program.find_method(meaning, "__init__")
    if init is None:
        return False
    given = dict(zip(init.parameters[1:], made.args, strict=False))
    given |= {k.arg: k.value for k in made.keywords if k.arg is not None}
    held = {name for name, value in given.items() if dotted_name(value) in names}
    return any(
        isinstance(node.value, ast.Name)
        and node.value.id in held
        and any(dotted_name(target).startswith("self.") for target in node.targets)
        for node in own_nodes(init, ast.Assign)
    )


def _forward(scope: list[Function], net: str) -> ast.Call | None:
    """The call of a net that a loss goes through."""
    for function in scope:
        backward = Backward(function)
        for node in own_nodes(function) if backward else ():
            if (
                isinstance(node, ast.Call)
                and dotted_name(node.func) == net
                and backward.reaches(node)
            ):
                return node
    return None


def _is_stepped(scope: list[Function], names: set[str]) -> bool:
    """Whether an optimizer gets the parameters of a model."""
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr.endswith("parameters")
        and dotted_name(node.func.value) in names
        and any("optim" in ast.unparse(n.func).lower() for n in _calls_with(function, node))
        for function in scope
        for node in own_nodes(function)
    )


def _calls_with(function: Function, given: ast.Call) -> Iterator[ast.Call]:
    for node in own_nodes(function, ast.Call):
        if node is not given:
            arguments = (*node.args, *(k.value for k in node.keywords))
            if any(part is given for argument in arguments for part in walk(argument)):
                yield node


def _is_run(scope: list[Function], path: str, net: str, prepare: ast.Call) -> bool:
    """Whether anything may call the wrapped model, or put it into the net afterwards."""
    for function in scope:
        here = any(n is prepare for n in own_nodes(function))
        for node in own_nodes(function):
            if here and getattr(node, "lineno", 0) < prepare.lineno:
                continue
            match node:
                case ast.Call(func=func, args=args):
                    if dotted_name(func) == path:
                        return True
                    handed = any(dotted_name(argument) == path for argument in args)
                    if handed and last_name(func) not in TAKE_MODULE | _ASK:
                        return True
                case ast.Assign(targets=targets):
                    if any(f"{dotted_name(t)}.".startswith(f"{net}.") for t in targets):
                        return True
    return False
