"""`--output-format text`: what people read on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from difflib import SequenceMatcher
from typing import Final

from distlint.findings import Applicability, Finding, Place, Severity, Witness, WitnessStep
from distlint.records import dataclass
from distlint.reporting.frames import Mark, cells, frame, printable, wrap
from distlint.reporting.report import Report, Texts
from distlint.reporting.style import Style

_TAGS = {Applicability.SAFE: "[fix]", Applicability.UNSAFE: "[unsafe fix]"}


@dataclass(frozen=True, slots=True)
class Layout:
    """How wide the text may be (terminal cells), and how it is painted."""

    style: Style
    width: int = 100
    quiet: bool = False
    """Findings only, without what they come to."""


def render(report: Report, layout: Layout) -> str:
    """Every finding with its frame, then a line that sums up."""
    blocks = [_finding(row.finding, report.texts, layout) for row in report.findings]
    if not layout.quiet:
        last = summary(report, layout.style)
        if report.findings:
            last += f"\nWhy, and what to write instead: `distlint explain {_first_code(report)}`."
        blocks.append(last)
    return "\n\n".join(blocks)


def _first_code(report: Report) -> str:
    """The code to begin with: that of the first finding of the worst severity."""
    ranked = sorted(report.findings, key=lambda row: list(Severity).index(row.finding.severity))
    return ranked[0].finding.code


def summary(report: Report, style: Style) -> str:
    """How many findings, how many of them can be fixed, and how: a line for each."""
    checked = f"{_counted(report.files, 'file')} checked"
    accepted = f"; {report.baselined:,} in the baseline" if report.baselined else ""
    stale = f"\n{note}" if (note := report.stale_note()) else ""
    stale += "".join(f"\n{line}" for line in _given_up(report))
    if not report.findings:
        if report.problems:
            return (
                style.yellow(f"No findings in what could be checked ({checked}{accepted}).") + stale
            )
        return style.green(f"No findings ({checked}{accepted}).") + stale
    counts = [
        _counted(report.count(severity), word)
        for severity, word in (
            (Severity.ERROR, "error"),
            (Severity.WARNING, "warning"),
            (Severity.INFO, "note"),
        )
        if report.count(severity)
    ]
    paint = style.red if report.count(Severity.ERROR) else style.yellow
    fixable = report.fixable()
    safe, unsafe = fixable[Applicability.SAFE], fixable[Applicability.UNSAFE]
    line = paint(f"Found {_listed(counts)}") + f" ({checked}{accepted})."
    if safe:
        line += f"\n{safe:,} fixable with `distlint fix --apply`"
        line += f", {unsafe:,} more with `--unsafe-fixes`." if unsafe else "."
    elif unsafe:
        line += f"\n{unsafe:,} fixable with `distlint fix --apply --unsafe-fixes`."
    return line + stale


_MAX_GIVEN_UP: Final = 3


def _given_up(report: Report) -> Iterator[str]:
    """What was not compared to its end: a hang there is not found."""
    if not report.given_up:
        return
    yield (
        f"{_counted(len(report.given_up), 'function')} not compared to the end: "
        "a hang in what is left is not found."
    )
    yield from (f"  {text}" for text in report.given_up[:_MAX_GIVEN_UP])
    more = len(report.given_up) - _MAX_GIVEN_UP
    if more > 0:
        yield f"  and {more:,} more: `--verbose` names them."


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _listed(parts: list[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else parts[0]


def _finding(finding: Finding, texts: Texts, layout: Layout) -> str:
    style = layout.style
    place = finding.place
    column, _ = texts.columns(place)
    paint = painter(finding.severity, style)
    head = (
        f"{style.bold(printable(place.path))}:{place.line}:{column}: "
        f"{paint(finding.severity.value)} {paint(finding.code)} {style.bold(finding.name)}"
        f"{tag(finding, style)}"
    )
    lines = [head]
    said = _said(finding)
    lines += ["  " + line for line in wrap(said, layout.width - 2)]
    if finding.witness is not None:
        lines += ["  " + line for line in _witness(finding.witness, place.path, layout)]
    code = _frames(finding, texts, layout)
    if code and finding.witness is not None:
        lines.append("")
    lines += ["  " + line for line in code]
    if finding.fix and finding.fix.message.rstrip(".") not in said:
        label = "fix: " if finding.fix.applicability in _TAGS else "to do: "
        parts = wrap(finding.fix.message, layout.width - 2 - len(label))
        lines += [
            "  " + (style.green(label) if number == 0 else " " * len(label)) + part
            for number, part in enumerate(parts)
        ]
    return "\n".join(lines)


def painter(severity: Severity, style: Style) -> Callable[[str], str]:
    """How `style` sets off what is of this severity."""
    paints = {Severity.ERROR: style.red, Severity.WARNING: style.yellow, Severity.INFO: style.blue}
    return paints[severity]


def tag(finding: Finding, style: Style) -> str:
    """` [fix]` behind the name of a finding that `distlint fix` can repair; else nothing."""
    if finding.fix is None or finding.fix.applicability not in _TAGS:
        return ""
    return f" {style.green(_TAGS[finding.fix.applicability])}"


def _said(finding: Finding) -> str:
    """The message without its last sentence, where that is what the fix line says."""
    message = finding.message.rstrip(".")
    if finding.fix is None or not message.endswith(last := f" {finding.fix.message.rstrip('.')}"):
        return finding.message
    before = message.removesuffix(last)
    return before if before.endswith((".", "?", "!")) else finding.message


def _frames(finding: Finding, texts: Texts, layout: Layout) -> list[str]:
    """The finding's own frame with what is related in the same file, then the other files'."""
    own = finding.place.path
    by_path: dict[str, list[Mark]] = {own: [Mark(finding.place, primary=True)]}
    told = _places(finding.witness)
    for related in finding.related:
        where = (related.place.path, related.place.line)
        if related.place == finding.place or where in told:
            continue
        by_path.setdefault(related.place.path, []).append(Mark(related.place, related.message))
    if (own, finding.place.line) in told and len(by_path[own]) == len(by_path) == 1:
        return []  # the witness shows all there is
    lines: list[str] = []
    for path, marks in by_path.items():
        if path != own:
            first = min(marks, key=lambda mark: mark.place.line).place
            lines.append(layout.style.dim(f"{path}:{first.line}:{texts.columns(first)[0]}"))
        lines += frame(marks, texts, layout.style, layout.width - 2)
    return lines


def _places(witness: Witness | None) -> set[tuple[str, int]]:
    if witness is None:
        return set()
    steps = [step for _, column in witness.columns for step in column] + list(witness.chain)
    return {(step.place.path, step.place.line) for step in steps}


_LEAD = " " * 6
"""Where the code of a step begins, after its line number."""

# The witness: one column for each class of ranks


def _witness(witness: Witness, own: str, layout: Layout) -> list[str]:
    """What each class of ranks does, side by side, and the calls that lead there."""
    style = layout.style
    count = max(len(witness.columns), 1)
    column = max((layout.width - 2 - 2 * (count - 1)) // count, 16)
    rows: list[list[list[str]]] = []
    for steps in _aligned([list(steps) for _, steps in witness.columns]):
        rows.append([_cell(step, own, column) for step in steps])
    heads = [name for name, _ in witness.columns]
    wide = max(
        [cells(head) + len(_LEAD) for head in heads]
        + [cells(line) for row in rows for cell in row[:-1] for line in cell]
        + [20]
    )
    column = min(column, wide + 4)
    lines = [
        "".join(
            f"{_LEAD}{style.bold(head)}{_pad(head, column + 2 - len(_LEAD))}" for head in heads
        ).rstrip()
    ]
    for row in rows:
        height = max(len(cell) for cell in row)
        for index in range(height):
            parts = [cell[index] if index < len(cell) else "" for cell in row]
            lines.append("  ".join(part + _pad(part, column) for part in parts).rstrip())
    if witness.chain:
        arrow = " → " if style.unicode else " -> "
        chain = arrow.join(f"{step.text} ({_where(step.place, own)})" for step in witness.chain)
        lines += [style.dim(line) for line in wrap(f"calls: {chain}", layout.width - 2)]
    return lines


def _pad(text: str, width: int) -> str:
    return " " * max(width - cells(text), 0)


def _cell(step: WitnessStep | None, own: str, width: int) -> list[str]:
    if step is None:
        return [""]
    here = step.place.path == own
    lead = f"{step.place.line:>5} " if here else _LEAD
    text = printable(step.text) if here else f"{printable(step.text)} ({_where(step.place, own)})"
    parts = wrap(text, max(width - len(_LEAD), 12), break_words=True) or [""]
    return [lead + parts[0], *(_LEAD + part for part in parts[1:])]


def _where(place: Place, own: str) -> str:
    return str(place.line) if place.path == own else f"{place.path}:{place.line}"


def _aligned(columns: list[list[WitnessStep]]) -> Iterable[list[WitnessStep | None]]:
    """The steps row by row; what happens at the same line stands side by side."""
    rows: list[list[WitnessStep | None]] = [[step] for step in columns[0]] if columns else []
    for index, column in enumerate(columns[1:], 1):
        left = [_key(row) for row in rows]
        right = [(step.place.path, step.place.line) for step in column]
        merged: list[list[WitnessStep | None]] = []
        for _, i1, i2, j1, j2 in SequenceMatcher(a=left, b=right, autojunk=False).get_opcodes():
            for offset in range(max(i2 - i1, j2 - j1)):
                row = rows[i1 + offset] if i1 + offset < i2 else [None] * index
                step = column[j1 + offset] if j1 + offset < j2 else None
                merged.append([*row, step])
        rows = merged
    return rows


def _key(row: list[WitnessStep | None]) -> tuple[str, int]:
    for step in row:
        if step is not None:
            return step.place.path, step.place.line
    return "", 0
