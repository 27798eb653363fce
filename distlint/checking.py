"""One check: files → prefilter → syntax trees → model → rules → suppressions → report."""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import re
import traceback
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from distlint.columns import forget_lines, split_lines
from distlint.findings import Finding, Place, Severity
from distlint.launch.kinds import Kind, kind_of
from distlint.project.baseline import Accepted, BaselineError, earlier_names, read_baseline
from distlint.project.cache import (
    Cache,
    content_digest,
    decode_finding,
    encode_finding,
    engine_stamp,
    run_key,
)
from distlint.project.files import FileSet, Problem, leads_outside, matches_patterns
from distlint.project.fingerprints import fingerprints
from distlint.project.loading import (
    Entry,
    Progress,
    Survey,
    load,
    load_launch,
    projects_of,
    survey,
)
from distlint.project.modules import View, repository_root
from distlint.project.naming import path_of
from distlint.project.notebooks import SUFFIX, is_hidden, shell_of
from distlint.project.prefilter import minimal_literals
from distlint.project.reading import Unreadable, python_text
from distlint.project.selection import Selection, match
from distlint.project.settings import Settings, SettingsTree
from distlint.project.styles import style_of
from distlint.project.suppressions import (
    MARK,
    Suppression,
    find_line_suppressions,
    find_suppressions,
    mentions_suppression,
    suppressed,
    unused,
)
from distlint.reporting.report import Report, Reported
from distlint.rule import BrokenRules, Rule

if TYPE_CHECKING:
    from distlint.analysis import Model, Source
    from distlint.knowledge.facts import Knowledge
    from distlint.launch.project import LaunchFiles


@dataclass(slots=True)
class Outcome:
    """What a run finds, what there is to tell about it, and the functions not compared to their end."""

    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    given_up: list[str] = field(default_factory=list)

    def add(self, other: Outcome) -> None:
        """Take over the outcome of another part."""
        self.findings += other.findings
        self.notes += other.notes
        self.given_up += other.given_up

    def of(self, paths: Container[str]) -> Outcome:
        """The part that speaks of the files shown as `paths`."""
        return Outcome(
            [finding for finding in self.findings if finding.place.path in paths],
            *(
                [text for text in texts if text.partition(": ")[0] in paths]
                for texts in (self.notes, self.given_up)
            ),
        )


@dataclass(frozen=True, slots=True)
class Earlier:
    """A run over the same files, before those at the absolute paths `changed` got other bytes.

    What no import joins with a changed file is not analysed again: it keeps what was found then.
    """

    changed: frozenset[str]
    outcome: Outcome


@dataclass(slots=True)
class Request:
    """What to check by one file of settings.

    `files` are those that `tree` gives these `settings`, found in `paths`. `known` are all rules that exist (suppressions may name any of them), `selection` those that
    run. `overlays` maps absolute paths to the bytes to use in place of what is on disk; a file that
    `hides` counts as absent. A check leaves in `outcome` what it found, before the baseline; `earlier` is
    the run that it continues.
    """

    paths: Sequence[str | Path]
    files: FileSet
    settings: Settings
    tree: SettingsTree
    known: Sequence[Rule]
    selection: Selection
    overlays: Mapping[str, bytes] = field(default_factory=dict)
    hides: Callable[[str], bool] = lambda _: False
    progress: Progress | None = None
    cache: Cache = field(default_factory=lambda: Cache(None))
    earlier: Earlier | None = None
    outcome: Outcome = field(default_factory=Outcome)


def check(requests: Sequence[Request]) -> Report:
    """Check what `requests` name. Never raises for what is in the files."""
    report = Report()
    present: set[str] = set()
    for number, request in enumerate(requests):
        if number:
            let_go()
        else:
            report.root = repository_root(Path(os.path.abspath(request.settings.root)))
        present |= _check(request, report)
    # Several requests may share a baseline, and each knows only its own files.
    stale = dict.fromkeys(report.stale)
    report.stale = [row for row in stale if row.fingerprint not in present]
    report.findings.sort(key=lambda row: _order(row.finding))
    report.problems = list(dict.fromkeys(report.problems))
    return report


