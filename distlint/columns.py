"""Lines and columns: from what `ast` counts (UTF-8 bytes from 0) to what people read (characters from 1)."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache

from distlint.patterns import pattern

_LINE_END = pattern(r"\r\n|\r|\n")


def split_lines(text: str) -> list[str]:
    """The physical lines of `text` as Python's tokenizer counts them, without their line ends.

    `str.splitlines` also splits at form feeds, U+2028 and others, which Python does not.
    """
    if "\r" in text:
        return _LINE_END.split(text)
    return text.split("\n")


def lines_kept(before: Sequence[str], after: Sequence[str]) -> dict[int, int]:
    """The lines of `before` that `after` still has but for their indentation: both numbers, from 1."""
    old, new = ([line.strip() for line in lines] for lines in (before, after))
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    return {
        block.a + offset + 1: block.b + offset + 1
        for block in blocks
        for offset in range(block.size)
    }


def segment(text: str, node: ast.AST) -> str:
    """A node of the tree of `text` as written; empty where its place is not known.

    As `ast.get_source_segment`, which splits the whole text for each node.
    """
    first, last = getattr(node, "lineno", None), getattr(node, "end_lineno", None)
    if first is None or last is None or "\r" in text:
        return ast.get_source_segment(text, node) or ""
    lines = _lines(text)[first - 1 : last]
    start, end = node.col_offset, node.end_col_offset  # type: ignore[attr-defined]
    lines[-1] = lines[-1].encode("utf-8", "surrogatepass")[:end].decode("utf-8", "surrogatepass")
    lines[0] = lines[0].encode("utf-8", "surrogatepass")[start:].decode("utf-8", "surrogatepass")
    return "\n".join(lines)


@lru_cache(maxsize=4)
def _lines(text: str) -> list[str]:
    return text.split("\n")


def forget_lines() -> None:
    """Let go of the texts that `segment` has split."""
    _lines.cache_clear()


def display_column(line: str, column: int) -> int:
    """The 1-based column in code points of the 0-based UTF-8 byte offset `column` of `line`.

    An offset inside a character belongs to that character; one past the end, to the end.
    """
    if line.isascii():
        return min(column, len(line)) + 1
    return len(line.encode("utf-8", "surrogatepass")[:column].decode("utf-8", "ignore")) + 1


def byte_column(line: str, column: int) -> int:
    """The 0-based UTF-8 byte offset of the 0-based code point `column` of `line`."""
    if line.isascii():
        return min(column, len(line))
    return len(line[:column].encode("utf-8", "surrogatepass"))
