"""A repair on trial: fixes go into a copy in memory, and the copy is checked like the files themselves.

A fix is good where its finding is gone, no other has come, no function is followed less far than before, and no
line reads a name that may have no value there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from distlint.checking import Outcome, Request, check
from distlint.columns import lines_kept
from distlint.findings import Finding, Severity
from distlint.fixing.binding import added
from distlint.patterns import pattern
from distlint.project.files import Problem
from distlint.project.notebooks import SUFFIX
from distlint.project.selection import Selection
from distlint.records import dataclass
from distlint.reporting.report import Report, Texts
from distlint.rule import Status

_ABOUT_COMMENTS = "DL901"
"""A comment that silenced what a fix repairs has done its work; the next round takes it away."""

_NUMBER = pattern(r"\d+")

Line = tuple[int, bool]
"""A line as it was numbered before a repair, or the first of a stretch that changed, and whether it did."""

Region = tuple[str, str, Line]
"""The path and the code of a finding, and its line."""


@dataclass(frozen=True, slots=True)
class Harm:
    """What a repair did not do, or did besides: the file where it shows, and a clause that says it."""

    path: str
    text: str
    left: Finding | None = None
    """The finding whose fix was carried out and that is still there."""
    line: int = 0
    """Where it shows, as the lines were numbered before; 0 for a file as a whole."""


@dataclass(frozen=True, slots=True)
class Trial:
    """The files as a repair would leave them, and what a check finds in them."""

    requests: tuple[Request, ...]
    report: Report

    @classmethod
    def begin(cls, requests: Sequence[Request]) -> Trial:
        """The files as they are; what is found stays in `requests`, for a trial that goes on from there."""
        return cls(tuple(requests), check(requests))

    def with_files(self, changed: Mapping[str, bytes]) -> Trial:
        """The same with other bytes at some absolute paths; only what they may concern is looked at anew."""
        requests = tuple(
            replace(
                request,
                overlays={**request.overlays, **changed},
                lasting=False,
                outcome=Outcome(),
            )
            for request in self.requests
        )
        return Trial(requests, check(requests))

    def findings(self) -> list[Finding]:
        """All findings, those that a baseline accepts included."""
        return [finding for request in self.requests for finding in request.outcome.findings]


def widened(requests: Sequence[Request]) -> tuple[Request, ...]:
    """The requests with every stable rule above info: a repair for one rule must not break another."""
    return tuple(replace(request, selection=_with_stable(request)) for request in requests)


def _with_stable(request: Request) -> Selection:
    selection = request.selection
    more = [
        rule
        for rule in request.known
        if rule.status is Status.STABLE
        and rule.severity is not Severity.INFO
        and rule.code not in selection.codes
    ]
    rules = sorted((*selection.rules, *more), key=lambda rule: rule.code)
    return Selection(tuple(rules), selection.with_info) if more else selection


def harm_of(before: Trial, after: Trial, fixed: Sequence[Finding]) -> list[Harm]:
    """What is wrong with `after`, in which the fixes of `fixed` were carried out; empty where nothing is."""
    regions = _Regions(before.report.texts, after.report.texts)
    earlier = before.findings()
    expected = Counter(regions.before(each) for each in earlier)
    expected -= Counter(regions.before(each) for each in fixed)
    present: dict[Region, list[Finding]] = {}
    for finding in after.findings():
        if finding.code != _ABOUT_COMMENTS:
            present.setdefault(regions.after(finding), []).append(finding)
    gone = _gone(earlier, fixed, present, regions)
    harms: list[Harm] = []
    for region, findings in present.items():
        for finding in findings[expected[region] :]:
            # It speaks of the same thing at another line: it has moved.
            if gone[_subject(finding)]:
                gone[_subject(finding)] -= 1
            else:
                harms.append(_harm(finding, fixed, regions))
    harms += _without_value(before.report.texts, after.report.texts, fixed, regions)
    return [*harms, *_failures(before.report, after.report)]


def _without_value(
    before: Texts, after: Texts, fixed: Sequence[Finding], regions: _Regions
) -> Iterator[Harm]:
    """The names that the repaired files read where nothing may have bound them, and did not before."""
    changed = {path for finding in fixed for path in finding.edits_by_file() or ("",)}
    for path in sorted(path for path in changed if path.endswith((".py", SUFFIX))):
        old, new = (texts.lines(path) for texts in (before, after))
        if old != new:
            for each in added("\n".join(old), "\n".join(new)):
                line, _ = regions.line_before(path, each.line)
                text = f"with it, `{each.name}` may have no value at {path}:{line}"
                yield Harm(path, text, line=line)


def _gone(
    findings: Sequence[Finding],
    fixed: Sequence[Finding],
    present: Mapping[Region, Sequence[Finding]],
    regions: _Regions,
) -> Counter[tuple[str, str, str]]:
    """What was there, was not to be repaired, and is there no more."""
    left = Counter({region: len(each) for region, each in present.items()})
    repaired = Counter(map(_exactly, fixed))
    gone: Counter[tuple[str, str, str]] = Counter()
    for finding in findings:
        region = regions.before(finding)
        if repaired[_exactly(finding)]:
            repaired[_exactly(finding)] -= 1
        elif left[region]:
            left[region] -= 1
        else:
            gone[_subject(finding)] += 1
    return gone


def _exactly(finding: Finding) -> tuple[object, ...]:
    return finding.code, finding.place, finding.message


def _subject(finding: Finding) -> tuple[str, str, str]:
    """What a finding speaks of, wherever it stands."""
    return finding.place.path, finding.code, _NUMBER.sub("", finding.message)


def _harm(finding: Finding, fixed: Sequence[Finding], regions: _Regions) -> Harm:
    region = regions.after(finding)
    left = next((each for each in fixed if regions.before(each) == region), None)
    if left is None:
        left = next((each for each in fixed if _subject(each) == _subject(finding)), None)
    path, code, (line, _) = region
    if left is not None:
        return Harm(path, f"{code} is found as before", left, line)
    return Harm(path, f"with it, {code} is found at {path}:{line}", line=line)


def _failures(before: Report, after: Report) -> Iterator[Harm]:
    """What cannot be looked at any more: silence would not mean that it is right."""
    for text in sorted((Counter(after.given_up) - Counter(before.given_up)).elements()):
        path, _, rest = text.partition(": ")
        yield Harm(path, f"{rest.partition(' (')[0]} in {path} is no longer compared to its end")
    for problem in dict.fromkeys(after.problems):
        if problem not in before.problems:
            yield Harm(problem.path, _sentence(problem))


def _sentence(problem: Problem) -> str:
    where = f"{problem.path}: " if problem.path else ""
    return f"with it, the check fails ({where}{problem.reason})"


class _Regions:
    """The lines of a repaired file, as they were numbered before."""

    def __init__(self, before: Texts, after: Texts) -> None:
        self._texts = (before, after)
        self._numbers: dict[str, tuple[dict[int, Line], dict[int, Line]]] = {}

    def before(self, finding: Finding) -> Region:
        """Where a finding in the files as they were stands."""
        return self._region(finding, 0)

    def after(self, finding: Finding) -> Region:
        """Where a finding in the repaired files stands."""
        return self._region(finding, 1)

    def line_before(self, path: str, line: int) -> Line:
        """A line of a repaired file."""
        return self._line(path, line, 1)

    def _region(self, finding: Finding, side: int) -> Region:
        path, line = finding.place.path, finding.place.line
        return path, finding.code, self._line(path, line, side)

    def _line(self, path: str, line: int, side: int) -> Line:
        if path not in self._numbers:
            self._numbers[path] = self._numbered(path)
        return self._numbers[path][side].get(line, (line, False))

    def _numbered(self, path: str) -> tuple[dict[int, Line], dict[int, Line]]:
        old, new = (texts.lines(path) for texts in self._texts)
        if old == new:
            return {}, {}
        kept = [*lines_kept(old, new).items(), (len(old) + 1, len(new) + 1)]
        before: dict[int, Line] = {}
        after: dict[int, Line] = {}
        last_old, last_new = 0, 0
        for line, moved in kept:
            changed = range(last_old + 1, line)
            written = range(last_new + 1, moved)
            for lines, numbers in ((changed, before), (written, after)):
                # As many lines as there were: each stands for the one that it takes the place of.
                alike = len(changed) == len(written)
                for number, each in enumerate(lines):
                    numbers[each] = (changed.start + (number if alike else 0), True)
            before[line] = after[moved] = (line, False)
            last_old, last_new = line, moved
        return before, after
