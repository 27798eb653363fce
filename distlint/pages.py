"""What a rule's page says: its sections, and why it has no proof or no cases where it has none."""

from __future__ import annotations

import re
from typing import Final

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

_REASON = re.compile(r"^(Not proven|No cases): (\S.*)$", re.MULTILINE)


def headings(page: str) -> tuple[str, ...]:
    """The headings that every page has, as this one has them."""
    found = re.findall(r"^## (.+)$", page, re.MULTILINE)
    if ERRORS in found and found.index(ERRORS) == 2:
        found.remove(ERRORS)
    return tuple(found)


def errors_of(page: str) -> tuple[str, ...]:
    """The texts under "Errors you may see", without their quotes."""
    section = re.search(rf"^## {ERRORS}\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    return tuple(re.findall(r"^- `(.+?)`", section[1], re.MULTILINE)) if section else ()


def reason_for_no_proof(page: str) -> str | None:
    """Why a rule has no proof, where its page says so: `Not proven: needs two GPUs.`"""
    return _reason(page, "Not proven")


def reason_for_no_cases(page: str) -> str | None:
    """Why a rule has no cases, where its page says so: `No cases: it reads settings, not code.`"""
    return _reason(page, "No cases")


def _reason(page: str, what: str) -> str | None:
    return next((match[2] for match in _REASON.finditer(page) if match[1] == what), None)
