"""`distlint fix`: show the fixes as a diff, or apply them."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from distlint.checking import Request, check
from distlint.cli.choosing import found_at, wanted
from distlint.cli.failure import CannotRun
from distlint.cli.inputs import BadSetting, Inputs, prepare, shared_options
from distlint.cli.output import (
    Printing,
    print_notes,
    print_problems,
    print_report,
    style_of,
    write,
    write_utf8,
)
from distlint.cli.progress import ProgressBar
from distlint.fixing.diff import diff_text, unified_diff
from distlint.fixing.writing import WriteRefused, write_together
from distlint.project.files import Problem, leads_outside
from distlint.project.naming import escaped
from distlint.project.settings import FIX_STYLES
from distlint.project.trees import Trees
from distlint.project.vendoring import CannotVendor, Vendored, ensure_vendored
from distlint.repairing import FixedFile, Repair, each_alone, repair
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
@click.option(
    "--fix-style",
    type=click.Choice(FIX_STYLES),
    help="Write fixes with the runtime's functions, or with what the code has.",
)
@click.option(
    "--vendor",
    "vendored",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="With --apply: copy the runtime to PATH, a package, and import it from there.",
)
@click.option(
    "--line",
    "lines",
    multiple=True,
    metavar="FILE:LINE",
    help="Only the fixes of what is found there.",
)
@click.option(
    "-i", "--interactive", is_flag=True, help="Show each fix, ask, and write the wanted ones."
)
@click.option(
    "--output-format",
    type=click.Choice(["json", "sarif"]),
    help="Print findings and changes for programs instead of a diff.",
)
@click.option("--exit-zero", is_flag=True, help="Exit 0 in spite of findings.")
@click.option("-q", "--quiet", is_flag=True, help="Print the diff or what is left, nothing else.")
@click.option("-v", "--verbose", is_flag=True, help="Say what was left out and why.")
def fix(
    apply: bool,
    unsafe_fixes: bool | None,
    diff: bool,
    fix_style: str | None,
    vendored: Path | None,
    lines: tuple[str, ...],
    interactive: bool,
    output_format: str | None,
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
    _refuse_odd_mixtures(values["paths"], output_format, apply=apply, interactive=interactive)
    copy = None if vendored is None else _copy_of_runtime(vendored, fix_style, apply=apply)
    module = None if copy is None else copy.module
    fix_style = fix_style if copy is None else "runtime"
    try:
        inputs = Inputs(**values, fix_style=fix_style, runtime_module=module)
        requests = prepare(inputs).requests
    except BadSetting as bad:
        print_report(bad.report, Printing())
        sys.exit(2)
    with ProgressBar(sys.stderr, enabled=not quiet) as bar:
        for request in requests:
            request.progress = bar
            request.trees = Trees()  # each round of fixes is a check of nearly the same files
        only = found_at(lines, check(requests)) if lines else None
        if interactive:
            only = wanted(requests, only, bar, unsafe=unsafe_fixes is not False)
            apply, unsafe_fixes = True, True
        result = repair(requests, unsafe=unsafe_fixes, only=only)
        if output_format is not None:
            result.before.changes = each_alone(result.before, requests)
    overlays = requests[0].overlays
    from_stdin = bool(overlays)
    if output_format is not None:
        _print_for_programs(result, output_format)
    elif diff or not apply:
        _print_diff(result.files)
    if apply and from_stdin:
        (data,) = (file.after for file in result.files) if result.files else overlays.values()
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
    elif apply:
        write_repair(result, requests)
        if output_format is None:
            print_report(result.after, Printing(quiet=quiet))
    if copy is not None and vendored is not None:
        _settle(copy, vendored, result)
    for note in result.notes:
        print(f"distlint: {note.path}: {note.reason}", file=sys.stderr)
    if verbose:
        print_notes(result.after)
    print_problems(result.after)
    if not quiet:
        print(summary(result, apply, style_of(sys.stderr)), file=sys.stderr)
    code = (result.after if apply else _planned(result)).exit_code()
    sys.exit(0 if exit_zero and code == 1 else code)


def _refuse_odd_mixtures(
    paths: tuple[str, ...], output_format: str | None, *, apply: bool, interactive: bool
) -> None:
    """Raise UsageError for options that do not go together."""
    if interactive and "-" in paths:
        raise click.UsageError("--interactive reads answers from standard input: name the files")
    if output_format is not None and (interactive or (apply and "-" in paths)):
        other = "--interactive" if interactive else "`--apply -`"
        raise click.UsageError(f"{other} prints text: leave out --output-format")


def _copy_of_runtime(path: Path, fix_style: str | None, *, apply: bool) -> Vendored:
    """The runtime as a package at `path`, copied there unless it is. Raises UsageError, CannotRun."""
    if not apply:
        raise click.UsageError("--vendor writes a package: it goes with --apply")
    if fix_style == "native":
        raise click.UsageError("--vendor is for fixes that import it: leave out --fix-style native")
    try:
        return ensure_vendored(path)
    except CannotVendor as error:
        raise CannotRun(str(error)) from None


def _settle(copy: Vendored, path: Path, result: Repair) -> None:
    """Say how the copy becomes a setting; one that was made in vain goes again."""
    import_of_it = f"from {copy.module} import ".encode()
    if any(import_of_it in file.after for file in result.files):
        print(f'runtime-module = "{copy.module}"  # for the settings', file=sys.stderr)
    elif copy.files:
        shutil.rmtree(path)


def _print_for_programs(result: Repair, output_format: str) -> None:
    """The findings with what each fix changes alone; as JSON with the diffs of all together, too."""
    if output_format == "sarif":
        print_report(result.before, Printing("sarif"))
        return
    from distlint.reporting.json import render_repair

    diffs = {each.shown: diff_text(each.shown, each.before, each.after) for each in result.files}
    write_utf8(render_repair(result.before, diffs))


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


def write_repair(result: Repair, requests: Sequence[Request]) -> None:
    """Write what changed; what is refused is a problem, and the rest goes on."""
    roots = {
        file.path: str(request.settings.root)
        for request in requests
        for file in request.files.reported
    }
    written = []
    for unit in result.together():
        refused = _refusal(unit, roots)
        if refused is None:
            written += unit
            continue
        culprit, reason = refused
        for file in unit:
            said = reason if file is culprit else f"not written, as {escaped(culprit.shown)} is not"
            result.after.problems.append(Problem(escaped(file.shown), said))
    result.files = sorted(written, key=lambda file: file.shown)


def _refusal(unit: Sequence[FixedFile], roots: Mapping[str, str]) -> tuple[FixedFile, str] | None:
    """Write files that belong together; the one that is not written, and why: then none is."""
    for file in unit:
        if leads_outside(str(file.path), roots[str(file.path)]):
            real = escaped(os.path.realpath(file.path))
            reason = f"not written, it is a link out of the project; name {real} to fix that file"
            return file, reason
    try:
        write_together([(file.path, file.before, file.after) for file in unit])
    except WriteRefused as refused:
        said = str(refused)
        culprit = next(file for file in unit if said.startswith(f"{file.path}: "))
        return culprit, said.removeprefix(f"{culprit.path}: ")
    return None


def summary(result: Repair, apply: bool, style: Style) -> str:
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
