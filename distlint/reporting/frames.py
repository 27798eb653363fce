"""Code frames: the lines of a finding with marks under the places that matter."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from itertools import pairwise

from distlint.columns import display_column
from distlint.findings import Place
from distlint.patterns import pattern
from distlint.records import dataclass
from distlint.reporting.report import Texts
from distlint.reporting.style import Style

NEAR = 4
"""Lines between two places up to which the lines between them are shown too."""

_TAB = "    "

_WORD = pattern(r"[→←]\s+\S+|\S+")
"""An arrow goes with the word that it points to."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A place to underline: the finding itself (`primary`) or one that explains it."""

    place: Place
    label: str = ""
    primary: bool = False


def frame(marks: Sequence[Mark], texts: Texts, style: Style, width: int) -> list[str]:
    """The lines of one file around `marks`, numbered, with the marks below them.

    All marks are in the same file. `width` is in terminal cells; longer code is cut around its mark.
    """
    path = marks[0].place.path
    lines = texts.lines(path)
    if not lines or all(not texts.line(path, mark.place.line) for mark in marks):
        return []
    shown = sorted(_lines_to_show(marks, texts))
    gutter = len(str(shown[-1]))
    by_line: dict[int, list[Mark]] = {}
    for mark in marks:
        by_line.setdefault(mark.place.line, []).append(mark)
    result: list[str] = []
    previous = shown[0] - 1
    bar = style.dim(style.bar)
    for number in shown:
        if number > previous + 1:
            result.append(style.dim(f"{style.dots:>{gutter}}"))
        previous = number
        text = lines[number - 1]
        here = sorted(by_line.get(number, ()), key=lambda mark: mark.place.column)
        spans = [_span(mark.place, text) for mark in here]
        code, offset = _cut(text, spans, width - gutter - 3)
        result.append(f"{style.dim(f'{number:>{gutter}}')} {bar} {code}".rstrip())
        for mark, (start, end) in zip(here, spans, strict=True):
            result += _under(mark, text, start, end, offset, gutter, style, width)
    return result


def _lines_to_show(marks: Sequence[Mark], texts: Texts) -> set[int]:
    path = marks[0].place.path
    count = len(texts.lines(path))
    marked = sorted({mark.place.line for mark in marks if 1 <= mark.place.line <= count})
    shown = set(marked)
    for mark in marks:
        if mark.primary:
            around = (mark.place.line - 1, mark.place.line + 1)
            shown |= {number for number in around if texts.line(path, number).strip()}
    for first, second in pairwise(marked):
        if second - first <= NEAR:
            shown |= set(range(first, second))
    return {number for number in shown if 1 <= number <= count}


def _span(place: Place, text: str) -> tuple[int, int]:
    """First and end character (from 0) of `place` on its first line."""
    start = display_column(text, place.column) - 1
    if place.end_line > place.line:
        end = len(text.rstrip())
    else:
        end = display_column(text, place.end_column) - 1
    return start, max(end, start + 1)


def _under(
    mark: Mark, text: str, start: int, end: int, offset: int, gutter: int, style: Style, width: int
) -> list[str]:
    lead = cells(printable(text[offset:start])) + (cells(style.ellipsis) if offset else 0)
    room = max(width - gutter - 3 - lead, 1)
    length = min(max(cells(printable(text[start:end])), 1), room)
    paint = style.red if mark.primary else style.blue
    margin = f"{'':>{gutter}} {style.dim(style.bar)} "
    underline = paint(("^" if mark.primary else "-") * length)
    if not mark.label:
        return [margin + " " * lead + underline]
    if lead + length + 1 + cells(mark.label) <= width - gutter - 3:
        return [f"{margin}{' ' * lead}{underline} {paint(mark.label)}"]
    lines = [margin + " " * lead + underline]
    indent = min(lead, max(width - gutter - 3 - 40, 0))
    for part in wrap(mark.label, width - gutter - 3 - indent, break_words=True):
        lines.append(margin + " " * indent + paint(part))
    return lines


def _cut(text: str, spans: Sequence[tuple[int, int]], width: int) -> tuple[str, int]:
    """`text` made printable and at most `width` cells wide, and the character it starts at."""
    code = printable(text)
    if cells(code) <= width:
        return code, 0
    first = min((start for start, _ in spans), default=0)
    last = max((end for _, end in spans), default=0)
    offset = 0
    if last > width - 4:
        offset = max(first - 12, 0)
    dots = "…"
    kept = text[offset : offset + width]  # one character is at least one cell, tabs are more
    prefix = dots if offset else ""
    while cells(prefix + printable(kept)) > width - 1:
        kept = kept[:-1]
    suffix = dots if offset + len(kept) < len(text) else ""
    return prefix + printable(kept) + suffix, offset


def printable(text: str) -> str:
    """`text` with tabs expanded and control characters made visible: a file cannot steer a terminal."""
    if text.isprintable():
        return text
    return "".join(
        _TAB if char == "\t" else char if char.isprintable() else "\N{REPLACEMENT CHARACTER}"
        for char in text
    )


def cells(text: str) -> int:
    """The width of printable `text` on a terminal."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )


def wrap(text: str, width: int, *, break_words: bool = False) -> list[str]:
    """`text` in lines of at most `width` cells, broken at spaces.

    A word that is longer stays whole, to be copied, unless `break_words`: then it goes on in the next
    line, as in a column that must not push the one beside it.
    """
    lines: list[str] = []
    current = ""
    words = [" ".join(word.split()) for word in _WORD.findall(text)]
    if break_words:
        words = [part for word in words for part in _parts(word, width)]
    for word in words:
        if current and cells(current) + 1 + cells(word) > width:
            lines.append(current)
            current = word
        else:
            current = f"{current} {word}" if current else word
    return [*lines, current] if current else lines


def _parts(word: str, width: int) -> list[str]:
    """`word` in pieces of at most `width` cells, cut behind a dot, slash or bracket where one is near."""
    parts = []
    while cells(word) > width:
        end = min(width, len(word))
        while end > 1 and cells(word[:end]) > width:
            end -= 1
        near = max(word.rfind(mark, end - width // 3, end) for mark in "./_([,")
        end = near + 1 if near > 0 else end
        parts.append(word[:end])
        word = word[end:]
    return [*parts, word]
