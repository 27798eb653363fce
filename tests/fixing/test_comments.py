"""Edits inside comments: the directive goes, what else is on the line stays, byte for byte."""

from __future__ import annotations

import codecs

import pytest

from distlint.edits import Insert, ReplaceComment, Span
from distlint.fixing.comments import apply_to_comments, only_comments
from distlint.fixing.requests import FixRequest, SkipKind


def fix(line: int, start: int, end: int, text: str = "", code: str = "DL903") -> FixRequest:
    return FixRequest(line, start, code, (ReplaceComment(Span(line, start, line, end), text),))


def of(source: bytes, part: bytes, text: str = "") -> FixRequest:
    """The fix that replaces a part, which stands once in the source."""
    before = source[: source.index(part)]
    line = before.count(b"\n")
    start = len(before) - before.rfind(b"\n") - 1
    return fix(line + 1, start, start + len(part), text)


@pytest.mark.parametrize(
    ("source", "part", "text", "wanted"),
    [
        (b"a = 1  # noqa\nb\n", b"# noqa", "", b"a = 1\nb\n"),
        (b"a\n    # noqa\nb\n", b"# noqa", "", b"a\nb\n"),
        (b"a  # noqa  # why\n", b"# noqa", "", b"a  # why\n"),
        (b"a  # x[A, B] why\r\nb\r\n", b"A, B", "A", b"a  # x[A] why\r\nb\r\n"),
        (b"a  # noqa", b"# noqa", "", b"a"),
        ("ä = 'ö'  # ü noqa\n".encode(), b"noqa", "x", "ä = 'ö'  # ü x\n".encode()),
    ],
)
def test_one_comment(source: bytes, part: bytes, text: str, wanted: bytes) -> None:
    result = apply_to_comments(source, [of(source, part, text)])
    assert result.data == wanted
    assert len(result.applied) == 1 and not result.skipped


def test_the_encoding_and_the_byte_order_mark_stay() -> None:
    latin = "# coding: latin-1\na = 'ä'  # noqa\n".encode("latin-1")
    # Spans count UTF-8 bytes, whatever the file is written in.
    assert apply_to_comments(latin, [fix(2, 10, 16)]).data == latin.replace(b"  # noqa", b"")
    marked = codecs.BOM_UTF8 + b"a  # noqa\n"
    assert apply_to_comments(marked, [fix(1, 3, 9)]).data == codecs.BOM_UTF8 + b"a\n"


def test_two_fixes_of_one_comment() -> None:
    """Beside each other both are carried out; of two that overlap the second is a conflict."""
    source = b"a  # one two three\n"
    apart = [of(source, b"one", "1"), of(source, b"three", "3")]
    assert apply_to_comments(source, apart[::-1]).data == b"a  # 1 two 3\n"
    result = apply_to_comments(source, [of(source, b"one two", "1"), of(source, b"two three", "2")])
    assert result.data == b"a  # 1 three\n"
    assert [skip.kind for skip in result.skipped] == [SkipKind.CONFLICT]


@pytest.mark.parametrize("place", [(1, 0, 1), (3, 0, 1), (1, 9, 9), (1, 90, 91)])
def test_where_no_comment_is(place: tuple[int, int, int]) -> None:
    source = b"a = '1'  # x\n"
    result = apply_to_comments(source, [fix(*place)])
    assert result.data == source and not result.applied
    assert [skip.kind for skip in result.skipped] == [SkipKind.REFUSED]


def test_a_file_that_cannot_be_decoded() -> None:
    source = b"# coding: utf-8\n\xff  # x\n"
    result = apply_to_comments(source, [fix(1, 0, 1)])
    assert result.data == source and result.refusal
    assert [skip.kind for skip in result.skipped] == [SkipKind.REFUSED]


def test_which_fixes_stay_in_comments() -> None:
    assert only_comments(fix(1, 0, 1))
    insert = Insert(Span(1, 0, 1, 1), "b")
    assert not only_comments(FixRequest(1, 0, "DL101", (*fix(1, 0, 1).edits, insert)))
