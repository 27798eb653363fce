"""Unified diffs of fixed files, that people read and `git apply` and `patch -p1` accept."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from distlint.patterns import pattern

_PLAIN = pattern(r"[\x21\x23-\x5b\x5d-\x7e]+")
_NO_NEWLINE = "\\ No newline at end of file\n"


def unified_diff(path: str, before: bytes, after: bytes, *, context: int = 3) -> bytes:
    """The change from `before` to `after` of the file `path` (relative, as the patch names it).

    The lines are the file's own bytes, split at LF as `git` and `patch` do, so a carriage return,
    an odd encoding or a missing last line end survive the way through a patch. Empty where nothing
    changed.
    """
    return b"".join(_lines(path, before, after, context))


def diff_text(path: str, before: bytes, after: bytes, encoding: str = "utf-8") -> str:
    """The same for a terminal: decoded (what cannot be is escaped), line ends without CR."""
    shown = unified_diff(path, before, after).decode(encoding, "backslashreplace")
    return shown.replace("\r\n", "\n").replace("\r", "\n ")


def _lines(path: str, before: bytes, after: bytes, context: int) -> Iterator[bytes]:
    if before == after:
        return
    old = _split(before)
    new = _split(after)
    yield f"--- {_quote('a/' + path)}\n+++ {_quote('b/' + path)}\n".encode()
    # Without guesses at junk: blank lines, of which a long file has many, would never count as the same.
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for group in matcher.get_grouped_opcodes(context):
        first, last = group[0], group[-1]
        yield f"@@ -{_range(first[1], last[2])} +{_range(first[3], last[4])} @@\n".encode()
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                yield from _marked(b" ", old[i1:i2])
                continue
            yield from _marked(b"-", old[i1:i2])
            yield from _marked(b"+", new[j1:j2])


def _split(data: bytes) -> list[bytes]:
    lines = data.split(b"\n")
    tail = lines.pop()
    return [line + b"\n" for line in lines] + ([tail] if tail else [])


def _marked(mark: bytes, lines: list[bytes]) -> Iterator[bytes]:
    for line in lines:
        yield mark + line
        if not line.endswith(b"\n"):
            yield b"\n" + _NO_NEWLINE.encode()


def _range(start: int, stop: int) -> str:
    """A hunk's range as POSIX diff writes it: an empty one names the line before it."""
    length = stop - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"


def _quote(name: str) -> str:
    """A file name as `git` writes it: in C quotes where it holds other than plain characters."""
    if _PLAIN.fullmatch(name):
        return name
    if "\t" not in name and " " in name and _PLAIN.fullmatch(name.replace(" ", "")):
        return name + "\t"  # a tab ends the name for `patch`, which else stops at the blank
    quoted = "".join(
        chr(byte) if 0x20 <= byte < 0x7F and byte not in b'"\\' else f"\\{byte:03o}"
        for byte in name.encode("utf-8", "surrogateescape")
    )
    return f'"{quoted}"'
