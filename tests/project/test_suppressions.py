"""Suppression comments: which lines each of them covers."""

from __future__ import annotations

import textwrap

import pytest

from distlint.project.suppressions import Suppression, find_suppressions, unused
from distlint.rule import load_rules


def only(text: str) -> Suppression:
    (found,) = find_suppressions(textwrap.dedent(text))
    return found


def test_at_the_end_of_a_line() -> None:
    found = only("a = 1\nb = 2  # distlint: ignore[DL301]\nc = 3\n")
    assert (found.codes, found.first, found.last) == (("DL301",), 2, 2)


@pytest.mark.parametrize("line", [1, 4])
def test_on_the_first_or_last_line_of_a_statement_covers_it(line: int) -> None:
    lines = ["call(", "    1,", "    2,", ")", "other()"]
    lines[line - 1] += "  # distlint: ignore[DL301]"
    found = only("\n".join(lines))
    assert (found.first, found.last) == (1, 4)


def test_alone_above_covers_the_statement_below() -> None:
    found = only(
        """\
        if x:
            # distlint: ignore[DL301, DL1]
            # Because the folder is per node.
            save(
                model,
            )
            other()
        """
    )
    assert found.codes == ("DL301", "DL1")
    assert (found.first, found.last) == (2, 6)


def test_of_a_compound_statement_only_the_header() -> None:
    found = only("if (a\n    and b):  # distlint: ignore[DL101]\n    barrier()\n")
    assert (found.first, found.last) == (1, 2)


def test_above_a_decorator_reaches_the_definition() -> None:
    found = only("# distlint: ignore[DL101]\n@main_only\n@other\ndef f():\n    barrier()\n")
    assert (found.first, found.last) == (1, 4)


def test_file_ignore_covers_everything() -> None:
    found = only("x = 1\n# distlint: file-ignore[unguarded-save]\n")
    assert found.whole_file
    assert found.covers(1)
    assert found.covers(999)


def test_inside_a_string_it_is_no_comment() -> None:
    assert find_suppressions("x = '# distlint: ignore[DL301]'\n") == []


def test_beside_another_comment() -> None:
    text = "x = é  # type: ignore  # distlint: ignore[DL301] per node\n"
    found = only(text)
    assert text.encode()[found.span.column : found.span.end_column].decode() == (
        "# distlint: ignore[DL301]"
    )


@pytest.mark.parametrize(
    ("comment", "codes"),
    [
        ("# noqa", ()),
        ("# NOQA: DL301", ("DL301",)),
        ("# noqa: E501, DL301", ("E501", "DL301")),
        ("# noqa:DL301 because", ("DL301",)),
    ],
)
def test_noqa(comment: str, codes: tuple[str, ...]) -> None:
    found = only(f"x = 1  {comment}\n")
    assert found.noqa
    assert found.codes == codes


def test_windows_line_ends() -> None:
    found = only("a = 1\r\nb = 2  # distlint: ignore[DL301]\r\n")
    assert (found.first, found.last) == (2, 2)


def test_old_macintosh_line_ends() -> None:
    found = only("a = 1\rb = 2  # distlint: ignore[DL301]\rc = 3\r")
    assert (found.codes, found.first, found.last) == (("DL301",), 2, 2)


def test_an_empty_list_names_nothing() -> None:
    assert find_suppressions("x = 1  # distlint: ignore[]\n") == []


def test_a_prefix_is_idle_only_where_all_its_rules_ran() -> None:
    rules = list(load_rules().values())
    own = next(rule for rule in rules if rule.code == "DL901")
    comment = only("save()  # distlint: ignore[DL3]\n")
    some = {rule.code for rule in rules if rule.code.startswith("DL3")} - {"DL301"}
    assert unused(comment, "a.py", own, rules, some) is None
    finding = unused(comment, "a.py", own, rules, {*some, "DL301"})
    assert finding is not None and "`DL3`" in finding.message
