"""Flags that carry a test of the rank: what stands under one is left to rank 0, though nothing there names a rank."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import last_name
from distlint.analysis.program.syntax import assignments, literals, mentions_rank
from distlint.knowledge import conventions, ranks

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.program.definitions import Function

_IS_MAIN: Final = frozenset(
    name
    for table in (conventions.NAMED_RANKS, ranks.ANY_ATTRIBUTES, ranks.ANY_METHODS)
    for name, kind in table.items()
    if kind == "is_main"
)
_Literal = tuple[ast.expr, bool]


def left_to_main(site: CallSite) -> bool:
    """Whether a call stands under a flag that has its value on rank 0 alone, given the other conditions there.

    LLaMA2-Accessory accessory/data/alpaca.py:137: `need_collect_anno` is False where `cache_on_disk and rank != 0`,
    and the write stands under both the flag and `cache_on_disk`.
    """
    held = [part for guard in site.guards for part in literals(guard.node, guard.taken)]
    known = {(ast.unparse(node), holds) for node, holds in held if _is_kept(node, site.function)}
    return any(
        isinstance(node, ast.Name) and _only_on_main(node.id, holds, known, site.function)
        for node, holds in held
    )


def _only_on_main(flag: str, value: bool, known: set[tuple[str, bool]], function: Function) -> bool:
    """Whether every assignment that gives a flag a value is rank 0's, or of another case than is known to hold."""
    found = list(_given(function.body, flag, ()))
    if not found or flag in function.parameters or len(found) != len(assignments(function)[flag]):
        return False
    if not all(isinstance(given.value, bool) for given, _ in found if given is not None):
        return False
    by_rank = False
    for given, conditions in found:
        if given is None:
            return False
        if given.value is not value:
            continue
        if any(_is_main(node, holds) for node, holds in conditions):
            by_rank = True
        elif not any((ast.unparse(node), not holds) in known for node, holds in conditions):
            return False
    return by_rank


def _given(
    body: list[ast.stmt], flag: str, conditions: tuple[_Literal, ...]
) -> Iterator[tuple[ast.Constant | None, tuple[_Literal, ...]]]:
    """The constants that a flag is assigned below, each with its conditions; None for another value."""
    for statement in body:
        match statement:
            case ast.If(test=test, body=then, orelse=orelse):
                yield from _given(then, flag, (*conditions, *literals(test, True)))
                yield from _given(orelse, flag, (*conditions, *literals(test, False)))
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name == flag:
                yield value if isinstance(value, ast.Constant) else None, conditions


def _is_main(node: ast.expr, holds: bool) -> bool:
    """Whether a condition that came out one way leaves rank 0."""
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[ast.Constant(value=0)]):
            return mentions_rank(left) and isinstance(op, ast.Eq if holds else ast.NotEq)
        case ast.Name() | ast.Attribute() | ast.Call():
            return holds and last_name(node) in _IS_MAIN
    return False


def _is_kept(node: ast.expr, function: Function) -> bool:
    """Whether a condition is a parameter or name that the function does not assign: it comes out the same twice."""
    return isinstance(node, ast.Name) and node.id not in assignments(function)
