"""Sizes as people write them: `7b` parameters, `80GB` of memory, and GiB for printing."""

from __future__ import annotations

import re
from fractions import Fraction

GIB = 1 << 30

_COUNT_SUFFIXES = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9, "t": 10**12}

# The size on a GPU's label counts in powers of two whatever its suffix says: nvidia-smi shows
# 81920 MiB for an A100 of "80GB". So GB and GiB are the same here.
_MEMORY_SUFFIXES = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": GIB, "t": 1 << 40}


# Beyond these nobody means it; the table's columns end there, too.
_MOST_PARAMETERS = 10**14
_MOST_MEMORY = 1 << 50


def parse_count(text: str) -> int:
    """A number of parameters: `7b`, `350M`, `6738415616`, `6_738_415_616`, `1.3b`.

    Raises:
        ValueError: not such a number, or not positive; the message says what is accepted.
    """
    cleaned = text.strip().lower().replace("_", "").replace(",", "")
    match = re.fullmatch(r"([0-9]{1,20}(?:\.[0-9]{1,20})?)\s*([kmbt]?)", cleaned)
    count = round(Fraction(match[1]) * _COUNT_SUFFIXES[match[2]]) if match else 0
    if count <= 0:
        raise ValueError(
            f"{_shown(text)} is not a number of parameters: write 7b, 350m or 6738415616"
        )
    if count > _MOST_PARAMETERS:
        raise ValueError(f"{_shown(text)} is more than 100t parameters; no model has that many")
    return count


def parse_memory(text: str, *, least: int = 1) -> int:
    """An amount of memory in bytes: `80GB`, `79.2GiB`, `24G`, `512MB`.

    GB and GiB both mean 2**30 bytes, as on a GPU's label.

    Raises:
        ValueError: not such an amount, without a unit, too small or too large; the message says
            what is accepted.
    """
    cleaned = text.strip().lower()
    match = re.fullmatch(r"([0-9]{1,20}(?:\.[0-9]{1,20})?)\s*([kmgt]?)(i?b)?", cleaned)
    if match is None:
        raise ValueError(f"{_shown(text)} is not an amount of memory: write 80GB, 24GiB or 512MB")
    amount = int(Fraction(match[1]) * _MEMORY_SUFFIXES[match[2]])
    if not (match[2] or match[3]) and amount:
        raise ValueError(f"{_shown(text)} has no unit: write {match[1]}GB")
    if not least <= amount <= _MOST_MEMORY:
        raise ValueError(
            f"{_shown(text)} is no GPU's memory: between {_memory(least)} and 1024TB, such as 80GB"
        )
    return amount


def parse_whole(text: str, *, most: int) -> int:
    """A whole number from 1 to `most`.

    Raises:
        ValueError: anything else; the message says what is accepted.
    """
    cleaned = text.strip().replace("_", "")
    if not re.fullmatch(r"[0-9]{1,20}", cleaned) or not 1 <= int(cleaned) <= most:
        raise ValueError(f"{_shown(text)} is not a whole number from 1 to {most:,}")
    return int(cleaned)


def _shown(text: str) -> str:
    """What was given, on one line and cut where it is long."""
    return repr(text if len(text) <= 40 else text[:37] + "...")


def _memory(amount: int) -> str:
    return f"{amount >> 20}MB" if amount >> 20 else f"{amount}B"


def gib(amount: int) -> str:
    """Bytes as GiB with one decimal (none from 100,000 on), the unit of every table of this package."""
    return f"{amount / GIB:.1f}" if amount < 100_000 * GIB else f"{amount / GIB:.0f}"
