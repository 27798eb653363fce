"""The files that a shell script writes by here-documents."""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import Final

from distlint.patterns import pattern
from distlint.records import dataclass

_BEGINS: Final = pattern(
    r"^[ \t]*cat[ \t]*(?:>[ \t]*(?P<first>[^\s<>|&;]+)[ \t]*)?<<[ \t]*(?P<quote>[\"']?)(?P<end>\w+)(?P=quote)"
    r"(?:[ \t]*>[ \t]*(?P<last>[^\s<>|&;]+))?[ \t]*\n",
    re.MULTILINE,
)
_ENDS: Final = pattern(r"^(\w+)[ \t]*$", re.MULTILINE)
_FILLED_IN: Final = pattern(r"[$`]")
_NAME: Final = pattern(r"[\w./-]+\.(?:json|ya?ml)")


@dataclass(frozen=True, slots=True)
class Written:
    """A file of which all that is written is known: its path, seen from the script, and the text, at the lines of the script."""

    path: str
    text: str


def written_by(path: str, text: str) -> Iterator[Written]:
    """The configurations that a script writes, each once, and no variable in them.

    twohopIC 038ce29 run_ft.sh:65: `cat > ds_config.json << EOF`, and `deepspeed llm_ft.py --deepspeed ds_config.json` below.
    """
    found: dict[str, list[Written]] = {}
    for each, body in _documents(text) if "<<" in text else ():
        name = (each["first"] or each["last"] or "").strip("\"'")
        if _NAME.fullmatch(name) and not posixpath.isabs(name):
            lines = "\n" * text.count("\n", 0, each.end())
            called = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
            known = each["quote"] or _FILLED_IN.search(body) is None
            found.setdefault(called, []).append(Written(called, lines + body if known else ""))
    for several in found.values():
        if len(several) == 1 and several[0].text:
            yield several[0]


def _documents(text: str) -> Iterator[tuple[re.Match[str], str]]:
    """The here-documents that `cat` is given: how each begins, and what it holds, up to the next line with its word alone."""
    ends: dict[str, list[int]] = {}
    for line in _ENDS.finditer(text):
        ends.setdefault(line[1], []).append(line.start())
    at = 0
    while (each := _BEGINS.search(text, at)) is not None:
        closing = ends.get(each["end"], [])
        index = bisect_left(closing, each.end())
        at = each.end()
        if index < len(closing):
            yield each, text[at : closing[index]]
            at = closing[index]
