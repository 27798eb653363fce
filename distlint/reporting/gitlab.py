"""`--output-format gitlab`: a code quality report, which GitLab shows in merge requests."""

from __future__ import annotations

import json

from distlint.findings import Severity
from distlint.reporting.report import Report

_SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "major", Severity.INFO: "info"}


def render(report: Report) -> str:
    """An array of code quality objects. Source: GitLab's "Code Quality", report format."""
    rows = [
        {
            "description": f"{row.finding.code} {row.finding.name}: {row.finding.message}",
            "check_name": row.finding.code,
            "fingerprint": row.fingerprint,
            "severity": _SEVERITIES[row.finding.severity],
            "location": {
                "path": report.from_root(row.finding.place.path),
                "lines": {"begin": row.finding.place.line, "end": row.finding.place.end_line},
            },
        }
        for row in report.findings
    ]
    return json.dumps(rows, indent=2, ensure_ascii=False)
