"""The words of Python code, found without a parser."""

from __future__ import annotations

from typing import Final

from distlint.patterns import pattern

_WORD: Final = pattern(r"[A-Za-z_]\w*\(?")
_APART: Final = {i: " " for i in range(128) if not (chr(i).isalnum() or chr(i) in "_(")}
"""Turns what stands between words into blanks: a third of the cost of finding them by `_WORD`."""


def words_in(text: str) -> list[str]:
    """The names and keywords in a text, with the bracket of a call; in plain ASCII its numbers too."""
    if text.isascii():
        return text.replace("(", "( ").translate(_APART).split()
    return _WORD.findall(text)
