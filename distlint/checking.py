"""One check: files → prefilter → syntax trees → model → rules → suppressions → report."""

from __future__ import annotations

import ast
import gc
import os
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from distlint.analysis.source import Source
from distlint.findings import Applicability, Finding, Fix, Place
from distlint.fixing.edits import ReplaceComment, Span
from distlint.project.files import Problem, ProjectFile, discover, matches_patterns
from distlint.project.fingerprints import BaselineError, fingerprints, read_baseline
from distlint.project.modules import is_package, module_name, project_root
from distlint.project.prefilter import holds_any, minimal_literals
from distlint.project.reading import Unreadable, decode, parse
from distlint.project.selection import Selection, match
from distlint.project.settings import Settings
from distlint.project.suppressions import (
    MARK,
    Suppression,
    find_suppressions,
    mentions_suppression,
    suppressed,
)
from distlint.reporting.report import Report, Reported
from distlint.rule import Rule, Status

if TYPE_CHECKING:
    from distlint.analysis.model import Model

Progress = Callable[[str, int, int], None]
"""Told the name of a stage, how much of it is done, and how much there is."""

CONTEXT_LIMIT = 5_000
"""Files. A tree above this is not read for the sake of a few named files."""

VERIFIED_BYTES = 1_000_000
"""How much text without any literal is parsed only to see that it is Python (0.1 CPU s)."""


@dataclass(slots=True)
class Request:
    """What to check.

    `overlays` maps absolute paths to the bytes to use in place of what is on disk. `known` are all
    rules that exist (suppressions may name any of them), `selection` those that run.
    """

    paths: Sequence[str | Path]
    settings: Settings
    known: Sequence[Rule]
    selection: Selection
    overlays: Mapping[str, bytes] = field(default_factory=dict)
    progress: Progress | None = None


@dataclass(slots=True)
class _Read:
    """What one file turned out to be."""

    file: ProjectFile
    reported: bool
    text: str = ""
    tree: ast.Module | None = None
    failure: Unreadable | None = None


def check(request: Request) -> Report:
    """Check what `request` names. Never raises for what is in the files."""
    with _collector_off():
        return _check(request)


@contextmanager
def _collector_off() -> Iterator[None]:
    """Trees hold no cycles worth collecting while they live; walking them costs a third of a run."""
    enabled = gc.isenabled()
    gc.disable()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        if enabled:
            gc.enable()


def _check(request: Request) -> Report:
    report = Report()
    found = discover(request.paths, request.settings, overlays=request.overlays)
    report.problems.extend(found.problems)
    report.notes.extend(found.notes)
    report.files = len(found.files)
    context = _context(request, found.files, report)
    reads = _read_all(request, found.files, context, report)
    findings = _findings_of_rules(request, reads, report)
    findings += _unparsable(request, reads)
    for read in reads:
        if read.text:
            report.texts.add(read.file.shown, read.text)
    findings = _without_suppressed(request, reads, findings, report)
    findings = _without_ignored_files(request, reads, findings)
    findings.sort(key=_order)
    _number(request, reads, findings, report)
    return report


def _order(finding: Finding) -> tuple[str, int, int, str]:
    return finding.place.path, finding.place.line, finding.place.column, finding.code


# Reading


def _context(request: Request, files: Sequence[ProjectFile], report: Report) -> list[ProjectFile]:
    """The rest of the projects that the named files belong to: names resolve there."""
    roots: set[Path] = set()
    for named in request.paths:
        path = Path(os.path.abspath(named))
        if path.is_dir() and not is_package(str(path)):
            continue  # a whole tree is its own context
        if path.exists() or str(path) in request.overlays:
            roots.add(project_root(path))
    context: dict[str, ProjectFile] = {}
    named_files = {file.path for file in files}
    for root in sorted(roots):
        found = discover([root], request.settings, limit=CONTEXT_LIMIT)
        if len(found.files) > CONTEXT_LIMIT:
            report.notes.append(
                f"{root}: more than {CONTEXT_LIMIT} files; only what is named is known"
            )
            continue
        for file in found.files:
            if file.path not in named_files:
                context.setdefault(file.path, file)
    return list(context.values())


def _literals(rules: Sequence[Rule]) -> tuple[bytes, ...]:
    try:
        from distlint.knowledge.literals import PREFILTER
    except ImportError:
        PREFILTER = ()

    return minimal_literals([*PREFILTER, *(word for rule in rules for word in rule.literals)])


