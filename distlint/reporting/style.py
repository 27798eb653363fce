"""Colours and glyphs, as far as the place that is written to has them."""

from __future__ import annotations

import os
from typing import TextIO

from distlint.records import dataclass


@dataclass(frozen=True, slots=True)
class Style:
    """How text is painted: `color` uses ANSI sequences, `unicode` glyphs beyond ASCII."""

    color: bool = False
    unicode: bool = True

    def red(self, text: str) -> str:
        return self._paint("1;31", text)

    def yellow(self, text: str) -> str:
        return self._paint("1;33", text)

    def green(self, text: str) -> str:
        return self._paint("32", text)

    def blue(self, text: str) -> str:
        return self._paint("34", text)

    def cyan(self, text: str) -> str:
        return self._paint("36", text)

    def bold(self, text: str) -> str:
        return self._paint("1", text)

    def dim(self, text: str) -> str:
        return self._paint("2", text)

    def _paint(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.color and text else text

    @property
    def bar(self) -> str:
        return "│" if self.unicode else "|"

    @property
    def dots(self) -> str:
        return "⋮" if self.unicode else ":"

    @property
    def ellipsis(self) -> str:
        return "…" if self.unicode else "..."


def style_for(stream: TextIO, color: bool | None = None) -> Style:
    """The style for `stream`: colours on a terminal, or as `color` says.

    NO_COLOR turns them off (https://no-color.org), FORCE_COLOR on; NO_COLOR wins.
    """
    if color is not None:
        return Style(color, _takes_unicode(stream))
    if os.environ.get("NO_COLOR"):
        color = False
    elif os.environ.get("FORCE_COLOR"):
        color = True
    else:
        color = stream.isatty() and os.environ.get("TERM") != "dumb"
    return Style(color, _takes_unicode(stream))


def _takes_unicode(stream: TextIO) -> bool:
    try:
        "│⋮…→←".encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
