"""From bytes to a syntax tree, or to the one sentence that says why there is none."""

from __future__ import annotations

import ast
import codecs
import io
import re
import tokenize
import warnings

from distlint.columns import byte_column, split_lines
from distlint.patterns import pattern
from distlint.project.notebooks import SUFFIX, NoNotebook, code_of
from distlint.project.versions import newer_syntax

SIZE_LIMIT = 10 * 1024 * 1024
"""Bytes. A Python file beyond this is generated data; parsing it costs gigabytes."""

_COOKIE = pattern(rb"^[ \t\f]*#.*?coding[:=]", re.MULTILINE)


_MARKS_OF_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class Unreadable(Exception):
    """Why a file has no tree, and where in it (line from 1, column from 0 in UTF-8 bytes)."""

    def __init__(self, reason: str, line: int = 1, column: int = 0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line
        self.column = column


def is_readable(data: bytes) -> bool:
    """Whether `decode` would give a text; plain ASCII is not decoded to see it."""
    if (
        data.isascii()
        and len(data) <= SIZE_LIMIT
        and b"\0" not in data
        and not _names_encoding(data)
    ):
        return True
    try:
        decode(data)
    except Unreadable:
        return False
    return True


def _names_encoding(data: bytes) -> bool:
    """Whether a mark or a comment in the first two lines may say that the text is not UTF-8."""
    end = data.find(b"\n", data.find(b"\n") + 1)
    return data.startswith(b"\xef\xbb\xbf") or bool(
        _COOKIE.search(data, 0, end if end >= 0 else len(data))
    )


def check_size(size: int) -> None:
    """Raise Unreadable for a file of so many bytes that it need not be opened."""
    if size > SIZE_LIMIT:
        raise Unreadable(
            f"the file holds {size / 2**20:.0f} MiB, more than the {SIZE_LIMIT // 2**20} MiB "
            "that distlint parses; name it in the setting `exclude`"
        )


def decode(data: bytes) -> str:
    """The text of a Python file, decoded as Python would (BOM, coding line, else UTF-8).

    Raises Unreadable where Python itself could not read it.
    """
    check_size(len(data))
    if (nul := data.find(b"\0")) >= 0:
        line = data.count(b"\n", 0, nul) + 1
        raise Unreadable("the file holds NUL bytes, so it is not Python text", line)
    encoding = "utf-8"
    if _names_encoding(data):
        try:
            encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        except SyntaxError as error:
            raise Unreadable(f"the coding line is wrong: {error.msg}") from None
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        start = data.rfind(b"\n", 0, error.start) + 1
        line = data.count(b"\n", 0, error.start) + 1
        raise Unreadable(
            f"byte 0x{data[error.start]:02x} is not valid {encoding}; save the file as UTF-8, or "
            "name its encoding in the first line (`# -*- coding: latin-1 -*-`)",
            line,
            error.start - start,
        ) from None


def is_utf_16(path: str, data: bytes) -> bool:
    """Whether a page, or a list of requirements, is UTF-16 by its mark.

    DAB-DETR 723ddb8 README.md. GitHub shows such a page, and pip 25.0 _internal/req/req_file.py reads such a list.
    """
    return path.endswith((".md", ".txt")) and data.startswith(_MARKS_OF_UTF_16)


def as_utf_8(path: str, data: bytes) -> bytes:
    """The bytes of a file that is not Python, as UTF-8."""
    return data.decode("utf-16", "replace").encode() if is_utf_16(path, data) else data


def python_text(path: str, data: bytes) -> str:
    """The Python text of the file `path` that holds `data`: of a notebook, its code cells; of a page, all of it.

    Raises Unreadable.
    """
    data = as_utf_8(path, data)
    if not path.endswith(SUFFIX):
        return decode(data)
    check_size(len(data))
    try:
        return code_of(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise Unreadable("the notebook is not UTF-8") from None
    except NoNotebook as reason:
        raise Unreadable(str(reason)) from None


def parse(text: str) -> ast.Module:
    """The syntax tree of `text`. Raises Unreadable where Python's own parser gives up."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "\d" in a string is the author's, not the user's
            return ast.parse(text)
    except SyntaxError as error:
        line, column = error.lineno or 1, max((error.offset or 1) - 1, 0)
        lines = split_lines(text)
        if line > len(lines):  # "unexpected end" points behind the last line
            line, column = max(len(lines), 1), 0
        elif lines:
            column = byte_column(lines[line - 1], column)
        reason = newer_syntax(text, error) or f"syntax error: {error.msg}"
        raise Unreadable(reason, line, column) from None
    except (RecursionError, MemoryError):
        raise Unreadable("the code is nested too deeply for Python's parser") from None
    except ValueError as error:  # NUL in the text, from a decoder that produces one
        raise Unreadable(f"not Python text: {error}") from None


def share_line_numbers(tree: ast.Module) -> None:
    """Let all nodes of one line, in all trees, hold one number object: each has two of its own, of 32 bytes."""
    from distlint.nodes import (
        walk,
    )  # 50 ms that a run on small projects without findings saves

    last = max((node.end_lineno or 0 for node in tree.body), default=0)
    _LINE_NUMBERS.extend(range(len(_LINE_NUMBERS), last + 1))
    numbers = _LINE_NUMBERS
    for node in walk(tree):
        if node._attributes:  # an operator has no place
            node.lineno = numbers[node.lineno]  # type: ignore[attr-defined]
            node.end_lineno = numbers[node.end_lineno]  # type: ignore[attr-defined]


_LINE_NUMBERS: list[int] = []
