"""Where processes take turns by the lock of a file, or one of them is let through by a file that it alone can make."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import dotted_name, last_name
from distlint.analysis.program.environment import blocks
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import assignments, literals, mentions_rank, own_nodes
from distlint.analysis.questions.filesystem import asked_paths
from distlint.nodes import walk
from distlint.patterns import pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Function

_OF_FILES: Final = pattern(
    r"file_?lock|inter_?process_?(reader_?writer_?)?lock|portalocker\.", re.I
)
"""Locks that keep other processes out: filelock, fasteners, portalocker, and what projects call their own. One of
threading keeps out none."""
_LOCKS: Final = ("Lock", "_lock")
_THERE: Final = frozenset({"Exception", "BaseException", "OSError", "IOError", "FileExistsError"})
"""Errors by which a process learns that another one has made the file."""
_NOBODY: Final = (None, False, -1)
"""What a variable holds in a process that has not made the file."""
_MAX_CALLERS: Final = 3


def under_a_lock(site: CallSite) -> bool:
    """Whether a call stands in a `with` block of something that is called a lock.

    nemo-toolkit 3.0.0 nemo/collections/speechlm2/modules/ear_tts_model.py:347: `with FileLock(path):`.
    """
    return any(_name(held).endswith(_LOCKS) for _, held in _entered(site))


def locks_around(sites: Iterable[CallSite]) -> set[int]:
    """The `with` statements, by their nodes, that hold the lock of a file over a chain of calls.

    verl 0.9.1 verl/utils/fs.py:251: what is copied and what is listed, under one `FileLock`.
    """
    return {id(block) for site in sites for block, held in _entered(site) if _keeps_out(held, site)}


def in_turn_by_lock(live: LiveProgram, site: CallSite, *, once: bool = False) -> bool:
    """Whether the processes make a call one after the other, since it, or all that lead to it, hold a file's lock.

    TinyZero 95df88f verl/utils/fs.py:83: `with FileLock(lock_file=lock_file):` around `copy(src, local_path)`. Callers
    that stand under a test of the rank count for nothing.

    Args:
        live: the program.
        site: the call.
        once: whether a test under the lock has to ask what is there, so that one process alone makes it.
    """
    return _in_turn(live, site, once, _MAX_CALLERS)


def _in_turn(live: LiveProgram, site: CallSite, once: bool, depth: int) -> bool:
    if made_it_alone(site) or _locks_the_file(site):
        return True
    for block, held in _entered(site):
        if _keeps_out(held, site):
            inside = {id(node) for statement in block.body for node in walk(statement)}
            asked = [g for g in site.guards if id(g.node) in inside and asked_paths(g.node)]
            if asked or not once:
                return True
    callers = [
        caller
        for caller in live.callers.get(site.function, ())
        if caller.function is not site.function
        and not any(not g.exits and mentions_rank(g.node) for g in caller.guards)
    ]
    return bool(depth and callers) and all(
        _in_turn(live, caller, once, depth - 1) for caller in callers
    )


def _locks_the_file(site: CallSite) -> bool:
    """Whether the first thing that is done with the file that a call opens, or with another one above, is to lock it.

    SimpleTuner bc8e6ab simpletuner/helpers/training/state_tracker.py:159: `with path.open("w") as f:`, and below it
    `fcntl.flock(f, fcntl.LOCK_EX)`.
    """
    for node in own_nodes(site.function, ast.With):
        match node:
            case ast.With(items=items, body=[first, *_]) if any(
                item.context_expr is site.node for item in items
            ):
                if _is_exclusive_lock(first):
                    return True
    return any(
        _is_exclusive_lock(statement)
        and (_stands_in(site, block[place + 1 :]) or _is_opened_for(site, statement, block[:place]))
        for block in blocks(site.function.body)
        for place, statement in enumerate(block)
    )


def _is_opened_for(site: CallSite, lock: ast.stmt, above: list[ast.stmt]) -> bool:
    """Whether a call opens what a lock is taken on, and nothing is done with it before.

    LAVENDER 139860e utils/misc.py:64: `fd = open(path, "w+")`, then `fcntl.lockf(fd, fcntl.LOCK_EX)`.
    """
    match site.statement:
        case ast.Assign(targets=[target], value=opened) if (
            opened is site.node and site.statement in above and (name := dotted_name(target))
        ):
            between = above[above.index(site.statement) + 1 :]
            return _names(lock, name) and not any(_names(each, name) for each in between)
    return False


def _names(statement: ast.stmt, name: str) -> bool:
    parts = walk(statement, ast.Name, ast.Attribute)
    return any(dotted_name(part) == name for part in parts)


def _is_exclusive_lock(statement: ast.stmt) -> bool:
    """`fcntl.flock(file, fcntl.LOCK_EX)`; without `LOCK_NB`, which lets go on who does not get it."""
    match statement:
        case ast.Expr(value=ast.Call(func=called, args=[_, how])):
            names = {last_name(part) for part in walk(how) if isinstance(part, ast.expr)}
            return last_name(called) in ("flock", "lockf") and (
                "LOCK_EX" in names and "LOCK_NB" not in names
            )
    return False


def made_it_alone(site: CallSite) -> bool:
    """Whether a call is made only by the process that has made a file which no second one can make.

    DoRA 7e2f10a image_video_text_understanding/CLIP-ViL/src/tools/sharearray.py:175: `os.open(lock, O_CREAT | O_EXCL)`
    in a `try`, whose `else` writes, and `if fd_lock > 0: os.unlink(lock)` behind it.
    """
    for attempt, made, name in _exclusive(site.function):
        behind = [*attempt.body[attempt.body.index(made) + 1 :], *attempt.orelse]
        if site.statement is made or _stands_in(site, behind):
            return True
        if isinstance(made, ast.With) and _stands_in(site, made.body):
            return True
        end = attempt.end_lineno or 0
        left = all(_leaves(handler.body[-1]) for handler in attempt.handlers)
        if left and site.node.lineno > end and attempt in site.function.body:
            return True
        if name and any(
            holds and _names_owner(part, name)
            for guard in site.guards
            for part, holds in literals(guard.node, guard.taken)
        ):
            return True
    return False


@remembered
def _exclusive(function: Function) -> tuple[tuple[ast.Try, ast.stmt, str], ...]:
    """The `try` statements that make a file which must not be there, with the statement that does and the name for it."""
    found = []
    for attempt in own_nodes(function):
        if not isinstance(attempt, ast.Try) or not any(map(_catches, attempt.handlers)):
            continue
        for statement in attempt.body:
            parts: list[ast.AST] = [statement]
            if isinstance(statement, ast.With):
                parts = [item.context_expr for item in statement.items]
            elif not isinstance(statement, ast.Assign | ast.Expr):
                continue
            if any(_makes_new(node) for part in parts for node in walk(part)):
                found.append((attempt, statement, _name_of_owner(function, statement)))
    return tuple(found)


def _name_of_owner(function: Function, made: ast.stmt) -> str:
    """The variable that tells who has made the file: everybody else's is -1, None or False."""
    match made:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            others = [each for each in assignments(function).get(name, ()) if each is not value]
            return name if others and all(_is_nobody(each) for each in others) else ""
    return ""