def _check(request: Request, report: Report) -> set[str]:
    """Put into `report` what is found in the files of `request`; the names a baseline has for it."""
    engine = engine_stamp()
    rules = request.selection.rules
    named = (*request.settings.collectives, *request.settings.rank_predicates)
    words = [name.rpartition(".")[2].encode() for name in named]
    literals = minimal_literals([*_literals(rules), *words])
    found = survey(
        request.files,
        request.paths,
        request.tree,
        literals,
        view=View(request.overlays, request.hides),
        cache=request.cache,
        engine=content_digest(b"\0".join([engine.encode(), *literals])),
        progress=request.progress,
    )
    report.files += found.checked
    report.problems += found.problems
    report.notes += found.notes
    for entry in found.entries:
        data = request.overlays.get(entry.file.path)
        if data is not None:
            report.texts.add(entry.file.shown, data.decode("utf-8", "replace"))
    if request.earlier is None:
        outcome = _remembered(request, found, engine, literals, report)
    else:
        outcome = _fresh(request, found, literals, report)
    request.outcome = outcome
    report.notes += outcome.notes
    report.given_up += outcome.given_up
    findings = outcome.findings
    present = _number(request, found, findings, report)
    if request.cache.refused:
        report.notes.append(f"without a cache: {request.cache.refused}")
    return present


def _remembered(
    request: Request, found: Survey, engine: str, literals: Sequence[bytes], report: Report
) -> Outcome:
    """The outcome of a run, from the cache where it is there."""
    key = run_key(engine, _dependencies(request), _contents(found))
    stored = _stored(request.cache.load_run(key))
    if stored is not None:
        _add_odd_names(request, found, stored.findings, report)
        return stored
    problems = len(report.problems)
    outcome = _fresh(request, found, literals, report)
    if len(report.problems) == problems:  # what failed may not fail again
        rows = [encode_finding(finding) for finding in outcome.findings]
        kept = {"findings": rows, "notes": outcome.notes, "given_up": outcome.given_up}
        request.cache.save_run(key, kept)
    return outcome


def _add_odd_names(
    request: Request, found: Survey, findings: Sequence[Finding], report: Report
) -> None:
    """Give the report the texts that it cannot read by the names that are shown."""
    told = {place.path for finding in findings for place in finding.places()}
    for entry in found.entries:
        file = entry.file
        if file.shown in told and path_of(file.shown) != file.shown:
            with contextlib.suppress(OSError, Unreadable):  # gone, or no text: nothing to show
                data = request.overlays.get(file.path) or Path(file.path).read_bytes()
                report.texts.add(file.shown, python_text(file.path, data))


def _literals(rules: Sequence[Rule]) -> tuple[bytes, ...]:
    from distlint.knowledge.literals import PREFILTER

    return minimal_literals([*PREFILTER, *(word for rule in rules for word in rule.literals)])


def _dependencies(request: Request) -> list[str]:
    """What a result depends on besides the engine and the files."""
    selection = request.selection
    return [
        repr(sorted(selection.codes)),
        repr(sorted(selection.with_info)),
        repr(request.settings),
        style_of(request.settings),
        os.getcwd(),
    ]


def _contents(found: Survey) -> list[tuple[str, str, bool]]:
    return [
        (entry.file.shown, entry.facts.digest, entry.reported)
        for entry in (*found.entries, *found.launch)
        if entry.facts is not None
    ]


def _stored(document: dict[str, Any] | None) -> Outcome | None:
    """The outcome of a stored run; None where there is none, or it is damaged."""
    if document is None:
        return None
    try:
        return Outcome(
            [decode_finding(row) for row in document["findings"]],
            [str(note) for note in document["notes"]],
            [str(text) for text in document["given_up"]],
        )
    except (TypeError, ValueError, IndexError, KeyError):
        return None


