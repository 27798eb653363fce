"""Schedulers that a helper makes and another function prepares, for the number of steps to which the training counts."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import Function, dotted_name, last_name
from distlint.analysis.program.handed import argument_of
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.analysis.questions.lengths import counts_processes, mentions_processes

from .plateau import beside

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.model import Model

_OTHERWISE: Final = ("split_batches", "step_scheduler_with_optimizer")


def made_elsewhere(
    model: Model, site: CallSite, argument: ast.expr, steps_named: tuple[str, ...]
) -> tuple[Function, ast.expr] | None:
    """The helper that makes a scheduler which `prepare` gets, and its number of steps, where that is of one process.

    LTX-Video-Trainer 22b3571 src/ltxv_trainer/trainer.py:636: `self._create_scheduler(optimizer)` takes
    `self._config.optimization.steps`, and `train()` counts to the same; MuseTalk 0a89dec
    musetalk/utils/training_utils.py:134 hands it back in a dict.
    """
    if any(word in site.module.source.text for word in _OTHERWISE):
        return None
    helper, call, key = _helper(model, site, argument)
    if helper is None or call is None:
        return None
    if any(mentions_processes(each) for each in (*call.args, *(k.value for k in call.keywords))):
        return None
    for steps in sorted(_numbers(helper, key, steps_named), key=lambda n: (n.lineno, n.col_offset)):
        paths = list(_paths(helper, call, steps))
        if any(_is_counted_to(site.function, path) for path in paths) and not any(
            counts_processes(path.rpartition(".")[2]) for path in paths
        ):
            return helper, steps
    return None


def _helper(
    model: Model, site: CallSite, argument: ast.expr
) -> tuple[Function | None, ast.Call | None, str]:
    """The function of the program that gives a scheduler, by itself or as an entry of a dict; the call, and the key."""
    key = ""
    match argument:
        case ast.Subscript(value=ast.Name() as held, slice=ast.Constant(value=str(key))):
            argument = held
        case _:
            if "sched" not in last_name(argument).lower():
                return None, None, ""
    path = dotted_name(argument)
    made = [
        v
        for v in assignments(site.function).get(path, ())
        if v is not site.node and isinstance(v, ast.Call)
    ]
    if len(made) != 1:
        return None, None, ""
    meaning = model.resolve(site.module, made[0].func)
    match made[0].func:
        case ast.Attribute(value=ast.Name(id="self"), attr=attr) if site.function.cls is not None:
            meaning = model.program.find_method(site.function.cls, attr)
    return (meaning if isinstance(meaning, Function) else None), made[0], key


def _numbers(helper: Function, key: str, steps_named: tuple[str, ...]) -> Iterator[ast.expr]:
    """What the schedulers of a helper are made for: those that it returns, or keeps under the key that is read."""
    kept = [
        node.value
        for node in own_nodes(helper, ast.Assign)
        if any(_is_entry(target, key) if key else _is_sched(target) for target in node.targets)
    ]
    if not key:
        kept += [n.value for n in own_nodes(helper, ast.Return) if n.value]
    for made in kept:
        if isinstance(made, ast.Call):
            yield from (k.value for k in made.keywords if k.arg in steps_named)


def _is_entry(target: ast.expr, key: str) -> bool:
    match target:
        case ast.Subscript(slice=ast.Constant(value=value)):
            return value == key
    return False


def _is_sched(target: ast.expr) -> bool:
    return "sched" in last_name(target).lower()


def _paths(helper: Function, call: ast.Call, steps: ast.expr) -> Iterator[str]:
    """The settings that a number of steps is made of, as the caller of the helper may name them."""
    work, seen = [steps], 0
    while work and seen < 20:
        node, seen = work.pop(), seen + 1
        match node:
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                work += [left, right]
            case ast.Subscript():
                text = ast.unparse(node)
                work += [
                    n.value
                    for n in own_nodes(helper, ast.Assign)
                    if text in map(ast.unparse, n.targets)
                ]
            case ast.Name(id=name) if name in helper.parameters:
                given = argument_of(call, helper, name)
                yield name
                yield dotted_name(given) if given is not None else ""
            case ast.Name(id=name):
                yield name
                values = assignments(helper).get(name, ())
                work += values if len(values) == 1 else []
            case ast.Attribute():
                yield dotted_name(node)


def _is_counted_to(function: Function, path: str) -> bool:
    """Whether a training beside a function counts its steps to a setting that nobody computes there.

    `cfg.optimization.steps` is `self._config.optimization.steps`: the last two names say it, or one that speaks of
    training steps.
    """
    near = beside(function)
    last = path.split(".")[-2:]
    if "step" not in last[-1] or (len(last) < 2 and "train" not in last[-1]):
        return False
    if any(_same(target, last) for each in near for target in _written(each)):
        return False
    return any(_counts_to(node, last) for each in near for node in own_nodes(each))


def _written(function: Function) -> Iterator[str]:
    for node in own_nodes(function, ast.Assign, ast.AugAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        yield from (dotted_name(t) for t in targets if isinstance(t, ast.Attribute | ast.Name))


def _same(path: str, last: list[str]) -> bool:
    return path.split(".")[-len(last) :] == last


def _counts_to(node: ast.AST, last: list[str]) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="range"), args=[*_, stop]):
            factors = [stop.left, stop.right] if isinstance(stop, ast.BinOp) else [stop]
            return any(_same(dotted_name(each), last) for each in factors)
        case ast.Compare(left=left, ops=[ast.GtE() | ast.Gt() | ast.Lt()], comparators=[right]):
            return "step" in last_name(left) and _same(dotted_name(right), last)
    return False
