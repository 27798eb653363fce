"""Loops of the abstract run."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable
from typing import Final

from distlint.analysis.interpreter.assignment import assign
from distlint.analysis.interpreter.frame import Frame
from distlint.analysis.interpreter.ir import (
    InlineBody,
    Jump,
    JumpKind,
    Loop,
    Step,
)
from distlint.analysis.interpreter.iteration import element_of, iterated, with_own_length
from distlint.analysis.interpreter.scope import OpenLoop, Scope
from distlint.analysis.interpreter.values import (
    UNKNOWN,
    Value,
    Variance,
)
from distlint.analysis.interpreter.variables import Variables
from distlint.analysis.program.definitions import dotted_name
from distlint.analysis.program.syntax import assigned_names
from distlint.nodes import children, walk

_MAX_UNROLL: Final = 8
_MAX_PASSES: Final = 4
_PURE: Final = frozenset(
    {"isinstance", "issubclass", "hasattr", "callable", "len", "bool", "int", "str", "type", "id"}
)
"""Builtins whose answer depends on their arguments alone."""


def mark_volatile(frame: Frame, node: ast.expr, test: Value) -> None:
    """A condition that reads what an enclosing loop assigns may come out otherwise in the next turn.

    Of `a or b` each part by itself: that `b` is asked anew says nothing of `a`.
    """
    match node:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            mark_volatile(frame, operand, test)
        case ast.BoolOp() if node in frame.operands:
            for part, value in frame.operands[node]:
                mark_volatile(frame, part, value)
        case _:
            for open_ in frame.scope.loops:
                if open_.loop is not None and _reads(node, open_.assigned):
                    open_.loop.volatile |= _symbols(test)


def follow_while(frame: Frame, statement: ast.While) -> bool:
    """`while`: the test is evaluated at the head and, behind the body, for the next turn."""
    if _fails_at_first(frame, statement.test):
        return frame.execute(statement.orelse)
    assigned = assigned_names(statement)
    key = ("loop", id(statement))
    loop = Loop(statement, key, None, [], [], volatile={key})
    loop.once = _holds_at_first(frame, statement.test)
    open_ = OpenLoop(statement, loop, assigned)
    head: list[Step] = []
    entered = True

    def turn() -> None:
        nonlocal entered
        with frame.filling([]) as steps:
            test = frame.evaluate(statement.test)
            frame.note_rank_condition(statement.test, test, False)
        head[:] = steps
        truth = test.truthiness()
        entered = truth is not False or test.variance is Variance.UNIFORM
        if entered:
            scope = _ask(frame, loop, statement.test, test).inside(open_)
            with frame.filling([]) as body, frame.within(scope):
                if frame.execute(statement.body):
                    body.extend(head)
            loop.body = body

    _follow_turns(frame, open_, turn)
    frame.steps.extend(head)
    if not entered:
        return frame.execute(statement.orelse)
    _close(frame, loop, statement)
    return not loop.endless or _contains_break(statement.body)


def _ask(frame: Frame, loop: Loop, node: ast.expr, test: Value) -> Scope:
    """Note what decides about the next turn of a `while`; returns the scope of its body."""
    truth = test.truthiness()
    loop.endless = truth is True
    loop.module = frame.module if test.variance is Variance.UNIFORM else None
    if truth is not None:
        return frame.scope
    loop.key = ("while", test.key)
    loop.volatile.add(loop.key)
    loop.local = test if test.variance is not Variance.UNIFORM else None
    return frame.scope.under(frame.guard(node, test, True))


def follow_for(frame: Frame, statement: ast.For | ast.AsyncFor) -> bool:
    """`for`: a few known turns are followed one by one, others as any number of turns."""
    iterable = frame.evaluate(statement.iter)
    if iterable.items is not None and _unrollable(iterable, statement):
        return _unrolled(frame, statement, iterable.items)
    assigned = assigned_names(statement)
    if iterable.type == "generator" and iterable.receiver is not None:
        return _over_generator(frame, statement, iterable, assigned)
    iterated(frame, iterable, statement.iter)
    key = ("for", id(statement), iterable.key)
    loop = Loop(statement, key, with_own_length(iterable), [], [], volatile={key})
    open_ = OpenLoop(statement, loop, assigned)

    def turn() -> None:
        with frame.filling([]) as body, frame.within(frame.scope.inside(open_)):
            assign(frame, statement.target, element_of(iterable, statement.target))
            frame.execute(statement.body)
        loop.body = body

    _follow_turns(frame, open_, turn)
    _close(frame, loop, statement)
    return True


def _unrolled(frame: Frame, statement: ast.For | ast.AsyncFor, items: tuple[Value, ...]) -> bool:
    around = frame.scope.loops[-1] if frame.scope.loops else OpenLoop(statement)
    ended, cut_short = len(around.ended), len(around.cut_short)
    for item in items:
        assign(frame, statement.target, item)
        before = len(frame.steps)
        alive = frame.execute(statement.body)
        # Its jumps are its own, not those of the loop around it.
        del around.ended[ended:], around.cut_short[cut_short:]
        if not alive:
            last = frame.steps[-1] if len(frame.steps) > before else None
            if isinstance(last, Jump) and last.kind is JumpKind.CONTINUE:
                frame.steps.pop()
                continue
            if isinstance(last, Jump) and last.kind is JumpKind.BREAK:
                frame.steps.pop()
                return True
            return False
    return frame.execute(statement.orelse)


def _over_generator(
    frame: Frame, statement: ast.For | ast.AsyncFor, iterable: Value, assigned: frozenset[str]
) -> bool:
    """A loop over a project's generator: its body stands at the generator's `yield`."""
    assert iterable.receiver is not None
    inside = InlineBody(iterable.receiver.const, statement, [], [])
    open_ = OpenLoop(statement, None, assigned)

    def turn() -> None:
        with frame.filling([]) as body, frame.within(frame.scope.inside(open_)):
            assign(frame, statement.target, Value(("element", id(statement))))
            frame.execute(statement.body)
        inside.body = body

    _follow_turns(frame, open_, turn)
    with frame.filling(inside.orelse):
        frame.execute(statement.orelse)
    frame.steps.append(inside)
    return True


def _close(frame: Frame, loop: Loop, statement: ast.For | ast.AsyncFor | ast.While) -> None:
    """What follows the last turn of a loop, and the loop itself among the steps."""
    if statement.orelse:
        with frame.filling(loop.orelse):
            frame.execute(statement.orelse)
    if loop.body or loop.orelse:
        frame.steps.append(loop)


def _follow_turns(frame: Frame, open_: OpenLoop, turn: Callable[[], None]) -> None:
    """Follow a body as any number of turns: once more while a variable comes round as another than it went in."""
    statement, assigned = open_.statement, open_.assigned
    first = {name: frame.variables.get(name) for name in assigned}
    _havoc(frame, assigned, statement)
    head = frame.variables.copy()
    recorded = frame.summary.mark()
    for _ in range(_MAX_PASSES):
        frame.variables = head.copy()
        open_.ended.clear()
        open_.cut_short.clear()
        turn()
        _meet(frame, open_.cut_short, ("continue", id(statement)))
        after = head.merge(frame.variables, id(statement))
        news = {
            name: value
            for name in assigned
            if (value := _coming_round(frame, open_, name, first[name], head, after)) is not None
        }
        if not news:
            break
        for name, value in news.items():
            head.refine(name, value)
        frame.summary.forget_since(recorded)
    frame.variables = head.merge(frame.variables, id(statement))
    _meet(frame, open_.ended, ("break", id(statement)))
    for enclosing in frame.scope.loops:
        if enclosing.loop is not None and open_.loop is not None:
            enclosing.loop.volatile.add(open_.loop.key)


def _meet(frame: Frame, left: list[Variables], place: Hashable) -> None:
    """Where a turn ends, or the loop: what the variables hold who came there by a jump, too.

    cosmos-rl 89f2e5b cosmos_rl/utils/util.py:671: `vocab_size, _ = …`, then `break`, and below the loop `if vocab_size is None: raise`.
    """
    for number, variables in enumerate(left):
        frame.variables = frame.variables.merge(variables, (place, number))


def _coming_round(
    frame: Frame, open_: OpenLoop, name: str, first: Value | None, head: Variables, after: Variables
) -> Value | None:
    """What a variable has to be taken for at the head of a loop in place of what it was; None where that holds.

    On one class of ranks a variable may keep its constant in every turn, on another not: which of the two
    a class is, it knows, though not what the variable holds.
    """
    before, end, either = head.get(name), frame.variables.get(name), after.get(name)
    if end is None or either is None:
        return None
    if before is not None and end.key == before.key:  # this class of ranks does not assign it
        kept = first is not None and first.known and not before.known
        return first if kept else None
    if before is not None and before.known:
        if _same_constant(before, end):
            return None
        return _unknown_at_head(frame, open_, name, either)
    if not _grew(before, either):
        return None
    if either.variance is Variance.RANK_DEPENDENT:
        if end.known and (first is None or _same_constant(first, end)):
            return end
        return _unknown_at_head(frame, open_, name, either)
    return either.replace(const=UNKNOWN, items=None, truth=None, not_none=False)


def _same_constant(one: Value, other: Value) -> bool:
    return other.known and type(one.const) is type(other.const) and one.const == other.const


def _unknown_at_head(frame: Frame, open_: OpenLoop, name: str, value: Value) -> Value:
    """A variable of which a turn leaves another value than it found: of a rank's own, to each class its own."""
    own = value.variance is Variance.RANK_DEPENDENT
    key = ("loop", id(open_.statement), name, *((frame.summary.rank.rank,) if own else ()))
    return value.replace(key=key, const=UNKNOWN, items=None, truth=None, logic=None, not_none=False)


