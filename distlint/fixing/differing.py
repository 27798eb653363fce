"""Where the lines of two texts differ."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import takewhile


def shared(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines, or characters of texts, both begin with."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def differing(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int, int, int]]:
    """The ranges of `old` whose place others of `new` take: first and end there, first and end here.

    What both begin and end with is not compared again: a fix changes little of a long file, and the
    comparison of many blank lines with as many takes time that grows with the square of their number.
    """
    head = shared(old, new)
    tail = shared(old[head:][::-1], new[head:][::-1])
    middle = old[head : len(old) - tail], new[head : len(new) - tail]
    return [
        (i1 + head, i2 + head, j1 + head, j2 + head)
        for tag, i1, i2, j1, j2 in SequenceMatcher(None, *middle, autojunk=False).get_opcodes()
        if tag != "equal"
    ]
