"""One repair: check, try what is offered, keep what is good, until nothing more can be applied."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path

from distlint.checking import Request
from distlint.columns import split_lines
from distlint.edits import Edit
from distlint.findings import Applicability, Finding, Fix
from distlint.fixing.comments import apply_to_comments, only_comments
from distlint.fixing.plain import apply_to_lines
from distlint.fixing.replacements import Changes, Replacement, replacements
from distlint.fixing.requests import FixRequest, FixResult, SkipKind, SkippedFix
from distlint.knowledge.collectives.runtime import ROWS
from distlint.launch.kinds import kind_of
from distlint.patterns import pattern
from distlint.project.files import Problem
from distlint.project.naming import path_of
from distlint.project.notebooks import SUFFIX, python_of, with_python
from distlint.project.reading import decode, is_utf_16, python_text
from distlint.records import dataclass
from distlint.reporting.report import Report, Reported
from distlint.trial import Harm, Trial, harm_of, widened

ROUNDS = 10
"""After this many rounds two fixes undo each other; what is left stays for people."""


_RUNTIME_NAME = pattern(r"\$(\w+)")
_MEETINGS = frozenset(row.name.rpartition(".")[2] for row in ROWS)
"""The functions of the runtime that every rank must call."""


@dataclass(frozen=True, slots=True)
class FixedFile:
    """A file whose content changes: how it is shown, where it is, and its bytes before and after."""

    shown: str
    path: Path
    before: bytes
    after: bytes


@dataclass(slots=True)
class Repair:
    """What a repair comes to; nothing of it is written yet."""

    files: list[FixedFile] = field(default_factory=list)
    """Sorted by the path shown."""
    applied: int = 0
    """How many fixes went in."""
    before: Report = field(default_factory=Report)
    """The findings in the files as they are."""
    after: Report = field(default_factory=Report)
    """The findings that are left in the repaired texts, and what could not be done."""
    withheld: int = 0
    """How many unsafe fixes are left because nobody asked for them."""
    notes: list[Problem] = field(default_factory=list)
    """Fixes that a rule offers and that do not go in, by place, and why."""
    joined: list[frozenset[str]] = field(default_factory=list)
    """The absolute paths of files that one fix changes: all of them are written, or none."""

    def together(self) -> list[list[FixedFile]]:
        """The files, those beside each other that are written all or none."""
        units: list[list[FixedFile]] = []
        for file in self.files:
            name = str(file.path)
            touched = {path for joined in self.joined if name in joined for path in joined}
            with_it = [unit for unit in units if any(str(each.path) in touched for each in unit)]
            units = [unit for unit in units if unit not in with_it]
            units.append([*(each for unit in with_it for each in unit), file])
        return units


def repair(
    requests: Sequence[Request], *, unsafe: bool | None, only: Container[str] | None = None
) -> Repair:
    """Apply the safe fixes of what `requests` name, with `unsafe` the unsafe ones too, in memory.

    Without a word about `unsafe`, the settings of each file decide. Fixes that overlap take turns: each round
    looks anew at the text of the round before. What does not stand its trial (`distlint.trial`) is left out.
    `only` are the fingerprints of the findings to repair; without it, all are.
    """
    bench = _Bench(requests)
    bench.only = only
    result = Repair(before=bench.report)
    for _ in range(ROUNDS):
        todo = bench.offers(lambda shown: bench.takes_unsafe(shown, unsafe))
        if not todo:
            break
        chosen = bench.vet(todo)
        if not chosen.applied:
            break
        result.applied += len({tuple(offer.edits()) for offer in chosen.applied})
        result.joined += [
            frozenset(os.path.abspath(path_of(path)) for path in offer.parts)
            for offer in chosen.applied
            if len(offer.parts) > 1
        ]
        bench.keep(chosen)
    left = bench.offers(lambda _: True)
    bench.vet_all(left)
    result.withheld = sum(offer.name not in bench.refused for offer in left)
    result.after = bench.final_report()
    for report in (result.before, result.after):
        report.findings = [_without_refused(row, bench.refused) for row in report.findings]
    result.notes = bench.notes
    result.files = bench.fixed_files()
    return result


def each_alone(
    report: Report, requests: Sequence[Request], *, only: Container[str] | None = None
) -> dict[str, Changes]:
    """What the fix of each finding changes when it is the only one, by the finding's fingerprint.

    `requests` are those whose check gave `report`. Findings whose fix cannot be carried out, or does not
    stand its trial, are left out; in `report` such a fix is shown only. `only` are the fingerprints of the
    findings whose fixes are tried; without it, all are.
    """
    bench = _Bench(requests, report)
    bench.only = only
    offers = bench.offers(lambda _: True)
    bench.vet_all(offers)
    report.findings = [_without_refused(row, bench.refused) for row in report.findings]
    tried = [offer for offer in offers if offer.name not in bench.refused]
    found: dict[str, dict[str, tuple[Replacement, ...]]] = {}
    for shown, some in _by_file(tried).items():
        data = bench.data(shown)
        if data is None or shown.endswith(SUFFIX):  # the lines of cells are not those of the file
            continue
        before = decode(data).removeprefix("\ufeff")
        alone = [offer.parts[shown] for offer in some]
        results = (
            [_in_script(data, [fix]) for fix in alone]
            if kind_of(shown) is not None
            else _results(data, alone, bench.runtime_module(shown))
        )
        for offer, result in zip(some, results, strict=True):
            if result.applied:
                after = decode(result.data).removeprefix("\ufeff")
                found.setdefault(offer.name, {})[shown] = replacements(before, after)
    return {
        offer.name: {path: found[offer.name][path] for path in offer.parts}
        for offer in tried
        if found.get(offer.name, {}).keys() == offer.parts.keys()
    }


def applies(finding: Finding, unsafe: bool) -> bool:
    """Whether the fix of `finding` may be applied by machine."""
    fix = finding.fix
    if fix is None or not fix.edits:
        return False
    return fix.applicability is Applicability.SAFE or (
        unsafe and fix.applicability is Applicability.UNSAFE
    )


def _without_refused(row: Reported, refused: Mapping[str, str]) -> Reported:
    """The row of a report; a fix that was refused is only shown, with the reason."""
    reason, fix = refused.get(row.fingerprint), row.finding.fix
    if reason is None or fix is None:
        return row
    shown = Fix(Applicability.DISPLAY, f"{fix.message} (not offered: {reason})")
    return replace(row, finding=replace(row.finding, fix=shown))


@dataclass(frozen=True, slots=True)
class _Offer:
    """The fix of one finding, as the engine is asked for it in each file."""

    row: Reported
    parts: Mapping[str, FixRequest] = field(hash=False)
    """By the files that it changes: all of them, or none."""

    @property
    def name(self) -> str:
        return self.row.fingerprint

    @property
    def line(self) -> int:
        return self.row.finding.place.line

    def edits(self) -> Iterator[tuple[str, tuple[Edit, ...]]]:
        """What it does in each file."""
        return ((path, request.edits) for path, request in self.parts.items())

    @property
    def where(self) -> str:
        """The place of the finding."""
        place = self.row.finding.place
        return f"{place.path}:{place.line}"

    @property
    def meets(self) -> bool:
        """Whether the new code calls what needs all ranks: as a rule it is that which does harm elsewhere."""
        return not _MEETINGS.isdisjoint(_RUNTIME_NAME.findall(repr([*self.edits()])))


@dataclass(frozen=True, slots=True)
class _Attempt:
    """Fixes carried out together: those that went in, the bytes that files then have, and their trial."""

    applied: tuple[_Offer, ...]
    changed: Mapping[str, bytes]
    trial: Trial
    harms: tuple[Harm, ...] = ()


class _Bench:
    """The files of a repair as the rounds left them, with what is known of the fixes so far."""

    def __init__(self, requests: Sequence[Request], report: Report | None = None) -> None:
        self._own = Trial.begin(requests) if report is None else Trial(tuple(requests), report)
        wide = widened(requests)
        narrow = any(a.selection is not b.selection for a, b in zip(requests, wide, strict=True))
        self._wide = Trial.begin(wide) if narrow else self._own
        """The same with all stable rules: a fix of one rule must not break another."""
        self.report = replace(self._own.report)
        """What is found in the files as they are."""
        self.only: Container[str] | None = None
        """The fingerprints of the findings to repair; None for all."""
        self.refused: dict[str, str] = {}
        """Why a fix is not offered, by the fingerprint of its finding."""
        self.notes: list[Problem] = []
        self._problems: list[Problem] = []
        self._settings = {
            file.shown: request.settings for request in requests for file in request.files.reported
        }
        self._given = {
            path: data for request in requests for path, data in request.overlays.items()
        }
        self._now: dict[str, bytes] = dict(self._given)
        self._attempts: dict[frozenset[str], _Attempt] = {}
        """What came of fixes that were carried out together, by the names of their findings."""
        self._outcomes: dict[tuple[str, tuple[str, ...]], FixResult] = {}
        """What came of it in one file: most attempts differ in a few."""
        self._originals: dict[str, bytes] = {}

    # -- files

    def takes_unsafe(self, shown: str, asked: bool | None) -> bool:
        """Whether unsafe fixes go into a file: as asked, else as its settings say."""
        return self._settings[shown].unsafe_fixes if asked is None else asked

    def runtime_module(self, shown: str) -> str:
        """Where a file imports the runtime's functions from."""
        return self._settings[shown].runtime_module

    def data(self, shown: str) -> bytes | None:
        """The bytes of a file; None, and a problem, where it no longer holds what was checked, or is not UTF-8."""
        path = os.path.abspath(path_of(shown))
        data = self._now.get(path)
        if data is None:
            data = _unchanged(shown, self._wide.report)
        reason = "changed while it was checked; nothing was fixed in it, run again"
        if data is not None and is_utf_16(shown, data):
            data, reason = None, "is UTF-16; nothing was fixed in it, save it as UTF-8"
        if data is None:
            self._problems.append(Problem(shown, reason))
            return None
        self._originals.setdefault(path, self._given.get(path, data))
        return data

    def fixed_files(self) -> list[FixedFile]:
        """The files that are not as they were."""
        files = [
            FixedFile(
                os.path.relpath(path).replace(os.sep, "/"), Path(path), before, self._now[path]
            )
            for path, before in self._originals.items()
            if self._now.get(path, before) != before
        ]
        return sorted(files, key=lambda file: file.shown)

    def final_report(self) -> Report:
        """What is found in the files as they are now, and what could not be done."""
        report = replace(self._own.report)
        problems = [*report.problems, *self._wide.report.problems, *self._problems]
        report.problems = list(dict.fromkeys(problems))
        return report

    # -- fixes

    def offers(self, takes: Callable[[str], bool]) -> list[_Offer]:
        """The fixes of what is found now, in files for which `takes` says whether unsafe ones count."""
        return [
            _Offer(row, FixRequest.of(row.finding))
            for row in self._own.report.findings
            if row.fingerprint not in self.refused
            and (self.only is None or row.fingerprint in self.only)
            and all(
                path in self._settings and applies(row.finding, takes(path))
                for path in row.finding.edits_by_file() or (row.finding.fixed_path,)
            )
        ]

    def keep(self, attempt: _Attempt) -> None:
        """Go on from what an attempt made of the files."""
        self._attempts.clear()
        self._outcomes.clear()
        self._now.update(attempt.changed)
        same = self._own is self._wide
        self._own = attempt.trial if same else self._own.with_files(attempt.changed)
        self._wide = attempt.trial

    def vet_all(self, offers: Sequence[_Offer]) -> None:
        """Try all of `offers`, those that overlap one after the other; none of them is kept."""
        left = list(offers)
        while left:
            done = {offer.name for offer in self.vet(left).applied} | self.refused.keys()
            rest = [offer for offer in left if offer.name not in done]
            if len(rest) == len(left):
                return
            left = rest

    def vet(self, offers: Sequence[_Offer]) -> _Attempt:
        """The attempt with those of `offers` that go together and do no harm; the others are refused."""
        attempt = self._attempt(offers)
        if not attempt.harms:
            return attempt
        groups = [
            group
            for group in attempt.trial.report.groups
            if any(harm.path in group or not harm.path for harm in attempt.harms)
        ]
        # What no import joins with the harm did not do it.
        suspects = [
            some
            for group in groups
            if (some := [o for o in attempt.applied if not group.isdisjoint(o.parts)])
        ]
        named = {offer.name for some in suspects for offer in some}
        good = [offer for offer in attempt.applied if offer.name not in named]
        for some in suspects or [list(attempt.applied)]:
            good += self._without_harmful(some, attempt.harms)
        last = self._attempt(good)
        if last.harms:  # only together, which no single one shows
            self._refuse([offer for offer in good if offer.name in named], last.harms[0].text)
            last = self._attempt([offer for offer in good if offer.name not in self.refused])
        return last

    def _without_harmful(self, offers: Sequence[_Offer], harms: Sequence[Harm]) -> list[_Offer]:
        """Those of `offers`, which do `harms` together, that do none."""
        left = [harm.left for harm in harms]
        idle = [offer for offer in offers if offer.row.finding in left]
        if idle and len(idle) < len(offers):
            rest = [offer for offer in offers if offer not in idle]
            harms = self._attempt(rest).harms
            for offer in idle:
                self._refuse([offer], f"{offer.row.finding.code} is found as before")
            return self._without_harmful(rest, harms) if harms else rest
        # As a rule harm shows where a fix changed something: one attempt without those tells.
        for near in (_nearest(offers, harms), _in_files_of(offers, harms)):
            rest = [offer for offer in offers if offer not in near]
            if near and rest and not self._attempt(rest).harms:
                return self._halved(rest, near, harms)
        quiet = [offer for offer in offers if not offer.meets]
        if quiet and len(quiet) < len(offers) and not self._attempt(quiet).harms:
            return self._halved(quiet, [offer for offer in offers if offer.meets], harms)
        return self._halved([], offers, harms)

    def _halved(
        self, good: list[_Offer], offers: Sequence[_Offer], harms: Sequence[Harm]
    ) -> list[_Offer]:
        """`good`, and what of `offers` can be added to them; all together do `harms`."""
        if len(offers) == 1:
            self._refuse(offers, harms[0].text)
            return good
        middle = len(offers) // 2
        for half in (offers[:middle], offers[middle:]):
            found = self._attempt([*good, *half]).harms
            good = self._halved(good, half, found) if found else [*good, *half]
        return good

    def _refuse(self, offers: Iterable[_Offer], reason: str) -> None:
        for offer in offers:
            if offer.name not in self.refused:
                self.refused[offer.name] = reason
                text = f"the fix of {offer.row.finding.code} is not offered: {reason}"
                self.notes.append(Problem(offer.where, text))

    def _attempt(self, offers: Sequence[_Offer]) -> _Attempt:
        """Carry out the fixes that can be, all or none of the edits of each, and look what comes of it."""
        names = frozenset(offer.name for offer in offers)
        if names not in self._attempts:
            self._attempts[names] = self._carried_out(offers)
        return self._attempts[names]

    def _carried_out(self, offers: Sequence[_Offer]) -> _Attempt:
        changed, went_in = self._changed(offers)
        while halves := [o for o in offers if 0 < len(went_in[o.name]) < len(o.parts)]:
            # What does not go into all of its files goes into none.
            offers = [offer for offer in offers if offer not in halves]
            changed, went_in = self._changed(offers)
        applied = [offer for offer in offers if went_in[offer.name]]
        if not changed:
            return _Attempt((), {}, self._wide)
        trial = self._wide.with_files(changed)
        harms = harm_of(self._wide, trial, [offer.row.finding for offer in applied])
        return _Attempt(tuple(applied), changed, trial, tuple(harms))

    def _changed(
        self, offers: Sequence[_Offer]
    ) -> tuple[dict[str, bytes], dict[str, frozenset[str]]]:
        """The new bytes of files, by absolute paths, and the files that each offer, by its name, went into."""
        changed: dict[str, bytes] = {}
        went_in: dict[str, frozenset[str]] = {offer.name: frozenset() for offer in offers}
        for shown, some in _by_file(offers).items():
            data = self.data(shown)
            if data is None:
                continue
            code = python_of(shown, data)
            key = shown, tuple(offer.name for offer in some)
            outcome = self._outcomes.get(key)
            if outcome is None:
                fixes = [offer.parts[shown] for offer in some]
                outcome = self._outcomes[key] = (
                    _in_script(code, fixes)
                    if kind_of(shown) is not None
                    else _together(code, fixes, self.runtime_module(shown))
                )
            for offer in some:
                if offer.parts[shown] in outcome.applied:
                    went_in[offer.name] |= {shown}
            if outcome.data != code:
                path = os.path.abspath(path_of(shown))
                changed[path] = with_python(shown, data, outcome.data)
            for skip in outcome.skipped:
                if skip.kind is not SkipKind.CONFLICT:  # the turn of those comes in the next round
                    self._refuse_skipped([o for o in some if o.parts[shown] == skip.fix], skip)
        return changed, went_in

    def _refuse_skipped(self, offers: Sequence[_Offer], skip: SkippedFix) -> None:
        if skip.kind is SkipKind.INTERNAL:
            for offer in offers:
                reason = f"the fix of {skip.fix.code} failed: {skip.reason}; please report it"
                self._problems.append(Problem(offer.where, reason))
        self._refuse(offers, skip.reason)


