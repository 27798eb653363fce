"""What a fix changes as pieces of text: for readers that take ranges and no diff."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from distlint.fixing.differing import differing, shared
from distlint.patterns import pattern
from distlint.records import dataclass

_LINE = pattern(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_END = pattern(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class Replacement:
    """A range of the old text (lines and characters from 1, end exclusive) and what takes its place."""

    line: int
    column: int
    end_line: int
    end_column: int
    text: str


Changes = Mapping[str, tuple[Replacement, ...]]
"""What one fix changes, by the files as they are shown; the first is that of its finding, or the one it names."""


def replacements(before: str, after: str) -> tuple[Replacement, ...]:
    """The pieces that turn `before` into `after`, in their order; they do not overlap."""
    old, new = _LINE.findall(before), _LINE.findall(after)
    return tuple(
        _piece("".join(old[:i1]), "".join(old[i1:i2]), "".join(new[j1:j2]))
        for i1, i2, j1, j2 in differing(old, new)
    )


def replaced(before: str, pieces: Sequence[Replacement]) -> str:
    """The text that `pieces`, which stand in their order, make of `before`."""
    starts = [0, *(end.end() for end in _END.finditer(before))]
    parts = []
    done = 0
    for piece in pieces:
        parts += [before[done : starts[piece.line - 1] + piece.column - 1], piece.text]
        done = starts[piece.end_line - 1] + piece.end_column - 1
    return "".join([*parts, before[done:]])


def _piece(above: str, old: str, new: str) -> Replacement:
    """What is between the common beginning and the common end of `old` and `new`."""
    head = shared(old, new)
    if old[:head].endswith("\r"):  # never between the two characters of a line end
        head -= 1
    tail = shared(old[head:][::-1], new[head:][::-1])
    if tail and old[len(old) - tail] == "\n":
        tail -= 1
    start = _position(above + old[:head])
    end = _position(above + old[: len(old) - tail])
    return Replacement(*start, *end, new[head : len(new) - tail])


def _position(text: str) -> tuple[int, int]:
    """Line and character, from 1, at the end of `text`."""
    ends = list(_END.finditer(text))
    return len(ends) + 1, len(text) - (ends[-1].end() if ends else 0) + 1