def _fresh(request: Request, found: Survey, literals: Sequence[bytes], report: Report) -> Outcome:
    """The outcome of this run, its findings in the order of the report."""
    earlier = request.earlier
    if earlier is not None and any(kind_of(path) is not None for path in earlier.changed):
        request = replace(request, earlier=None)  # how a script is launched may matter to any code
    outcome = Outcome()
    launch = _launch_files(request, found, outcome, report)
    parts = projects_of(found, request.paths)
    for part, progress in zip(parts, _shared_progress(request.progress, parts), strict=True):
        unchanged = _unchanged(request, part)
        if unchanged is not None:
            outcome.add(unchanged)
            continue
        asked = replace(request, progress=progress)
        outcome.add(_of_project(asked, part, launch, literals, report))
        if len(parts) > 1:
            let_go()
    # What stands in the shell commands of a notebook is found anew, and kept with its Python.
    findings = list(dict.fromkeys(outcome.findings))
    outcome.findings = _without_ignored_files(request, found, findings)
    outcome.findings.sort(key=_order)
    return outcome


def _unchanged(request: Request, part: Survey) -> Outcome | None:
    """What was found in a part in which no file has changed since; None where there is no such run."""
    earlier = request.earlier
    if earlier is None or any(entry.file.path in earlier.changed for entry in part.entries):
        return None
    return earlier.outcome.of({entry.file.shown for entry in part.entries})


@dataclass(frozen=True, slots=True)
class _PartProgress:
    """The progress of one of several parts: files of all parts are counted together."""

    progress: Progress
    name: str
    before: int
    size: int
    total: int

    def __call__(self, stage: str, done: int, _total: int) -> None:
        # Files are counted one by one while they are parsed; what comes after concerns all of them.
        here = done if stage == "parsing" else self.size
        self.progress(f"{self.name}: {stage:<14}", self.before + here, self.total)


def _shared_progress(progress: Progress | None, parts: Sequence[Survey]) -> list[Progress | None]:
    """What each of `parts` tells its progress to."""
    if progress is None or len(parts) == 1:
        return [progress] * len(parts)
    sizes = [len(part.entries) for part in parts]
    return [
        _PartProgress(progress, f"project {n + 1}/{len(parts)}", sum(sizes[:n]), size, sum(sizes))
        for n, size in enumerate(sizes)
    ]


def let_go() -> None:
    """Free the trees and runs of one project before those of the next are made."""
    forget_lines()
    gc.collect()


def _of_project(
    request: Request,
    found: Survey,
    launch: Callable[[], LaunchFiles] | None,
    literals: Sequence[bytes],
    report: Report,
) -> Outcome:
    """The findings in files that are analysed together."""
    entries = load(found, literals, overlays=request.overlays, progress=request.progress)
    problems = len(report.problems)
    outcome, kept = _findings_of_rules(request, entries, launch, report)
    looked_at = [entry for entry in entries if entry.file.shown not in kept]
    findings = outcome.findings + _unparsable(request, looked_at, outcome.notes)
    complete = len(report.problems) == problems
    outcome.findings = _without_suppressed(request, looked_at, findings, judge_comments=complete)
    if request.earlier is not None:
        outcome.add(request.earlier.outcome.of(kept))
    findings = outcome.findings
    told = {place.path for finding in findings for place in finding.places()}
    for entry in entries:
        if entry.file.shown in told:
            report.texts.add(entry.file.shown, entry.text)
        entry.tree, entry.text = None, ""
    return outcome


def _order(finding: Finding) -> tuple[str, int, int, str]:
    return finding.place.path, finding.place.line, finding.place.column, finding.code


