"""What a rule's page says: its sections, and why it has no proof or no cases where it has none."""

from __future__ import annotations

import re
from typing import Final

from distlint.patterns import pattern

HEADINGS: Final = (
    "What it does",
    "Why it is bad",
    "Example",
    "Use instead",
    "Fix safety",
    "Known limits",
    "References",
)
"""The sections of a page, in this order."""

ERRORS: Final = "Errors you may see"
"""A section that a page may have after the second: texts that a run prints, as people search for them."""

_REASON = pattern(r"^(Not proven|No cases): (\S.*)$", re.MULTILINE)


def headings(page: str) -> tuple[str, ...]:
    """The headings that every page has, as this one has them."""
    found = re.findall(r"^## (.+)$", page, re.MULTILINE)
    if ERRORS in found and found.index(ERRORS) == 2:
        found.remove(ERRORS)
    return tuple(found)


def errors_of(page: str) -> tuple[str, ...]:
    """The texts under "Errors you may see", without their quotes."""
    section = re.search(rf"^## {ERRORS}\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    return tuple(re.findall(r"^- `(.+)`$", section[1], re.MULTILINE)) if section else ()


def flat(text: str) -> str:
    """A text as `says` compares it: case, spaces and line breaks do not matter."""
    return " ".join(text.lower().split())


def says(error: str, whole: str) -> bool:
    """Whether `whole`, a piece of an error or a whole log, made flat, holds the text `error` of a page.

    `...` in it stands for anything on the line. A piece of at least two words may be shorter than the text of
    the page.
    """
    wanted = flat(error)
    if " " in whole and len(whole) <= len(wanted) and whole.strip("'\"` .") in wanted:
        return True
    at = 0
    for part in wanted.split("..."):
        at = whole.find(part.strip(), at)
        if at < 0:
            return False
        at += len(part.strip())
    return True


def reason_for_no_proof(page: str) -> str | None:
    """Why a rule has no proof, where its page says so: `Not proven: needs two GPUs.`"""
    return _reason(page, "Not proven")


def reason_for_no_cases(page: str) -> str | None:
    """Why a rule has no cases, where its page says so: `No cases: it reads settings, not code.`"""
    return _reason(page, "No cases")


def _reason(page: str, what: str) -> str | None:
    return next((match[2] for match in _REASON.finditer(page) if match[1] == what), None)
