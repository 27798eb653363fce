"""Encodings, byte order marks, line ends and form feeds: what is not edited is kept to the byte."""

from __future__ import annotations

import pytest
from spans import find, fix

from distlint.edits import Insert, Replace, Span, WrapInWith


def edited(data: bytes, *edits: Insert | Replace | WrapInWith) -> bytes:
    result = fix(data, *edits)
    assert not result.skipped, result.skipped[0].reason
    return result.data


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a = 1\r\nb\r\n", b"a = x(\r\n    2)\r\nb\r\n"),
        (b"a = 1\rb\r", b"a = x(\r    2)\rb\r"),
        (b"a = 1\nb\r\nc\n", b"a = x(\n    2)\nb\r\nc\n"),
        (b"a = 1\r\nb\nc\r", b"a = x(\r\n    2)\r\nb\nc\r"),
        (b"\xef\xbb\xbfa = 1\n", b"\xef\xbb\xbfa = x(\n    2)\n"),
        (b"a = 1", b"a = x(\n    2)"),
        (b"a = 1\r", b"a = x(\r    2)\r"),
        (b"a = 1\n\n\n", b"a = x(\n    2)\n\n\n"),
        (b"a = 1  \n\x0c\nb\t\n", b"a = x(\n    2)  \n\x0c\nb\t\n"),
        (b"a = 1\n\x0cdef f():\n    pass\n", b"a = x(\n    2)\n\x0cdef f():\n    pass\n"),
        (b"a = 1\ns = '''\n\x0cx\n'''\n\x0c# c\n", b"a = x(\n    2)\ns = '''\n\x0cx\n'''\n\x0c# c\n"),
    ],
)  # fmt: skip
def test_kept(before: bytes, after: bytes) -> None:
    where = Span(1, 4, 1, 5)
    assert edited(before, Replace(where, "x(\n    2)")) == after


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "iso-8859-15", "utf-8", "utf-8-sig"])
def test_the_coding_line_decides(encoding: str) -> None:
    text = f"# -*- coding: {encoding} -*-\ns = 'é', a\n"
    # In `ast` columns, which count the UTF-8 of the decoded text whatever the file is written in.
    assert edited(text.encode(encoding), Replace(find(text, "a"), "'ü'")) == (
        text.replace("a\n", "'ü'\n").encode(encoding)
    )


def test_form_feeds_at_the_start_of_edited_and_other_lines() -> None:
    source = b"def f():\n\x0c    a\n\x0c    b\n\x0cdef g():\n    c\n"
    # Columns on a line with a form feed count it.
    assert edited(source, Replace(Span(2, 5, 2, 6), "x")) == source.replace(b"\x0c    a", b"    x")
    assert edited(source, Replace(Span(5, 4, 5, 5), "x")) == source.replace(b"    c", b"    x")
    assert edited(source, WrapInWith(Span(3, 5, 3, 6), Span(3, 5, 3, 6), "x")) == source.replace(
        b"\x0c    b", b"    with x:\n        b"
    )


def test_inserted_lines_end_as_the_file_does() -> None:
    source = "if a:\r\n    b\r\n"
    code = "c()\nd('''\n''')"
    result = edited(source.encode(), Insert(find(source, "b"), code, after=True))
    assert result == b"if a:\r\n    b\r\n    c()\r\n    d('''\r\n''')\r\n"


def test_code_from_the_file_is_not_indented_twice() -> None:
    source = "def f():\n        x = g(a,\n              b)\n"
    segment = "g(a,\n              b)"
    assert edited(source.encode(), Replace(find(source, segment), f"h({segment})")) == (
        b"def f():\n        x = h(g(a,\n                b))\n"
    )
