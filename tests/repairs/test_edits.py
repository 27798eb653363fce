"""The edits that repairs are made of: what stands in the file afterwards, and what is refused."""

from __future__ import annotations

import ast

import pytest

from distlint.edits import Replace
from distlint.fixing.engine import apply_fixes
from distlint.fixing.requests import FixRequest
from distlint.repairs.arguments import with_keyword
from distlint.repairs.guarding import (
    call_on_main,
    names_read_after,
    statement_on_main,
    written_after,
)


def call_in(text: str) -> ast.Call:
    return next(n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Call))


def code(edit: Replace | None) -> str | None:
    return edit.code if edit is not None else None


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        ("f()", "$run_on_main(f)"),
        ("f(a, k=b)", "$run_on_main(f, a, k=b)"),
        ("o.f(a)", "$run_on_main(o.f, a)"),
        ("f(\n    a,\n)", "$run_on_main(\n    f,\n    a,\n)"),
        ("f(timeout=3)", None),
        ("f(broadcast=True)", None),
    ],
)
def test_a_call_on_main(call: str, wanted: str | None) -> None:
    assert code(call_on_main(call, call_in(call))) == wanted


def test_the_value_of_main_for_all() -> None:
    assert code(call_on_main("f(a)", call_in("f(a)"), broadcast=True)) == (
        "$run_on_main(f, a, broadcast=True)"
    )
    assert code(call_on_main("f()", call_in("f()"), broadcast=True)) == (
        "$run_on_main(f, broadcast=True)"
    )


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("f(a)", "if main:\n    f(a)"),
        ("f(a)  # why", "if main:\n    f(a)  # why"),
        ("f(\n\n    a\n)", "if main:\n    f(\n\n        a\n    )"),
        ("f('''\n''')", None),
        ("return f(a)", None),
    ],
)
def test_a_statement_on_main(text: str, wanted: str | None) -> None:
    assert code(statement_on_main(text, ast.parse(text).body[0], "main")) == wanted


def test_names_that_are_read_behind_a_statement() -> None:
    block = ast.parse("a = b\nc = d\ne = f(c)\nc = g")
    assert names_read_after(block, block.body[1]) == {"f", "c", "g"}


def test_an_expression_that_is_written_again() -> None:
    block = ast.parse("o.a = 1\nf()\no.b = 2\no.a")
    path = ast.parse("o.a", mode="eval").body
    assert written_after(block, block.body[1], path)
    assert not written_after(block, block.body[3], path)


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        ("f()", "f(k=1)"),
        ("f(a)", "f(a, k=1)"),
        ("f((a))", "f((a), k=1)"),
        ("f(a=b)", "f(a=b, k=1)"),
        ("f('äöü', 'ß')", "f('äöü', 'ß', k=1)"),
        ("f('ä',\n  'öü')", "f('ä',\n  'öü', k=1)"),
        ("f(\n    'ä',\n    'ö',  # why\n)", "f(\n    'ä',\n    'ö',  # why\n    k=1,\n)"),
        ("f(x for x in y)", None),
        ("f(*a)", None),
        ("f(**a)", None),
    ],
)
def test_one_more_argument(call: str, wanted: str | None) -> None:
    assert code(with_keyword(call, call_in(call), "k=1")) == wanted


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        ("f(a, k=0)", "f(a, k=1)"),
        ("f(k=g(0),  # why\n  b=2)", "f(k=1,  # why\n  b=2)"),
        ("f(*a, k=None, **b)", "f(*a, k=1, **b)"),
    ],
)
def test_an_argument_that_the_call_has(call: str, wanted: str) -> None:
    edit = with_keyword(call, call_in(call), "k=1")
    assert edit is not None
    fixed = apply_fixes(call.encode(), [FixRequest(1, 0, "DL1", (edit,))])
    assert fixed.data.decode() == wanted


def test_a_call_that_would_be_the_longest_line_of_a_file() -> None:
    call = f"open_it({', '.join('argument' for _ in range(8))})"
    text = f"if asked:\n    {call}\n"
    edit = with_keyword(text, call_in(text), "k=1")
    assert code(edit) == f"open_it(\n        {call[8:-1]}, k=1\n    )"
    longer = f"{text}{'x' * 100} = 1\n"
    assert code(with_keyword(longer, call_in(longer), "k=1")) == f"{call[:-1]}, k=1)"
