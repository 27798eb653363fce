"""What a check found, in the form that every output format reads."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from distlint.columns import display_column, split_lines
from distlint.findings import Applicability, Finding, Place, Related, Severity
from distlint.fixing.replacements import Changes
from distlint.project.baseline import Accepted
from distlint.project.files import Problem
from distlint.project.naming import escaped
from distlint.project.reading import Unreadable, python_text
from distlint.records import dataclass


class Texts:
    """The lines of files by the path that findings carry; read when first asked for."""

    def __init__(self, known: Mapping[str, str] | None = None) -> None:
        self._lines: dict[str, list[str]] = {
            path: split_lines(text) for path, text in (known or {}).items()
        }

    def add(self, path: str, text: str) -> None:
        """Make `text` the content of `path`, whatever is on disk."""
        self._lines[path] = split_lines(text)

    def lines(self, path: str) -> list[str]:
        """The lines of `path`; none where it cannot be read."""
        if path not in self._lines:
            try:
                data = Path(path).read_bytes()
            except OSError:  # a file that vanished has no frame to show
                data = b""
            try:
                text = python_text(path, data)
            except Unreadable:
                text = data.decode("utf-8", "replace")
            self._lines[path] = split_lines(text)
        return self._lines[path]

    def line(self, path: str, number: int) -> str:
        """The line `number` (from 1) of `path`; empty where there is none."""
        lines = self.lines(path)
        return lines[number - 1] if 1 <= number <= len(lines) else ""

    def columns(self, place: Place) -> tuple[int, int]:
        """First and end column of `place` in characters from 1 (the end is exclusive)."""
        return (
            display_column(self.line(place.path, place.line), place.column),
            display_column(self.line(place.path, place.end_line), place.end_column),
        )


@dataclass(frozen=True, slots=True)
class Reported:
    """A finding with the name under which a baseline knows it."""

    finding: Finding
    fingerprint: str
    path: str = ""
    """The path below the root of the settings, where a baseline looks for it."""


@dataclass(slots=True)
class Report:
    """The outcome of one check."""

    findings: list[Reported] = field(default_factory=list)
    """Sorted by path, line, column and code."""
    problems: list[Problem] = field(default_factory=list)
    """What could not be done: the exit code is 2 where there is any."""
    notes: list[str] = field(default_factory=list)
    """What `--verbose` tells."""
    given_up: list[str] = field(default_factory=list)
    """Functions whose collectives were not compared to their end: path, function and reason."""
    groups: list[frozenset[str]] = field(default_factory=list)
    """The files that were analysed together, for each group that was."""
    reached: list[Related] = field(default_factory=list)
    """The collectives, each with the ranks that come to it: where a request asks for them."""
    files: int = 0
    """How many files were checked."""
    baselined: int = 0
    """How many findings the baseline accepts."""
    stale: list[Accepted] = field(default_factory=list)
    """What the baseline accepts and is no longer there."""
    texts: Texts = field(default_factory=Texts)
    root: Path = field(default_factory=Path.cwd)
    """What code hosts take paths to be relative to."""
    changes: Mapping[str, Changes] = field(default_factory=dict)
    """What the fix of a finding changes, by the finding's fingerprint, where that was asked for."""

    def from_root(self, path: str) -> str:
        """The path of a finding as seen from `root`; as it is where it lies elsewhere."""
        inside = os.path.relpath(path, self.root).replace(os.sep, "/")
        return path if inside.startswith("../") else inside

    def exit_code(self) -> int:
        """0 clean, 1 findings, 2 where something could not be done."""
        if self.problems or any(row.finding.code == "DL902" for row in self.findings):
            return 2
        return 1 if self.findings else 0

    def count(self, severity: Severity) -> int:
        return sum(row.finding.severity is severity for row in self.findings)

    def statistics(self) -> list[tuple[str, str, int]]:
        """Code, name and number of findings of each rule that has any, most frequent first."""
        counts = Counter((row.finding.code, row.finding.name) for row in self.findings)
        return [
            (code, name, count)
            for (code, name), count in sorted(counts.items(), key=lambda row: (-row[1], row[0]))
        ]

    def stale_note(self) -> str:
        """What is left over in the baseline, in one sentence; empty where nothing is."""
        if not self.stale:
            return ""
        first = ", ".join(f"{escaped(row.path)}:{row.line} {row.code}" for row in self.stale[:3])
        more = f" and {len(self.stale) - 3:,} more" if len(self.stale) > 3 else ""
        return (
            f"The baseline accepts what is no longer there ({first}{more}): "
            "`distlint check --write-baseline FILE` writes it anew."
        )

    def fixable(self) -> Counter[Applicability]:
        """How many findings have a fix, by its applicability."""
        return Counter(row.finding.fix.applicability for row in self.findings if row.finding.fix)
