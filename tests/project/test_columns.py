"""Columns: what `ast` counts in bytes comes out in characters, and back."""

from __future__ import annotations

import ast

from hypothesis import given
from hypothesis import strategies as st

from distlint.columns import byte_column, display_column, split_lines

LINE = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=40)


def test_columns_of_ast_become_characters() -> None:
    text = "größe = '模型'; x = f(größe)"
    call = ast.parse(text).body[1].value  # type: ignore[attr-defined]
    assert text[display_column(text, call.col_offset) - 1 :] == "f(größe)"
    assert display_column(text, call.end_col_offset) == len(text) + 1


def test_an_offset_inside_a_character_belongs_to_it() -> None:
    assert [display_column("aé", column) for column in range(5)] == [1, 2, 2, 3, 3]


@given(LINE, st.integers(0, 60))
def test_bytes_and_characters_are_inverse(line: str, column: int) -> None:
    column = min(column, len(line))
    assert display_column(line, byte_column(line, column)) == column + 1


@given(st.lists(LINE, min_size=1, max_size=5), st.sampled_from(["\n", "\r\n", "\r"]))
def test_lines_are_split_where_python_splits(lines: list[str], end: str) -> None:
    assert split_lines(end.join(lines)) == lines


def test_form_feed_and_unicode_separators_end_no_line() -> None:
    text = "a = 1\x0c\nb = '\u2028'\nc = 3"
    assert split_lines(text)[2] == "c = 3"
    assert ast.parse(text).body[2].lineno == 3
