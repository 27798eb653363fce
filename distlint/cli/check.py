"""`distlint check`: report what breaks when several processes run the code."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Any

import click

from distlint.checking import check as run_check
from distlint.cli.inputs import BadSetting, Inputs, prepare, shared_options
from distlint.cli.output import (
    Printing,
    print_notes,
    print_problems,
    print_report,
    print_summary,
    write,
    write_report,
)
from distlint.cli.progress import ProgressBar
from distlint.project.baseline import Accepted, baseline_text
from distlint.project.files import Problem
from distlint.project.settings import OUTPUT_FORMATS
from distlint.reporting.report import Report


@click.command()
@shared_options
@click.option(
    "--output-format", type=click.Choice(OUTPUT_FORMATS), help="How findings are printed."
)
@click.option("--exit-zero", is_flag=True, help="Exit 0 in spite of findings.")
@click.option(
    "--write-baseline",
    metavar="FILE",
    help="Accept all present findings: write their fingerprints to FILE.",
)
@click.option("--output-file", metavar="FILE", help="Write the report to FILE.")
@click.option("--statistics", is_flag=True, help="Count the findings of each rule instead.")
@click.option("-q", "--quiet", is_flag=True, help="Print the findings and nothing else.")
@click.option("-v", "--verbose", is_flag=True, help="Say what was left out and why.")
def check(
    output_format: str | None,
    exit_zero: bool,
    write_baseline: str | None,
    output_file: str | None,
    statistics: bool,
    quiet: bool,
    verbose: bool,
    **values: Any,
) -> None:
    """Report what breaks when several processes run the code in PATHS (default: here).

    Exit code: 0 clean, 1 findings, 2 where something could not be done.
    """
    if statistics and output_format not in (None, "text", "json"):
        raise click.UsageError(f"--statistics prints text or json, not {output_format}")
    try:
        request = prepare(Inputs(**values))
    except BadSetting as bad:
        print_report(bad.report, Printing(output_format or "text"))
        sys.exit(2)
    printing = Printing(output_format or request.settings.output_format, statistics, quiet)
    if write_baseline is not None:
        request.settings = dataclasses.replace(request.settings, baseline=None)
    with_changes = printing.output_format == "sarif" and not statistics
    if with_changes:  # stored findings hold no edits
        request.cache = request.cache.disabled()
    with ProgressBar(sys.stderr, enabled=not quiet) as bar:
        request.progress = bar
        report = run_check(request)
        if with_changes:
            from distlint.repairing import each_alone

            report.changes = each_alone(report, request)
    if write_baseline is not None:
        _write_baseline(report, Path(write_baseline))
    elif output_file is not None:
        write_report(report, printing, Path(output_file))
        if not quiet:
            print_summary(report)
    else:
        print_report(report, printing)
    if verbose:
        print_notes(report)
    print_problems(report)
    code = report.exit_code()
    if write_baseline is not None and code == 1:
        code = 0
    sys.exit(0 if exit_zero and code == 1 else code)


def _write_baseline(report: Report, path: Path) -> None:
    """Write the accepted findings, or say in the report why not."""
    rows = (
        Accepted(row.fingerprint, row.finding.code, row.path, row.finding.place.line)
        for row in report.findings
    )
    try:
        path.write_text(baseline_text(rows), encoding="utf-8")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        report.problems.append(Problem(str(path), f"the baseline cannot be written: {reason}"))
        return
    number = len(report.findings)
    write(f"Wrote {number:,} finding{'' if number == 1 else 's'} to {path}.")
