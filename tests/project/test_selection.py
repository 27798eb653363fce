"""Selection: codes, prefixes, names; the more specific word wins."""

from __future__ import annotations

import pytest

from distlint.findings import Severity
from distlint.project.selection import UnknownSelector, check_selectors, select_rules
from distlint.rule import Rule, Status


def rule(code: str, name: str, severity: str = "error", status: Status = Status.STABLE) -> Rule:
    return Rule(code, name, Severity(severity), status, "", (), lambda model: iter(()), "a.b.c")


RULES = (
    rule("DL101", "collective-not-on-all-ranks"),
    rule("DL105", "collective-skipped-by-exception", "warning", Status.PREVIEW),
    rule("DL301", "unguarded-save"),
    rule("DL302", "missing-wait-for-everyone", "warning"),
    rule("DL703", "print-on-every-rank", "info"),
    rule("DL900", "cannot-parse"),
    rule("DL901", "unused-suppression", "warning"),
    rule("DL902", "bad-setting"),
    rule("ACME12", "house-rule"),
)
ALWAYS = {"DL900", "DL902"}


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ({}, {"DL101", "DL301", "DL302", "DL901", "ACME12"}),
        ({"preview": True}, {"DL101", "DL105", "DL301", "DL302", "DL901", "ACME12"}),
        ({"select": ["DL3"]}, {"DL301", "DL302"}),
        ({"select": ["unguarded-save", "dl105"]}, {"DL301", "DL105"}),
        ({"select": ["DL1"]}, {"DL101", "DL105"}),
        ({"select": ["ALL"]}, {"DL101", "DL301", "DL302", "DL703", "DL901", "ACME12"}),
        ({"select": ["DL703"]}, {"DL703"}),
        ({"select": ["ACME"]}, {"ACME12"}),
        ({"ignore": ["DL"]}, {"ACME12"}),
        ({"select": ["DL301"], "ignore": ["DL3"]}, {"DL301"}),
        ({"select": ["DL3"], "ignore": ["DL301"]}, {"DL302"}),
        ({"select": ["DL301"], "ignore": ["DL301"]}, set()),
        ({"select": ["DL301"], "overruled": ["DL301"]}, {"DL301"}),
        ({"select": ["DL3"], "overruled": ["DL301"]}, {"DL302"}),
    ],
)
def test_choices(choice: dict[str, list[str]], expected: set[str]) -> None:
    assert select_rules(RULES, **choice).codes == expected | ALWAYS  # type: ignore[arg-type]


def test_cannot_parse_is_ignored_only_by_its_own_name() -> None:
    assert "DL900" in select_rules(RULES, ignore=["DL9"]).codes
    assert "DL900" not in select_rules(RULES, ignore=["cannot-parse"]).codes


def test_info_findings_of_other_rules_need_a_selection() -> None:
    assert not select_rules(RULES).reports("DL301", Severity.INFO)
    assert select_rules(RULES).reports("DL301", Severity.WARNING)
    assert select_rules(RULES, select=["DL3"]).reports("DL301", Severity.INFO)


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("DL311", "`DL301`"),
        ("unguarded-saves", "`unguarded-save`"),
        ("dl30x", "`DL30"),
        ("??", "`distlint rules`"),
    ],
)
def test_unknown_words_name_the_nearest(word: str, hint: str) -> None:
    with pytest.raises(UnknownSelector) as caught:
        check_selectors([word], RULES)
    assert hint in str(caught.value)
