"""What a branch adds: the findings whose statement it changed, and those that its base has not."""

from __future__ import annotations

import ast
import os
from collections import Counter
from collections.abc import Callable

from distlint.columns import lines_kept, split_lines
from distlint.findings import Place
from distlint.project.naming import path_of
from distlint.project.reading import Unreadable, parse, python_text
from distlint.project.revision import Base
from distlint.reporting.report import Report, Reported


def keep_added(report: Report, base: Base, check_base: Callable[[], Report]) -> int:
    """Leave in `report` what was added since `base`; how many findings were taken out.

    `check_base` checks the files as they were. It is called only where that is needed.
    """
    comparison = _Comparison(report, base)
    places = [comparison.place_before(row) for row in report.findings]
    if all(place is None for place in places):
        return 0
    before = check_base()
    report.problems += [each for each in before.problems if each not in report.problems]
    present = Counter(
        (row.finding.code, os.path.abspath(path_of(row.finding.place.path)), row.finding.place.line)
        for row in before.findings
    )
    kept = []
    for row, place in zip(report.findings, places, strict=True):
        known = (row.finding.code, *place) if place is not None else None
        if known is not None and present[known]:
            present[known] -= 1
        else:
            kept.append(row)
    taken = len(report.findings) - len(kept)
    report.findings = kept
    return taken


class _Comparison:
    """Where statements of now stood at the base."""

    def __init__(self, report: Report, base: Base) -> None:
        self._texts = report.texts
        self._base = base
        self._lines: dict[str, dict[int, int]] = {}
        self._statements: dict[str, list[range]] = {}

    def place_before(self, row: Reported) -> tuple[str, int] | None:
        """The file and line of the statement of a finding; None where the branch changed it."""
        place = row.finding.place
        path = os.path.abspath(path_of(place.path))
        old = self._base.renamed.get(path, path)
        if self._base.hides(old):
            return None
        if old not in self._base.overlays:
            return old, place.line
        if path not in self._lines:
            self._lines[path] = self._same_lines(place.path, self._base.overlays[old])
        same = self._lines[path]
        statement = self._statement(place)
        before = [same.get(line) for line in statement]
        first = before[0]
        if first is None or before != list(range(first, first + len(before))):
            return None
        return old, same[place.line]

    def _same_lines(self, shown: str, data: bytes) -> dict[int, int]:
        """The lines of now that are as they were, but for their indentation, and their numbers then."""
        try:
            before = split_lines(python_text(path_of(shown), data))
        except Unreadable:
            before = split_lines(data.decode("utf-8", "replace"))
        return {now: then for then, now in lines_kept(before, self._texts.lines(shown)).items()}

    def _statement(self, place: Place) -> range:
        """The lines of the innermost statement at `place`; of a compound one, its header."""
        if place.path not in self._statements:
            text = "\n".join(self._texts.lines(place.path))
            try:
                self._statements[place.path] = _statements(parse(text))
            except Unreadable:
                self._statements[place.path] = []
        around = [lines for lines in self._statements[place.path] if place.line in lines]
        return min(around, key=len, default=range(place.line, place.line + 1))


def _statements(tree: ast.Module) -> list[range]:
    """The lines of each statement, without those of the statements in it."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            decorators = getattr(node, "decorator_list", [])
            first = min([node.lineno, *(each.lineno for each in decorators)])
            body = getattr(node, "body", None) or getattr(node, "cases", None)
            last = node.end_lineno or node.lineno
            if isinstance(body, list):
                inner = body[0].pattern if isinstance(body[0], ast.match_case) else body[0]
                last = max(node.lineno, inner.lineno - 1)
            found.append(range(first, last + 1))
    return found
