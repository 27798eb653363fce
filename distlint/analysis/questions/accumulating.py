"""Gradient accumulation that a function does by itself: several backwards, and one step of the optimizer."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from distlint.analysis.program.definitions import Function, dotted_name, last_name
from distlint.analysis.program.environment import blocks_of, evaluated_here
from distlint.analysis.program.memory import all_remembered
from distlint.analysis.program.syntax import assignments
from distlint.nodes import walk
from distlint.patterns import pattern
from distlint.records import dataclass

UPDATES: Final = frozenset({"update_grad", "need_update"})
"""What tells a scaler that sends the loss backward to step, too.

timm 1.0.28 timm/utils/cuda.py:27 `NativeScaler.__call__(need_update=)`; mae efb2a80 util/misc.py:257 `update_grad=`.
"""
_OPTIMIZER: Final = pattern(r"opt|scaler", re.IGNORECASE)
_OTHER: Final = pattern(r"sched|prof", re.IGNORECASE)
_MICRO: Final = pattern(r"micro|accum|chunk|mini", re.IGNORECASE)
_ACCUMULATED: Final = pattern(r"accum", re.IGNORECASE)

Arms = tuple[tuple[ast.If, bool], ...]


@dataclass(frozen=True, slots=True)
class Accumulation:
    """One `backward` of several that one step of the optimizer follows.

    `every` is what decides on the step: the condition that counts, or the loop over the micro-batches.
    """

    backward: ast.Call
    every: ast.AST


@dataclass(frozen=True, slots=True)
class _Event:
    """A call, the arms of conditions and the loops around it, and the condition that counts, if one does."""

    call: ast.Call
    arms: Arms
    loops: tuple[ast.For | ast.While, ...]
    counted: ast.AST | None


@all_remembered
def accumulations(function: Function) -> Iterator[Accumulation]:
    """Each backward that a function makes more often than a step of the optimizer."""
    events = list(_events(function, function.body, (), (), None))
    steps = [e for e in events if _steps(e.call)]
    for event in events:
        count = _asked_by_scaler(function, event.call)
        if count is not None:
            yield Accumulation(event.call, count)
        elif _is_backward(event.call) and event.counted is None:
            every = _every(event, [s for s in steps if _concerns(s, event)])
            if every is not None:
                yield Accumulation(event.call, every)


@all_remembered
def clipped_early(function: Function) -> Iterator[tuple[ast.Call, Accumulation]]:
    """The first clipping of the gradients behind each backward of an accumulation, rather than in front of the step.

    blt 9774ed4 bytelatent/train.py:501: the optimizer steps under `if train_state.acc_step == 0:`.
    """
    events = list(_events(function, function.body, (), (), None))
    for found in accumulations(function):
        backward = next(e for e in events if e.call is found.backward)
        for event in events:
            early = (
                _CLIPS.search(last_name(event.call)) is not None
                and event.counted is None
                and event.loops == backward.loops
                and event.call.lineno > backward.call.lineno
                and _on_one_way(event.arms, backward.arms)
                and not any(_HELD_BACK.search(ast.unparse(arm.test)) for arm, _ in event.arms)
            )
            if early:
                yield event.call, found
                break


_CLIPS: Final = pattern(r"clip_grad_(?:norm|value)_?$")
_HELD_BACK: Final = pattern(r"accum|acc_step|sync|updat|micro|is_last", re.IGNORECASE)
"""Words of a condition that may hold for the last of the batches alone."""


def _concerns(step: _Event, backward: _Event) -> bool:
    """Whether a run that makes a backward steps there, or forgets the gradients in each turn of the loop."""
    each_turn = {*backward.loops} <= {*step.loops} and {*step.arms} <= {*backward.arms}
    begins = last_name(step.call) == "zero_grad" and not each_turn
    return not begins and _on_one_way(step.arms, backward.arms)


def _every(backward: _Event, steps: list[_Event]) -> ast.AST | None:
    """What lets the optimizer step less often than a backward is made; None where it steps as often."""
    if not any(last_name(s.call) == "step" or _named_step(s.call) for s in steps):
        return None
    if all(s.counted is not None for s in steps):
        return steps[0].counted
    loop = backward.loops[-1] if backward.loops else None
    if (
        isinstance(loop, ast.For)
        and _is_over_micro_batches(loop)
        and not any(loop in s.loops for s in steps)
        and all(s.call.lineno > loop.lineno for s in steps if last_name(s.call) == "step")
        and not _uses(backward.call, loop)
    ):
        return loop
    return None


def _events(
    function: Function,
    body: list[ast.stmt],
    arms: Arms,
    loops: tuple[ast.For | ast.While, ...],
    counted: ast.AST | None,
) -> Iterator[_Event]:
    """The calls of a block, with what stands around each."""
    for statement in body:
        for node in evaluated_here(statement):
            if isinstance(node, ast.Call):
                yield _Event(node, arms, loops, counted)
        match statement:
            case ast.If(test=test, body=taken, orelse=other):
                counts = _counts(function, test)
                known = counted or (test if counts else None)
                yield from _events(function, taken, (*arms, (statement, True)), loops, known)
                leaves = counts and isinstance(taken[-1], ast.Continue | ast.Return)
                yield from _events(function, other, (*arms, (statement, False)), loops, counted)
                if leaves:
                    counted = counted or test
            case ast.For() | ast.While():
                yield from _events(function, statement.body, arms, (*loops, statement), counted)
                yield from _events(function, statement.orelse, arms, loops, counted)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                pass
            case _:
                for block in blocks_of(statement):
                    yield from _events(function, block, arms, loops, counted)


def _counts(function: Function, test: ast.expr, depth: int = 2) -> bool:
    """Whether a condition holds once in several turns: `(step + 1) % every == 0`, `turns == every`."""
    for node in walk(test, ast.BinOp, ast.Compare, ast.Name, ast.Attribute):
        match node:
            case ast.BinOp(op=ast.Mod(), left=left, right=right):
                if not isinstance(left, ast.Constant) and not _is_one(right):
                    return True
            case ast.Compare(left=left, ops=[ast.Eq() | ast.GtE()], comparators=[right]):
                if isinstance(right, ast.Constant):
                    continue  # `acc_step == 0`: what is assigned to it says more
                if _is_counter(function, left) or _ACCUMULATED.search(last_name(right)):
                    return True
            case ast.Name() | ast.Attribute() if depth:
                values = [
                    v
                    for v in assignments(function).get(dotted_name(node), [])
                    if not isinstance(v, ast.Constant)
                ]
                if len(values) == 1 and (
                    _counts(function, values[0], depth - 1) or last_name(values[0]) == "divmod"
                ):
                    return True
    return False


def _is_counter(function: Function, node: ast.expr) -> bool:
    """Whether a function adds one to a variable and begins it anew."""
    name = dotted_name(node)
    written = [n for s in function.body for n in walk(s)] if name else []
    grows = any(
        isinstance(n, ast.AugAssign) and _is_one(n.value) and dotted_name(n.target) == name
        for n in written
    )
    again = any(
        isinstance(n, ast.Assign)
        and isinstance(n.value, ast.Constant)
        and n.value.value == 0
        and any(dotted_name(t) == name for t in n.targets)
        for n in written
    )
    return grows and again


def _asked_by_scaler(function: Function, call: ast.Call) -> ast.AST | None:
    """The count that a scaler is given, which sends the loss backward and steps where the count says so."""
    for keyword in call.keywords:
        if keyword.arg in UPDATES and _counts(function, keyword.value):
            return keyword.value
    return None


def _is_backward(call: ast.Call) -> bool:
    """Whether a call sends a loss backward by itself or by an Accelerator: engines decide on their own."""
    match call:
        case ast.Call(func=ast.Attribute(attr="backward", value=owner), args=args):
            return not args or last_name(owner) == "accelerator"
    return False


def _steps(call: ast.Call) -> bool:
    """Whether an optimizer steps, or forgets its gradients."""
    match call.func:
        case ast.Attribute(attr="step" | "zero_grad", value=owner):
            text = ast.unparse(owner)
            return bool(_OPTIMIZER.search(text)) and not _OTHER.search(last_name(owner))
    return _named_step(call)


def _named_step(call: ast.Call) -> bool:
    """Whether a function of the program says by its name that it lets the optimizer step."""
    name = last_name(call)
    return bool(re.search(r"optimi[sz]er?_(?:step|fn)|step_optim|optim_step", name))


def _on_one_way(a: Arms, b: Arms) -> bool:
    """Whether one run may come to two places: they are not in two arms of a condition."""
    other = {id(node): arm for node, arm in b}
    return all(other.get(id(node), arm) is arm for node, arm in a)


def _is_over_micro_batches(loop: ast.For) -> bool:
    """Whether a loop turns a given number of times, or through what is called a micro-batch."""
    match loop.iter:
        case ast.Call(func=ast.Name(id="range"), args=[*_, stop]) if len(loop.iter.args) < 3:
            return not _is_one(stop) and not any(
                last_name(n) == "len" for n in walk(stop, ast.Call)
            )
    return bool(_MICRO.search(ast.unparse(loop.iter)))


def _uses(backward: ast.Call, loop: ast.For) -> bool:
    """Whether the loss that goes backward is one of several that were there in front of the loop."""
    names = {n.id for n in walk(loop.target, ast.Name)}
    made = {n.id for s in loop.body for n in walk(s, ast.Name) if isinstance(n.ctx, ast.Store)}
    lost = {n.id for n in walk(backward, ast.Name)}
    return not lost & made or bool(lost & names)


def _is_one(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 1