def _unparsable(request: Request, entries: Sequence[Entry], notes: list[str]) -> list[Finding]:
    """What cannot be parsed; a link out of the project goes to `notes`, and none of its lines is shown."""
    rule = _rule("DL900", request.selection.rules)
    if rule is None:
        return []
    findings = []
    for entry in entries:
        failure = entry.failure
        if failure is not None and entry.reported:
            if leads_outside(entry.file.path, str(request.settings.root)):
                notes.append(f"{entry.file.shown}: a link out of the project, to no Python file")
                continue
            if entry.file.path.endswith(SUFFIX):
                notes.append(f"{entry.file.shown}: not read: {failure.reason}")
                continue
            at = (failure.line, failure.column)
            findings.append(
                Finding(
                    code=rule.code,
                    name=rule.name,
                    severity=rule.severity,
                    message=f"This file was not checked: {failure.reason}.",
                    place=Place(entry.file.shown, *at, *at),
                )
            )
    return findings


def _rule(code: str, rules: Sequence[Rule]) -> Rule | None:
    return next((rule for rule in rules if rule.code == code), None)


# Rules


def _findings_of_rules(
    request: Request,
    entries: Sequence[Entry],
    launch: Callable[[], LaunchFiles] | None,
    report: Report,
) -> tuple[Outcome, frozenset[str]]:
    """What the rules find, and the files (as shown) that need no new analysis."""
    if not any(entry.reported and entry.tree is not None for entry in entries):
        return Outcome(), frozenset()
    if request.progress:
        request.progress("analysing", 0, 0)
    # 50 ms that a run without such files saves.
    from distlint.analysis import Source, build_models, deep_recursion
    from distlint.knowledge.facts import Knowledge

    sources = []
    for entry in entries:
        if entry.tree is not None:
            package = entry.file.path.endswith("__init__.py")
            sources.append(
                Source(
                    entry.file.shown,
                    entry.module,
                    entry.text,
                    entry.tree,
                    package,
                    entry.reported,
                    entry.meant,
                )
            )
    knowledge = Knowledge.with_rows(request.settings.collectives, request.settings.rank_predicates)
    findings: dict[Finding, None] = {}
    outcome = Outcome()
    changed = None
    if request.earlier is not None:
        paths = request.earlier.changed
        changed = {entry.file.shown for entry in entries if entry.file.path in paths}
    analysed: set[str] = set()
    style = style_of(request.settings)
    models = build_models(sources, knowledge, changed=changed)
    with deep_recursion():
        while True:
            try:
                model = next(models, None)
            except Exception as error:
                report.problems.append(Problem("", f"the analysis failed: {crash_text(error)}"))
                break
            if model is None:
                break
            if launch is not None:
                model.read_launch = launch
            group = frozenset(module.path for module in model.program.modules.values())
            report.groups.append(group)
            analysed |= group
            findings.update(dict.fromkeys(_of_model(request, model, sources, report, style)))
            for problem in model.problems:
                outcome.notes.append(f"{problem.path}: {problem.text}")
                if problem.reason:
                    outcome.given_up.append(
                        f"{problem.path}: {problem.function} ({problem.reason})"
                    )
    outcome.findings = list(findings)
    kept = frozenset(source.path for source in sources) - analysed
    return outcome, kept if changed is not None else frozenset()


def _launch_files(
    request: Request, found: Survey, outcome: Outcome, report: Report
) -> Callable[[], LaunchFiles] | None:
    """What reads the scripts and configurations beside the code, once; none where there are none.

    What the rules find in them goes into `outcome`.
    """
    notebooks = [
        Entry(entry.file, True, entry.facts)
        for entry in found.entries
        if entry.reported and entry.file.path.endswith(SUFFIX)
        if entry.facts is not None and entry.facts.relevant
    ]
    if not found.launch and not notebooks:
        return None
    # 60 ms that a project without such files saves.
    from distlint.launch.project import TextFile, read_files

    entries = load_launch(found.launch, request.overlays, outcome.notes)
    # What is wrong with a notebook is told where its Python is read.
    entries += load_launch(notebooks, request.overlays, [])
    texts = []
    for entry in entries:
        kind = kind_of(entry.file.path)
        text = entry.text if kind is not None else shell_of(entry.text)
        texts.append(TextFile(entry.file.shown, kind or Kind.SHELL, text))
        report.texts.add(entry.file.shown, entry.text)

    @functools.cache
    def read() -> LaunchFiles:
        files = read_files(texts)
        outcome.notes += files.notes
        return files

    findings: dict[Finding, None] = {}
    problems = len(report.problems)
    for rule in request.selection.rules:
        if rule.check_launch is None:
            continue
        try:
            for finding in rule.check_launch(read()):
                if request.selection.reports(finding.code, finding.severity):
                    findings[finding] = None
        except Exception as error:
            text = f"rule {rule.code} ({rule.name}) failed: {crash_text(error)}"
            report.problems.append(Problem("", text))
    complete = len(report.problems) == problems
    outcome.findings += _without_suppressed(
        request, entries, list(findings), judge_comments=complete, launch=True
    )
    return read


