"""Contracts: a process knows who it is."""

from __future__ import annotations

from distlint import runtime
from distlint.hardware.contracts import Context, Contract
from distlint.hardware.contracts.ranks import everyone


def check_rank_info(context: Context) -> None:
    info = runtime.rank_info()
    assert (info.rank, info.world_size) == (context.rank, context.world_size), info
    assert info.local_rank == context.local_rank, info
    assert info.device == str(context.device) or context.device.type == "cpu", info
    assert f"rank {context.rank}/{context.world_size}" in str(info)


def check_one_main(context: Context) -> None:
    assert everyone(runtime.rank_info().rank) == list(range(context.world_size))


CONTRACTS = (
    Contract(
        "identity.rank-info",
        "rank_info() names this process's rank, world size, local rank, host and device",
        1,
        check_rank_info,
    ),
    Contract(
        "identity.one-main",
        "exactly one process is rank 0, whatever other libraries say",
        1,
        check_one_main,
    ),
)
