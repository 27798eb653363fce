"""What `check` and `fix` have in common: their options, and the request made of them."""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from distlint.checking import Request
from distlint.cli.output import color_option
from distlint.findings import Finding, Place
from distlint.project.cache import VARIABLE, Cache, cache_folder, engine_stamp
from distlint.project.catalogue import known_rules
from distlint.project.files import Part, discover, parts_of
from distlint.project.fingerprints import fingerprints
from distlint.project.modules import View, project_root
from distlint.project.naming import path_of
from distlint.project.selection import UnknownSelector, check_selectors, select_rules
from distlint.project.settings import (
    Fault,
    Settings,
    SettingsError,
    SettingsTree,
    read_settings,
    shown_path,
)
from distlint.records import dataclass
from distlint.reporting.report import Report, Reported
from distlint.rule import Rule

if TYPE_CHECKING:
    from distlint.project.revision import Base

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Inputs:
    """The values of the shared options."""

    paths: tuple[str, ...]
    select: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    preview: bool | None = None
    exclude: tuple[str, ...] = ()
    force_exclude: bool | None = None
    config: str | None = None
    stdin_filename: str | None = None
    baseline: str | None = None
    fix_style: str | None = None
    runtime_module: str | None = None
    no_cache: bool = False
    cache_dir: str | None = None


class BadSetting(Exception):
    """Settings or options that cannot be followed, as the report to print."""

    def __init__(self, report: Report) -> None:
        super().__init__()
        self.report = report


cache_dir_option = click.option(
    "--cache-dir",
    metavar="FOLDER",
    help=f"Keep the cache there; else in {VARIABLE}, else in the user's cache folder.",
)


