"""Continued lines that stand below an opening bracket stay there when an edit moves the bracket."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Sequence
from dataclasses import field

from distlint.fixing.differing import differing
from distlint.records import dataclass

_TEXT_STARTS = getattr(tokenize, "FSTRING_START", None)  # from Python 3.12 on; before, a STRING
_TEXT_ENDS = getattr(tokenize, "FSTRING_END", None)
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")


@dataclass(slots=True)
class _Brackets:
    """For each line, the columns behind brackets that it opens and leaves open, with the line that closes them."""

    left_open: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    in_text: set[int] = field(default_factory=set)
    """The lines that begin inside a string."""


def aligned(before: str, after: str) -> str:
    """The edited text, with continued lines moved as far as the bracket below which they are aligned.

    Args:
        before: the text as it was.
        after: the text as the edits left it; it parses, and so did the other.

    Returns:
        `after`, in which nothing but the indentation of continued lines of changed statements differs.
    """
    old, new = before.split("\n"), after.split("\n")
    pairs = [(i, j) for i, j in _changed(old, new) if _may_continue(old, i)]
    if not pairs:
        return after
    was, now = _brackets(before), _brackets(after)
    shifts: dict[int, int] = {}
    for i, j in pairs:
        opened, moved = was.left_open.get(i, []), now.left_open.get(j, [])
        if not opened or not moved:
            continue
        (column, end), (moved_to, moved_end) = opened[-1], moved[-1]
        if _indentation(old[i]) != column or end - i != moved_end - j:
            continue  # a hanging indent, which does not follow the bracket
        by = moved_to - _indentation(new[j])
        for line in range(j + 1, moved_end + 1):
            if line not in now.in_text and new[line - 1].strip():
                shifts[line] = shifts.get(line, 0) + by
    if any(_indentation(new[line - 1]) + by < 0 for line, by in shifts.items()):
        return after
    for line, by in shifts.items():
        text = new[line - 1]
        new[line - 1] = " " * (_indentation(text) + by) + text.lstrip(" ")
    return "\n".join(new)


def _changed(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """The lines that differ, the last of those that took another's place first: both numbers, from 1."""
    return [
        (i2 - back, j2 - back)
        for i1, i2, j1, j2 in differing(old, new)
        for back in range(min(i2 - i1, j2 - j1))
    ]


def _may_continue(lines: Sequence[str], number: int) -> bool:
    """Whether the line behind a line stands below something in it."""
    if number >= len(lines) or not lines[number].strip():
        return False
    return _indentation(lines[number]) > _indentation(lines[number - 1])


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _brackets(text: str) -> _Brackets:
    found = _Brackets()
    stack: list[tuple[int, int]] = []
    texts: list[int] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.STRING:
            found.in_text.update(range(token.start[0] + 1, token.end[0] + 1))
        elif token.type == _TEXT_STARTS:
            texts.append(token.start[0])
        elif token.type == _TEXT_ENDS:
            found.in_text.update(range(texts.pop() + 1, token.end[0] + 1))
        elif token.type == tokenize.OP and token.string in _OPENING:
            stack.append((token.start[0], token.end[1]))
        elif token.type == tokenize.OP and token.string in _CLOSING and stack:
            line, column = stack.pop()
            if token.start[0] > line:
                found.left_open.setdefault(line, []).append((column, token.start[0]))
    for brackets in found.left_open.values():
        brackets.sort()
    return found
