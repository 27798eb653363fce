r"""Syntax that a newer Python has than the one that runs distlint, recognised where it fails.

A pattern alone would be a guess. A construct counts as the cause where, written as older Pythons
want it, the file parses, or fails somewhere further down.

Sources: "What's New In Python" of 3.11 to 3.15.
"""

from __future__ import annotations

import ast
import re
import sys
import warnings
from collections.abc import Callable
from typing import Final

from distlint.patterns import pattern
from distlint.records import dataclass

FIELDS = 8
"""How many fields of one f-string are rewritten, one in each round."""

Version = tuple[int, int]
Rewrite = Callable[[re.Match[str]], str]


@dataclass(frozen=True, slots=True)
class Construct:
    """What `since` introduced; `rewrite` writes what `pattern` finds as older Pythons do."""

    since: Version
    name: str
    pattern: re.Pattern[str]
    rewrite: Rewrite


def _construct(since: Version, name: str, words: str, rewrite: Rewrite) -> Construct:
    return Construct(since, name, pattern(words, re.MULTILINE), rewrite)


def _other_quotes(found: re.Match[str]) -> str:
    """A replacement field with the other kind of quotes inside."""
    quote = found["quote"]
    other = "'" if quote == '"' else '"'
    head, inner = found["head"], found["inner"].replace(quote, other)
    return f"{head}{inner}}}"


def _field(quote: str) -> str:
    """An f-string on one line up to the end of a field that holds its own quote."""
    plain = rf"[^{quote}\n]"
    return (
        rf"(?P<head>\b[fFrR]{{1,2}}(?P<quote>{quote})(?!{quote}{quote}){plain}*?\{{)"
        rf"(?P<inner>[^{{}}\n{quote}]*{quote}[^{{}}\n]*?)\}}"
    )


def _on_one_line(found: re.Match[str]) -> str:
    """A replacement field without its line breaks."""
    return f"{found['head']}{' '.join(found['inner'].split())}}}"


_BROKEN_FIELD = (
    r"(?P<head>\b[fFrR]{1,2}(?P<quote>[\"'])(?!(?P=quote)(?P=quote))(?:(?!(?P=quote))[^\n])*?\{)"
    r"(?P<inner>[^{}\n\"']*\n[^{}\"']*)\}"
)
"""An f-string in one pair of quotes up to the end of a field that goes on in another line."""
_PARAMETERS = r"\[(?P<parameters>(?:[^\[\]\n]|\[[^\[\]\n]*\])*)\]"

CONSTRUCTS = (
    _construct((3, 11), "`except*`", r"^(\s*except)\s*\*", lambda found: f"{found[1]} "),
    _construct(
        (3, 12),
        "a `type` statement",
        rf"^(\s*)type\s+(\w+)\s*(?:{_PARAMETERS})?\s*=(?!=)",
        lambda found: f"{found[1]}{found[2]} =",
    ),
    _construct(
        (3, 13),
        "a type parameter with a default",
        rf"^(\s*(?:async\s+)?(?:def|class)\s+\w+)\s*(?=\[[^\n]*=[^\n]*\]\s*[(:]){_PARAMETERS}",
        lambda found: found[1] if "=" in found["parameters"] else found[0],
    ),
    _construct(
        (3, 12),
        "type parameters",
        rf"^(\s*(?:async\s+)?(?:def|class)\s+\w+)\s*{_PARAMETERS}",
        lambda found: found[1],
    ),
    _construct((3, 12), "an f-string with its own quotes inside", _field('"'), _other_quotes),
    _construct((3, 12), "an f-string with its own quotes inside", _field("'"), _other_quotes),
    # PnP-Flow 2948aef pnpflow/image_generation/run_lib_pytorch.py:252
    _construct((3, 12), "an f-string with a line break in a field", _BROKEN_FIELD, _on_one_line),
    _construct(
        # Names in capitals: `except Error, e:` is Python 2.
        (3, 14),
        "`except` without parentheses",
        r"^(\s*except\*?)\s+((?:[\w.]*\.)?[A-Z]\w*(?:\s*,\s*(?:[\w.]*\.)?[A-Z]\w*)+)\s*:",
        lambda found: f"{found[1]} ({found[2]}):",
    ),
    _construct(
        (3, 14),
        "a t-string",
        r"(?<![\w\"'])([rR]?)[tT]([rR]?)(?=[\"'])",
        lambda found: f"{found[1]}f{found[2]}",
    ),
    _construct(
        (3, 15),
        "a lazy import",
        r"^(\s*)lazy\s+(?=(?:import|from)\b)",
        lambda found: found[1],
    ),
)

_MESSAGES = {
    # What the parser says where nothing else can be meant.
    "f-string expression part cannot include a backslash": (
        (3, 12),
        "an f-string with a backslash in a field",
    ),
    "f-string expression part cannot include '#'": ((3, 12), "an f-string with a comment"),
    "iterable unpacking cannot be used in comprehension": (
        (3, 15),
        "unpacking in a comprehension",
    ),
    "dict unpacking cannot be used in dict comprehension": (
        (3, 15),
        "unpacking in a comprehension",
    ),
}


NEWER: Final = "it uses syntax of Python"
"""How a reason begins that only a newer Python would not have."""


def newer_syntax(text: str, error: SyntaxError) -> str | None:
    """Why `text` does not parse, where a newer Python would parse it; `error` is what was raised."""
    running = sys.version_info[:2]
    known = _MESSAGES.get(error.msg)
    if known is not None and known[0] > running:
        return _reason(*known)
    line = error.lineno or 1
    for construct in CONSTRUCTS:
        if construct.since > running and _is_cause(construct, text, line):
            return _reason(construct.since, construct.name)
    return None


_OF_FIELDS: Final = (_other_quotes, _on_one_line)


def _is_cause(construct: Construct, text: str, line: int) -> bool:
    older, count = construct.pattern.subn(construct.rewrite, text)
    for _ in range(FIELDS):
        if not count or construct.rewrite not in _OF_FIELDS:
            break
        older, count = construct.pattern.subn(construct.rewrite, older)
    return older != text and _failing_line(older) > line


def _failing_line(text: str) -> float:
    """The line at which `text` does not parse; infinity where it does."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except SyntaxError as error:
        return error.lineno or 1
    except (RecursionError, MemoryError, ValueError):
        return 0
    return float("inf")


def _reason(since: Version, what: str) -> str:
    wanted, running = (f"{major}.{minor}" for major, minor in (since, sys.version_info[:2]))
    return (
        f"{NEWER} {wanted} ({what}), and distlint runs on Python {running}; "
        f"install distlint under Python {wanted} or later"
    )
