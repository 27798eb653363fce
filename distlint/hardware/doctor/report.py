"""The doctor's report: a run of all checks, as text by group and as JSON."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from distlint.hardware.doctor.check import Check, Result, Status, error
from distlint.hardware.doctor.machine import Machine, TorchFacts
from distlint.reporting.style import Style

_NAME_WIDTH = 24
_STATUS_WIDTH = 9


@dataclass(frozen=True, slots=True)
class Judged:
    """A check and what it had to say."""

    check: Check
    results: tuple[Result, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """All checks on one machine, and the seconds that it took."""

    machine: Machine
    judged: tuple[Judged, ...]
    seconds: float

    @property
    def results(self) -> Iterator[Result]:
        """Every result of every check."""
        for judged in self.judged:
            yield from judged.results

    @property
    def exit_code(self) -> int:
        """1 where a result is an error, else 0."""
        return int(any(result.status is Status.ERROR for result in self.results))


def judge(machine: Machine, checks: Sequence[Check], seconds: float) -> Report:
    """Every check's results. A check that crashes is an error of its own; the rest goes on."""
    judged = []
    for check in checks:
        try:
            results = tuple(check.judge(machine))
        except Exception as problem:  # a check's own mistake must not hide the other checks
            results = (
                error(
                    f"the check crashed: {type(problem).__name__}: {problem}",
                    "what it looks for was not judged.",
                    "report it with the output of distlint doctor --json.",
                ),
            )
        judged.append(Judged(check, results))
    return Report(machine, tuple(judged), seconds)


def as_json(report: Report) -> dict[str, Any]:
    """The report as plain values; no host name and no path that was not given."""
    facts = report.machine.torch
    counts = Counter(result.status for result in report.results)
    return {
        "exit_code": report.exit_code,
        "seconds": round(report.seconds, 2),
        "counts": {status.value: counts[status] for status in Status},
        "machine": {
            "torch": facts.version if isinstance(facts, TorchFacts) else None,
            "gpus": [
                {"name": gpu.name, "memory": gpu.memory, "driver": gpu.driver}
                for gpu in report.machine.visible
            ],
            "processes": report.machine.processes,
        },
        "checks": [
            {
                "check": judged.check.name,
                "group": judged.check.group,
                "status": result.status.value,
                "saw": result.saw,
                "why": result.why or None,
                "do": result.do or None,
            }
            for judged in report.judged
            for result in judged.results
        ],
    }


def render(report: Report, style: Style, width: int) -> str:
    """The report as text: groups, one line for what is well, why and what to do for the rest."""
    lines: list[str] = []
    for group, members in groupby(report.judged, key=lambda judged: judged.check.group):
        lines.append(style.bold(group))
        for judged in members:
            for result in judged.results:
                lines += _shown(judged.check.name, result, style, width)
        lines.append("")
    lines.append(_summary(report, style))
    return "\n".join(lines)


def _shown(name: str, result: Result, style: Style, width: int) -> list[str]:
    indent = 2 + _STATUS_WIDTH + _NAME_WIDTH
    if width < 2 * indent:  # too narrow for a column beside the names
        indent = 4
    room = max(20, width - indent)
    status = _painted(result.status, style) + " " * (_STATUS_WIDTH - len(result.status.value))
    head = f"  {status}{name:<{_NAME_WIDTH}}"
    quiet = result.status in (Status.OK, Status.SKIPPED)
    saw = _wrapped(result.saw, room)
    if quiet and result.status is Status.SKIPPED:
        saw = [style.dim(line) for line in saw]
    lines = [head + saw[0]] if indent > 4 else [head.rstrip(), " " * indent + saw[0]]
    lines += [" " * indent + line for line in saw[1:]]
    for label, text in (("why", result.why), ("do", result.do)):
        if text:
            wrapped = _wrapped(text, room - 5)
            lines.append(" " * indent + style.cyan(f"{label:<5}") + wrapped[0])
            lines += [" " * (indent + 5) + line for line in wrapped[1:]]
    return lines


def _wrapped(text: str, room: int) -> list[str]:
    return textwrap.wrap(text, room, break_long_words=True, break_on_hyphens=False) or [""]


def _painted(status: Status, style: Style) -> str:
    match status:
        case Status.OK:
            return style.green(status.value)
        case Status.WARNING:
            return style.yellow(status.value)
        case Status.ERROR:
            return style.red(status.value)
        case Status.SKIPPED:
            return style.dim(status.value)


def _summary(report: Report, style: Style) -> str:
    counts = Counter(result.status for result in report.results)
    parts = []
    for status, singular, plural in (
        (Status.ERROR, "error", "errors"),
        (Status.WARNING, "warning", "warnings"),
        (Status.OK, "ok", "ok"),
        (Status.SKIPPED, "skipped", "skipped"),
    ):
        count = counts[status]
        text = f"{count} {singular if count == 1 else plural}"
        if count and status is Status.ERROR:
            text = style.red(text)
        elif count and status is Status.WARNING:
            text = style.yellow(text)
        parts.append(text)
    return f"{', '.join(parts)} in {report.seconds:.1f} s"