def _by_file(offers: Iterable[_Offer]) -> dict[str, list[_Offer]]:
    """The offers by the files that they change."""
    by_file: dict[str, list[_Offer]] = {}
    for offer in offers:
        for path in offer.parts:
            by_file.setdefault(path, []).append(offer)
    return by_file


def _in_files_of(offers: Sequence[_Offer], harms: Sequence[Harm]) -> list[_Offer]:
    """The offers for the files in which harm shows."""
    return [offer for offer in offers if any(harm.path in offer.parts for harm in harms)]


def _nearest(offers: Sequence[_Offer], harms: Sequence[Harm]) -> list[_Offer]:
    """For each harm the offer for its file that is closest."""
    found: list[_Offer] = []
    for harm in harms:
        beside = [offer for offer in offers if harm.path in offer.parts and harm.line]
        if beside:
            found.append(min(beside, key=lambda offer: abs(offer.line - harm.line)))
    return list(dict.fromkeys(found))


def _in_script(data: bytes, fixes: Sequence[FixRequest]) -> FixResult:
    """What comes of fixes of a script or configuration together."""
    if all(map(only_comments, fixes)):
        return apply_to_comments(data, fixes)
    # Comments get their turn in the next round, as in code.
    return apply_to_lines(data, [fix for fix in fixes if not only_comments(fix)])


