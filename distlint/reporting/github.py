"""`--output-format github`: workflow commands, which GitHub Actions shows as annotations."""

from __future__ import annotations

from distlint.findings import Severity
from distlint.reporting.report import Report

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render(report: Report) -> str:
    """One workflow command for each finding.

    Source: GitHub's "Workflow commands for GitHub Actions"; the escapes are those of its toolkit
    (actions/toolkit, packages/core/src/command.ts).
    """
    lines = []
    for row in report.findings:
        finding = row.finding
        column, end_column = report.texts.columns(finding.place)
        place = finding.place
        path = report.from_root(place.path)
        properties = {
            "file": path,
            "line": str(place.line),
            "endLine": str(place.end_line),
            "title": f"{finding.code} {finding.name}",
        }
        if place.line == place.end_line:  # GitHub takes columns only within one line
            properties |= {"col": str(column), "endColumn": str(end_column)}
        listed = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
        text = _data(f"{path}:{place.line}:{column}: {finding.code} {finding.message}")
        lines.append(f"::{_COMMANDS[finding.severity]} {listed}::{text}")
    return "\n".join(lines)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
