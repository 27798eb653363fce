"""Which files are worth parsing: those that hold one of the literals that rules and tables look for."""

from __future__ import annotations

from collections.abc import Iterable


def minimal_literals(literals: Iterable[bytes]) -> tuple[bytes, ...]:
    """`literals` without those that contain another one: finding the shorter one is enough.

    Shorter ones first. The order only affects the cost: one literal after the other with `in` took
    0.36 CPU s on the 2,860 files of transformers 5.23.0 (25 literals), one compiled alternation 0.66.
    """
    kept: list[bytes] = []
    for literal in sorted(set(literals), key=lambda item: (len(item), item)):
        if literal and not any(shorter in literal for shorter in kept):
            kept.append(literal)
    return tuple(kept)


def holds_any(data: bytes, literals: Iterable[bytes]) -> bool:
    """Whether `data` contains one of `literals`."""
    return any(literal in data for literal in literals)
