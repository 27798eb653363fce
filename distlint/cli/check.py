"""`distlint check`: report what breaks when several processes run the code."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import click

from distlint.checking import Request, let_go
from distlint.checking import check as run_check
from distlint.cli.failure import CannotRun
from distlint.cli.inputs import BadSetting, Inputs, Prepared, prepare, shared_options
from distlint.cli.output import (
    Printing,
    print_notes,
    print_problems,
    print_report,
    print_summary,
    style_of,
    write,
    write_report,
)
from distlint.cli.progress import ProgressBar
from distlint.project.baseline import Accepted, BaselineError, write_baseline
from distlint.project.files import Problem
from distlint.project.settings import OUTPUT_FORMATS, shown_path
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
@click.option(
    "--diff",
    "revision",
    metavar="REV",
    help="Report only what the branch adds to git's revision REV, uncommitted changes included.",
)
@click.option(
    "--fix",
    is_flag=True,
    help="Write the safe fixes first, as `distlint fix --apply`; report what is left.",
)
@click.option(
    "--unsafe-fixes/--no-unsafe-fixes",
    default=None,
    help="With --fix: take fixes too that may change numbers, timing or files.",
)
@click.option("--output-file", metavar="FILE", help="Write the report to FILE.")
@click.option("--statistics", is_flag=True, help="Count the findings of each rule instead.")
@click.option("--show-files", is_flag=True, help="List what would be checked; check nothing.")
@click.option(
    "--show-settings",
    is_flag=True,
    help="Print the settings that apply, and where they come from; check nothing.",
)
@click.option(
    "-j",
    "--jobs",
    type=click.IntRange(1, 256),
    metavar="N",
    help="Share the work among N processes; by default among all cores where it is large.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print the findings and nothing else.")
@click.option("-v", "--verbose", is_flag=True, help="Say what was left out and why.")
def check(
    output_format: str | None,
    exit_zero: bool,
    accepted: str | None,
    revision: str | None,
    fix: bool,
    unsafe_fixes: bool | None,
    output_file: str | None,
    statistics: bool,
    show_files: bool,
    show_settings: bool,
    jobs: int | None,
    quiet: bool,
    verbose: bool,
    **values: Any,
) -> None:
    """Report what breaks when several processes run the code in PATHS (default: here).

    Exit code: 0 clean, 1 findings, 2 where something could not be done.
    """
    if statistics and output_format not in (None, "text", "json"):
        raise click.UsageError(f"--statistics prints text or json, not {output_format}")
    if revision is not None and accepted is not None:
        raise click.UsageError("--write-baseline accepts all findings: leave out --diff")
    _refuse_odd_mixtures(
        values["paths"], fix=fix, unsafe=unsafe_fixes, other=bool(revision or accepted)
    )
    try:
        prepared = prepare(Inputs(**values))
    except BadSetting as bad:
        print_report(bad.report, Printing(output_format or "text"))
        sys.exit(2)
    requests = prepared.requests
    if show_settings or show_files:
        _show(requests, show_settings, show_files)
    printing = Printing(output_format or prepared.settings.output_format, statistics, quiet)
    if accepted is not None:
        for request in requests:
            request.settings = dataclasses.replace(request.settings, baseline=None)
    with ProgressBar(sys.stderr, enabled=not quiet) as bar:
        if fix:
            _write_fixes(prepared, bar, unsafe=unsafe_fixes, quiet=quiet)
        report = _checked(prepared, printing, revision, bar, jobs)
    if accepted is not None:
        _accept(report, Path(accepted))
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
    if accepted is not None and code == 1:
        code = 0
    sys.exit(0 if exit_zero and code == 1 else code)


def _refuse_odd_mixtures(
    paths: tuple[str, ...], *, fix: bool, unsafe: bool | None, other: bool
) -> None:
    """Raise UsageError for options that do not go together."""
    if unsafe is not None and not fix:
        raise click.UsageError("--unsafe-fixes goes with --fix")
    if fix and other:
        raise click.UsageError("--fix changes the files: leave out --diff and --write-baseline")
    if fix and "-" in paths:
        raise click.UsageError("--fix writes files: `distlint fix --apply -` prints the fixed text")


def _write_fixes(prepared: Prepared, bar: ProgressBar, *, unsafe: bool | None, quiet: bool) -> None:
    """Repair the files of a run before they are reported on."""
    from distlint.cli.fix import summary, write_repair
    from distlint.repairing import repair

    for request in prepared.requests:
        request.progress = bar
    result = repair(prepared.requests, unsafe=unsafe)
    write_repair(result, prepared.requests)
    bar.clear()
    print_problems(Report(problems=result.after.problems, files=result.after.files))
    if not quiet:
        click.echo(summary(result, True, style_of(sys.stderr)), err=True)


def _checked(
    prepared: Prepared,
    printing: Printing,
    revision: str | None,
    bar: ProgressBar,
    jobs: int | None,
) -> Report:
    """The report of what is there now; with `revision`, of what the branch adds to it."""
    with_changes = printing.output_format == "sarif" and not printing.statistics
    for request in prepared.requests:
        request.progress, request.jobs = bar, jobs
    report = run_check(prepared.requests)
    if revision is not None:
        _leave_added(report, prepared, revision, bar, jobs)
    if with_changes:
        from distlint.repairing import each_alone

        report.changes = each_alone(report, prepared.requests)
    return report


def _leave_added(
    report: Report, prepared: Prepared, revision: str, bar: ProgressBar, jobs: int | None
) -> None:
    """Take out of `report` what is not the branch's."""
    # 10 ms that other checks save.
    from distlint.comparing import keep_added
    from distlint.project.revision import RevisionError, base_of

    def check_base() -> Report:
        let_go()
        requests = prepared.at(base)
        for request in requests:
            request.progress, request.jobs = bar, jobs
        return run_check(requests)

    directories = [
        str(path if path.is_dir() else path.parent)
        for path in (Path(os.path.abspath(name)) for name in prepared.paths)
        if path.exists() or prepared.requests[0].overlays
    ]
    try:
        base = base_of(revision, directories, prepared.requests[0].overlays)
    except RevisionError as error:
        raise CannotRun(str(error)) from None
    taken = keep_added(report, base, check_base)
    report.notes.append(f"{taken:,} findings that {revision} has, too, are left out")


