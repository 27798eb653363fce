"""Sizes as people write them: `7b` parameters, `80GB` of memory, and GiB for printing."""

from __future__ import annotations

import re

GIB = 1 << 30

_COUNT_SUFFIXES = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9, "t": 10**12}

# The size on a GPU's label counts in powers of two whatever its suffix says: nvidia-smi shows
# 81920 MiB for an A100 of "80GB". So GB and GiB are the same here.
_MEMORY_SUFFIXES = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": GIB, "t": 1 << 40}


def parse_count(text: str) -> int:
    """A number of parameters: `7b`, `350M`, `6738415616`, `6_738_415_616`, `1.3b`.

    Raises:
        ValueError: not such a number, or not positive; the message says what is accepted.
    """
    cleaned = text.strip().lower().replace("_", "").replace(",", "")
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmbt]?)", cleaned)
    count = round(float(match[1]) * _COUNT_SUFFIXES[match[2]]) if match else 0
    if match and "." not in match[1]:
        count = int(match[1]) * _COUNT_SUFFIXES[match[2]]
    if count <= 0:
        raise ValueError(f"{text!r} is not a number of parameters: write 7b, 350m or 6738415616")
    return count


def parse_memory(text: str) -> int:
    """An amount of memory in bytes: `80GB`, `79.2GiB`, `24G`, `512MB`.

    GB and GiB both mean 2**30 bytes, as on a GPU's label.

    Raises:
        ValueError: not such an amount, or not positive; the message says what is accepted.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", text.strip().lower())
    amount = int(float(match[1]) * _MEMORY_SUFFIXES[match[2]]) if match else 0
    if amount <= 0:
        raise ValueError(f"{text!r} is not an amount of memory: write 80GB, 24GiB or 512MB")
    return amount


def gib(amount: int) -> str:
    """Bytes as GiB with one decimal, the unit of every table of this package."""
    return f"{amount / GIB:.1f}"