def _fails_at_first(frame: Frame, test: ast.expr) -> bool:
    """Whether a comparison of variables and numbers surely keeps all ranks out of a loop.

    ctm 87cca3b code/cm/train_util.py:318: `while num_samples > number` from 0 on, and no call gives another number than
    the -1 of the definition.
    """
    match test:
        case ast.Compare(left=left, ops=[_], comparators=[right]):
            read = [part.id for part in (left, right) if isinstance(part, ast.Name)]
            if not all(
                isinstance(part, ast.Constant)
                or (isinstance(part, ast.Name) and part.id in frame.variables)
                for part in (left, right)
            ):
                return False
            value = frame.evaluate(test)
            return bool(read) and value.truthiness() is False and value.variance is Variance.UNIFORM
    return False


def _holds_at_first(frame: Frame, test: ast.expr) -> bool:
    """Whether a condition on one variable surely holds where a loop begins."""
    match test:
        case ast.Name(id=name):
            wanted = True
        case ast.UnaryOp(op=ast.Not(), operand=ast.Name(id=name)):
            wanted = False
        case _:
            return False
    value = frame.variables.get(name)
    return value is not None and value.truthiness() is wanted


def _unrollable(iterable: Value, statement: ast.For | ast.AsyncFor) -> bool:
    items = iterable.items or ()
    ranked = "world_size" in iterable.tags or iterable.variance is Variance.RANK_DEPENDENT
    return ranked and len(items) <= _MAX_UNROLL and not _contains_nested_jump(statement.body)


