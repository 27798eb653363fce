"""Where processes take turns by the lock of a file."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import dotted_name
from distlint.analysis.program.syntax import assignments, mentions_rank, own_nodes
from distlint.analysis.questions.filesystem import asked_paths
from distlint.nodes import walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.live.program import LiveProgram

_OF_FILES: Final = re.compile(
    r"file_?lock|inter_?process_?(reader_?writer_?)?lock|portalocker\.", re.I
)
"""Locks that keep other processes out: filelock, fasteners, portalocker, and what projects call their own. One of
threading keeps out none."""
_LOCKS: Final = ("Lock", "_lock")
_MAX_CALLERS: Final = 3


def under_a_lock(site: CallSite) -> bool:
    """Whether a call stands in a `with` block of something that is called a lock.

    nemo-toolkit 3.0.0 nemo/collections/speechlm2/modules/ear_tts_model.py:347: `with FileLock(path):`.
    """
    return any(_name(held).endswith(_LOCKS) for _, held in _entered(site))


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


def _entered(site: CallSite) -> Iterator[tuple[ast.With, ast.expr]]:
    """What the `with` statements around a call have entered before it, the one that it stands in among them."""
    for node in own_nodes(site.function):
        if isinstance(node, ast.With) and any(part is site.node for part in walk(node)):
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