def _is_nobody(node: ast.expr) -> bool:
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1)):
            return True
        case ast.Constant(value=value):
            return value in _NOBODY
    return False


def _names_owner(part: ast.expr, name: str) -> bool:
    """`fd > 0`, `fd >= 0`, `fd != -1`, `fd is not None`, `fd`"""
    match part:
        case ast.Compare(
            left=ast.Name(id=asked), ops=[ast.Gt() | ast.GtE() | ast.NotEq() | ast.IsNot()]
        ):
            return asked == name
        case ast.Name(id=asked):
            return asked == name
    return False


def _makes_new(node: ast.AST) -> bool:
    """Whether a call makes a file, or fails where it is there: `os.open(…, O_CREAT | O_EXCL)`, `open(…, "x")`."""
    if not isinstance(node, ast.Call):
        return False
    if dotted_name(node.func) == "os.open":
        return any(
            isinstance(part, ast.Attribute) and part.attr == "O_EXCL"
            for given in node.args
            for part in walk(given)
        )
    given = [*node.args[1:2], *(k.value for k in node.keywords if k.arg == "mode")]
    if isinstance(node.func, ast.Attribute):  # of a path
        given = [*node.args[:1], *given]
    return last_name(node.func) == "open" and any(
        isinstance(mode, ast.Constant) and isinstance(mode.value, str) and mode.value[:1] == "x"
        for mode in given
    )


def _catches(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(kind is None or last_name(kind) in _THERE for kind in kinds)


def _leaves(last: ast.stmt) -> bool:
    return isinstance(last, ast.Return | ast.Raise | ast.Continue)


def _stands_in(site: CallSite, block: list[ast.stmt]) -> bool:
    return any(part is site.node for statement in block for part in walk(statement))


def _entered(site: CallSite) -> Iterator[tuple[ast.With, ast.expr]]:
    """What the `with` statements around a call have entered before it, the one that it stands in among them."""
    for node in own_nodes(site.function, ast.With):
        if any(part is site.node for part in walk(node)):
            for item in node.items:
                if any(part is site.node for part in walk(item)):
                    break
                yield node, item.context_expr


def _keeps_out(held: ast.expr, site: CallSite) -> bool:
    """Whether what a `with` statement enters is the lock of a file, made here or above."""
    name = _name(held)
    made = [name, *map(_name, assignments(site.function).get(name, []))]
    return any(_OF_FILES.search(each) for each in made)


def _name(expression: ast.expr) -> str:
    called = expression.func if isinstance(expression, ast.Call) else expression
    if isinstance(called, ast.Attribute) and called.attr == "acquire":
        return _name(called.value)
    return dotted_name(called)