def _together(data: bytes, fixes: Sequence[FixRequest], runtime_module: str) -> FixResult:
    """What comes of fixes of one file together; LibCST is loaded only where one changes code."""
    code = [fix for fix in fixes if not only_comments(fix)]
    if not code:
        return apply_to_comments(data, fixes)
    from distlint.fixing.engine import apply_fixes

    # Comments that are beside code get their turn in the next round.
    return apply_fixes(data, code, runtime_module=runtime_module)


def _results(data: bytes, fixes: Sequence[FixRequest], runtime_module: str) -> list[FixResult]:
    """What comes of each of `fixes` alone."""
    if all(map(only_comments, fixes)):
        return [apply_to_comments(data, [fix]) for fix in fixes]
    from distlint.fixing.engine import apply_each

    in_code = [fix for fix in fixes if not only_comments(fix)]
    made = iter(apply_each(data, in_code, runtime_module=runtime_module))
    return [apply_to_comments(data, [fix]) if only_comments(fix) else next(made) for fix in fixes]


def _unchanged(shown: str, report: Report) -> bytes | None:
    """The bytes of the file, where it still holds the text that was checked."""
    try:
        data = Path(path_of(shown)).read_bytes()
        text = python_text(shown, data).removeprefix("\ufeff")
    except (OSError, ValueError):
        return None
    return data if split_lines(text) == report.texts.lines(shown) else None
