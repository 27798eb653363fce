"""One check: files → prefilter → syntax trees → model → rules → suppressions → report."""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from distlint.columns import forget_lines, split_lines
from distlint.findings import Applicability, Finding, Fix, Place, Related, Severity
from distlint.launch.kinds import TELLS, Kind, kind_of
from distlint.parallel import cores, shared
from distlint.patterns import pattern
from distlint.project.apart import trained_apart
from distlint.project.baseline import Accepted, BaselineError, earlier_names, read_baseline
from distlint.project.cache import (
    Cache,
    content_digest,
    decode_finding,
    decode_related,
    encode_finding,
    encode_related,
    engine_stamp,
    run_key,
)
from distlint.project.entries import Entry, head
from distlint.project.files import FileSet, Problem, leads_outside, matches_patterns
from distlint.project.fingerprints import fingerprints
from distlint.project.loading import (
    KNOWN_LIMIT,
    Progress,
    Survey,
    first_names,
    groups_of,
    load,
    load_launch,
    open_all,
    projects_of,
    recall,
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
from distlint.project.trees import Trees
from distlint.project.versions import NEWER
from distlint.records import dataclass
from distlint.reporting.report import Report, Reported
from distlint.rule import BrokenRules, Rule, Status

if TYPE_CHECKING:
    from distlint.analysis import Kept, Model, Source
    from distlint.analysis.live.summaries import Problem as GivenUp
    from distlint.knowledge.facts import Knowledge
    from distlint.launch.project import LaunchFiles


ANSWERS_KEPT = 1_000
"""Groups of files of which a project's cache keeps what was found in them."""

WORTH_SHARING = 250_000
"""Bytes of text whose analysis several processes share where nobody says how many."""


@dataclass(slots=True)
class Outcome:
    """What a run finds, what there is to tell about it, and the functions not compared to their end."""

    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    given_up: list[str] = field(default_factory=list)
    groups: list[frozenset[str]] = field(default_factory=list)
    """The files that were analysed together, by the paths that are shown."""
    reached: list[Related] = field(default_factory=list)
    """Where the request asks: the collectives, each with the ranks that come to it."""

    def add(self, other: Outcome) -> None:
        """Take over the outcome of another part."""
        self.findings += other.findings
        self.notes += other.notes
        self.given_up += other.given_up
        self.groups += other.groups
        self.reached += other.reached

    def of(self, paths: Container[str]) -> Outcome:
        """The part that speaks of the files shown as `paths`."""
        return Outcome(
            [finding for finding in self.findings if finding.place.path in paths],
            [text for text in self.notes if text.partition(": ")[0] in paths],
            [text for text in self.given_up if text.partition(": ")[0] in paths],
            self.groups,
            [each for each in self.reached if each.place.path in paths],
        )

    def encode(self) -> dict[str, Any]:
        """What the cache keeps."""
        return {
            "findings": [encode_finding(finding) for finding in self.findings],
            "notes": self.notes,
            "given_up": self.given_up,
            "groups": [sorted(group) for group in self.groups],
            "reached": [encode_related(each) for each in self.reached],
        }

    @classmethod
    def decode(cls, document: Mapping[str, Any] | None) -> Outcome | None:
        """What `encode` made; None where there is nothing, or it is damaged."""
        if document is None:
            return None
        try:
            return cls(
                [decode_finding(row) for row in document["findings"]],
                [str(note) for note in document["notes"]],
                [str(text) for text in document["given_up"]],
                [frozenset(map(str, group)) for group in document["groups"]],
                [decode_related(row) for row in document["reached"]],
            )
        except (TypeError, ValueError, IndexError, KeyError):
            return None


@dataclass(slots=True)
class Request:
    """What to check by one file of settings.

    `files` are those that `tree` gives these `settings`, found in `paths`. `known` are all rules that exist (suppressions may name any of them), `selection` those that
    run. `overlays` maps absolute paths to the bytes to use in place of what is on disk; a file that
    `hides` counts as absent. A check leaves in `outcome` what it found, before the baseline; unless it is
    `lasting`, only other checks of this process learn from it; `trees` is what these share besides. A check
    `with_reached` also tells which ranks come to each collective. `jobs` are the processes that share the work;
    with None, as many as there are cores, where there is enough of it.
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
    lasting: bool = True
    with_reached: bool = False
    jobs: int | None = 1
    trees: Trees | None = None
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
    rules = request.selection.rules
    named = (*request.settings.collectives, *request.settings.rank_predicates)
    words = [name.rpartition(".")[2].encode() for name in named]
    literals = minimal_literals([*_literals(rules), *words])
    engine = content_digest(b"\0".join([engine_stamp().encode(), *literals]))
    found = survey(
        request.files,
        request.paths,
        request.tree,
        literals,
        view=View(request.overlays, request.hides),
        cache=request.cache,
        engine=engine,
        trees=request.trees,
        progress=request.progress,
    )
    report.files += found.checked
    report.problems += found.problems
    report.notes += found.notes
    for entry in found.entries:
        data = request.overlays.get(entry.file.path)
        if data is not None:
            report.texts.add(entry.file.shown, data.decode("utf-8", "replace"))
    outcome = _remembered(request, found, engine, literals, report)
    request.outcome = outcome
    report.notes += outcome.notes
    report.given_up += outcome.given_up
    report.groups += outcome.groups
    report.reached += outcome.reached
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
    stored = Outcome.decode(request.cache.load_run(key))
    if stored is not None:
        _add_odd_names(request, found, stored.findings, report)
        return stored
    problems = len(report.problems)
    outcome = _fresh(request, found, engine, literals, report)
    failed = len(report.problems) > problems  # it may not fail again
    stale = any(entry.stale for entry in (*found.entries, *found.launch))
    if request.lasting and not failed and not stale:
        request.cache.save_run(key, outcome.encode())
    _add_odd_names(request, found, outcome.findings, report)
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
        repr(request.with_reached),
        os.getcwd(),
    ]


def _contents(found: Survey) -> list[tuple[str, str, bool]]:
    return [
        (entry.file.shown, entry.facts.digest, entry.reported)
        for entry in (*found.entries, *found.launch)
        if entry.facts is not None
    ]


@dataclass(slots=True)
class _Run:
    """A run over files that are not all as they were: answers are looked up by what they depend on.

    `engine` names the engine with its literals, `depends_on` what else is the same for all files.
    """

    request: Request
    report: Report
    engine: str
    depends_on: list[str]
    answers: dict[str, Any]
    learned: bool = False

    def answers_to(self, questions: Sequence[_Question]) -> Iterator[Outcome]:
        """What was found in files that were like this when they were looked at, or what is found now.

        What is found without a question about how the code is launched is the same however it is.
        """
        keys = [self._keys(question) for question in questions]
        known = [self._known(each) for each in keys]
        missing = [q for q, stored in zip(questions, known, strict=True) if stored is None]
        fresh = iter(self._found(missing))
        for question, both, stored in zip(questions, keys, known, strict=True):
            yield self._take(question, both, next(fresh)) if stored is None else stored

    def _keys(self, question: _Question) -> tuple[str, str]:
        """The names of an answer that does not depend on how the code is launched, and of one that does."""
        entries, more = question.entries, question.more
        files = [(e.file.shown, e.facts.digest if e.facts else "", e.own) for e in entries]
        links = [
            f"{e.module} {sorted((e.meant or {}).items())} {e.lacking} {e.chosen}"
            for e in entries
            if e.analysed
        ]
        plain, launched = (
            run_key(self.engine, [*self.depends_on, each, *links], files)
            for each in (more, f"{more} {question.digests}")
        )
        return plain, launched

    def _known(self, keys: tuple[str, str]) -> Outcome | None:
        for key in keys:
            known = self.answers.pop(key, None)
            stored = Outcome.decode(known)
            if stored is not None:
                self.answers[key] = known  # the last ones are kept
                return stored
        return None

    def _found(self, questions: Sequence[_Question]) -> list[_Found]:
        """What is found now, by several processes where that is worth it."""
        sizes = [_analysed_bytes(question.entries) for question in questions]
        processes = _processes(self.request, sum(sizes))
        # The rules share the work on what is more than the share of one.
        large = [n for n, size in enumerate(sizes) if size * processes > sum(sizes)]
        alone = replace(self.request, jobs=1)
        tasks = [
            functools.partial(question.find, self.request if n in large else alone)
            for n, question in enumerate(questions)
        ]
        return shared(tasks, processes, own=large)

    def _take(self, question: _Question, keys: tuple[str, str], found: _Found) -> Outcome:
        """Put what was found into the report, and keep it."""
        self.report.problems += found.problems
        for shown, text in found.texts.items():
            self.report.texts.add(shown, text)
        for entry in question.entries:
            entry.stale = entry.stale or entry.file.shown in found.stale
            if entry.analysed:  # another process may have been done with it
                entry.let_go()
        # What failed may not fail again.
        if not found.problems and not any(entry.stale for entry in question.entries):
            self.answers[keys[found.asked]] = found.outcome.encode()
            self.learned = True
        return found.outcome


@dataclass(frozen=True, slots=True)
class _Question:
    """What is in files that belong together, and what the answer depends on besides them.

    `digests` stand for the scripts and configurations, `more` for everything else. `find` is told the request.
    """

    entries: Sequence[Entry]
    more: str
    find: Callable[[Request], _Found]
    digests: str = ""


@dataclass(slots=True)
class _Found:
    """What was found in files that belong together, by whatever process."""

    outcome: Outcome = field(default_factory=Outcome)
    problems: list[Problem] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    """What the report cannot read by the names that are shown."""
    asked: bool = False
    """Whether it depends on the scripts and configurations."""
    stale: frozenset[str] = frozenset()
    """The files that are gone, or hold something else by now."""


def _processes(request: Request, size: int) -> int:
    """How many processes share the analysis of so many bytes of text."""
    if request.jobs is not None:
        return request.jobs
    return cores() if size >= WORTH_SHARING else 1


def _analysed_bytes(entries: Iterable[Entry]) -> int:
    return sum(entry.file.stamp[2] for entry in entries if entry.analysed)


def _fresh(
    request: Request, found: Survey, engine: str, literals: Sequence[bytes], report: Report
) -> Outcome:
    """The outcome of this run, its findings in the order of the report."""
    cache = request.cache
    run = _Run(request, report, engine, _dependencies(request), cache.shared("answers", engine))
    contents = cache.shared("contents", engine)
    recall(found.entries, contents)
    outcome, launch = _launch_files(run, found)
    parts = projects_of(found, request.paths)
    for part, progress in zip(parts, _shared_progress(request.progress, parts), strict=True):
        run.request = replace(request, progress=progress)
        entries = load(part, literals, kept=contents, progress=progress)
        outcome.add(_of_project(run, entries, launch))
        if len(parts) > 1:
            let_go()
    _let_go_of_absent(request, found)
    if request.lasting:
        if any(entry.asked for entry in found.entries):
            cache.save_shared("contents", engine, KNOWN_LIMIT)
        if run.learned:
            cache.save_shared("answers", engine, ANSWERS_KEPT)
    # What stands in the shell commands of a notebook is found anew, and kept with its Python.
    findings = list(dict.fromkeys(outcome.findings))
    outcome.findings = _without_ignored_files(request, found, findings)
    outcome.findings.sort(key=_order)
    return outcome


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


def _of_project(run: _Run, entries: Sequence[Entry], launch: _Launch) -> Outcome:
    """The findings in loaded files, which are analysed in groups; those of no group are looked at alone."""
    outcome = Outcome()
    known = {entry.module.partition(".")[0] for entry in entries if entry.analysed}
    questions = []
    for group in groups_of(entries):
        if any(entry.reported for entry in group):
            tops = sorted(known & first_names(group))
            more = f"{tops}" if group[0].analysed else ""
            find = functools.partial(_of_group, group, launch.read, tops)
            questions.append(_Question(group, more, find, launch.digests))
    for found in run.answers_to(questions):
        outcome.add(found)
    return outcome.of({entry.file.shown for entry in entries if entry.reported})


def _of_group(
    entries: Sequence[Entry],
    read_launch: Callable[[], LaunchFiles] | None,
    tops: Collection[str],
    request: Request,
) -> _Found:
    """What is found in files that belong together, and shown in any of them."""
    found = _Found()
    launch = _Asked(read_launch)
    open_all(entries)
    outcome = _findings_of_rules(request, entries, launch, found.problems, tops)
    findings = outcome.findings + _unparsable(request, entries, outcome.notes)
    complete = not found.problems
    outcome.findings = _without_suppressed(request, entries, findings, judge_comments=complete)
    told = {place.path for finding in outcome.findings for place in finding.places()}
    for entry in entries:
        if entry.file.shown in told:
            found.texts[entry.file.shown] = entry.text
        entry.let_go()
    found.outcome = outcome
    found.asked = launch.asked
    found.stale = frozenset(entry.file.shown for entry in entries if entry.stale)
    return found


def _order(finding: Finding) -> tuple[str, int, int, str]:
    return finding.place.path, finding.place.line, finding.place.column, finding.code


def _unparsable(request: Request, entries: Sequence[Entry], notes: list[str]) -> list[Finding]:
    """What cannot be parsed. A link out of the project goes to `notes`, and none of its lines is shown; so does what a newer
    Python can parse."""
    rule = _rule("DL900", request.selection.rules)
    if rule is None:
        return []
    findings = []
    for entry in entries:
        failure = entry.failure
        if failure is not None and entry.own:
            if leads_outside(entry.file.path, str(request.settings.root)):
                notes.append(f"{entry.file.shown}: a link out of the project, to no Python file")
                continue
            if failure.reason.startswith(NEWER):
                # It is distlint that runs on another Python than the project: dot-tokens-communication ac31a23 large_dataset.py:1225.
                notes.append(f"{entry.file.shown}: not checked: {failure.reason}")
                continue
            if entry.file.path.endswith(SUFFIX):
                notes.append(f"{entry.file.shown}: not read: {failure.reason}")
                continue
            at = (failure.line, failure.column)
            severity, where = rule.severity, ""
            if _is_template(entry):
                severity, where = Severity.INFO, ", in a template"
            elif _is_exported(entry):
                severity, where = Severity.INFO, ", in a notebook that Databricks runs cell by cell"
            elif _is_of_cells(entry):
                severity, where = Severity.INFO, ", in a file that IPython runs cell by cell"
            elif _is_of_older_python(entry):
                # ProphetNet 5cf70eb GLGE_baselines/script/eval.py:41 starts its scores with `python2`: of no training's program.
                severity = Severity.WARNING if "torch" in entry.text else Severity.INFO
                where = "; before Python 3.7 this was none"
            findings.append(
                Finding(
                    code=rule.code,
                    name=rule.name,
                    severity=severity,
                    message=f"This file was not checked: {failure.reason}{where}.",
                    place=Place(entry.file.shown, *at, *at),
                )
            )
    return findings


_TEMPLATE: Final = pattern(
    r"\{\{\s*cookiecutter\b|\{%-?\s*(?:if|for|else|end\w+|set|block|macro|import|include|extends)\b"
)
"""What cookiecutter and Jinja fill in."""


def _is_template(entry: Entry) -> bool:
    """Whether Python is made of a file: no Python itself, on purpose, and part of no program.

    LoRA c4593f0 examples/NLU/templates: `run_{{cookiecutter.example_shortcut}}.py`.
    """
    failure = entry.failure
    return (
        failure is not None
        and failure.reason.startswith("syntax error")
        and ("{{" in entry.file.shown or _TEMPLATE.search(entry.text) is not None)
    )


_EXPORTED: Final = "# Databricks notebook source"
"""The first line of a notebook that Databricks keeps as Python: its cells may hold magics and lines for the shell."""


def _is_exported(entry: Entry) -> bool:
    """Whether a file is the source of a notebook: what is no Python in it is IPython's.

    dolly e2d664d train_dolly.py:155: `!deepspeed {num_gpus_flag} …`, in a cell of its own.
    """
    failure = entry.failure
    return (
        failure is not None
        and failure.reason.startswith("syntax error")
        and entry.text.startswith(_EXPORTED)
    )


_CELL: Final = pattern(r"^#\s?%%", re.MULTILINE)
_MAGIC: Final = pattern(r"\s*(?:%%?[a-zA-Z_]|!)")


def _is_of_cells(entry: Entry) -> bool:
    """Whether a file is of cells that an editor hands to IPython, and a magic is what does not parse.

    attribute c2e751d experiments/accuracy.py: `# %%` above `%load_ext autoreload`; no launcher starts what Python refuses.
    """
    return _MAGIC.match(_refused_line(entry)) is not None and _CELL.search(entry.text) is not None


def _refused_line(entry: Entry) -> str:
    """The line of a file at which it has a syntax error; empty where it has none."""
    failure = entry.failure
    if failure is None or not failure.reason.startswith("syntax error"):
        return ""
    lines = entry.text.splitlines()
    return lines[failure.line - 1] if failure.line <= len(lines) else ""


_OLDER_PYTHON: Final = pattern(
    r"""^\s*(?:print|exec)\s+(?:["'\w%>]|>>)|^\s*print\s*(?:#|$)|^\s*except\b[^:#]+,\s*\w+\s*:|^\s*raise\s+[\w.]+\s*,"""
    r"""|[(,\s]async\s*=[^=]|[.]async\b|\bdef\s+async\b|\bur["']|<>"""
)
"""What Python 2 had, and names that became words of the language in 3.7."""


def _is_of_older_python(entry: Entry) -> bool:
    """Whether a line was Python once: a project for it has files that nobody ported, and imports none of them.

    vid2vid 2e6d13a models/flownet2_pytorch/main.py:264: `tensor.cuda(async=True)`, Python up to 3.6.
    """
    return _OLDER_PYTHON.search(_refused_line(entry)) is not None


def _rule(code: str, rules: Sequence[Rule]) -> Rule | None:
    return next((rule for rule in rules if rule.code == code), None)


# Rules


def _findings_of_rules(
    request: Request,
    entries: Sequence[Entry],
    launch: _Asked,
    problems: list[Problem],
    tops: Collection[str],
) -> Outcome:
    """What the rules find in files that belong together; what fails is added to `problems`."""
    if not any(entry.own and entry.tree is not None for entry in entries):
        return Outcome()
    if request.progress:
        request.progress("analysing", 0, 0)
    # 50 ms that a run without such files saves.
    from distlint.analysis import Source, as_asked, build_models, deep_recursion
    from distlint.analysis.questions.reached import reached
    from distlint.knowledge.facts import Knowledge

    sources = [
        Source(
            entry.file.shown,
            entry.module,
            entry.text,
            entry.tree,
            entry.file.path.endswith("__init__.py"),
            entry.own,
            entry.meant,
            entry.chosen,
            entry.lacking,
        )
        for entry in entries
        if entry.tree is not None
    ]
    knowledge = Knowledge.with_rows(request.settings.collectives, request.settings.rank_predicates)
    findings: dict[Finding, None] = {}
    outcome = Outcome()
    style = style_of(request.settings)
    kept = _kept(request)
    models = build_models(sources, knowledge, tops=tops, kept=kept)
    with deep_recursion():
        while True:
            try:
                model = next(models, None)
            except Exception as error:
                problems.append(Problem("", f"the analysis failed: {crash_text(error)}"))
                break
            if model is None:
                break
            model.read_launch = launch
            paths = (module.path for module in model.program.modules.values())
            outcome.groups.append(frozenset(paths))
            model = as_asked(model, kept)
            found = _of_model(request, model, sources, style, launch)
            problems += found.failures
            findings.update(dict.fromkeys(found.findings))
            if request.with_reached:
                outcome.reached += model.answer(reached)
            for problem in found.given_up:
                outcome.notes.append(f"{problem.path}: {problem.text}")
                if problem.reason:
                    outcome.given_up.append(
                        f"{problem.path}: {problem.function} ({problem.reason})"
                    )
    outcome.findings = list(findings)
    return outcome


def _kept(request: Request) -> Kept | None:
    """What the last check has left of the files whose trees are kept, where any are."""
    from distlint.analysis import Kept

    if request.trees is None:
        return None
    kept = request.trees.analysed
    if isinstance(kept, Kept):
        kept.runs = True
        return kept
    kept = request.trees.analysed = Kept(runs=request.trees.stays)
    return kept


def _let_go_of_absent(request: Request, found: Survey) -> None:
    """The analysis keeps nothing of files whose trees are not kept."""
    trees = request.trees
    if trees is not None and trees.analysed is not None:
        from distlint.analysis import Kept

        assert isinstance(trees.analysed, Kept)
        trees.analysed.keep_only({e.file.shown for e in found.entries if e.file.path in trees})


@dataclass(slots=True)
class _Asked:
    """What a group of files may ask of the scripts and configurations beside it, and whether it has."""

    read: Callable[[], LaunchFiles] | None
    asked: bool = False

    def __call__(self) -> LaunchFiles:
        self.asked = True
        return _no_launch(pages=False) if self.read is None else self.read()


@dataclass(frozen=True, slots=True)
class _Launch:
    """What reads the scripts and configurations beside the code, and what they hold; neither where none are."""

    read: Callable[[], LaunchFiles] | None = None
    digests: str = ""


@functools.cache
def _no_launch(*, pages: bool) -> LaunchFiles:
    """No scripts and configurations, and whether there are pages: all that those without a launch and a version say."""
    from distlint.launch.project import LaunchFiles

    return LaunchFiles(pages=pages)


def _of_torch_1(entries: Sequence[Entry]) -> frozenset[str]:
    """The scripts with a local rank among their options that import a file beside them which torch 2 cannot import."""
    gone = {e.file.shown for e in entries if e.facts and e.facts.old_torch}
    if not gone:
        return frozenset()
    return frozenset(
        e.file.shown
        for e in entries
        for name in (e.facts.imports if e.facts else ())
        if (path := os.path.join(os.path.dirname(e.file.shown), *name.split(".")))
        if f"{path}.py" in gone or os.path.join(path, "__init__.py") in gone
    )


def _launch_files(run: _Run, found: Survey) -> tuple[Outcome, _Launch]:
    """What the rules find in the scripts and configurations beside the code, and what reads them."""
    notebooks = [
        Entry(entry.file, entry.reported, entry.own, entry.facts, entry.overlay)
        for entry in found.entries
        if entry.own and entry.file.path.endswith(SUFFIX)
        if entry.facts is not None and entry.facts.relevant
    ]
    heads = [e for e in found.entries if e.own and e.facts and e.facts.told]
    named = [*found.launch, *notebooks, *heads]
    wrapped = frozenset(e.file.shown for e in found.entries if e.facts and e.facts.loads_wrapped)
    pages = any(kind_of(name) in TELLS for name in found.names)
    if not named and not wrapped:
        return Outcome(), _Launch(
            functools.partial(_no_launch, pages=True) if pages else None, f"{pages}"
        )
    notes: list[str] = []
    any_rank = frozenset(e.file.shown for e in found.entries if e.facts and e.facts.any_rank)
    any_rank |= _of_torch_1(found.entries)
    hyphen = frozenset(e.file.shown for e in found.entries if e.facts and e.facts.hyphen)
    of_mmcv_1 = frozenset(e.file.shown for e in found.entries if e.facts and e.facts.of_mmcv_1)
    in_package = frozenset(e.file.shown for e in found.entries if e.facts and e.facts.in_package)
    spawning = frozenset(e.file.shown for e in found.entries if e.facts and e.facts.spawns)
    composes = any(e.facts.composes for e in found.entries if e.facts)
    clips = frozenset(e.file.shown for e in found.entries if e.facts and e.facts.clips)
    apart = trained_apart(found.entries, found.launch)
    opening = {e.file.shown: e.facts.opens for e in found.entries if e.facts and e.facts.opens}
    scripts = Counter(os.path.basename(name) for name in found.names if name.endswith(".py"))
    several = frozenset(name for name, number in scripts.items() if number > 1)

    @functools.cache
    def entries() -> list[Entry]:
        # What is wrong with a notebook is told where its Python is read.
        return [*load_launch(found.launch, notes), *load_launch(notebooks, [])]

    @functools.cache
    def read() -> LaunchFiles:
        # 60 ms that a project without such files saves.
        from distlint.launch.project import TextFile, read_files

        texts = []
        for entry in entries():
            kind = kind_of(entry.file.path)
            text = entry.text if kind is not None else shell_of(entry.text)
            texts.append(TextFile(entry.file.shown, kind or Kind.SHELL, text, entry.reported))
        texts += [TextFile(e.file.shown, Kind.HEAD, e.ask(head), e.reported) for e in heads]
        told = (
            texts,
            frozenset(found.names),
            *(
                any_rank,
                clips,
                several,
                wrapped,
                hyphen,
                of_mmcv_1,
                in_package,
                spawning,
                pages,
                opening,
                composes,
                apart,
            ),
        )
        known = run.request.trees.launch if run.request.trees is not None else None
        if known is not None and known[0] == told:
            return known[1]
        files = read_files(texts, frozenset(found.names), any_rank, clips, several)
        files = replace(
            files,
            loads_wrapped=wrapped,
            hyphen=hyphen,
            of_mmcv_1=of_mmcv_1,
            in_package=in_package,
            spawning=spawning,
            apart=apart,
            pages=pages,
            opening_configs=opening,
            composed_in_code=composes,
        )
        if run.request.trees is not None:
            run.request.trees.launch = told, files
        return files

    def find(request: Request) -> _Found:
        found = _Found(texts={entry.file.shown: entry.text for entry in entries()})
        outcome = _of_launch_files(request, entries(), read, found.problems)
        found.outcome = replace(outcome, notes=[*notes, *read().notes])
        return found

    reported = {entry.file.shown for entry in named if entry.reported}
    opened = [f"{path} {sorted(names)}" for path, names in opening.items()]
    lists = (
        found.names,
        any_rank,
        clips,
        hyphen,
        of_mmcv_1,
        in_package,
        spawning,
        opened,
        ["composes"] * composes,
        [f"{path} {at}" for path, at in apart.items()],
    )
    known = "\n\n".join("\n".join(sorted(each)) for each in lists)
    names = content_digest(known.encode("utf-8", "surrogateescape"))
    question = _Question(named, f"launch {sorted(reported)} {names}", find)
    (outcome,) = run.answers_to([question])
    told = Outcome(
        [finding for finding in outcome.findings if finding.place.path in reported],
        [note for note in outcome.notes if note.partition(":")[0] in reported],
    )
    digests = [f"{e.file.shown} {e.facts.digest}" for e in (*found.launch, *notebooks) if e.facts]
    digests += [f"{e.file.shown} {content_digest(e.ask(head).encode())}" for e in heads]
    return told, _Launch(read, f"{digests} {sorted(several)} {sorted(wrapped)} {pages}")


def _of_launch_files(
    request: Request,
    entries: Sequence[Entry],
    read: Callable[[], LaunchFiles],
    problems: list[Problem],
) -> Outcome:
    findings: dict[Finding, None] = {}
    for rule in request.selection.rules:
        if rule.check_launch is None:
            continue
        try:
            for each in rule.check_launch(read()):
                finding = _not_in_cells(_on_trial(rule, each))
                if request.selection.reports(finding.code, finding.severity):
                    findings[finding] = None
        except Exception as error:
            text = f"rule {rule.code} ({rule.name}) failed: {crash_text(error)}"
            problems.append(Problem("", text))
    complete = not problems
    return Outcome(
        _without_suppressed(request, entries, list(findings), judge_comments=complete, launch=True)
    )


def _not_in_cells(finding: Finding) -> Finding:
    """The finding; what it would change in a shell command of a notebook is shown only.

    ClassyVision 08a82e8 tutorials/getting_started.ipynb: edits change the Python of a notebook.
    """
    fix = finding.fix
    if fix is None or not fix.edits or not finding.fixed_path.endswith(SUFFIX):
        return finding
    return replace(finding, fix=Fix(Applicability.DISPLAY, fix.message))


@dataclass(slots=True)
class _OfRules:
    """What rules find in a model, and what is told of it once they have run."""

    by_rule: dict[int, list[Finding]] = field(default_factory=dict)
    """The findings on what is reported, by the place of the rule among the selected ones."""
    failed: dict[int, list[Problem]] = field(default_factory=dict)
    given_up: list[GivenUp] = field(default_factory=list)
    """What could not be followed, or not compared to its end: a rule may have been the first to ask."""
    asked: bool = False
    """Whether a rule has asked for the scripts and configurations."""

    @property
    def findings(self) -> list[Finding]:
        return [finding for number in sorted(self.by_rule) for finding in self.by_rule[number]]

    @property
    def failures(self) -> list[Problem]:
        return [problem for number in sorted(self.failed) for problem in self.failed[number]]


def _of_model(
    request: Request, model: Model, sources: Sequence[Source], style: str, launch: _Asked
) -> _OfRules:
    """What the selected rules find in files that belong together, on what is reported.

    Rules of one family ask the same questions: each family is left to one process.
    """
    size = sum(len(module.source.text) for module in model.program.modules.values())
    processes = _processes(request, size)
    if size * processes <= sum(len(source.text) for source in sources):
        processes = 1
    if processes > 1:
        model.ask_ahead()
    families: dict[str, list[int]] = {}
    for number, rule in enumerate(request.selection.rules):
        package = rule.module.rpartition(".")[0]
        families.setdefault(package if processes > 1 else "", []).append(number)
    tasks = [
        functools.partial(_run_rules, request, numbers, model, sources, style, launch)
        for numbers in sorted(families.values(), key=len, reverse=True)
    ]
    whole = _OfRules()
    for part in shared(tasks, processes):
        whole.by_rule.update(part.by_rule)
        whole.failed.update(part.failed)
        # Some have asked for more than others, and none for anything else.
        whole.given_up = max(whole.given_up, part.given_up, key=len)
        launch.asked = launch.asked or part.asked
    return whole


def _run_rules(
    request: Request,
    numbers: Sequence[int],
    model: Model,
    sources: Sequence[Source],
    style: str,
    launch: _Asked,
) -> _OfRules:
    """What some of the selected rules find."""
    shown = {module.path for module in model.modules}
    rules = request.selection.rules
    root = os.path.abspath(request.settings.root)
    found = _OfRules()
    programs = model.programs

    @functools.cache
    def in_test(path: str) -> bool:
        below = os.path.relpath(os.path.abspath(path_of(path)), root).replace(os.sep, "/")
        match = _TEST_FILE.search(below.rpartition("../")[2])
        return match is not None and not (match["name"] and path in programs)

    for done, number in enumerate(numbers):
        rule = rules[number]
        if request.progress:
            request.progress(f"checking {rule.code}", done, len(numbers))
        kept = found.by_rule[number] = []
        problems = found.failed[number] = []
        for each in _run_rule(request, rule, model, sources, problems, style):
            place = each.place.path
            finding = _as_in_a_test(each) if in_test(place) else _on_trial(rule, each)
            try:
                if finding.severity is not Severity.INFO and _is_never_met(model, rule, finding):
                    finding = replace(finding, severity=Severity.INFO)
            except Exception as error:
                problems.append(_failure(place, rule, error))
            if place in shown and request.selection.reports(finding.code, finding.severity):
                kept.append(finding)
    found.given_up = list(model.problems)
    found.asked = launch.asked
    return found


def _is_never_met(model: Model, rule: Rule, finding: Finding) -> bool:
    """Whether no program comes to a place of a finding, or none that is known to start several processes."""
    supposed = any(each.supposed for each in finding.related)
    return any(
        model.is_left_over(needed.path, needed.line)
        or (rule.needs_ranks and model.is_of_one_process(needed.path, needed.line))
        or (supposed and not model.is_launched(needed.path))
        for needed in _needed(finding)
    )


def _failure(path: str, rule: Rule, error: Exception) -> Problem:
    return Problem(path, f"rule {rule.code} ({rule.name}) failed: {crash_text(error)}")


def _needed(finding: Finding) -> Iterator[Place]:
    """The places that a program comes to where what is found goes wrong."""
    yield finding.place
    yield from (each.place for each in finding.related if each.needed)


_TEST_FILE: Final = pattern(
    r"(?:^|/)(?:tests?/|conftest\.py$|(?P<name>(?:test_[^/]*|[^/]*_test)\.py$))"
)
"""The files that pytest collects, and what lies in folders of tests: paths below the root of the settings.

`name` where the name alone says so, which programs that evaluate a model have, too.
"""


def _as_in_a_test(finding: Finding) -> Finding:
    """A finding in a test: advice, unless ranks wait for each other there.

    How many processes run a test, on which machines and with which wrapper, its harness decides, which is
    not in the code: of 34 judged findings in such files 33 were false (docs/precision.md).
    """
    if finding.code.startswith(("DL1", "DL9")):
        return finding
    return replace(finding, severity=Severity.INFO)


def _on_trial(rule: Rule, finding: Finding) -> Finding:
    """A finding of a rule in preview: a warning at most, until its record says that it is certain."""
    if rule.status is Status.PREVIEW and finding.severity is Severity.ERROR:
        return replace(finding, severity=Severity.WARNING)
    return finding


def _run_rule(
    request: Request,
    rule: Rule,
    model: Model,
    sources: Sequence[Source],
    problems: list[Problem],
    style: str,
) -> list[Finding]:
    """The findings of one rule, fixes in a style where somebody sees them; what it found before it failed, where it
    fails.
    """
    from distlint.repairs.dressing import dressed
    from distlint.repairs.side_by_side import side_by_side

    findings: list[Finding] = []
    try:
        for finding in rule.check(model):
            shown = request.selection.reports(finding.code, finding.severity)
            findings.append(dressed(model, finding, style) if shown else finding)
        findings = side_by_side(model, findings)
    except BrokenRules:
        raise
    except Exception as error:
        problems.append(_failure(_crashing_file(rule, model.knowledge, sources), rule, error))
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
    import traceback

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
        if entry.own and (MARK in entry.text or entry.file.shown in found_in)
        if mentions_suppression(entry.text, request.known)
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
