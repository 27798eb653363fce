"""One repair: check, apply what is offered, look again, until nothing more can be applied."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from distlint.checking import Request, check
from distlint.columns import split_lines
from distlint.findings import Applicability, Finding
from distlint.fixing.comments import apply_to_comments, only_comments
from distlint.fixing.replacements import Replacement, replacements
from distlint.fixing.requests import FixRequest, FixResult, SkipKind
from distlint.project.files import Problem
from distlint.project.naming import path_of
from distlint.project.notebooks import SUFFIX, python_of, with_python
from distlint.project.reading import decode, python_text
from distlint.reporting.report import Report

ROUNDS = 10
"""After this many rounds two fixes undo each other; what is left stays for people."""


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
    notes: list[str] = field(default_factory=list)
    """Fixes that were offered and do not go in, and why."""


def repair(requests: Sequence[Request], *, unsafe: bool | None) -> Repair:
    """Apply the safe fixes of what `requests` name, with `unsafe` the unsafe ones too, in memory.

    Without a word about `unsafe`, the settings of each file decide. Fixes that overlap take turns: each round looks anew at the text of the round before.
    """
    result = Repair()
    originals: dict[str, bytes] = {}
    overlays = {path: data for request in requests for path, data in request.overlays.items()}
    settings = {
        file.shown: request.settings
        for request in requests
        for file in (*request.files.files, *request.files.launch)
    }
    takes_unsafe = {
        shown: each.unsafe_fixes if unsafe is None else unsafe for shown, each in settings.items()
    }
    settled: set[tuple[str, FixRequest]] = set()
    for number in range(ROUNDS):
        report = check([replace(request, overlays=overlays) for request in requests])
        if number == 0:
            result.before = report
        result.after = report
        todo = _offered(report, takes_unsafe, settled)
        if not todo:
            break
        waiting = False
        for shown, fixes in todo.items():
            path = os.path.abspath(path_of(shown))
            data = overlays.get(path)
            if data is None:
                data = _unchanged(shown, report)
                if data is None:
                    reason = "changed while it was checked; nothing was fixed in it, run again"
                    result.after.problems.append(Problem(shown, reason))
                    continue
            runtime = settings[shown].runtime_module
            waiting |= _apply(shown, data, fixes, runtime, overlays, result, settled)
            originals.setdefault(path, data)
        if not waiting:
            break
    result.files = _fixed_files(originals, overlays)
    result.withheld = sum(
        applies(row.finding, True)
        and not applies(row.finding, takes_unsafe[row.finding.place.path])
        for row in result.after.findings
    )
    return result


def _offered(
    report: Report, takes_unsafe: Mapping[str, bool], settled: set[tuple[str, FixRequest]]
) -> dict[str, list[FixRequest]]:
    """The fixes to carry out, by the path shown."""
    offered: dict[str, list[FixRequest]] = {}
    for row in report.findings:
        shown = row.finding.place.path
        if applies(row.finding, takes_unsafe[shown]):
            fix = FixRequest.of(row.finding)
            if (shown, fix) not in settled:
                offered.setdefault(shown, []).append(fix)
    return offered


def each_alone(report: Report, requests: Sequence[Request]) -> dict[str, tuple[Replacement, ...]]:
    """What the fix of each finding changes when it is the only one, by the finding's fingerprint.

    Findings whose fix cannot be carried out are left out.
    """
    by_path: dict[str, list[tuple[str, FixRequest]]] = {}
    for row in report.findings:
        if applies(row.finding, unsafe=True):
            wanted = by_path.setdefault(row.finding.place.path, [])
            wanted.append((row.fingerprint, FixRequest.of(row.finding)))
    overlays = {path: data for request in requests for path, data in request.overlays.items()}
    runtime = {
        file.shown: request.settings.runtime_module
        for request in requests
        for file in (*request.files.files, *request.files.launch)
    }
    changes: dict[str, tuple[Replacement, ...]] = {}
    for shown, rows in by_path.items():
        data = overlays.get(os.path.abspath(path_of(shown))) or _unchanged(shown, report)
        if data is None:
            continue
        if shown.endswith(SUFFIX):
            continue  # its lines are not those of the file
        before = decode(data).removeprefix("\ufeff")
        results = _results(data, [fix for _, fix in rows], runtime[shown])
        for (name, _), result in zip(rows, results, strict=True):
            if result.applied:
                changes[name] = replacements(before, decode(result.data).removeprefix("\ufeff"))
    return changes


def _results(data: bytes, fixes: list[FixRequest], runtime_module: str) -> list[FixResult]:
    """What comes of each of `fixes` alone; LibCST is loaded only where one changes code."""
    if all(map(only_comments, fixes)):
        return [apply_to_comments(data, [fix]) for fix in fixes]
    from distlint.fixing.engine import apply_each

    in_code = [fix for fix in fixes if not only_comments(fix)]
    made = iter(apply_each(data, in_code, runtime_module=runtime_module))
    return [apply_to_comments(data, [fix]) if only_comments(fix) else next(made) for fix in fixes]


def applies(finding: Finding, unsafe: bool) -> bool:
    """Whether the fix of `finding` may be applied by machine."""
    fix = finding.fix
    if fix is None or not fix.edits:
        return False
    return fix.applicability is Applicability.SAFE or (
        unsafe and fix.applicability is Applicability.UNSAFE
    )


def _apply(
    shown: str,
    data: bytes,
    fixes: list[FixRequest],
    runtime_module: str,
    overlays: dict[str, bytes],
    result: Repair,
    settled: set[tuple[str, FixRequest]],
) -> bool:
    """Put the fixed bytes of one file into `overlays`; whether another round may apply more."""
    code = [fix for fix in fixes if not only_comments(fix)]
    whole, data = data, python_of(shown, data)
    if code:
        # It loads LibCST. Comments that are beside it get their turn in the next round.
        from distlint.fixing.engine import apply_fixes

        outcome = apply_fixes(data, code, runtime_module=runtime_module)
    else:
        outcome = apply_to_comments(data, fixes)
    result.applied += len(outcome.applied)
    if outcome.data != data:
        overlays[os.path.abspath(path_of(shown))] = with_python(shown, whole, outcome.data)
    for skip in outcome.skipped:
        if skip.kind is SkipKind.CONFLICT:
            continue  # its turn comes in the next round
        settled.add((shown, skip.fix))
        where = f"{shown}:{skip.fix.line}"
        if skip.kind is SkipKind.INTERNAL:
            reason = f"the fix of {skip.fix.code} failed: {skip.reason}; please report it"
            result.after.problems.append(Problem(where, reason))
        else:
            result.notes.append(f"{where}: the fix of {skip.fix.code} was left out: {skip.reason}")
    return outcome.data != data or 0 < len(code) < len(fixes)


def _unchanged(shown: str, report: Report) -> bytes | None:
    """The bytes of the file, where it still holds the text that was checked."""
    try:
        data = Path(path_of(shown)).read_bytes()
        text = python_text(shown, data).removeprefix("\ufeff")
    except (OSError, ValueError):
        return None
    return data if split_lines(text) == report.texts.lines(shown) else None


def _fixed_files(originals: Mapping[str, bytes], overlays: Mapping[str, bytes]) -> list[FixedFile]:
    files = [
        FixedFile(os.path.relpath(path).replace(os.sep, "/"), Path(path), before, overlays[path])
        for path, before in originals.items()
        if overlays.get(path, before) != before
    ]
    return sorted(files, key=lambda file: file.shown)