def _of_model(
    request: Request, model: Model, sources: Sequence[Source], report: Report, style: str
) -> Iterator[Finding]:
    """What the selected rules find in files that belong together, on what is reported."""
    shown = {module.path for module in model.modules}
    rules = request.selection.rules
    for number, rule in enumerate(rules):
        if request.progress:
            request.progress(f"checking {rule.code}", number, len(rules))
        for each in _run_rule(rule, model, sources, report, style):
            finding = _as_in_a_test(each) if _TEST_FILE.search(each.place.path) else each
            place = finding.place.path
            if place in shown and request.selection.reports(finding.code, finding.severity):
                yield finding


_TEST_FILE: Final = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_test|conftest)\.py$")
"""The files that pytest collects."""


def _as_in_a_test(finding: Finding) -> Finding:
    """A finding in a test: advice, unless ranks wait for each other there.

    How many processes run a test, on which machines and with which wrapper, its harness decides, which is
    not in the code: of 34 judged findings in such files 33 were false (docs/precision.md).
    """
    if finding.code.startswith(("DL1", "DL9")):
        return finding
    return replace(finding, severity=Severity.INFO)


def _run_rule(
    rule: Rule, model: Model, sources: Sequence[Source], report: Report, style: str
) -> list[Finding]:
    """The findings of one rule, fixes in a style; what it found before it failed, where it fails."""
    from distlint.repairs.dressing import dressed

    findings: list[Finding] = []
    try:
        for finding in rule.check(model):
            findings.append(dressed(model, finding, style))
    except BrokenRules:
        raise
    except Exception as error:
        path = _crashing_file(rule, model.knowledge, sources)
        report.problems.append(
            Problem(path, f"rule {rule.code} ({rule.name}) failed: {crash_text(error)}")
        )
    return findings


def _crashing_file(rule: Rule, knowledge: Knowledge, sources: Sequence[Source]) -> str:
    """The first file that makes `rule` fail by itself; empty where it takes several."""
    from distlint.analysis import build_model

    for source in sources:
        if source.reported:
            try:
                for _ in rule.check(build_model([source], knowledge)):
                    continue
            except Exception:
                return source.path
    return ""


