"""`if main: if due: …` turned around: under `if due:` on all ranks, with the rest under `if main:`.

Every statement keeps its place among the others, and its comments.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from dataclasses import replace

from distlint.analysis.program.definitions import Function
from distlint.analysis.program.places import span_of
from distlint.columns import split_lines
from distlint.edits import Replace
from distlint.records import dataclass
from distlint.repairs.blocks import block_with
from distlint.repairs.guarding import has_long_text, source


@dataclass(frozen=True, slots=True)
class _Piece:
    """Consecutive statements with the comments above them, as lines from column 0."""

    blank: int
    """How many blank lines stand above."""
    lines: tuple[str, ...]
    for_all: bool


def turned(
    text: str,
    function: Function,
    branch: ast.If,
    inner: ast.If,
    for_all: Collection[ast.stmt],
) -> Replace | None:
    """The edit for which all ranks run some statements of `inner`, and rank 0 what else `branch` holds.

    Args:
        text: the file.
        function: what holds the branch.
        branch: the test of rank 0, without `else`.
        inner: what decides in it for all ranks alike, without `else`.
        for_all: statements of `inner` for all ranks.

    Returns:
        The edit; None where lines would not stay as they are: a text of several lines, statements that share one.
    """
    lines = split_lines(text)
    main, due = source(text, branch.test), source(text, inner.test)
    if "\n" in main or "\n" in due or has_long_text(branch):
        return None
    if block_with(function, branch) is None or not lines[branch.lineno - 1].lstrip().startswith(
        "if"
    ):
        return None
    if not (_on_own_lines(lines, branch) and _on_own_lines(lines, inner)):
        return None
    unit = lines[inner.lineno - 1][branch.col_offset : inner.col_offset]
    inside = [
        unit + line if line else line
        for piece in _pieces(lines, inner, for_all)
        for line in _under(piece, main, unit)
    ]
    pieces = _pieces(lines, branch, [inner])
    at = next(number for number, piece in enumerate(pieces) if piece.for_all)
    below = (inner.end_lineno or inner.lineno) - inner.lineno
    pieces[at] = replace(pieces[at], lines=(*pieces[at].lines[:-below], *inside))
    code = [line for piece in pieces for line in _under(piece, main, unit)]
    return Replace(span_of(branch), "\n".join(code))


def _under(piece: _Piece, main: str, unit: str) -> tuple[str, ...]:
    """The lines of a piece; what is not for all ranks, under the test of rank 0."""
    above = ("",) * piece.blank
    if piece.for_all:
        return (*above, *piece.lines)
    return (*above, f"if {main}:", *(unit + line if line else line for line in piece.lines))


def _pieces(lines: Sequence[str], block: ast.If, for_all: Collection[ast.stmt]) -> list[_Piece]:
    """The statements below an `if`, cut where those for all ranks begin and end."""
    pieces: list[_Piece] = []
    for statement in block.body:
        first = _first_line(block, statement)
        blank = 0
        while not lines[first + blank - 1].strip():
            blank += 1
        last = statement.end_lineno or statement.lineno
        own = [_from(line, statement.col_offset) for line in lines[first - 1 : last]]
        everyone = statement in for_all
        if pieces and pieces[-1].for_all is everyone:
            pieces[-1] = replace(pieces[-1], lines=(*pieces[-1].lines, *own))
        else:
            pieces.append(_Piece(blank if pieces else 0, tuple(own[blank:]), everyone))
    return pieces


def _first_line(block: ast.If, statement: ast.stmt) -> int:
    """The line below what stands above a statement: its comments begin there."""
    at = block.body.index(statement)
    above: ast.AST = block.body[at - 1] if at else block.test
    return (getattr(above, "end_lineno", None) or statement.lineno - 1) + 1


def _from(line: str, column: int) -> str:
    """A line without the indentation of its block; of a comment that stands further left, none."""
    return (line.lstrip() if line[:column].strip() else line[column:]).rstrip()


def _on_own_lines(lines: Sequence[str], block: ast.If) -> bool:
    """Whether each statement below an `if` stands alone on its lines."""
    above = block.test.end_lineno or block.lineno
    for statement in block.body:
        if statement.lineno <= above or lines[statement.lineno - 1][: statement.col_offset].strip():
            return False
        above = statement.end_lineno or statement.lineno
    return True
