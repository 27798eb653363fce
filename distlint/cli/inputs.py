"""What `check` and `fix` have in common: their options, and the request made of them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from distlint.checking import Request
from distlint.findings import Finding, Place
from distlint.project.cache import VARIABLE, Cache, cache_folder, engine_stamp
from distlint.project.catalogue import known_rules
from distlint.project.fingerprints import fingerprints
from distlint.project.modules import project_root
from distlint.project.selection import UnknownSelector, check_selectors, select_rules
from distlint.project.settings import Settings, SettingsError, find_settings, read_settings
from distlint.reporting.report import Report, Reported
from distlint.rule import Rule

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Inputs:
    """The values of the shared options."""

    paths: tuple[str, ...]
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    preview: bool | None = None
    exclude: tuple[str, ...] = ()
    force_exclude: bool | None = None
    config: str | None = None
    stdin_filename: str | None = None
    baseline: str | None = None
    no_cache: bool = False
    cache_dir: str | None = None


class BadSetting(Exception):
    """Settings or options that cannot be followed, as the report to print."""

    def __init__(self, report: Report, settings: Settings | None) -> None:
        super().__init__()
        self.report = report
        self.settings = settings


cache_dir_option = click.option(
    "--cache-dir",
    metavar="FOLDER",
    help=f"Keep the cache there; else in {VARIABLE}, else in the user's cache folder.",
)


def shared_options(command: Command) -> Command:
    """Add the options that choose files and rules."""
    for option in (
        cache_dir_option,
        click.option("--no-cache", is_flag=True, help="Neither read nor write the cache."),
        click.option(
            "--stdin-filename",
            metavar="FILE",
            help="With `-`: check the text on standard input as the content of FILE.",
        ),
        click.option("--baseline", metavar="FILE", help="Leave out the findings accepted in FILE."),
        click.option("--config", metavar="FILE", help="Take the settings from this file."),
        click.option(
            "--force-exclude/--no-force-exclude",
            default=None,
            help="Leave out excluded files even when they are named (for pre-commit).",
        ),
        click.option(
            "--exclude",
            multiple=True,
            metavar="PATTERN",
            help="Leave out what fits this .gitignore pattern, too.",
        ),
        click.option("--preview/--no-preview", default=None, help="Run preview rules too."),
        click.option(
            "--ignore", multiple=True, metavar="CODES", help="Codes, prefixes or names not to run."
        ),
        click.option(
            "--select",
            multiple=True,
            metavar="CODES",
            help="Codes, prefixes or names to run, separated by commas; ALL for all.",
        ),
        click.argument("paths", nargs=-1, metavar="[PATHS]..."),
    ):
        command = option(command)
    return command


def split_codes(values: tuple[str, ...]) -> tuple[str, ...]:
    """`("DL1,DL2", "DL301")` as single selectors."""
    return tuple(part.strip() for value in values for part in value.split(",") if part.strip())


def prepare(inputs: Inputs) -> Request:
    """The request that `inputs` stand for. Raises BadSetting, or click.UsageError for the options."""
    overlays: Mapping[str, bytes] = {}
    paths = inputs.paths or (".",)
    if "-" in paths:
        if paths != ("-",):
            raise click.UsageError("`-` stands alone: standard input is one file")
        name = inputs.stdin_filename or "stdin.py"
        overlays = {os.path.abspath(name): sys.stdin.buffer.read()}
        paths = (name,)
    elif inputs.stdin_filename is not None:
        raise click.UsageError("--stdin-filename goes with `-`, the text on standard input")
    start = _start(paths)
    root = project_root(start) or Path.cwd()
    cache = Cache(None if inputs.no_cache else cache_folder(inputs.cache_dir), root)
    rules = known_rules(cache, engine_stamp())
    known = tuple(rules.values())
    try:
        settings = _settings(inputs, start, root)
        _check_setting_selectors(settings, known)
    except SettingsError as error:
        raise BadSetting(_bad_setting(error, rules), None) from None
    select, ignore = split_codes(inputs.select), split_codes(inputs.ignore)
    for option, selectors in (("--select", select), ("--ignore", ignore)):
        try:
            check_selectors(selectors, known)
        except UnknownSelector as error:
            raise click.UsageError(f"{option}: {error}") from None
    settings = settings.overridden(
        baseline=os.path.abspath(inputs.baseline) if inputs.baseline else None,
        preview=inputs.preview,
        force_exclude=inputs.force_exclude,
        exclude=(*settings.exclude, *inputs.exclude) if inputs.exclude else None,
    )
    selection = select_rules(
        known,
        select=select or settings.select,
        ignore=ignore if select else (*ignore, *settings.ignore),
        overruled=settings.ignore if select else (),
        preview=settings.preview,
    )
    return Request(paths, settings, known, selection, overlays, cache=cache)


def _settings(inputs: Inputs, start: Path, root: Path) -> Settings:
    if inputs.config is not None:
        path = Path(inputs.config)
        if not path.is_file():
            raise click.UsageError(f"--config: {inputs.config}: no such file")
        settings = read_settings(path.resolve())
        if settings is None:
            raise click.UsageError(f"--config: {inputs.config} has no [tool.distlint] table")
        return settings
    return find_settings(start, root=root)


def _start(paths: tuple[str, ...]) -> Path:
    """The directory that holds all of `paths`: settings are looked for from there upwards."""
    here = Path.cwd()
    existing = [here / path for path in paths if (here / path).exists()]
    try:
        start = Path(os.path.commonpath(existing or [here]))
    except ValueError:  # several drives
        start = here
    return start if start.is_dir() else start.parent


def _check_setting_selectors(settings: Settings, known: tuple[Rule, ...]) -> None:
    if settings.source is None:
        return
    tables = [("select", settings.select), ("ignore", settings.ignore)]
    tables += [("per-file-ignores", codes) for codes in settings.per_file_ignores.values()]
    for key, selectors in tables:
        try:
            check_selectors(selectors, known)
        except UnknownSelector as error:
            raise settings.error(key, f"`{key}`: {error}") from None


def _bad_setting(error: SettingsError, rules: Mapping[str, Rule]) -> Report:
    rule = rules["DL902"]
    finding = Finding(
        code=rule.code,
        name=rule.name,
        severity=rule.severity,
        message=f"Nothing was checked: {error.reason}",
        place=Place(error.path, error.line, 0, error.line, 0),
    )
    report = Report()
    line = report.texts.line(error.path, error.line)
    report.findings = [Reported(finding, fingerprints([finding], [error.path], [line])[0])]
    return report
