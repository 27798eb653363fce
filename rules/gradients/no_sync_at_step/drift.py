"""Whether the replicas of a function drift apart, and which condition would keep them equal."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.syntax import own_nodes
from distlint.nodes import walk

from .replay import LENGTHS, DirtyStep, Outcome, Undecided, outcomes

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Function

    from .shape import Shape

_WINDOWS: Final = (2, 3, 4)
_OPPOSITE: Final[dict[type[ast.cmpop], ast.cmpop]] = {
    ast.Eq: ast.NotEq(),
    ast.NotEq: ast.Eq(),
    ast.Lt: ast.GtE(),
    ast.GtE: ast.Lt(),
    ast.Gt: ast.LtE(),
    ast.LtE: ast.Gt(),
}


@dataclass(frozen=True, slots=True)
class Drift:
    """A step that goes wrong; `at_the_end`: only where the loader does not divide into windows."""

    wrong: DirtyStep
    at_the_end: bool


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition of the code, and what should stand in its place."""

    condition: ast.expr
    code: str


def drift_of(function: Function, shape: Shape) -> Drift | None:
    """The first step that goes wrong whatever the settings are that are not known; None where nothing is sure."""
    try:
        for length in LENGTHS:
            for window in _WINDOWS:
                found = outcomes(function, shape, window, length, {})
                if _all(found, wrong=True):
                    wrong = next(step for each in found for step in each.dirty)
                    return Drift(wrong, length != LENGTHS[0])
    except (Undecided, RecursionError):
        return None
    return None


def _all(found: list[Outcome], *, wrong: bool) -> bool:
    """Whether every run that says something says the same."""
    said = [each.goes_wrong() for each in found]
    return wrong in said and (not wrong) not in said


def repaired(function: Function, shape: Shape, drift: Drift) -> Condition | None:
    """What holds gradients back, decided as the step is: tried on the same numbers."""
    guards = drift.wrong.guards
    if len(guards) != 1:
        return None
    guard = shape.meaning(guards[0])
    taken = {id(n) for n in walk(guard)}
    for condition in _conditions(function):
        if id(condition) in taken:
            continue
        for instead in (opposite(guard), guard):
            if _keeps_equal(function, shape, {id(condition): instead}):
                return Condition(condition, ast.unparse(instead))
    return None


def _conditions(function: Function) -> Iterator[ast.expr]:
    """The comparisons and remainders of a function, as they stand in conditions."""
    for node in own_nodes(function):
        if isinstance(node, ast.Compare) or (
            isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod)
        ):
            yield node


def _keeps_equal(function: Function, shape: Shape, other: dict[int, ast.expr]) -> bool:
    try:
        return all(
            _once_for_each_step(outcomes(function, shape, window, length, other))
            for length in LENGTHS
            for window in _WINDOWS
        )
    except (Undecided, RecursionError):
        return False


def _once_for_each_step(found: list[Outcome]) -> bool:
    """Whether nothing goes wrong, and gradients are added up as often as the optimizer steps."""
    return _all(found, wrong=False) and all(
        each.synchronised == each.steps for each in found if each.goes_wrong() is not None
    )


def opposite(test: ast.expr) -> ast.expr:
    """A condition that holds where another does not."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return operand
        case ast.Compare(left=left, ops=[op], comparators=comparators) if type(op) in _OPPOSITE:
            return ast.Compare(left, [_OPPOSITE[type(op)]], comparators)
    return ast.UnaryOp(ast.Not(), test)
