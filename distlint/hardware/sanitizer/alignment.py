"""Where two sequences of collectives first part, given that they have parted at the end."""

from __future__ import annotations

from collections.abc import Hashable, Sequence


def first_gap(left: Sequence[Hashable], right: Sequence[Hashable], shown: int) -> int:
    """The first index at which one sequence has an element that the other lacks.

    The cheapest way to turn one into the other, with elements inserted, left out, or put in each
    other's place (matched arms of a branch: the same collective from two places) at a cost of 1
    each; of the ways that cost the same, the one whose first gap is latest. What belongs together
    before `shown` need not be equal. Returns `shown` where the cheapest way has no gap before it.

    Time and memory grow with the product of the lengths behind their common beginning.
    """
    common = 0
    while common < min(len(left), len(right), shown) and left[common] == right[common]:
        common += 1
    # Numbers compare faster than stacks.
    numbers: dict[Hashable, int] = {}
    one, two = (
        [numbers.setdefault(item, len(numbers)) for item in side[common:]] for side in (left, right)
    )
    # Cost of aligning the rests from (i, j); filled from the end.
    costs = [[0] * (len(two) + 1) for _ in range(len(one) + 1)]
    for i in range(len(one), -1, -1):
        for j in range(len(two), -1, -1):
            if i == len(one) or j == len(two):
                costs[i][j] = (len(one) - i) + (len(two) - j)
                continue
            together = costs[i + 1][j + 1] + (one[i] != two[j])
            costs[i][j] = min(together, 1 + costs[i + 1][j], 1 + costs[i][j + 1])
    at = 0
    while at < min(len(one), len(two)) and common + at < shown:
        if costs[at][at] != costs[at + 1][at + 1] + (one[at] != two[at]):
            break
        at += 1
    return min(common + at, shown)
