"""`distlint check`: report what breaks when several processes run the code."""

from __future__ import annotations

import sys
from typing import Any

import click

from distlint.checking import check as run_check
from distlint.cli.inputs import BadSetting, Inputs, prepare, shared_options
from distlint.cli.output import print_notes, print_problems, print_report
from distlint.cli.progress import ProgressBar
from distlint.project.settings import OUTPUT_FORMATS


@click.command()
@shared_options
@click.option(
    "--output-format", type=click.Choice(OUTPUT_FORMATS), help="How findings are printed."
)
@click.option("--exit-zero", is_flag=True, help="Exit 0 in spite of findings.")
@click.option("-v", "--verbose", is_flag=True, help="Say what was left out and why.")
def check(output_format: str | None, exit_zero: bool, verbose: bool, **values: Any) -> None:
    """Report what breaks when several processes run the code in PATHS (default: here).

    Exit code: 0 clean, 1 findings, 2 where something could not be done.
    """
    try:
        request = prepare(Inputs(**values))
    except BadSetting as bad:
        print_report(bad.report, output_format or "text")
        sys.exit(2)
    with ProgressBar(sys.stderr) as bar:
        request.progress = bar
        report = run_check(request)
    print_report(report, output_format or request.settings.output_format)
    if verbose:
        print_notes(report)
    print_problems(report)
    code = report.exit_code()
    sys.exit(0 if exit_zero and code == 1 else code)
