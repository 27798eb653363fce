"""`distlint fix`: show the fixes as a diff, or apply them."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from distlint.checking import Request
from distlint.cli.inputs import BadSetting, Inputs, prepare, shared_options
from distlint.cli.output import Printing, print_notes, print_problems, print_report, style_of, write
from distlint.cli.progress import ProgressBar
from distlint.fixing.diff import diff_text, unified_diff
from distlint.fixing.writing import WriteRefused, write_fixed
from distlint.project.files import Problem, leads_outside
from distlint.project.naming import escaped
from distlint.repairing import FixedFile, Repair, repair
from distlint.reporting.report import Report
from distlint.reporting.style import Style


@click.command()
@shared_options
@click.option("--apply", is_flag=True, help="Write the fixed files; without it nothing is written.")
@click.option(
    "--unsafe-fixes/--no-unsafe-fixes",
    default=None,
    help="Take fixes too that may change numbers, timing or files.",
)
@click.option("--diff", is_flag=True, help="With --apply: show the diff as well.")
@click.option("--exit-zero", is_flag=True, help="Exit 0 in spite of findings.")
@click.option("-q", "--quiet", is_flag=True, help="Print the diff or what is left, nothing else.")
@click.option("-v", "--verbose", is_flag=True, help="Say what was left out and why.")
def fix(
    apply: bool,
    unsafe_fixes: bool | None,
    diff: bool,
    exit_zero: bool,
    quiet: bool,
    verbose: bool,
    **values: Any,
) -> None:
    """Show as a diff how the findings in PATHS (default: here) are repaired.

    The diff goes to standard output and can be given to `git apply`. With `-`, --apply prints the
    fixed text. Exit code: 0 when nothing is (or remains) to be done, 1 otherwise, 2 where something
    could not be done.
    """
    try:
        requests = prepare(Inputs(**values)).requests
    except BadSetting as bad:
        print_report(bad.report, Printing())
        sys.exit(2)
    with ProgressBar(sys.stderr, enabled=not quiet) as bar:
        for request in requests:
            request.progress = bar
        result = repair(requests, unsafe=unsafe_fixes)
    overlays = requests[0].overlays
    from_stdin = bool(overlays)
    if diff or not apply:
        _print_diff(result.files)
    if apply and from_stdin:
        (data,) = (file.after for file in result.files) if result.files else overlays.values()
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
    elif apply:
        _write(result, requests)
        print_report(result.after, Printing(quiet=quiet))
    for note in result.notes:
        print(f"distlint: {note.path}: {note.reason}", file=sys.stderr)
    if verbose:
        print_notes(result.after)
    print_problems(result.after)
    if not quiet:
        print(_summary(result, apply, style_of(sys.stderr)), file=sys.stderr)
    code = (result.after if apply else _planned(result)).exit_code()
    sys.exit(0 if exit_zero and code == 1 else code)


def _planned(result: Repair) -> Report:
    """The report that a diff stands for: what is there now, and what went wrong on the way."""
    result.before.problems = result.after.problems
    return result.before


def _print_diff(files: list[FixedFile]) -> None:
    style = style_of(sys.stdout)
    for file in files:
        if sys.stdout.isatty() or style.color:
            for line in diff_text(file.shown, file.before, file.after).splitlines():
                write(_painted(line, style))
        else:  # byte for byte what `git apply` needs
            sys.stdout.flush()
            sys.stdout.buffer.write(unified_diff(file.shown, file.before, file.after))
            sys.stdout.buffer.flush()


def _painted(line: str, style: Style) -> str:
    if line.startswith(("--- ", "+++ ")):
        return style.bold(line)
    if line.startswith("@@"):
        return style.cyan(line)
    if line.startswith("-"):
        return style.red(line)
    return style.green(line) if line.startswith("+") else line


def _write(result: Repair, requests: Sequence[Request]) -> None:
    """Write what changed; what is refused is a problem, and the rest goes on."""
    roots = {
        file.path: str(request.settings.root)
        for request in requests
        for file in request.files.reported
    }
    written = []
    for file in result.files:
        shown = escaped(file.shown)
        if leads_outside(str(file.path), roots[str(file.path)]):
            real = escaped(os.path.realpath(file.path))
            reason = f"not written, it is a link out of the project; name {real} to fix that file"
            result.after.problems.append(Problem(shown, reason))
            continue
        try:
            write_fixed(file.path, file.before, file.after)
        except WriteRefused as refused:
            reason = str(refused).removeprefix(f"{file.path}: ")
            result.after.problems.append(Problem(shown, reason))
        else:
            written.append(file)
    result.files = written


def _summary(result: Repair, apply: bool, style: Style) -> str:
    fixes = _counted(result.applied, "fix", "fixes")
    files = _counted(len(result.files), "file", "files")
    if not result.files:
        line = "Nothing to fix."
    elif apply:
        line = style.green(f"Applied {fixes} in {files}.")
    else:
        line = style.green(f"Would apply {fixes} in {files}; `--apply` does.")
    if result.withheld:
        line += f" {result.withheld:,} more with `--unsafe-fixes`."
    return line


def _counted(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"
