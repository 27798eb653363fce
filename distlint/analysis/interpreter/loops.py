"""Loops of the abstract run."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Sequence
from typing import Final

from distlint.analysis.interpreter.assignment import assign
from distlint.analysis.interpreter.frame import Frame
from distlint.analysis.interpreter.ir import (
    InlineBody,
    Jump,
    Loop,
    Step,
)
from distlint.analysis.interpreter.iteration import UNEVEN, element_of
from distlint.analysis.interpreter.scope import OpenLoop, Scope
from distlint.analysis.interpreter.values import (
    UNKNOWN,
    Value,
    Variance,
)
from distlint.analysis.program.definitions import dotted_name
from distlint.analysis.program.syntax import assigned_names
from distlint.nodes import children, walk

_MAX_UNROLL: Final = 8
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
    assigned = assigned_names(statement)
    key = ("loop", id(statement))
    loop = Loop(statement, key, None, [], [], volatile={key})
    loop.once = _holds_at_first(frame, statement.test)
    _havoc(frame, assigned, statement)
    with frame.filling([]) as head:
        test = frame.evaluate(statement.test)
        frame.note_rank_condition(statement.test, test, False)
    frame.steps.extend(head)
    truth = test.truthiness()
    if truth is False and test.variance is not Variance.UNIFORM:
        return frame.execute(statement.orelse)
    loop.endless = truth is True
    loop.module = frame.module if test.variance is Variance.UNIFORM else None
    scope = frame.scope
    if truth is None:
        loop.key = ("while", test.key)
        loop.volatile.add(loop.key)
        if test.variance is not Variance.UNIFORM:
            loop.local = test
        scope = scope.under(frame.guard(statement.test, test, True))
    _repeat(frame, OpenLoop(statement, loop, assigned), scope, tail=head)
    return not loop.endless or _contains_break(statement.body)


def follow_for(frame: Frame, statement: ast.For | ast.AsyncFor) -> bool:
    """`for`: a few known turns are followed one by one, others as any number of turns."""
    iterable = frame.evaluate(statement.iter)
    if iterable.items is not None and _unrollable(iterable, statement):
        return _unrolled(frame, statement, iterable.items)
    assigned = assigned_names(statement)
    if iterable.type == "generator" and iterable.receiver is not None:
        return _over_generator(frame, statement, iterable, assigned)
    key = ("for", id(statement), iterable.key)
    loop = Loop(statement, key, None, [], [], volatile={key})
    if iterable.variance is not Variance.UNIFORM and iterable.tags & UNEVEN:
        loop.local = iterable
    _havoc(frame, assigned, statement)
    element = (statement.target, iterable)
    _repeat(frame, OpenLoop(statement, loop, assigned), frame.scope, element=element)
    return True


def _unrolled(frame: Frame, statement: ast.For | ast.AsyncFor, items: tuple[Value, ...]) -> bool:
    for item in items:
        assign(frame, statement.target, item)
        before = len(frame.steps)
        if not frame.execute(statement.body):
            last = frame.steps[-1] if len(frame.steps) > before else None
            if isinstance(last, Jump) and last.kind == "continue":
                frame.steps.pop()
                continue
            if isinstance(last, Jump) and last.kind == "break":
                frame.steps.pop()
                return True
            return False
    return frame.execute(statement.orelse)


def _over_generator(
    frame: Frame, statement: ast.For | ast.AsyncFor, iterable: Value, assigned: frozenset[str]
) -> bool:
    """A loop over a project's generator: its body stands at the generator's `yield`."""
    assert iterable.receiver is not None
    _havoc(frame, assigned, statement)
    before = frame.variables.copy()
    with frame.filling([]) as body, frame.within(frame.scope.inside(OpenLoop(statement))):
        assign(frame, statement.target, Value(("element", id(statement))))
        frame.execute(statement.body)
    frame.variables = before.merge(frame.variables, id(statement))
    with frame.filling([]) as orelse:
        frame.execute(statement.orelse)
    frame.steps.append(InlineBody(iterable.receiver.const, statement, body, orelse))
    return True


def _repeat(
    frame: Frame,
    open_: OpenLoop,
    scope: Scope,
    *,
    element: tuple[ast.expr, Value] | None = None,
    tail: Sequence[Step] = (),
) -> None:
    """Follow a body as any number of turns; once more where a variable comes round knowing more."""
    statement, loop, assigned = open_.statement, open_.loop, open_.assigned
    assert loop is not None and isinstance(statement, (ast.For, ast.AsyncFor, ast.While))
    for enclosing in frame.scope.loops:
        if enclosing.loop is not None:
            enclosing.loop.volatile.add(loop.key)
    head = frame.variables.copy()
    recorded = frame.summary.mark()
    for attempt in (1, 2):
        frame.variables = head.copy()
        loop.body = []
        with frame.filling(loop.body), frame.within(scope.inside(open_)):
            if element is not None:
                assign(frame, element[0], element_of(element[1], element[0]))
            if frame.execute(statement.body):
                loop.body.extend(tail)
        after = head.merge(frame.variables, id(statement))
        if attempt == 2 or not any(_grew(head.get(n), after.get(n)) for n in assigned):
            break
        # A variable came round the loop knowing more than at its head: follow the body again.
        for name in assigned:
            value = after.get(name)
            if value is not None:
                head.refine(
                    name, value.replace(const=UNKNOWN, items=None, truth=None, not_none=False)
                )
        frame.summary.forget_since(recorded)
    frame.variables = head.merge(frame.variables, id(statement))
    if statement.orelse:
        with frame.filling(loop.orelse):
            frame.execute(statement.orelse)
    if loop.body or loop.orelse:
        frame.steps.append(loop)


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
    for child in walk(node):
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
    return any(
        isinstance(n, (ast.Name, ast.Attribute)) and "rank" in dotted_name(n).lower()
        for n in walk(test)
    )
