"""Findings in notebooks, where people look for them: in a cell, or on a line of the file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from distlint.findings import Finding, Place, Witness, WitnessStep
from distlint.patterns import pattern
from distlint.project.naming import path_of
from distlint.project.notebooks import SUFFIX, NoNotebook, cell_at, cells_of, original
from distlint.reporting.report import Report, Texts

_LINE = pattern(r"\bline (\d+)")


def located(report: Report, *, in_file: bool) -> Report:
    """`report` with the places in notebooks by cell, or (`in_file`) by the line of the file.

    A place in a cell has the path `nb.ipynb:cell 3`, under which the texts have the cell.
    """
    if not any(
        place.path.endswith(SUFFIX) for row in report.findings for place in row.finding.places()
    ):
        return report
    places = _Places(report.texts, in_file)
    findings = [replace(row, finding=places.of_finding(row.finding)) for row in report.findings]
    return replace(report, findings=findings)


def split_cell(path: str) -> tuple[str, int | None]:
    """The path of a place, and the cell that it names."""
    before, found, number = path.rpartition(":cell ")
    return (before, int(number)) if found and before.endswith(SUFFIX) else (path, None)


class _Places:
    def __init__(self, texts: Texts, in_file: bool) -> None:
        self._texts = texts
        self._in_file = in_file
        self._known: dict[str, list[str]] = {}
        self._raw: dict[str, dict[int, tuple[int, ...]]] = {}

    def of_finding(self, finding: Finding) -> Finding:
        related = tuple(replace(each, place=self._of(each.place)) for each in finding.related)
        witness = finding.witness
        if witness is not None:
            witness = Witness(
                tuple((name, self._steps(steps)) for name, steps in witness.columns),
                self._steps(witness.chain),
            )
        message = finding.message
        if finding.place.path.endswith(SUFFIX):
            message = _LINE.sub(lambda m: self._words(finding.place.path, int(m[1])), message)
        place = self._of(finding.place)
        return replace(finding, place=place, related=related, witness=witness, message=message)

    def _words(self, path: str, line: int) -> str:
        cell, inside = cell_at(self._code(path), line)
        return f"cell {cell}, line {inside}"

    def _steps(self, steps: tuple[WitnessStep, ...]) -> tuple[WitnessStep, ...]:
        return tuple(replace(step, place=self._of(step.place)) for step in steps)

    def _of(self, place: Place) -> Place:
        if not place.path.endswith(SUFFIX):
            return place
        code = self._code(place.path)
        cell, line = cell_at(code, place.line)
        last_cell, last = cell_at(code, place.end_line)
        if last_cell != cell:
            last = line
        if self._in_file:
            lines = self._lines(place.path).get(cell, ())
            at = lines[line - 1] if line <= len(lines) else 1
            end = lines[last - 1] if last <= len(lines) else at
            width = len(self._texts.line(place.path, end).encode("utf-8", "replace"))
            return Place(place.path, at, 0, end, width)
        moved = original(code[place.line - 1])[1] if place.line <= len(code) else 0
        name = f"{place.path}:cell {cell}"
        return Place(
            name, line, max(place.column - moved, 0), last, max(place.end_column - moved, 0)
        )

    def _code(self, path: str) -> list[str]:
        """The code of a notebook; the first time, its cells become texts of their own."""
        if path not in self._known:
            code = self._known[path] = list(self._texts.lines(path))
            cells: dict[int, list[str]] = {}
            for number, line in enumerate(code, 1):
                cell, inside = cell_at(code, number)
                if inside:
                    cells.setdefault(cell, []).append(original(line)[0])
            for cell, lines in cells.items():
                self._texts.add(f"{path}:cell {cell}", "\n".join(lines))
        return self._known[path]

    def _lines(self, path: str) -> dict[int, tuple[int, ...]]:
        if path not in self._raw:
            self._code(path)
            try:
                raw = Path(path_of(path)).read_bytes().decode("utf-8-sig")
                self._raw[path] = {cell.number: cell.lines for cell in cells_of(raw)}
            except (OSError, UnicodeDecodeError, NoNotebook):
                self._raw[path] = {}
                raw = ""
            self._texts.add(path, raw)
        return self._raw[path]
