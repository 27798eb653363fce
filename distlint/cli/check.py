"""`distlint check`: report what breaks when several processes run the code."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Any

import click

from distlint.checking import check as run_check
from distlint.cli.inputs import BadSetting, Inputs, prepare, shared_options
from distlint.cli.output import print_notes, print_problems, print_report, print_statistics, write
from distlint.cli.progress import ProgressBar
from distlint.project.files import Problem
from distlint.project.fingerprints import BaselineError, write_baseline
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
    "accepted",
    metavar="FILE",
    help="Accept all present findings: write their fingerprints to FILE.",
)
@click.option("--statistics", is_flag=True, help="Count the findings of each rule instead.")
@click.option("-v", "--verbose", is_flag=True, help="Say what was left out and why.")
def check(
    output_format: str | None,
    exit_zero: bool,
    accepted: str | None,
    statistics: bool,
    verbose: bool,
    **values: Any,
) -> None:
    """Report what breaks when several processes run the code in PATHS (default: here).

    Exit code: 0 clean, 1 findings, 2 where something could not be done.
    """
    try:
        request = prepare(Inputs(**values))
    except BadSetting as bad:
        print_report(bad.report, output_format or "text")
        sys.exit(2)
    if accepted is not None:
        request.settings = dataclasses.replace(request.settings, baseline=None)
    with ProgressBar(sys.stderr) as bar:
        request.progress = bar
        report = run_check(request)
    if accepted is not None:
        _accept(report, Path(accepted))
    elif statistics:
        print_statistics(report)
    else:
        print_report(report, output_format or request.settings.output_format)
    if verbose:
        print_notes(report)
    print_problems(report)
    if not report.files and not report.problems:
        print("No Python file was checked: the settings leave out what is there.", file=sys.stderr)
    code = report.exit_code()
    if accepted is not None and code == 1:
        code = 0
    sys.exit(0 if exit_zero and code == 1 else code)


def _accept(report: Report, path: Path) -> None:
    """Write the accepted findings, or say in the report why not."""
    try:
        write_baseline(path, ((row.finding, row.fingerprint) for row in report.findings))
    except BaselineError as error:
        report.problems.append(Problem("", str(error)))
        return
    number = len(report.findings)
    write(f"Wrote {number:,} finding{'' if number == 1 else 's'} to {path}.")
