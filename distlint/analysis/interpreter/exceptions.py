"""`try` statements of the abstract run, and what handlers catch."""

from __future__ import annotations

import ast
import builtins
from typing import Final

from distlint.analysis.interpreter.frame import Frame
from distlint.analysis.interpreter.ir import (
    MayRaise,
    Try,
)
from distlint.analysis.interpreter.values import (
    Value,
)
from distlint.analysis.program.definitions import dotted_name, last_name
from distlint.analysis.program.syntax import ends_process
from distlint.knowledge import conventions, failures
from distlint.nodes import walk

_TELLS: Final = frozenset(
    {
        "print",
        "print_exc",
        "exception",
        "error",
        "warning",
        "warn",
        "info",
        "zero_grad",
        "empty_cache",
    }
)
"""What a handler calls that lets a step go."""
_OF_THE_GROUP: Final = frozenset({"torch.distributed.get_rank", "torch.distributed.get_world_size"})
_BUILTIN: Final = frozenset(
    name
    for name, kind in vars(builtins).items()
    if isinstance(kind, type) and issubclass(kind, BaseException)
)
_ENDS: Final = frozenset({"KeyboardInterrupt", "SystemExit", "GeneratorExit"})
_OTHERS: Final = frozenset(
    name
    for name in _BUILTIN - {"Exception", "BaseException"}
    if not issubclass(getattr(builtins, name), OSError)
)


def follow_try(frame: Frame, statement: ast.Try) -> bool:
    """`try`: a handler starts from what the body may have done up to any point."""
    before = frame.variables.copy()
    attempt = Try(statement, [], [], [], [], expects_out_of_memory(statement))
    asked = len(frame.summary.rank_conditions)
    with frame.filling(attempt.body), frame.within(frame.scope.attempted(statement)):
        unfinished = _given_up_with_success(frame, statement)
        if unfinished is not None and not frame.scope.failure_reaches_all:
            frame.steps.append(MayRaise(unfinished, "data"))
        alive = frame.execute(statement.body)
    arms = {guard.node: guard.taken for guard in frame.summary.rank_conditions[asked:]}
    failed = before.merge(frame.variables, id(statement))
    if alive:
        with frame.filling(attempt.orelse):
            alive = frame.execute(statement.orelse)
    ends = [frame.variables] if alive else []
    idle = _is_idle(statement.body, arms) or _asks_the_group(frame, statement.body)
    for handler in [] if idle else statement.handlers:
        frame.variables = failed.copy()
        if handler.name:
            caught = Value(("exception", id(handler)), tags=frozenset({"exception"}))
            frame.variables.refine(handler.name, caught)
        with frame.filling([]) as block, frame.within(frame.scope.handler()):
            if frame.execute(handler.body):
                ends.append(frame.variables)
        attempt.handlers.append(block)
    frame.variables = ends[0] if ends else failed
    for end in ends[1:]:
        frame.variables = frame.variables.merge(end, id(statement))
    with frame.filling(attempt.final):
        final_alive = frame.execute(statement.finalbody)
    if attempt.body or attempt.orelse or attempt.final or any(attempt.handlers):
        frame.steps.append(attempt)
    return bool(ends) and final_alive


def _is_idle(body: list[ast.stmt], arms: dict[ast.expr, bool]) -> bool:
    """Whether this class of ranks does nothing in a block but ask who it is: nothing there can fail.

    `arms` are the conditions of the rank that it met, with the arm that it took.
    """
    left = list(reversed(body))
    while left:
        match left.pop():
            case ast.Pass():
                continue
            case ast.Break() | ast.Continue() | ast.Return(value=None):
                return True
            case ast.If(test=test, body=then, orelse=orelse) if test in arms:
                left += reversed(then if arms[test] else orelse)
            case _:
                return False
    return True


def _given_up_with_success(frame: Frame, statement: ast.Try) -> ast.Call | None:
    """What is called for an element of a loop, where a handler of whatever it raises ends the process and says that all is well.

    VideoLLaMA3 05cee23 evaluation/evaluate.py:119: `exit(0)`, and the launcher leaves the other ranks at `gather_object()`.
    """
    loop = frame.scope.loops[-1].statement if frame.scope.loops else None
    if not isinstance(loop, ast.For) or not any(map(_ends_with_success, statement.handlers)):
        return None
    elements = {node.id for node in walk(loop.target, ast.Name)}
    used = any(n.id in elements for part in statement.body for n in walk(part, ast.Name))
    calls = (call for part in statement.body for call in walk(part, ast.Call))
    return next(calls, None) if used else None


