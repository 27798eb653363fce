"""Printing: reports on standard output or into a file, problems on standard error."""

from __future__ import annotations

import importlib
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO, TypeVar

import click

from distlint.project.files import Problem
from distlint.records import dataclass
from distlint.reporting.cells import located
from distlint.reporting.report import Report
from distlint.reporting.style import Style, style_for

Command = TypeVar("Command", bound=Callable[..., Any])

_PLAIN_WIDTH = 100

COLORS = {"auto": None, "always": True, "never": False}


def color_option(command: Command) -> Command:
    """Add `--color`, which all that this module prints follows."""

    def remember(context: click.Context, _: click.Parameter, value: str) -> None:
        context.color = COLORS[value]

    return click.option(
        "--color",
        type=click.Choice(list(COLORS)),
        default="auto",
        expose_value=False,
        callback=remember,
        help="auto: on terminals, and as NO_COLOR and FORCE_COLOR say.",
    )(command)


def style_of(stream: TextIO) -> Style:
    """How the running command paints what it writes to `stream`."""
    context = click.get_current_context(silent=True)
    return style_for(stream, context.color if context else None)


@dataclass(frozen=True, slots=True)
class Printing:
    """What of a report is wanted, and in which form."""

    output_format: str = "text"
    statistics: bool = False
    quiet: bool = False


def print_report(report: Report, printing: Printing) -> None:
    """Write `report` to standard output."""
    # A pipe has no width: 100 keeps lines readable in logs. COLUMNS decides where it is set.
    width = shutil.get_terminal_size((_PLAIN_WIDTH, 24)).columns
    if text := _rendered(report, printing, style_of(sys.stdout), min(max(width, 40), 160)):
        printer = write if printing.output_format in ("text", "concise") else write_utf8
        printer(text)


def write_report(report: Report, printing: Printing, path: Path) -> None:
    """Write `report` into the file at `path`, or say in the report why not."""
    context = click.get_current_context(silent=True)
    style = Style(color=bool(context and context.color))
    text = _rendered(report, printing, style, _PLAIN_WIDTH)
    try:
        path.write_text(text + "\n" if text else "", encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        report.problems.append(Problem(str(path), f"the report cannot be written: {reason}"))


def _rendered(report: Report, printing: Printing, style: Style, width: int) -> str:
    if printing.statistics:
        return _statistics(report, printing, style)
    by_cell = printing.output_format in ("text", "concise", "json")
    report = located(report, in_file=not by_cell)
    match printing.output_format:
        case "text":
            from distlint.reporting.text import Layout, render

            return render(report, Layout(style, width, printing.quiet))
        case "concise":
            from distlint.reporting import concise

            return concise.render(report, style, quiet=printing.quiet)
        case name:
            module = importlib.import_module(f"distlint.reporting.{name}")
            rendered: str = module.render(report)
            return rendered


def _statistics(report: Report, printing: Printing, style: Style) -> str:
    """One line, or one object, for each rule that found something: how often, code, name."""
    if printing.output_format == "json":
        from distlint.reporting.json import render_statistics

        return render_statistics(report)
    from distlint.reporting.text import summary

    rows = report.statistics()
    width = max((len(f"{count:,}") for _, _, count in rows), default=1)
    lines = [f"{count:>{width},}  {code}  {name}" for code, name, count in rows]
    return "\n".join(lines if printing.quiet else [*lines, summary(report, style)])


def print_summary(report: Report) -> None:
    """What `report` comes to, for a log beside the file that holds it."""
    from distlint.reporting.text import summary

    write(summary(report, style_of(sys.stdout)))


def print_notes(report: Report) -> None:
    """What `--verbose` tells, on standard error."""
    for note in report.notes:
        print(f"distlint: {note}", file=sys.stderr)


def print_problems(report: Report) -> None:
    """What could not be done, one line each, on standard error; and where nothing was to be done."""
    style = style_of(sys.stderr)
    if not report.files and not report.problems:
        print(
            "No Python file was checked: there is none, or the settings leave it out.",
            file=sys.stderr,
        )
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
