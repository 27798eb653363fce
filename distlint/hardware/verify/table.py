"""The table on the terminal."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Sequence

from distlint.hardware.verify.outcome import Outcome, Status
from distlint.hardware.verify.record import Verification

Style = Callable[[str, Status], str]
"""Colours a word by its status."""

_WORD = {Status.HELD: "held", Status.FAILED: "FAILED", Status.NOT_CHECKED: "–"}
_DETAIL_LINES = 30


def render(verification: Verification, style: Style, width: int, verbose: bool) -> str:
    """The whole report: a block for each process group, one for the proofs, a summary."""
    lines = [verification.machine.title]
    for record in verification.sessions:
        lines += ["", _heading(f"contracts · {record.session.title}", record.outcomes)]
        if record.problem is not None:
            lines += _wrapped(f"could not be checked: {record.problem}", width)
        lines += _rows(record.outcomes, style, width, verbose)
    for missing in verification.not_formed:
        lines += ["", f"contracts · {missing.partition(':')[0]}"]
        lines += _wrapped(f"could not be checked: {missing.partition(': ')[2]}", width)
    if verification.proofs or verification.rules_without_proof or verification.proofs_left_out:
        lines += ["", _heading("proofs of the rules", verification.proofs)]
        lines += _rows(verification.proofs, style, width, verbose)
    if verification.rules_without_proof:
        codes = ", ".join(verification.rules_without_proof)
        lines += _wrapped(f"rules without a proof: {codes}", width)
    if verification.proofs_left_out:
        left = len(verification.proofs_left_out)
        proofs = f"{left} proof{'s' * (left != 1)}"
        lines += _wrapped(f"left out, as they run on the other backend: {proofs}", width)
    counts = Counter(row.status for row in verification.outcomes)
    summary = ", ".join(f"{counts[status]} {status.value}" for status in Status)
    return "\n".join([*lines, "", f"{summary} in {verification.seconds:.0f} s"])


def row_text(row: Outcome, style: Style) -> str:
    """One row without its reason: status, name, seconds."""
    word = style(f"{_WORD[row.status]:<6}", row.status)
    return f"  {word} {row.name:<36} {row.seconds:6.1f} s"


def _heading(title: str, rows: Sequence[Outcome]) -> str:
    counts = Counter(row.status for row in rows)
    return f"{title} · " + ", ".join(f"{counts[status]} {status.value}" for status in Status)


def _rows(rows: Sequence[Outcome], style: Style, width: int, verbose: bool) -> list[str]:
    lines = []
    for row in rows:
        lines.append(row_text(row, style))
        if row.status is not Status.HELD or verbose:
            lines += _wrapped(row.reason or row.summary, width)
        if row.status is Status.FAILED:
            details = row.details.strip().splitlines()[-_DETAIL_LINES:]
            lines += [f"           | {line}" for line in details]
    return lines


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, initial_indent=" " * 9, subsequent_indent=" " * 9)
