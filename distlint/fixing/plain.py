"""Edits of shell scripts: parts of lines that become other text. No parser of Python is asked."""

from __future__ import annotations

import io
from collections.abc import Sequence

from distlint.columns import display_column
from distlint.edits import Replace
from distlint.fixing.requests import FixRequest, FixResult, SkipKind, SkippedFix

Part = tuple[int, int, int, str]
"""Index of a line, first and end character in it, and what stands there afterwards."""


def apply_to_lines(data: bytes, fixes: Sequence[FixRequest]) -> FixResult:
    """Apply `fixes`, whose edits are Replace within a line or of a whole one, to the bytes of a file in UTF-8.

    Line ends stay as they are. Of two fixes that overlap, the later one is a conflict.
    """
    ordered = sorted(fixes, key=lambda fix: fix.key)
    lines = io.StringIO(data.decode("utf-8"), newline="").readlines()
    applied: list[FixRequest] = []
    skipped: list[SkippedFix] = []
    parts: list[Part] = []
    for fix in ordered:
        found = [_part(edit, lines) for edit in fix.edits if isinstance(edit, Replace)]
        own = [part for part in found if part is not None]
        if len(own) < len(fix.edits):
            skipped.append(SkippedFix(fix, SkipKind.REFUSED, "an edit reaches over several lines"))
        elif any(overlap(one, other) for one in own for other in parts):
            skipped.append(SkippedFix(fix, SkipKind.CONFLICT, "it overlaps another fix"))
        else:
            parts += own
            applied.append(fix)
    for index, start, end, text in sorted(parts, reverse=True):
        lines[index] = lines[index][:start] + text + lines[index][end:]
    return FixResult("".join(lines).encode("utf-8"), tuple(applied), tuple(skipped))


def _part(edit: Replace, lines: Sequence[str]) -> Part | None:
    span = edit.span
    if 1 <= span.line < span.end_line == span.line + 1 <= len(lines) and not (
        span.column or span.end_column
    ):  # all of a line, and its end
        return span.line - 1, 0, len(lines[span.line - 1]), edit.code
    if not 1 <= span.line == span.end_line <= len(lines):
        return None
    line = lines[span.line - 1]
    start, end = (display_column(line, column) - 1 for column in (span.column, span.end_column))
    return span.line - 1, start, end, edit.code


def overlap(one: Part, other: Part) -> bool:
    """Whether two parts have a character in common."""
    return one[0] == other[0] and one[1] < other[2] and other[1] < one[2]
