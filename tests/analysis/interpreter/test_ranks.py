"""The ranks that are followed: what each predicate gives on them, and which are worth following."""

from __future__ import annotations

import pytest

from distlint.analysis.interpreter.ranks import (
    LAST,
    LOCAL_WORLD_SIZE,
    MAIN,
    NODE_MAIN,
    OTHER,
    RANK_CLASSES,
    WORLD_SIZE,
    RankClass,
    classes_to_run,
)


@pytest.mark.parametrize("rank", RANK_CLASSES, ids=lambda rank: rank.name)
def test_what_a_launcher_gives(rank: RankClass) -> None:
    """Ranks are dealt node by node: the local rank is the place among those of one node."""
    local = rank.rank % LOCAL_WORLD_SIZE
    assert {kind: rank.fact(kind) for kind in ("rank", "local_rank", "world_size")} == {
        "rank": rank.rank,
        "local_rank": local,
        "world_size": WORLD_SIZE,
    }
    assert rank.fact("is_main") is (rank.rank == 0)
    assert rank.fact("is_local_main") is (local == 0)
    assert rank.fact("is_last") is (rank.rank == max(range(WORLD_SIZE)))
    assert rank.fact("group_rank") is None


@pytest.mark.parametrize("kind", ["is_main", "is_local_main", "is_last"])
def test_every_predicate_parts_some_ranks(kind: str) -> None:
    assert {rank.fact(kind) for rank in RANK_CLASSES} == {True, False}


@pytest.mark.parametrize(
    ("consulted", "wanted"),
    [
        ((), ()),
        (("signal",), ()),
        (("rank",), (OTHER,)),
        (("local_rank",), (OTHER, NODE_MAIN)),
        (("is_last",), (OTHER, LAST)),
        (("is_main", "is_local_main", "is_last"), (OTHER, NODE_MAIN, LAST)),
    ],
)
def test_ranks_beside_the_first(consulted: tuple[str, ...], wanted: tuple[RankClass, ...]) -> None:
    assert classes_to_run(frozenset(consulted)) == wanted
    assert MAIN not in wanted


@pytest.mark.parametrize(
    ("consulted", "alike"),
    [
        ((), True),
        (("is_main",), True),
        (("is_main", "is_local_main"), False),
        (("rank",), False),
        (("group_rank",), False),  # not known of either
    ],
)
def test_ranks_that_answer_alike(consulted: tuple[str, ...], alike: bool) -> None:
    assert NODE_MAIN.answers_like(OTHER, consulted) is alike
