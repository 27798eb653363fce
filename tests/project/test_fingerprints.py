"""Fingerprints survive what a person does not call a change."""

from __future__ import annotations

from distlint.findings import Finding, Place, Severity
from distlint.project.fingerprints import fingerprints


def finding(line: int, column: int = 0, code: str = "DL301") -> Finding:
    return Finding(code, "name", Severity.ERROR, "m", Place("a.py", line, column, line, column + 1))


def names(lines: list[int], texts: list[str], path: str = "a.py") -> list[str]:
    return fingerprints([finding(line) for line in lines], [path] * len(lines), texts)


def test_shifted_and_indented_lines_keep_their_name() -> None:
    assert names([3], ["torch.save(x, p)"]) == names([90], ["      torch.save( x, p )"])


def test_equal_lines_are_told_apart_in_order() -> None:
    first, second = names([3, 9], ["save()", "save()"])
    assert first != second
    assert names([13, 19], ["save()", "save()"]) == [first, second]


def test_path_text_and_code_matter() -> None:
    base = names([1], ["save()"])
    assert names([1], ["save(x)"]) != base
    assert names([1], ["save()"], "b.py") != base
    assert fingerprints([finding(1, code="DL302")], ["a.py"], ["save()"]) != base