def _show(requests: Sequence[Request], settings: bool, files: bool) -> NoReturn:
    """Print what the requests are made of, and end."""
    if settings:
        write("\n\n".join(_settings_text(request) for request in requests))
    if files:
        for shown in sorted(file.shown for request in requests for file in request.files.files):
            write(shown)
    report = Report(
        problems=[each for request in requests for each in request.files.problems],
        files=sum(len(request.files.files) for request in requests),
    )
    print_problems(report)
    sys.exit(report.exit_code())


def _settings_text(request: Request) -> str:
    """The settings of one request as TOML, with the file that each comes from."""
    settings = request.settings
    source = "the defaults" if settings.source is None else shown_path(settings.source)
    count = len(request.files.files)
    lines = [f"# {source}: {count:,} {'file' if count == 1 else 'files'}", "[tool.distlint]"]
    for key, value in settings.items():
        if value is not None:
            origin = settings.origins.get(key)
            where = f"  # {shown_path(origin)}" if origin is not None else ""
            lines.append(f"{key} = {_toml(value)}{where}")
    return "\n".join(lines)


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        pairs = (f"{_toml(key)} = {_toml(each)}" for key, each in value.items())
        return f"{{ {', '.join(pairs)} }}" if value else "{}"
    return json.dumps(value, ensure_ascii=False)  # TOML writes these values the same way


def _accept(report: Report, path: Path) -> None:
    """Write the accepted findings, or say in the report why not."""
    rows = (
        Accepted(row.fingerprint, row.finding.code, row.path, row.finding.place.line)
        for row in report.findings
    )
    try:
        write_baseline(path, rows)
    except BaselineError as error:
        report.problems.append(Problem("", str(error)))
        return
    number = len(report.findings)
    write(f"Wrote {number:,} finding{'' if number == 1 else 's'} to {path}.")