def shared_options(command: Command) -> Command:
    """Add the options that choose files and rules."""
    for option in (
        color_option,
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
            "--extend-select",
            multiple=True,
            metavar="CODES",
            help="Codes, prefixes or names to run beside those that would run.",
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


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a command line asks for: the requests, and the settings for the run as a whole."""

    requests: tuple[Request, ...]
    settings: Settings
    paths: tuple[str, ...]
    tree: SettingsTree
    request_of: Callable[[Part, View], Request]

    def at(self, base: Base) -> tuple[Request, ...]:
        """The requests for the same files as they were at `base`, under the settings of now."""
        view = View(base.overlays, base.hides)
        reported = {file.path for request in self.requests for file in request.files.reported}
        old = [path for new, path in base.renamed.items() if new in reported]
        paths = [os.path.abspath(path) for path in self.paths]
        found = discover([*paths, *old], self.tree, view=view)
        # What cannot be looked at was told about the files of now.
        found.problems, found.notes = [], []
        parts = parts_of(found, [*paths, *old], self.tree, self.settings)
        return tuple(
            dataclasses.replace(
                self.request_of(part, view),
                settings=dataclasses.replace(part.settings, baseline=None),
            )
            for part in parts
        )


def prepare(inputs: Inputs, unsaved: Mapping[str, bytes] | None = None) -> Prepared:
    """What `inputs` stand for, with the bytes `unsaved` at some absolute paths.

    Raises BadSetting, or click.UsageError for the options.
    """
    overlays: Mapping[str, bytes] = unsaved or {}
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
        tree = _tree(inputs, root)
    except SettingsError as error:
        raise BadSetting(_bad_settings(error.faults, rules)) from None
    settings = tree.of(str(start))
    view = View(overlays)
    found = discover(paths, tree, view=view)
    faults = [
        *tree.faults,
        *(fault for each in tree.read for fault in _wrong_selectors(each, known)),
    ]
    if faults:
        raise BadSetting(_bad_settings(dict.fromkeys(faults), rules))
    select, ignore = split_codes(inputs.select), split_codes(inputs.ignore)
    extension = split_codes(inputs.extend_select)
    for option, selectors in (
        ("--select", select),
        ("--extend-select", extension),
        ("--ignore", ignore),
    ):
        try:
            check_selectors(selectors, known)
        except UnknownSelector as error:
            raise click.UsageError(f"{option}: {error}") from None

    def request_of(part: Part, view: View) -> Request:
        chosen = select_rules(
            known,
            select=select or part.settings.select,
            extension=extension,
            ignore=ignore if select else (*ignore, *part.settings.ignore),
            overruled=part.settings.ignore if select else (),
            preview=part.settings.preview,
        )
        return Request(
            paths=part.paths,
            files=part.files,
            settings=part.settings,
            tree=tree,
            known=known,
            selection=chosen,
            overlays=view.overlays,
            hides=view.hides,
            cache=cache,
        )

    parts = parts_of(found, [os.path.abspath(path) for path in paths], tree, settings)
    requests = tuple(request_of(part, view) for part in parts)
    return Prepared(requests, settings, paths, tree, request_of)


def _tree(inputs: Inputs, root: Path) -> SettingsTree:
    """The settings of this run. Raises SettingsError for the file of --config."""
    fixed = None
    if inputs.config is not None:
        path = Path(inputs.config)
        if not path.is_file():
            raise click.UsageError(f"--config: {inputs.config}: no such file")
        fixed = read_settings(path.resolve())
        if fixed is None:
            raise click.UsageError(f"--config: {inputs.config} has no [tool.distlint] table")
    baseline = os.path.abspath(inputs.baseline) if inputs.baseline else None
    return SettingsTree(
        Settings(root=root),
        fixed=fixed,
        override=lambda settings: settings.overridden(
            baseline=baseline,
            preview=inputs.preview,
            force_exclude=inputs.force_exclude,
            fix_style=inputs.fix_style,
            runtime_module=inputs.runtime_module,
        ),
        exclude=inputs.exclude,
    )


def _start(paths: tuple[str, ...]) -> Path:
    """The directory that holds all of `paths`: its settings are those of the run as a whole."""
    here = Path.cwd()
    existing = [here / path for path in paths if (here / path).exists()]
    try:
        start = Path(os.path.commonpath([os.path.abspath(path) for path in existing or [here]]))
    except ValueError:  # several drives
        start = here
    return start if start.is_dir() else start.parent


def _wrong_selectors(settings: Settings, known: tuple[Rule, ...]) -> Iterator[Fault]:
    """The words in `settings` that name no rule."""
    lists: list[tuple[tuple[str, ...], tuple[str, ...]]] = [
        (("select",), settings.select),
        (("ignore",), settings.ignore),
    ]
    lists += [
        (("per-file-ignores", pattern), codes)
        for pattern, codes in settings.per_file_ignores.items()
    ]
    for key, selectors in lists:
        for index, selector in enumerate(selectors):
            try:
                check_selectors([selector], known)
            except UnknownSelector as error:
                yield settings.fault((*key, index), f"`{key[0]}`: {error}")


def _bad_settings(faults: Iterable[Fault], rules: Mapping[str, Rule]) -> Report:
    rule = rules["DL902"]
    report = Report()
    findings = []
    for fault in faults:
        shown = shown_path(fault.source)
        if fault.source.is_symlink():  # it may lead to any file: its lines are not shown
            report.texts.add(shown, "")
        elif path_of(shown) != shown:
            report.texts.add(shown, fault.source.read_bytes().decode("utf-8", "replace"))
        findings.append(
            Finding(
                code=rule.code,
                name=rule.name,
                severity=rule.severity,
                message=f"Nothing was checked: {fault.reason}",
                place=Place(shown, fault.line, fault.column, fault.line, fault.column),
            )
        )
    findings.sort(key=lambda each: (each.place.path, each.place.line, each.place.column))
    paths = [each.place.path for each in findings]
    lines = [report.texts.line(each.place.path, each.place.line) for each in findings]
    names = fingerprints(findings, paths, lines)
    report.findings = [Reported(*pair) for pair in zip(findings, names, strict=True)]
    return report
