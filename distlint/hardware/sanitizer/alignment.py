"""Where two sequences of collectives first part, given that they have parted at the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Item = TypeVar("Item")

_GAP = 2
_LIKELY_PAIR = 1
_UNLIKELY_PAIR = 3


@dataclass(frozen=True, slots=True)
class Side(Generic[Item]):
    """One rank's sequence; `complete` when its rank has ended, else more may have been to come."""

    items: Sequence[Item]
    complete: bool


def first_gap(
    left: Side[Item],
    right: Side[Item],
    shown: int,
    belong_together: Callable[[Item, Item], bool],
) -> int:
    """The first index at which one sequence has an item that the other lacks.

    Found by the cheapest alignment. Equal items cost nothing together; unequal ones little where
    they may well belong together (`belong_together`, asked for unequal items: matched arms of a
    branch), more than a gap where they may not. What is left over at the end costs nothing where the
    other side is not complete. Of alignments that cost the same, the one with the latest first gap.
    Returns `shown`, the index where the difference showed, if there is no gap before it.

    Time and memory grow with the product of the lengths behind the common beginning.
    """
    common = 0
    limit = min(len(left.items), len(right.items), shown)
    while common < limit and left.items[common] == right.items[common]:
        common += 1
    one, two = left.items[common:], right.items[common:]
    pairs = _pair_costs(one, two, belong_together)
    left_over = _GAP if right.complete else 0
    right_over = _GAP if left.complete else 0
    # Cost of aligning the rests from (i, j); filled from the end.
    costs = [[0] * (len(two) + 1) for _ in range(len(one) + 1)]
    for i in range(len(one), -1, -1):
        for j in range(len(two), -1, -1):
            if i == len(one):
                costs[i][j] = (len(two) - j) * right_over
            elif j == len(two):
                costs[i][j] = (len(one) - i) * left_over
            else:
                together = costs[i + 1][j + 1] + pairs[i][j]
                costs[i][j] = min(together, _GAP + costs[i + 1][j], _GAP + costs[i][j + 1])
    at = 0
    while at < min(len(one), len(two)) and common + at < shown:
        if costs[at][at] != costs[at + 1][at + 1] + pairs[at][at]:
            break
        at += 1
    return min(common + at, shown)


def _pair_costs(
    one: Sequence[Item], two: Sequence[Item], belong_together: Callable[[Item, Item], bool]
) -> list[list[int]]:
    """The cost of each pair; each two different items are compared once, since they repeat much."""
    # Numbers hash faster than stacks.
    number = {item: index for index, item in enumerate(dict.fromkeys([*one, *two]))}
    table: dict[tuple[int, int], int] = {}
    for a in dict.fromkeys(one):
        for b in dict.fromkeys(two):
            likely = a == b or belong_together(a, b)
            cost = _LIKELY_PAIR if likely else _UNLIKELY_PAIR
            table[number[a], number[b]] = 0 if a == b else cost
    rows, columns = [number[item] for item in one], [number[item] for item in two]
    return [[table[row, column] for column in columns] for row in rows]
