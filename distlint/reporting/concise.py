"""`--output-format concise`: one line for each finding, as editors and `grep` take it."""

from __future__ import annotations

from distlint.reporting.frames import printable
from distlint.reporting.report import Report, Reported, Texts
from distlint.reporting.style import Style
from distlint.reporting.text import painter, summary, tag


def render(report: Report, style: Style, *, quiet: bool = False) -> str:
    """`path:line:column: severity code name: message` for each finding, then what it comes to."""
    lines = [_line(row, report.texts, style) for row in report.findings]
    return "\n".join(lines if quiet else [*lines, summary(report, style)])


def _line(row: Reported, texts: Texts, style: Style) -> str:
    finding = row.finding
    column, _ = texts.columns(finding.place)
    paint = painter(finding.severity, style)
    return (
        f"{style.bold(printable(finding.place.path))}:{finding.place.line}:{column}: "
        f"{paint(finding.severity.value)} {paint(finding.code)} {finding.name}"
        f"{tag(finding, style)}: {printable(finding.message)}"
    )
