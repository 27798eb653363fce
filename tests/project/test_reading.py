"""Reading: every file either has a tree or one sentence that says why not."""

from __future__ import annotations

import pytest

from distlint.project.reading import SIZE_LIMIT, Unreadable, decode, parse


def failure(data: bytes) -> Unreadable:
    with pytest.raises(Unreadable) as caught:
        parse(decode(data))
    return caught.value


@pytest.mark.parametrize(
    "data",
    [
        b"x = 1\r\ny = 2\r\n",
        b"\xef\xbb\xbfx = 1\n",
        b"# -*- coding: latin-1 -*-\nx = '\xe9'\n",
        b"#!/usr/bin/env python\n# vim: set fileencoding=cp1252 :\nx = '\x80'\n",
        b"",
        b"x = 1",
        b"x = '" + b"a" * 200_000 + b"'\n",
        b"x = '\\d'\n",
    ],
    ids=["crlf", "bom", "latin-1", "cp1252", "empty", "no-newline", "long-line", "bad-escape"],
)
@pytest.mark.filterwarnings("error")
def test_what_python_reads_is_read(data: bytes) -> None:
    parse(decode(data).removeprefix("\ufeff"))


def test_latin_1_without_coding_line_names_line_column_and_remedy() -> None:
    error = failure(b"x = 1\ny = '\xe9'\n")
    assert (error.line, error.column) == (2, 5)
    assert "0xe9" in error.reason
    assert "coding: latin-1" in error.reason


def test_unknown_encoding() -> None:
    assert "coding line" in failure(b"# coding: klingon\nx = 1\n").reason


def test_nul_bytes() -> None:
    error = failure(b"x = 1\ny = '\0'\n")
    assert "NUL" in error.reason
    assert error.line == 2


def test_syntax_error_has_its_place_in_utf8_bytes() -> None:
    error = failure("é = (1\nx = )".encode())
    assert error.reason.startswith("syntax error: ")
    error = failure("é = 1 1".encode())
    assert (error.line, error.column) == (1, 7)


def test_unexpected_end_points_into_the_file() -> None:
    assert failure(b"def f():\n").line <= 2


@pytest.mark.parametrize(
    "data",
    [
        b"x = " + b"(" * 3000 + b"1" + b")" * 3000,
        b"x = " + b"-" * 100_000 + b"1",
        b"x = " + b"a." * 100_000 + b"b",
        b"x = " + b"1+" * 100_000 + b"1",
        b"x = " + b"[" * 150 + b"]" * 150,
    ],
    ids=["parentheses", "unary", "attributes", "sums", "lists"],
)
def test_deep_nesting_is_read_or_said(data: bytes) -> None:
    try:
        parse(decode(data))
    except Unreadable as error:
        assert "nest" in error.reason


def test_huge_files_are_said() -> None:
    assert "exclude" in failure(b"x = 1\n" * (SIZE_LIMIT // 6 + 1)).reason
