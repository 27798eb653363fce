"""Environment variables that a program removes and puts back later in the same block, by syntax."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import Final

from distlint.analysis.program.definitions import Function, Module, dotted_name
from distlint.analysis.program.environment import Access, Use, blocks_of, statements
from distlint.analysis.program.program import Program
from distlint.nodes import last_name, walk
from distlint.patterns import pattern
from distlint.records import dataclass

_SETS: Final = pattern(r"(?:set|update|export|apply|write|put|load).*env", re.IGNORECASE)
"""Names of functions that write a dict into the environment."""


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


def put_anew(program: Program, module: Module, removal: Access) -> bool:
    """Whether a variable goes only where a dict has it, all of which is then written into the environment.

    FastVideo 2f3d407 fastvideo/worker/worker_base.py:57: `if key in envs and key in os.environ: del …`.
    """
    function = removal.function
    if function is None:
        return False
    asked = {
        name
        for outer in removal.above
        if isinstance(outer, ast.If)
        for name in _dicts_asked(outer.test)
    }
    return any(
        node.lineno > removal.node.lineno and _writes_all(program, module, node, asked)
        for node in walk(function, ast.Call)
    )


def _dicts_asked(test: ast.expr) -> Iterator[str]:
    """The variables of which all of a condition asks whether they have a key."""
    match test:
        case ast.BoolOp(op=ast.And(), values=values):
            for value in values:
                yield from _dicts_asked(value)
        case ast.Compare(ops=[ast.In()], comparators=[ast.Name(id=name)]):
            yield name


def _writes_all(program: Program, module: Module, call: ast.Call, names: set[str]) -> bool:
    """Whether a call writes every entry of a dict into the environment, or hands it to a function that does."""
    match call:
        case ast.Call(func=func, args=[ast.Name(id=given), *_]) if given in names:
            meaning = program.resolve_dotted(module, dotted_name(func))
        case _:
            return False
    if not isinstance(meaning, Function):
        # A file of the project that says nothing of ranks is not read: it is told by its name.
        return meaning == "os.environ.update" or _SETS.search(last_name(func)) is not None
    return bool(meaning.parameters) and _sets_each(meaning, meaning.parameters[0])


def _sets_each(function: Function, given: str) -> bool:
    """Whether a function goes over a dict's items and sets each in the environment."""
    for node in walk(function.node, ast.For, ast.Call):
        match node:
            case ast.For(
                target=ast.Tuple(elts=[ast.Name(id=key), _]),
                iter=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="items")),
                body=body,
            ) if name == given:
                for statement in body:
                    match statement:
                        case ast.Assign(
                            targets=[ast.Subscript(value=owner, slice=ast.Name(id=set_))]
                        ) if set_ == key and dotted_name(owner) in ("os.environ", "environ"):
                            return True
            case ast.Call(
                func=ast.Attribute(attr="update", value=owner), args=[ast.Name(id=name)]
            ) if name == given and dotted_name(owner) in ("os.environ", "environ"):
                return True
    return False


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
    reads = [n for s in (*work, *block[last + 1 :]) for n in walk(s, ast.Name) if n.id == name]
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
