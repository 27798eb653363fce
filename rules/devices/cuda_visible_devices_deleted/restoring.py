"""Environment variables that a program removes and puts back later in the same block, by syntax."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from distlint.analysis.program.definitions import Module
from distlint.analysis.program.environment import Access, Use, blocks_of, statements
from distlint.nodes import walk


@dataclass(frozen=True, slots=True, eq=False)
class Restored:
    """A removal that is undone.

    `restore` is the statement that writes the variable again. `always` where a `finally` does it.
    `simple` where saving, removing and restoring stand in one block and nothing else reads what was
    saved: then `removed` are these statements, and `work` runs in between.
    """

    restore: ast.stmt
    always: bool
    simple: bool
    removed: tuple[ast.stmt, ...] = ()
    work: tuple[ast.stmt, ...] = ()


def restored_later(module: Module, removal: Access, uses: Sequence[Access]) -> Restored | None:
    """How a removed variable gets back the value it had; None where it does not.

    Args:
        module: the file.
        removal: the access that removes the variable.
        uses: all accesses of the variable in the file.
    """
    same = [use for use in uses if use.function is removal.function]
    saved = {
        name: use
        for use in same
        for name in saved_in(use)
        if use.node.lineno <= removal.node.lineno
    }
    for use in same:
        if use.use is not Use.WRITE or use.node.lineno <= removal.node.lineno:
            continue
        if isinstance(use.value, ast.Name) and use.value.id in saved:
            return _restored(module, removal, saved[use.value.id], use.value.id, use)
    return None


def saved_in(use: Access) -> list[str]:
    """The variable of the program that a read of the environment goes to."""
    match use.statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if use.use in (
            Use.READ,
            Use.READ_AND_REMOVE,
        ) and use.node in walk(value):
            return [name]
    return []


def _restored(module: Module, removal: Access, save: Access, name: str, write: Access) -> Restored:
    for outer in write.above:
        if isinstance(outer, ast.Try) and any(write.statement in walk(s) for s in outer.finalbody):
            return Restored(write.statement, True, False)
    block = next(
        (
            body
            for body in _blocks(module, removal)
            if all(any(_holds(s, a.statement) for s in body) for a in (removal, save, write))
        ),
        None,
    )
    if block is None:
        return Restored(write.statement, False, False)
    parts = [next(s for s in block if _holds(s, a.statement)) for a in (save, removal, write)]
    first, last = block.index(parts[1]), block.index(parts[2])
    work = tuple(block[first + 1 : last])
    reads = [
        n
        for s in (*work, *block[last + 1 :])
        for n in walk(s)
        if isinstance(n, ast.Name) and n.id == name
    ]
    only = all(
        _does_only(part, access) for part, access in zip(parts, (save, removal, write), strict=True)
    )
    leaves = any(
        isinstance(n, (ast.Return, ast.Break, ast.Continue, ast.Yield, ast.YieldFrom))
        for s in work
        for n in walk(s)
    )
    between = block[block.index(parts[0]) + 1 : first]
    simple = bool(work) and only and not reads and not leaves and not between
    return Restored(write.statement, False, simple, tuple(dict.fromkeys(parts)), work)


def _blocks(module: Module, access: Access) -> list[list[ast.stmt]]:
    """The blocks around a statement, innermost first."""
    found = [module.body.body]
    for outer in access.above:
        found += [b for b in blocks_of(outer) if any(_holds(s, access.statement) for s in b)]
    return found[::-1]


def _holds(outer: ast.stmt, inner: ast.stmt) -> bool:
    return outer is inner or any(s is inner for s, _ in statements([outer]))


def _does_only(part: ast.stmt, access: Access) -> bool:
    """Whether a statement is the access itself, or an `if` without `else` that does nothing besides."""
    if part is access.statement:
        return not isinstance(part, ast.Delete) or len(part.targets) == 1
    match part:
        case ast.If(body=[only], orelse=[]):
            return only is access.statement
    return False