def _read_all(
    request: Request,
    files: Sequence[ProjectFile],
    context: Sequence[ProjectFile],
    report: Report,
) -> list[_Read]:
    """Every file that matters for the check: one that holds a literal, fails, or has suppressions."""
    literals = _literals(request.selection.rules)
    mark = MARK.encode()
    reads: list[_Read] = []
    unverified: list[tuple[ProjectFile, bytes]] = []
    total = len(files) + len(context)
    for number, (file, reported) in enumerate(
        [*((file, True) for file in files), *((file, False) for file in context)]
    ):
        if request.progress and number % 64 == 0:
            request.progress("reading", number, total)
        try:
            data = request.overlays.get(file.path)
            if data is None:
                with open(file.path, "rb") as stream:
                    data = stream.read()
        except OSError as error:
            if reported:
                reason = (error.strerror or str(error)).lower()
                report.problems.append(Problem(file.shown, f"cannot be read: {reason}"))
            continue
        if holds_any(data, literals):
            read = _Read(file, reported)
            try:
                read.text = decode(data).removeprefix("\ufeff")
                read.tree = parse(read.text)
            except Unreadable as failure:
                read.failure = failure
            reads.append(read)
        elif reported:
            read = _Read(file, reported)
            try:
                text = decode(data).removeprefix("\ufeff")
            except Unreadable as failure:
                read.failure = failure
                reads.append(read)
                continue
            if mark in data:
                read.text = text
                reads.append(read)
            unverified.append((file, data))
    # A file without any literal has no findings. Whether it parses is still worth saying where
    # that costs next to nothing; on transformers it would cost five times the whole check.
    if sum(len(data) for _, data in unverified) <= VERIFIED_BYTES:
        known = {read.file.path: read for read in reads}
        for file, data in unverified:
            try:
                parse(decode(data).removeprefix("\ufeff"))
            except Unreadable as failure:
                read = known.get(file.path) or _Read(file, True)
                read.failure = failure
                if file.path not in known:
                    reads.append(read)
    return reads


def _unparsable(request: Request, reads: Sequence[_Read]) -> list[Finding]:
    rule = _rule("DL900", request.selection.rules)
    if rule is None:
        return []
    return [
        Finding(
            code=rule.code,
            name=rule.name,
            severity=rule.severity,
            message=f"This file was not checked: {read.failure.reason}.",
            place=Place(
                read.file.shown,
                read.failure.line,
                read.failure.column,
                read.failure.line,
                read.failure.column,
            ),
        )
        for read in reads
        if read.failure is not None and read.reported
    ]


def _rule(code: str, rules: Sequence[Rule]) -> Rule | None:
    return next((rule for rule in rules if rule.code == code), None)


# Rules


def _findings_of_rules(request: Request, reads: Sequence[_Read], report: Report) -> list[Finding]:
    sources = []
    for read in reads:
        if read.tree is not None:
            module, package = module_name(read.file.path)
            sources.append(
                Source(read.file.shown, module, read.text, read.tree, package, read.reported)
            )
    if not any(source.reported for source in sources):
        return []
    if request.progress:
        request.progress("analysing", 0, 0)
    try:
        from distlint.analysis import build_model  # only runs with something to analyse load it
    except ImportError:
        return []
    try:
        model = build_model(sources, settings=request.settings)
    except Exception as error:
        report.problems.append(Problem("", f"the analysis failed: {_crash(error)}"))
        return []
    for path, text in getattr(model, "problems", ()):
        report.problems.append(Problem(path, text))
    report.notes.extend(f"{path}: {text}" for path, text in getattr(model, "notes", ()))
    shown = {source.path for source in sources if source.reported}
    findings: list[Finding] = []
    rules = request.selection.rules
    for number, rule in enumerate(rules):
        if request.progress:
            request.progress(f"checking {rule.code}", number, len(rules))
        findings += _run_rule(rule, model, request, sources, report)
    return [
        finding
        for finding in dict.fromkeys(findings)
        if finding.place.path in shown and request.selection.reports(finding.code, finding.severity)
    ]


def _run_rule(
    rule: Rule, model: Model, request: Request, sources: Sequence[Source], report: Report
) -> list[Finding]:
    """The findings of one rule; what it found before it failed, where it fails."""
    findings: list[Finding] = []
    try:
        for finding in rule.check(model):
            findings.append(finding)
    except Exception as error:
        path = _crashing_file(rule, request, sources)
        report.problems.append(
            Problem(path, f"rule {rule.code} ({rule.name}) failed: {_crash(error)}")
        )
    return findings


def _crashing_file(rule: Rule, request: Request, sources: Sequence[Source]) -> str:
    """The first file that makes `rule` fail by itself; empty where it takes several."""
    from distlint.analysis import build_model

    for source in sources:
        if source.reported:
            try:
                for _ in rule.check(build_model([source], settings=request.settings)):
                    continue
            except Exception:
                return source.path
    return ""


