"""`with` statements of the abstract run: library context managers, classes, generators."""

from __future__ import annotations

import ast

from distlint.analysis.interpreter.assignment import assign
from distlint.analysis.interpreter.frame import WITHOUT_GRADIENTS, Frame
from distlint.analysis.interpreter.ir import (
    Branch,
    CallSite,
    CallStep,
    InlineBody,
    Layer,
    Loop,
    Step,
    Summary,
    Try,
    UnknownCall,
)
from distlint.analysis.interpreter.values import (
    Closure,
    Value,
)
from distlint.analysis.program.definitions import Function, Module, dotted_name
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import own_nodes
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
    switched = _switched(summary.function)
    if switched:
        _leave_open(frame, body, summary.function.module, switched)
    if body or summary.steps:
        frame.steps.append(InlineBody(summary, statement, body, []))
    return alive or _may_catch(summary.function)


@remembered
def _switched(function: Function) -> frozenset[str]:
    """The variables of its module that a function sets."""
    return frozenset(name for node in own_nodes(function, ast.Global) for name in node.names)


def _leave_open(frame: Frame, body: list[Step], module: Module, switched: frozenset[str]) -> None:
    """Calls in a `with` that asks for another behaviour of theirs: what they do there is not known.

    ms-swift 3602360 swift/megatron/init.py:181: `with disable_safe_ddp_context_use_barrier():` sets a variable of
    the module, and a function of it takes a file lock in place of its barriers.
    """
    blocks = [body]
    while blocks:
        block = blocks.pop()
        for at, step in enumerate(block):
            match step:
                case CallStep(summary=called) if _asks(called, module, switched):
                    block[at] = UnknownCall(called, step.node, frame.module)
                case Branch(then=then, orelse=orelse):
                    blocks += [then, orelse]
                case Loop(body=inner) | Try(body=inner):
                    blocks.append(inner)


def _asks(summary: Summary, module: Module, names: frozenset[str]) -> bool:
    """Whether a run, or one below it, reads one of these variables of a module."""
    work, seen = [summary], {id(summary)}
    while work:
        run = work.pop()
        if run.function.module is module and not names.isdisjoint(_read(run.function)):
            return True
        new = [child for child in run.children if id(child) not in seen]
        seen.update(map(id, new))
        work += new
    return False


@remembered
def _read(function: Function) -> frozenset[str]:
    return frozenset(
        node.id for node in own_nodes(function, ast.Name) if isinstance(node.ctx, ast.Load)
    )


def _may_catch(function: Function) -> bool:
    """Whether a generator goes on behind an exception that is raised at its `yield`."""
    return any(
        any(not isinstance(handler.body[-1], ast.Raise) for handler in attempt.handlers)
        and any(isinstance(n, ast.Yield) for statement in attempt.body for n in walk(statement))
        for attempt in walk(function.node, ast.Try)
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
