"""Conditions that all ranks answer alike: a count of steps, an option, what was asked where the object was made."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.live.joint_entry import may_be_about_rank
from distlint.analysis.program.chosen import options
from distlint.analysis.program.environment import statements
from distlint.analysis.program.syntax import literals
from distlint.nodes import last_name

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import Guard
    from distlint.analysis.program.definitions import Function
    from distlint.analysis.program.program import Program

_OF_ALL: Final = frozenset({"sync_gradients"})
"""Flags that count steps: accelerate 1.15.0 accelerate/state.py, `GradientState`."""


def is_decided(program: Program, guard: Guard, made: frozenset[str]) -> bool:
    """Whether a condition leaves nothing but the rank to decide who comes past it.

    A mere flag (`settings.keeps_a_table`) may hold on rank 0 alone, where the object is; an option of the command
    line, a comparison or what `made` asks may not. What an early exit has left behind holds for all.
    """
    if may_be_about_rank(guard):
        return False
    return (
        guard.exits
        or guard.value.truthiness() is not None
        or all(_is_shared(program, part, made) for part, _ in literals(guard.node, guard.taken))
    )


def tests_around(function: Function, statement: ast.stmt) -> frozenset[str]:
    """What the `if`s around a statement ask."""
    return frozenset(
        text
        for inner, above in statements(function.body)
        if inner is statement
        for outer in above
        if isinstance(outer, ast.If)
        for text in parts_of_test(outer.test)
    )


def parts_of_test(test: ast.expr) -> Iterator[str]:
    """What holds where a test does."""
    for part, holds in literals(test, taken=True):
        if holds:
            yield ast.unparse(part)


def _is_shared(program: Program, part: ast.expr, made: frozenset[str]) -> bool:
    match part:
        case ast.Name() | ast.Attribute():
            name = last_name(part)
            return ast.unparse(part) in made or name in options(program) or name in _OF_ALL
    return True
