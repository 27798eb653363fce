"""Checks that several processes do not pass: of their number, or of the rank that a launcher hands over."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from distlint.analysis.program.definitions import dotted_name, last_name
from distlint.analysis.program.syntax import asks_if_missing, ends_run, literals
from distlint.nodes import walk
from distlint.patterns import pattern

_RANKS: Final = frozenset({"rank", "local_rank", "global_rank", "LOCAL_RANK"})
_IS_ONE: Final[dict[type[ast.cmpop], bool]] = {
    ast.Eq: True,
    ast.LtE: True,
    ast.NotEq: False,
    ast.Gt: False,
}
"""Whether a comparison with 1 holds where a size is 1."""
_OF_GROUPS: Final = pattern(r"(?i)(?:^|[._])(?:[tcped]p|sp)(?:[._]|$)|group|mesh|parallel")
"""Owners of the size of a part of the processes."""


def is_asked_to_be_one(statement: ast.stmt) -> Iterator[ast.expr]:
    """What a statement lets go on where it is 1: `assert size == 1`, `if size > 1: raise …`."""
    for part, holds in _known_below(statement):
        match part:
            case ast.Compare(left=left, ops=[op], comparators=[ast.Constant(value=1)]) if (
                _IS_ONE.get(type(op)) is holds
            ):
                yield left


def _known_below(statement: ast.stmt) -> Iterator[tuple[ast.expr, bool]]:
    """What a check says of the code below it: the parts of its condition, and whether they hold."""
    match statement:
        case ast.Assert(test=test):
            yield from literals(test, True)
        case ast.If(test=test, body=[*_, last]) if ends_run(last):
            yield from literals(test, False)


def lets_one_pass(statement: ast.stmt) -> bool:
    """Whether several processes do not pass a check: of their number, or of the rank that a launcher hands over.

    yolor 3ca250a train.py:571: `assert opt.local_rank == -1, 'DDP mode not implemented for --evolve'`.
    """
    return any(map(_is_size, is_asked_to_be_one(statement))) or any(
        _says_no_rank(part, holds) for part, holds in _known_below(statement)
    )


def _says_no_rank(part: ast.expr, holds: bool) -> bool:
    """Whether a condition says that no launcher has numbered the process: a rank of -1."""
    match part:
        case ast.Compare(
            left=left, ops=[op], comparators=[ast.Constant() | ast.UnaryOp() as right]
        ):
            return (
                last_name(left) in _RANKS
                and not _OF_GROUPS.search(dotted_name(left))
                and ast.unparse(right) != "None"
                and asks_if_missing(op, right) is holds
            )
    return False


def _is_size(node: ast.expr) -> bool:
    """Whether an expression is the number of all processes; that of a group is another one."""
    if any(part.value == "WORLD_SIZE" for part in walk(node, ast.Constant)):
        return True
    match node:
        case ast.Call(func=func, args=[], keywords=[]):
            return last_name(func) == "get_world_size"
        case ast.Name() | ast.Attribute():
            return last_name(node) in ("world_size", "WORLD_SIZE") and not _OF_GROUPS.search(
                dotted_name(node)
            )
    return False