def crash_text(error: BaseException) -> str:
    """One line that says what was raised and where: enough for a report."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}{where}; please report it"


# Suppressions, ignored files, baseline


def _without_suppressed(
    request: Request,
    entries: Sequence[Entry],
    findings: Sequence[Finding],
    *,
    judge_comments: bool,
    launch: bool = False,
) -> list[Finding]:
    """`findings` without those that comments silence, and with those about idle comments.

    After a failure `judge_comments` is off: a rule that failed has not used its suppressions.
    """
    found_in = {finding.place.path for finding in findings}
    by_path: dict[str, list[Suppression]] = {
        entry.file.shown: _suppressions(entry, launch=launch)
        for entry in entries
        if entry.reported and (MARK in entry.text or entry.file.shown in found_in)
        if mentions_suppression(entry.text)
    }
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
    if rule is None or not judge_comments:
        return kept
    failed = {entry.file.shown for entry in entries if entry.failure is not None}
    running = request.selection.codes
    for path, comments in by_path.items():
        if path in failed:
            continue
        for comment in comments:
            finding = unused(comment, path, rule, request.known, running)
            if finding is not None and not suppressed(finding, comments, matches):
                kept.append(finding)
    return kept


def _suppressions(entry: Entry, *, launch: bool) -> list[Suppression]:
    """The comments of a file; of a notebook, those on its shell commands (`launch`) or on its Python."""
    if kind_of(entry.file.path) is not None:
        return find_line_suppressions(entry.text)
    found = find_suppressions(entry.text)
    if not entry.file.path.endswith(SUFFIX):
        return found
    lines = split_lines(entry.text)
    return [item for item in found if is_hidden(lines[item.span.line - 1]) is launch]


def _without_ignored_files(
    request: Request, found: Survey, findings: list[Finding]
) -> list[Finding]:
    """`findings` without those that `per-file-ignores` drops."""
    table = request.settings.per_file_ignores
    if not table or not findings:
        return findings
    by_code = {rule.code: rule for rule in request.known}
    absolute = {entry.file.shown: entry.file.path for entry in (*found.entries, *found.launch)}
    root = os.path.abspath(request.settings.root_of("per-file-ignores"))

    def ignored(finding: Finding) -> bool:
        rule, path = by_code[finding.code], absolute[finding.place.path]
        return any(
            any(match(code, rule) for code in codes) and matches_patterns([pattern], root, path)
            for pattern, codes in table.items()
        )

    return [finding for finding in findings if not ignored(finding)]


def _number(
    request: Request, found: Survey, findings: Sequence[Finding], report: Report
) -> set[str]:
    """Give each finding its fingerprint, and drop what the baseline accepts.

    Returns the names under which a baseline knows the findings.
    """
    absolute = {entry.file.shown: entry.file.path for entry in (*found.entries, *found.launch)}
    # The same name in every way of calling, and another one in every package of a repository.
    root = request.tree.outermost_root(os.path.abspath(request.settings.root))
    paths = [os.path.relpath(absolute[f.place.path], root).replace(os.sep, "/") for f in findings]
    lines = [report.texts.line(f.place.path, f.place.line) for f in findings]
    names = fingerprints(findings, paths, lines)
    accepted: tuple[Accepted, ...] = ()
    if request.settings.baseline is not None:
        try:
            root_of_baseline = request.settings.root_of("baseline")
            accepted = read_baseline(root_of_baseline / request.settings.baseline)
        except BaselineError as error:
            report.problems.append(Problem("", str(error)))

    def exists(path: str) -> bool:
        return os.path.exists(os.path.join(root, path))

    earlier = earlier_names(accepted, findings, paths, lines, exists)
    names_then = names if earlier == paths else fingerprints(findings, earlier, lines)
    known = {row.fingerprint for row in accepted}
    for finding, path, name, then in zip(findings, paths, names, names_then, strict=True):
        if then in known:
            report.baselined += 1
        else:
            report.findings.append(Reported(finding, name, path))
    left = [row for row in accepted if row.fingerprint not in names_then]
    report.stale += [row for row in left if _judged(row, request, found, root)]
    return set(names_then)


def _judged(row: Accepted, request: Request, found: Survey, root: str) -> bool:
    """Whether this run would have found what `row` accepts: its rule ran, and its file was read."""
    if row.code not in request.selection.codes:
        return False
    path = os.path.join(root, row.path)
    unread = {entry.file.path for entry in found.entries if entry.failure is not None}
    if os.path.exists(path):
        looked_at = (*found.entries, *found.launch)
        read = path not in unread
        return read and any(entry.file.path == path and entry.reported for entry in looked_at)
    if unread:
        return False  # It may have been renamed to one of those.
    named = [os.path.abspath(each) for each in request.paths]
    return any(path == each or path.startswith(each.rstrip(os.sep) + os.sep) for each in named)
