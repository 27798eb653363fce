"""Whether the replicas of a function drift apart, and which condition would keep them equal."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.syntax import own_nodes
from distlint.nodes import walk
from distlint.records import dataclass

from .replay import LENGTHS, DirtyStep, Undecided, World, outcomes

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Function

    from .shape import Shape

_WORLDS: Final = tuple(World(window, length) for length in LENGTHS for window in (2, 3, 4))
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
        for world in _WORLDS:
            wrong: DirtyStep | None = None
            for outcome in outcomes(function, shape, world, {}):
                goes_wrong = outcome.goes_wrong()
                if goes_wrong:
                    wrong = wrong or outcome.dirty[0]
                elif goes_wrong is not None:
                    break
            else:
                if wrong is not None:
                    return Drift(wrong, world.length != LENGTHS[0])
    except (Undecided, RecursionError):
        return None
    return None


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
    """Whether nothing goes wrong, and gradients are added up as often as the optimizer steps."""
    try:
        for world in _WORLDS:
            said = False
            for outcome in outcomes(function, shape, world, other):
                goes_wrong = outcome.goes_wrong()
                if goes_wrong or (goes_wrong is not None and outcome.synchronised != outcome.steps):
                    return False
                said = said or goes_wrong is not None
            if not said:
                return False
    except (Undecided, RecursionError):
        return False
    return True


def opposite(test: ast.expr) -> ast.expr:
    """A condition that holds where another does not."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return operand
        case ast.Compare(left=left, ops=[op], comparators=comparators) if type(op) in _OPPOSITE:
            return ast.Compare(left, [_OPPOSITE[type(op)]], comparators)
    return ast.UnaryOp(ast.Not(), test)
