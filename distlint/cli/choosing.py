"""Which fixes are wanted: those of a line, or those that somebody says yes to."""

from __future__ import annotations

import sys
from collections.abc import Container, Sequence
from pathlib import Path

import click

from distlint.checking import Request, check
from distlint.cli.failure import CannotRun
from distlint.cli.output import style_of, write
from distlint.cli.progress import ProgressBar
from distlint.findings import Applicability
from distlint.fixing.diff import diff_text
from distlint.fixing.replacements import Changes, replaced
from distlint.project.naming import shown_as
from distlint.repairing import applies, each_alone
from distlint.reporting.report import Report, Reported

ANSWERS = "y yes, n no, a yes to all of this rule, q quit"


def found_at(places: Sequence[str], report: Report) -> frozenset[str]:
    """The fingerprints of what `report` holds at `places`, each FILE:LINE.

    Raises click.UsageError for what is no such place, CannotRun where nothing with a fix is found.
    """
    names: set[str] = set()
    for place in places:
        file, _, line = place.rpartition(":")
        if not file or not line.isdecimal():
            raise click.UsageError(f"--line: want FILE:LINE, for instance train.py:12, not {place}")
        path = shown_as(str(Path(file).absolute()))
        rows = [
            row
            for row in report.findings
            if row.finding.place.path == path
            and row.finding.place.line <= int(line) <= row.finding.place.end_line
        ]
        if not rows:
            raise CannotRun(
                f"{place}: nothing is found on this line; `distlint check` lists what is"
            )
        fixable = {row.fingerprint for row in rows if applies(row.finding, unsafe=True)}
        if not fixable:
            codes = ", ".join(sorted({row.finding.code for row in rows}))
            raise CannotRun(f"{place}: {codes} has no fix here that a machine can make")
        names |= fixable
    return frozenset(names)


def wanted(
    requests: Sequence[Request], only: Container[str] | None, bar: ProgressBar, *, unsafe: bool
) -> frozenset[str]:
    """Show every fix that can be applied, with its finding, and ask; the fingerprints of those wanted."""
    report = check(requests)
    changes = each_alone(report, requests)
    bar.clear()
    chosen: set[str] = set()
    all_of: set[str] = set()
    rows = [
        row
        for row in report.findings
        if row.fingerprint in changes
        and applies(row.finding, unsafe)
        and (only is None or row.fingerprint in only)
    ]
    for number, row in enumerate(rows, start=1):
        if row.finding.code not in all_of:
            _show(report, row, changes[row.fingerprint], f"{number}/{len(rows)}")
            answer = _answer()
            if answer == "q":
                break
            if answer == "n":
                continue
            if answer == "a":
                all_of.add(row.finding.code)
        chosen.add(row.fingerprint)
    return frozenset(chosen)


def _show(report: Report, row: Reported, changes: Changes, number: str) -> None:
    """A finding, and what its fix changes."""
    finding, style = row.finding, style_of(sys.stdout)
    place = finding.place
    unsafe = finding.fix is not None and finding.fix.applicability is Applicability.UNSAFE
    kind = "unsafe fix: numbers, timing or files may change" if unsafe else "fix"
    write(f"\n[{number}] {style.bold(f'{place.path}:{place.line}')} {finding.code} {finding.name}")
    write(f"  {finding.message}")
    if finding.fix is not None:
        write(f"  {kind}: {finding.fix.message}")
    for path, pieces in changes.items():
        before = "\n".join(report.texts.lines(path))
        after = replaced(before, pieces)
        if path != place.path or len(changes) > 1:
            write(f"  {style.bold(path)}")
        for line in diff_text(path, before.encode(), after.encode()).splitlines()[2:]:
            paint = {"+": style.green, "-": style.red, "@": style.cyan}.get(line[:1])
            write(f"  {paint(line) if paint else line}")


def _answer() -> str:
    """One of the letters; the end of the input stands for q."""
    sys.stdout.flush()
    while True:
        click.echo(f"Apply it? ({ANSWERS}) ", nl=False, err=True)
        line = sys.stdin.readline()
        if not line:
            return "q"
        word = line.strip().lower()[:1]
        if word in ("y", "n", "a", "q"):
            return word