def _ends_with_success(handler: ast.ExceptHandler) -> bool:
    match handler:
        case ast.ExceptHandler(
            type=None | ast.Name(id="Exception" | "BaseException"),
            body=[
                *_,
                ast.Expr(value=ast.Call(func=func, args=[] | [ast.Constant(value=0 | None)])),
            ],
        ):
            return ends_process(func)
    return False


def _asks_the_group(frame: Frame, body: list[ast.stmt]) -> bool:
    """Whether a block does no more than to give back what the group says: it fails where there is none, and one process.

    PointContrast 47e8682 downstream/semseg/lib/distributed_utils.py:118: `try: return dist.get_world_size()`, and else 1.
    """
    match body:
        case [ast.Return(value=ast.Call(func=func, args=[], keywords=[]))]:
            name = frame.summaries.program.resolve_dotted(frame.module, dotted_name(func))
            return name in _OF_THE_GROUP
    return False


def expects_out_of_memory(statement: ast.Try) -> ast.ExceptHandler | None:
    """The handler of a `try` that takes an out-of-memory error: by its class, by the text of the error, or whatever a
    backward raises, and goes on.

    animate-anything dca2412 train.py:582: `except Exception as e: print(…); continue` around `accelerator.backward(loss)`.
    """
    passes = any(
        last_name(call.func) in conventions.BACKWARD
        for part in statement.body
        if not isinstance(part, ast.For | ast.While)
        for call in walk(part, ast.Call)
    )
    for handler in statement.handlers:
        caught = handler.type
        names = {
            dotted_name(n).rpartition(".")[2]
            for n in (caught.elts if isinstance(caught, ast.Tuple) else [caught])
            if n is not None
        }
        if names & failures.MEMORY_EXCEPTIONS:
            return handler
        if caught is not None and not names & failures.MEMORY_CARRIERS:
            continue
        if passes and _passes_over(handler):
            return handler
        for node in walk(handler, ast.Constant, ast.Call):
            match node:
                case ast.Constant(value=str(text)) if text in failures.OUT_OF_MEMORY_TEXTS:
                    return handler
                case ast.Call(func=function, args=[argument, *_]) if _mentions(
                    argument, handler.name
                ) and any(w in dotted_name(function).lower() for w in failures.MEMORY_WORDS):
                    return handler
    return None


def _passes_over(handler: ast.ExceptHandler) -> bool:
    """Whether a handler does no more than to tell of an error and go on: none is raised again, looked into, or ends the process."""
    return all(
        isinstance(part, ast.Pass | ast.Continue)
        or (
            isinstance(part, ast.Expr)
            and isinstance(part.value, ast.Call)
            and last_name(part.value.func) in _TELLS
        )
        for part in handler.body
    )


def _mentions(node: ast.expr, name: str | None) -> bool:
    return any(n.id == name for n in walk(node, ast.Name))


def catches(statement: ast.Try, failure: str, name: str = "") -> bool:
    """Whether a handler names an exception that a failure raises, or one of which nothing is known.

    open_lm 9bb92ef tests/test_save_load.py:150: `except AssertionError` around `os.makedirs()`.
    """
    if not statement.handlers:
        return True  # `finally` runs whatever was raised
    expected = failures.CATCHES[failure]
    if name in failures.ONLY_OS_ERRORS:
        expected = expected - _OTHERS
    return any(
        caught is None
        or (last := dotted_name(caught).rpartition(".")[2]) in expected
        or last not in _BUILTIN
        for handler in statement.handlers
        for caught in (handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type])
    )


def ends_only(handler: ast.ExceptHandler) -> bool:
    """Whether a handler catches that the process is to end, and no failure.

    lipfd 5726ad0 src/train_ddp.py:388: `except KeyboardInterrupt:` beside an `except Exception as e:` that raises again.
    """
    caught = handler.type
    names = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return all(n is not None and dotted_name(n) in _ENDS for n in names)


def catches_exit(handler: ast.ExceptHandler) -> bool:
    """Whether a handler stops a process that ends itself: bare, SystemExit, BaseException."""
    caught = handler.type
    names = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return caught is None or any(
        n is not None and dotted_name(n) in ("SystemExit", "BaseException") for n in names
    )
