"""The largest batch and the longest sample that fit, for the strategy that a plan recommends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from distlint.hardware.memory.model_size import ModelSize
from distlint.hardware.memory.plan import Plan, Row, usage_of

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

    def fits_batch(batch: int) -> bool:
        return usage_of(row.strategy, replace(request, batch=batch)).total <= request.memory

    def fits_steps(steps: int) -> bool:
        changed = replace(request, sequence=steps * _STEP)
        return usage_of(row.strategy, changed).total <= request.memory

    batch = _largest(fits_batch, _MOST_SAMPLES)
    if size.sequence is None:
        return Largest(row, batch, None, ends=False)
    end = size.most_tokens or _MOST_TOKENS
    longest = replace(request, sequence=end)
    if size.most_tokens and usage_of(row.strategy, longest).total <= request.memory:
        return Largest(row, batch, end, ends=True)
    return Largest(row, batch, _STEP * _largest(fits_steps, end // _STEP), ends=False)


def _largest(fits: Callable[[int], bool], most: int) -> int:
    """The largest number up to `most` that fits, where all smaller ones do; 0 if none does."""
    good, bad = 0, 1
    while bad <= most and fits(bad):
        good, bad = bad, 2 * bad
    bad = min(bad, most + 1)
    while bad - good > 1:
        middle = (good + bad) // 2
        if fits(middle):
            good = middle
        else:
            bad = middle
    return good
