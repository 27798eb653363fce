"""`--output-format json`: an array of objects, one for each finding."""

from __future__ import annotations

import json
from typing import Any

from distlint.findings import Place, WitnessStep
from distlint.reporting.report import Report, Reported, Texts


def render(report: Report) -> str:
    """The findings of `report` as a JSON array; columns are characters counted from 1."""
    rows = [as_object(row, report.texts) for row in report.findings]
    return json.dumps(rows, indent=2, ensure_ascii=False)


def as_object(row: Reported, texts: Texts) -> dict[str, Any]:
    """One finding as the object that the format promises."""
    finding = row.finding
    column, end_column = texts.columns(finding.place)
    result: dict[str, Any] = {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.value,
        "message": finding.message,
        "path": finding.place.path,
        "line": finding.place.line,
        "column": column,
        "end_line": finding.place.end_line,
        "end_column": end_column,
        "fix": finding.fix
        and {"applicability": finding.fix.applicability.value, "message": finding.fix.message},
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
    return {"path": place.path, "line": place.line, "column": texts.columns(place)[0]}


def _step(step: WitnessStep, texts: Texts) -> dict[str, Any]:
    return {**_start(step.place, texts), "text": step.text}
