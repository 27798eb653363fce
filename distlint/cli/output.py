"""Printing: reports on standard output, problems on standard error."""

from __future__ import annotations

import importlib
import shutil
import sys
from collections import Counter

from distlint.reporting.report import Report
from distlint.reporting.style import style_for


def print_report(report: Report, output_format: str) -> None:
    """Write `report` to standard output in the format of that name."""
    if output_format == "text":
        from distlint.reporting.text import Layout, render

        # A pipe has no width: 100 keeps lines readable in logs. COLUMNS decides where it is set.
        width = shutil.get_terminal_size((100, 24)).columns
        write(render(report, Layout(style_for(sys.stdout), min(max(width, 40), 160))))
        return
    module = importlib.import_module(f"distlint.reporting.{output_format}")
    write_utf8(module.render(report))


def print_statistics(report: Report) -> None:
    """One line for each rule that found something: how often, code, name."""
    from distlint.reporting.text import summary

    counts = Counter((row.finding.code, row.finding.name) for row in report.findings)
    width = len(f"{max(counts.values(), default=0):,}")
    for (code, name), count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        write(f"{count:>{width},}  {code}  {name}")
    write(summary(report, style_for(sys.stdout)))


def print_notes(report: Report) -> None:
    """What `--verbose` tells, on standard error."""
    for note in report.notes:
        print(f"distlint: {note}", file=sys.stderr)


def print_problems(report: Report) -> None:
    """What could not be done, one line each, on standard error; and where nothing was to be done."""
    style = style_for(sys.stderr)
    if not report.files and not report.problems:
        print("No Python file was checked: the settings leave out what is there.", file=sys.stderr)
    for problem in report.problems:
        where = f"{problem.path}: " if problem.path else ""
        print(f"{style.red('error:')} {where}{problem.reason}", file=sys.stderr)


def write(text: str) -> None:
    """Print `text`, with escapes for what the encoding of standard output lacks."""
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding))


def write_utf8(text: str) -> None:
    """Print what a program reads: JSON and XML are UTF-8 whatever the locale says."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace") + b"\n")
    sys.stdout.buffer.flush()
