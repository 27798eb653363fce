"""Contracts: streams that are equal where ranks must agree, and different where they must not."""

from __future__ import annotations

import random

import torch

from distlint import runtime
from distlint.hardware.contracts import Context, Contract
from distlint.hardware.contracts.ranks import everyone


def _draw(context: Context) -> tuple[float, float, float]:
    drawn = torch.rand(1, device=context.device).item()
    return random.random(), torch.rand(1).item(), drawn


def check_same_seed(context: Context) -> None:
    runtime.seed_everything(7)
    draws = everyone(_draw(context))
    assert len(set(draws)) == 1, draws
    runtime.seed_everything(7)
    assert _draw(context) == draws[0]


def check_decorrelated(context: Context) -> None:
    runtime.seed_everything(7)
    common = _draw(context)
    runtime.decorrelate(7)
    mine = _draw(context)
    draws = everyone(mine)
    for stream in zip(*draws, strict=True):
        assert len(set(stream)) == context.world_size, draws
    assert all(one != other for one, other in zip(mine, common, strict=True))
    # Rank 1 of seed 7 is not rank 0 of seed 8, which a sum would make it.
    runtime.decorrelate(8)
    others = everyone(_draw(context))
    assert not {draw[1] for draw in draws} & {draw[1] for draw in others}


def check_generator(context: Context) -> None:
    torch.manual_seed(3)
    state = torch.get_rng_state()

    def noise(**options: int | bool) -> float:
        source = runtime.generator(7, context.device, **options)  # type: ignore[arg-type]
        return torch.rand(1, generator=source, device=context.device).item()

    assert len(set(everyone(noise()))) == context.world_size
    assert len(set(everyone(noise(per_rank=False)))) == 1
    assert noise(step=1) != noise(step=2)
    assert noise(step=1) == noise(step=1)
    assert torch.equal(state, torch.get_rng_state())
    runtime.decorrelate(7)
    assert torch.rand(1).item() != noise() or context.device.type != "cpu"


def check_rank_rng(context: Context) -> None:
    runtime.seed_everything(7)
    expected = _draw(context)
    runtime.seed_everything(7)
    with runtime.rank_rng(11):
        inside = _draw(context)
    assert _draw(context) == expected
    for stream in zip(*everyone(inside), strict=True):
        assert len(set(stream)) == context.world_size
    with runtime.rank_rng(11):
        assert _draw(context) == inside
    with runtime.rank_rng(11, step=1):
        assert _draw(context) != inside
    with runtime.rank_rng():
        first = _draw(context)
    with runtime.rank_rng():
        assert _draw(context) != first
    assert len(set(everyone(first))) == context.world_size
    try:
        with runtime.rank_rng(11):
            raise KeyError
    except KeyError:
        pass
    runtime.seed_everything(7)
    assert _draw(context) == expected


CONTRACTS = (
    Contract(
        "randomness.same-seed",
        "seed_everything() makes every stream equal on all ranks, and repeatable",
        1,
        check_same_seed,
    ),
    Contract(
        "randomness.decorrelated",
        "decorrelate() makes every stream different on every rank, also between seeds",
        1,
        check_decorrelated,
    ),
    Contract(
        "randomness.generator",
        "generator() gives noise by seed, rank and step, and leaves the global streams alone",
        1,
        check_generator,
    ),
    Contract(
        "randomness.rank-rng",
        "rank_rng() differs per rank inside and leaves every stream as it was",
        1,
        check_rank_rng,
    ),
)