def _havoc(frame: Frame, assigned: frozenset[str], node: ast.AST) -> None:
    """Variables that a loop assigns have no known value at its head."""
    for name in assigned:
        value = frame.variables.get(name)
        if value is None:
            continue
        key = ("loop", id(node), name)
        if value.known or value.items is not None:
            target = value.target if value.const is UNKNOWN else None
            value = value.replace(const=UNKNOWN, items=None, target=target)
        frame.variables.refine(name, value.replace(key=key, truth=None, logic=None, not_none=False))


def _grew(before: Value | None, after: Value | None) -> bool:
    if after is None:
        return False
    if before is None:
        return after.variance > Variance.UNIFORM or bool(after.wraps)
    return (
        after.variance > before.variance
        or len(after.wraps) > len(before.wraps)
        or not after.tags <= before.tags
    )


def _reads(node: ast.AST, names: frozenset[str]) -> bool:
    """Whether an expression reads one of the names, or calls what may answer otherwise each time."""
    for child in walk(node, ast.Call, ast.Name, ast.Attribute):
        match child:
            case ast.Call(func=ast.Name(id=name)) if name in _PURE:
                continue
            case ast.Call():
                return True
            case ast.Name(id=name) if name in names:
                return True
            case ast.Attribute() if dotted_name(child) in names:
                return True
    return False


def _symbols(value: Value) -> set[Hashable]:
    if value.logic is None:
        return {value.key}
    found: set[Hashable] = set()
    for operand in value.logic[1]:
        found |= _symbols(operand)
    return found


_OWN_JUMPS: Final = (
    *(ast.For, ast.While, ast.AsyncFor),
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda),
)
"""What `break` and `continue` inside do not lead out of."""


def _contains_break(body: list[ast.stmt]) -> bool:
    stack: list[ast.AST] = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Break):
            return True
        if not isinstance(node, _OWN_JUMPS):
            stack.extend(children(node))
    return False


def _contains_nested_jump(body: list[ast.stmt]) -> bool:
    """Whether break/continue stand under a condition, so that unrolling would lose where they lead."""
    stack: list[tuple[ast.AST, bool]] = [(s, False) for s in body]
    while stack:
        node, inside = stack.pop()
        if isinstance(node, (ast.Break, ast.Continue)) and inside:
            return True
        if isinstance(node, _OWN_JUMPS):
            continue
        for child in children(node):
            stack.append(
                (
                    child,
                    inside
                    or isinstance(node, (ast.Try, ast.With))
                    or (isinstance(node, ast.If) and not _about_rank(node.test)),
                )
            )
    return False


def _about_rank(test: ast.expr) -> bool:
    return any("rank" in dotted_name(n).lower() for n in walk(test, ast.Name, ast.Attribute))
