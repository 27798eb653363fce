"""The largest batch and the longest sample that fit, for the strategy that a plan recommends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from distlint.hardware.memory.plan import Plan, Row, usage_of
from distlint.hardware.memory.sizes import ModelSize

_MOST_SAMPLES = 1 << 20
_MOST_TOKENS = 1 << 24
# Lengths are found to this many tokens: each candidate runs the model on fake tensors.
_STEP = 128


@dataclass(frozen=True, slots=True)
class Largest:
    """What fits with the strategy of `row`.

    Attributes:
        row: the strategy.
        batch: samples per GPU at the plan's length; 0 if not even one.
        sequence: tokens at the plan's batch, a multiple of 128 or the model's own end; None for a
            model without tokens.
        ends: the model's learned positions, not the memory, end the sequence.
    """

    row: Row
    batch: int
    sequence: int | None
    ends: bool


def largest_that_fits(plan: Plan, size: ModelSize) -> Largest:
    """For the strategy that the plan recommends, else for the one that takes the least."""
    request = plan.request
    row = plan.fitting or min(plan.rows, key=lambda row: row.usage.total)

    def of_batch(batch: int) -> int:
        return usage_of(row.strategy, replace(request, batch=batch)).total

    def of_steps(steps: int) -> int:
        return usage_of(row.strategy, replace(request, sequence=steps * _STEP)).total

    batch = _largest(of_batch, request.memory, _MOST_SAMPLES, request.batch)
    if size.sequence is None:
        return Largest(row, batch, None, ends=False)
    end = size.most_tokens or _MOST_TOKENS
    longest = replace(request, sequence=end)
    if size.most_tokens and usage_of(row.strategy, longest).total <= request.memory:
        return Largest(row, batch, end, ends=True)
    start = max(1, request.sequence // _STEP)
    steps = _largest(of_steps, request.memory, end // _STEP, start)
    return Largest(row, batch, _STEP * steps, ends=False)


def _largest(total: Callable[[int], int], limit: int, most: int, start: int) -> int:
    """The largest number up to `most` whose total is within the limit; 0 if that of 1 is not.

    Totals grow a little faster than in proportion, so a straight line between the best known to fit
    and the least known not to comes close at once; every other guess halves what is left.
    """
    known: dict[int, int] = {}

    def of(number: int) -> int:
        if number not in known:
            known[number] = total(number)
        return known[number]

    good, bad = 0, min(start, most)
    while bad <= most and of(bad) <= limit:
        good, bad = bad, 2 * bad
    if bad > most:
        if good == most or of(most) <= limit:
            return most
        bad = most
    halve = good == 0
    while bad - good > 1:
        if halve:
            guess = (good + bad) // 2
        else:
            guess = good + (bad - good) * (limit - of(good)) // (of(bad) - of(good))
        guess = min(max(guess, good + 1), bad - 1)
        if of(guess) <= limit:
            good = guess
            halve = of(good + 1) <= limit
        else:
            bad = guess
            halve = good == 0 or not halve
    return good
