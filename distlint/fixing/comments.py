"""Edits inside comments. They need no parser: what is between `#` and the line end means nothing."""

from __future__ import annotations

import codecs
import io
import tokenize
from collections.abc import Sequence

from distlint.columns import display_column
from distlint.edits import ReplaceComment
from distlint.fixing.plain import overlap
from distlint.fixing.requests import FixRequest, FixResult, SkipKind, SkippedFix
from distlint.patterns import pattern

_LINES = pattern(r"[^\r\n]*(?:\r\n|\r|\n|$)")


def only_comments(fix: FixRequest) -> bool:
    """Whether all edits of `fix` stay inside comments."""
    return all(isinstance(edit, ReplaceComment) for edit in fix.edits)


def apply_to_comments(data: bytes, fixes: Sequence[FixRequest]) -> FixResult:
    """Apply `fixes`, all of whose edits are ReplaceComment, to the bytes of a file.

    Encoding, byte order mark and line ends stay as they are. A fix whose place holds no comment is
    refused; of two that overlap, the later one is a conflict.
    """
    ordered = sorted(fixes, key=lambda fix: fix.key)
    mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    try:
        encoding = "utf-8" if mark else tokenize.detect_encoding(io.BytesIO(data).readline)[0]
        lines = _LINES.findall(data[len(mark) :].decode(encoding))
    except (SyntaxError, UnicodeDecodeError):
        reason = "the encoding of the file is unknown"
        refused = tuple(SkippedFix(fix, SkipKind.REFUSED, reason) for fix in ordered)
        return FixResult(data, (), refused, refusal=reason)
    applied: list[FixRequest] = []
    skipped: list[SkippedFix] = []
    edits: list[tuple[int, int, int, str]] = []
    for fix in ordered:
        places = [_place(edit, lines) for edit in fix.edits if isinstance(edit, ReplaceComment)]
        found = [place for place in places if place is not None]
        if len(found) < len(places):
            skipped.append(SkippedFix(fix, SkipKind.REFUSED, "there is no comment at its place"))
        elif any(overlap(one, other) for one in found for other in edits):
            skipped.append(SkippedFix(fix, SkipKind.CONFLICT, "it overlaps another fix"))
        else:
            edits.extend(found)
            applied.append(fix)
    for index, start, end, text in sorted(edits, reverse=True):
        lines[index] = _edited(lines[index], start, end, text)
    return FixResult(mark + "".join(lines).encode(encoding), tuple(applied), tuple(skipped))


def _place(edit: ReplaceComment, lines: Sequence[str]) -> tuple[int, int, int, str] | None:
    """Line index, first and end character of an edit, where a comment begins or goes on there."""
    span = edit.span
    if not 1 <= span.line == span.end_line <= len(lines):
        return None
    line = lines[span.line - 1].rstrip("\r\n")
    start, end = display_column(line, span.column) - 1, display_column(line, span.end_column) - 1
    if "#" not in line[: start + 1] or start >= end:
        return None
    return span.line - 1, start, end, edit.text


def _edited(line: str, start: int, end: int, text: str) -> str:
    """`line` with its part replaced; what an emptied comment leaves behind goes too."""
    body = line.rstrip("\r\n")
    before, after = body[:start], body[end:]
    if text:
        return before + text + after + line[len(body) :]
    if after.strip():
        return before + after.lstrip() + line[len(body) :]
    if before.strip():
        return before.rstrip() + line[len(body) :]
    return ""