def _crash(error: BaseException) -> str:
    """One line that says what was raised and where: enough for a report."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}{where}; please report it"


# Suppressions, ignored files, baseline


def _without_suppressed(
    request: Request, reads: Sequence[_Read], findings: Sequence[Finding], report: Report
) -> list[Finding]:
    """`findings` without those that comments silence, and the comments that silence nothing."""
    by_path: dict[str, list[Suppression]] = {}
    for read in reads:
        if read.reported and read.text and mentions_suppression(read.text):
            by_path[read.file.shown] = find_suppressions(read.text)
    if not by_path:
        return list(findings)
    by_code = {rule.code: rule for rule in request.known}

    def matches(selector: str, code: str) -> bool:
        return code in by_code and match(selector, by_code[code]) > 0

    kept = [
        finding
        for finding in findings
        if not suppressed(finding, by_path.get(finding.place.path, ()), matches)
    ]
    rule = _rule("DL901", request.selection.rules)
    if rule is None or report.problems:
        return kept  # a rule that failed has not used its suppressions
    failed = {read.file.shown for read in reads if read.failure is not None}
    for path, suppressions in by_path.items():
        if path in failed:
            continue
        for item in suppressions:
            finding = _unused(rule, path, item, request)
            if finding and not suppressed(finding, suppressions, matches):
                kept.append(finding)
    return kept


def _unused(rule: Rule, path: str, item: Suppression, request: Request) -> Finding | None:
    """The finding about one comment of which a part, or all, silences nothing."""
    if item.noqa:  # other linters read it too
        return None
    running = request.selection.codes
    unknown = [
        selector
        for selector in item.codes
        if not any(match(selector, known) for known in request.known)
    ]
    idle = [
        selector
        for selector in item.codes
        if selector not in item.used
        and selector not in unknown
        and all(known.code in running for known in request.known if match(selector, known))
    ]
    if not item.codes:
        everything = all(
            known.code in running for known in request.known if known.status is Status.STABLE
        )
        if item.used or not everything:
            return None
        message = "This comment silences nothing: no rule reports anything here. Remove it."
    elif unknown:
        names = ", ".join(f"`{selector}`" for selector in unknown)
        message = f"This comment silences nothing with {names}: no rule has that code. Remove it."
    elif idle:
        names = ", ".join(f"`{selector}`" for selector in idle)
        message = f"This comment silences nothing with {names}: it is not reported here. Remove it."
    else:
        return None
    left = [code for code in item.codes if code not in unknown and code not in idle]
    text = item.text[: item.text.index("[") + 1] + ", ".join(left) + "]" if left else ""
    span: Span = item.span
    return Finding(
        code=rule.code,
        name=rule.name,
        severity=rule.severity,
        message=message,
        place=Place(path, span.line, span.column, span.end_line, span.end_column),
        fix=Fix(
            Applicability.SAFE,
            "Remove what silences nothing from the comment",
            (ReplaceComment(span, text),),
        ),
    )


def _without_ignored_files(
    request: Request, reads: Sequence[_Read], findings: list[Finding]
) -> list[Finding]:
    """`findings` without those that `per-file-ignores` drops."""
    table = request.settings.per_file_ignores
    if not table:
        return findings
    by_code = {rule.code: rule for rule in request.known}
    absolute = {read.file.shown: read.file.path for read in reads}
    root = os.path.abspath(request.settings.root)
    kept = []
    for finding in findings:
        path = absolute[finding.place.path]
        rule = by_code.get(finding.code)
        if rule is None or not any(
            any(match(code, rule) for code in codes) and matches_patterns([pattern], root, path)
            for pattern, codes in table.items()
        ):
            kept.append(finding)
    return kept


def _number(
    request: Request, reads: Sequence[_Read], findings: Sequence[Finding], report: Report
) -> None:
    """Give each finding its fingerprint, and drop what the baseline accepts."""
    absolute = {read.file.shown: read.file.path for read in reads}
    root = os.path.abspath(request.settings.root)
    names = fingerprints(
        findings,
        [os.path.relpath(absolute[f.place.path], root).replace(os.sep, "/") for f in findings],
        [report.texts.line(f.place.path, f.place.line) for f in findings],
    )
    accepted: frozenset[str] = frozenset()
    if request.settings.baseline is not None:
        try:
            accepted = read_baseline(request.settings.root / request.settings.baseline)
        except BaselineError as error:
            report.problems.append(Problem("", str(error)))
    for finding, name in zip(findings, names, strict=True):
        if name in accepted:
            report.baselined += 1
        else:
            report.findings.append(Reported(finding, name))
