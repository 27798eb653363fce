"""`distlint test-rules`: test rules by their cases, fixes and proofs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from distlint.cli.failure import CannotRun
from distlint.cli.output import color_option, style_of, write
from distlint.project.settings import shown_path
from distlint.reporting.style import Style

if TYPE_CHECKING:
    from distlint.authoring.remarks import Remark
    from distlint.authoring.testing import Verdict

_DETAILS = 40
"""The lines shown of a diff, or of what the ranks printed."""


@click.command(short_help="Test rules: their cases, fixes and proofs.")
@click.argument(
    "paths", nargs=-1, metavar="[PATHS]...", type=click.Path(exists=True, path_type=Path)
)
@click.option("--rewrite", is_flag=True, help="Write cases.fixed.py as the fix leaves the cases.")
@click.option(
    "--only",
    type=click.Choice(["cases", "proofs"]),
    help="Leave the other part out; proofs take seconds each.",
)
@color_option
def test_rules(paths: tuple[Path, ...], rewrite: bool, only: str | None) -> None:
    """Test the rules in and below PATHS (default: here), installed or not.

    Each rule's folder must hold a page, cases, as many look-alikes as bugs, and a proof or a reason why
    not. Findings must stand where the cases mark them; the fix must give cases.fixed.py, keep comments
    and lines that are not concerned, and change nothing the second time. The proof must go wrong on
    real processes, and be right after the fix. Imports the rules and runs their proofs.

    Exit code: 0 all held, 1 something did not, 2 something could not be done.
    """
    from distlint.authoring.folders import BrokenRule, registered, rule_folders
    from distlint.authoring.testing import Parts, verdict_of

    if rewrite and only == "proofs":
        raise click.UsageError("--rewrite is about cases, --only proofs leaves them out")
    folders = rule_folders(paths or [Path()])
    if not folders:
        where = ", ".join(map(str, paths)) or "here"
        raise CannotRun(
            f"no rule in {where}: a rule is a folder whose __init__.py assigns CODE; "
            "`distlint new-rule` writes one"
        )
    parts = Parts(cases=only != "proofs", proof=only != "cases", rewrite=rewrite)
    style = style_of(sys.stdout)
    failed = 0
    try:
        with registered(folders) as known:
            for folder in folders:
                verdict = verdict_of(folder, known, parts)
                failed += bool(verdict.failures)
                _print(verdict, style)
                sys.stdout.flush()
    except BrokenRule as error:
        raise CannotRun(str(error)) from error
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        where = f"{shown_path(Path(error.filename))}: " if error.filename else ""
        raise CannotRun(f"{where}{reason}") from error
    rules = f"{len(folders)} rule{'' if len(folders) == 1 else 's'}"
    write(
        style.red(f"{failed} of {rules} failed.") if failed else style.green(f"{rules}: all held.")
    )
    sys.exit(1 if failed else 0)


def _print(verdict: Verdict, style: Style) -> None:
    rule = verdict.rule
    title = f"{rule.code} {rule.name}" if rule else shown_path(verdict.folder.path)
    mark = style.red("failed") if verdict.failures else style.green("held")
    write(f"{style.bold(title)}: {mark}" + "".join(f" · {fact}" for fact in verdict.facts))
    for remark in verdict.failures:
        write(f"  {_line(remark)}")
        details = remark.detail.splitlines()
        for line in details[:_DETAILS]:
            write(f"    {line}")
        if len(details) > _DETAILS:
            write(f"    … {len(details) - _DETAILS} lines more")
    for remark in verdict.notes:
        write(f"  note: {_line(remark)}")


def _line(remark: Remark) -> str:
    where = shown_path(remark.path)
    return f"{where}:{remark.line}: {remark.text}" if remark.line else f"{where}: {remark.text}"
