"""`with` statements of the abstract run: library context managers, classes, generators."""

from __future__ import annotations

import ast

from distlint.analysis.interpreter.assignment import assign
from distlint.analysis.interpreter.frame import WITHOUT_GRADIENTS, Frame
from distlint.analysis.interpreter.ir import (
    Branch,
    CallSite,
    InlineBody,
    Layer,
    Summary,
    Try,
)
from distlint.analysis.interpreter.values import (
    Closure,
    Value,
)
from distlint.analysis.program.definitions import Function, dotted_name
from distlint.knowledge.schema import CallRow, Effect
from distlint.nodes import walk


def follow_with(frame: Frame, statement: ast.With | ast.AsyncWith) -> bool:
    """`with`: each item surrounds the next; the exit half also runs where the body is left."""
    return _items(frame, statement, list(statement.items))


def _items(frame: Frame, statement: ast.With | ast.AsyncWith, items: list[ast.withitem]) -> bool:
    if not items:
        return frame.execute(statement.body)
    item = items[0]
    if not frame.scope.without_gradients and _turns_gradients_off(item.context_expr):
        with frame.within(frame.scope._replace(without_gradients=True)):
            return _items(frame, statement, items)
    recorded = len(frame.summary.calls)
    value = frame.evaluate(item.context_expr)
    own = _own_site(frame.summary.calls[recorded:], item.context_expr)
    row = next((row for row in own.rows if row.context), None) if own is not None else None
    if item.optional_vars is not None:
        assign(frame, item.optional_vars, value)
    if value.type == "generator" and value.receiver is not None:
        return _around_generator(frame, statement, items, value.receiver.const)
    suppress = _suppresses(item.context_expr)
    attempt = Try(statement, [], [[]] if suppress else [], [], [])
    if own is not None and row is not None:
        _enter_context(frame, own, row, attempt)
    methods = _context_methods(frame, value)
    if methods is not None:
        frame.call(Closure(methods[0], {}, value), [], {}, item.context_expr, None)
        if item.optional_vars is not None:
            assign(frame, item.optional_vars, value)
    scope = frame.scope
    if row is not None and row.failure_reaches_all:
        scope = scope._replace(tries_around_shared=len(scope.tries))
    with frame.filling(attempt.body), frame.within(scope):
        alive = _items(frame, statement, items[1:])
    if methods is not None:
        with frame.filling(attempt.final):
            frame.call(Closure(methods[1], {}, value), [], {}, item.context_expr, None)
    if attempt.final or suppress:
        frame.steps.append(attempt)
    else:
        frame.steps.extend(attempt.body)
    return alive or suppress


def _around_generator(
    frame: Frame, statement: ast.With | ast.AsyncWith, items: list[ast.withitem], summary: Summary
) -> bool:
    """A context manager written as a generator: the body stands at its `yield`."""
    target = items[0].optional_vars
    if target is not None and summary.returns is not None:
        assign(frame, target, summary.returns)
    with frame.filling([]) as body:
        alive = _items(frame, statement, items[1:])
    if body or summary.steps:
        frame.steps.append(InlineBody(summary, statement, body, []))
    return alive or _may_catch(summary.function)


def _may_catch(function: Function) -> bool:
    """Whether a generator goes on behind an exception that is raised at its `yield`."""
    return any(
        isinstance(attempt, ast.Try)
        and any(not isinstance(handler.body[-1], ast.Raise) for handler in attempt.handlers)
        and any(isinstance(n, ast.Yield) for statement in attempt.body for n in walk(statement))
        for attempt in walk(function.node)
    )


def _context_methods(frame: Frame, value: Value) -> tuple[Function, Function] | None:
    cls = frame.summaries.classes.get(value.type) if value.type else None
    if cls is None:
        return None
    enter = frame.summaries.program.find_method(cls, "__enter__")
    leave = frame.summaries.program.find_method(cls, "__exit__")
    return (enter, leave) if enter is not None and leave is not None else None


def _own_site(sites: list[CallSite], expression: ast.expr) -> CallSite | None:
    """The call that an expression is, among those that evaluating it recorded."""
    return next((site for site in reversed(sites) if site.node is expression), None)


def _enter_context(frame: Frame, site: CallSite, row: CallRow, attempt: Try) -> None:
    """The enter and exit halves of a library's context manager."""
    if row.effect not in (
        Effect.COLLECTIVE,
        Effect.SHARDED_COLLECTIVE,
        Effect.WRAPPED_COLLECTIVE,
    ):
        return
    layer = {Effect.COLLECTIVE: Layer.ALWAYS, Effect.SHARDED_COLLECTIVE: Layer.SHARDED}.get(
        row.effect, Layer.WRAPPED
    )
    if row.first:
        # The first rank runs the body and then meets the others in the barrier; they wait before it.
        kind = "is_main" if row.first == "main" else "is_local_main"
        frame.note_dependence(kind)
        first = bool(frame.summary.rank.fact(kind))
        with frame.filling(attempt.final if first else frame.steps):
            frame.event(row, layer, site.node, site)
    else:
        _event_where_enabled(frame, site, row, layer)
    if row.exit_too:
        with frame.filling(attempt.final):
            _event_where_enabled(frame, site, row, layer)


def _event_where_enabled(frame: Frame, site: CallSite, row: CallRow, layer: Layer) -> None:
    """A collective that an argument turns off: `GatheredParameters(params, enabled=stage == 3)`."""
    enabled = site.argument(row.condition, row.unless.partition("=")[0]) if row.unless else None
    if enabled is None or enabled.truthiness() is not None:
        frame.event(row, layer, site.node, site)
        return
    with frame.filling([]) as steps:
        frame.event(row, layer, site.node, site)
    frame.steps.append(Branch(enabled, site.node, steps, []))


def _turns_gradients_off(expression: ast.expr) -> bool:
    return isinstance(expression, ast.Call) and (
        dotted_name(expression.func).rpartition(".")[2] in WITHOUT_GRADIENTS
    )


def _suppresses(expression: ast.expr) -> bool:
    return isinstance(expression, ast.Call) and dotted_name(expression.func) in (
        "contextlib.suppress",
        "suppress",
    )
