"""`--output-format json`: one object with the findings, and what could not be done."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from distlint.findings import Place, WitnessStep
from distlint.fixing.replacements import Changes
from distlint.reporting.cells import split_cell
from distlint.reporting.report import Report, Reported, Texts

VERSION = 1
"""Goes up when a key changes its meaning or goes away; new keys leave it as it is."""

_NOTHING: Changes = {}


def render(report: Report) -> str:
    """The findings of `report` under `findings`; columns are characters counted from 1."""
    return _document({"findings": _rows(report)}, report)


def render_repair(report: Report, diffs: Mapping[str, str]) -> str:
    """What `distlint fix` would do: as `render`, and under `files` each changed path with its diff."""
    files = [{"path": path, "diff": diff} for path, diff in diffs.items()]
    return _document({"findings": _rows(report), "files": files}, report)


def _rows(report: Report) -> list[dict[str, Any]]:
    return [
        as_object(row, report.texts, report.changes.get(row.fingerprint, {}))
        for row in report.findings
    ]


def render_statistics(report: Report) -> str:
    """How often each rule found something, under `statistics`: most frequent first."""
    rows = [
        {"code": code, "name": name, "count": count} for code, name, count in report.statistics()
    ]
    return _document({"statistics": rows}, report)


def _document(content: dict[str, Any], report: Report) -> str:
    problems = [
        {"path": problem.path or None, "message": problem.reason} for problem in report.problems
    ]
    notes = [*report.notes, *([stale] if (stale := report.stale_note()) else [])]
    document = {"version": VERSION, **content, "problems": problems, "notes": notes}
    document["given_up"] = report.given_up
    return json.dumps(document, indent=2, ensure_ascii=False)


def as_object(row: Reported, texts: Texts, changes: Changes = _NOTHING) -> dict[str, Any]:
    """One finding as the object that the format promises; `changes` are those of its fix, where asked for."""
    finding = row.finding
    more = [
        {"path": path, "changes": [asdict(piece) for piece in pieces]}
        for path, pieces in changes.items()
        if path != finding.fixed_path
    ]
    column, end_column = texts.columns(finding.place)
    result: dict[str, Any] = {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.value,
        "message": finding.message,
        **_path(finding.place),
        "line": finding.place.line,
        "column": column,
        "end_line": finding.place.end_line,
        "end_column": end_column,
        "fix": finding.fix
        and {
            "applicability": finding.fix.applicability.value,
            "message": finding.fix.message,
            **({"path": finding.fix.path} if finding.fix.path else {}),
            **(
                {"changes": [asdict(piece) for piece in changes[finding.fixed_path]]}
                if changes
                else {}
            ),
            **({"elsewhere": more} if more else {}),
        },
        "related": [
            {**_start(related.place, texts), "message": related.message}
            for related in finding.related
        ],
        "fingerprint": row.fingerprint,
    }
    if finding.witness is not None:
        result["witness"] = {
            "classes": [
                {"ranks": name, "trace": [_step(step, texts) for step in steps]}
                for name, steps in finding.witness.columns
            ],
            "chain": [_step(step, texts) for step in finding.witness.chain],
        }
    return result


def _start(place: Place, texts: Texts) -> dict[str, Any]:
    return {**_path(place), "line": place.line, "column": texts.columns(place)[0]}


def _path(place: Place) -> dict[str, Any]:
    """The path; of a place in a notebook, the cell that the line is of."""
    path, cell = split_cell(place.path)
    return {"path": path} if cell is None else {"path": path, "cell": cell}


def _step(step: WitnessStep, texts: Texts) -> dict[str, Any]:
    return {**_start(step.place, texts), "text": step.text}
