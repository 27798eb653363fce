"""From offsets in a text to places: lines from 1, columns from 0 in UTF-8 bytes."""

from __future__ import annotations

from bisect import bisect_right

from distlint.findings import Place


class Lines:
    """The lines of one text, by the offsets of its characters."""

    def __init__(self, path: str, text: str) -> None:
        self._path = path
        self._text = text
        self._starts = [0]
        at = text.find("\n")
        while at >= 0:
            self._starts.append(at + 1)
            at = text.find("\n", at + 1)

    def place(self, start: int, end: int) -> Place:
        """The place of the characters from `start` to `end`."""
        return Place(self._path, *self._position(start), *self._position(end))

    def _position(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self._starts, offset)
        return line, len(self._text[self._starts[line - 1] : offset].encode("utf-8", "replace"))
