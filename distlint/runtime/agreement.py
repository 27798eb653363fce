"""One truth for all ranks: whether a condition holds on any, or on all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, SupportsIndex

from .channel import forbid_ahead, open_meeting
from .identity import current_device, is_initialized, world_size

if TYPE_CHECKING:
    import torch


def any_rank(condition: bool | torch.Tensor | SupportsIndex) -> bool:
    """Whether `condition` holds on at least one rank; the same answer on every rank.

    Collective: every rank must call it, each with its own condition. One all_reduce of one number,
    on the CPU where the default group has a CPU backend, else on the current GPU. Without a
    process group: the condition itself (under torchrun, through the agent's store).

    Args:
        condition: a bool, or what ``bool()`` takes: a tensor of one element, on any device.

    Raises:
        RuntimeError: called where only one rank is (inside `run_on_main`).
    """
    return _reduced(bool(condition), "any_rank()", any_of=True)


def all_ranks(condition: bool | torch.Tensor | SupportsIndex) -> bool:
    """Whether `condition` holds on every rank; the same answer on every rank.

    Collective; see `any_rank`, which takes the same and raises the same.
    """
    return _reduced(bool(condition), "all_ranks()", any_of=False)


def _reduced(condition: bool, operation: str, *, any_of: bool) -> bool:
    if world_size() == 1:
        return condition
    if not is_initialized():
        meeting = open_meeting(operation, of_all=True)
        if meeting is None:
            return condition
        return bool(meeting.call_roll(condition, decide=any if any_of else all))
    forbid_ahead(operation)
    import torch
    import torch.distributed as dist

    flag = torch.tensor([int(condition)], dtype=torch.int32, device=collective_device())
    dist.all_reduce(flag, op=dist.ReduceOp.MAX if any_of else dist.ReduceOp.MIN)
    return bool(flag.item())


def collective_device() -> torch.device:
    """Where a tensor must be for the default group to reduce it: the CPU where that works.

    Not collective. Source: torch 2.13.0, distributed_c10d.py, BackendConfig: ``cuda:nccl`` for
    NCCL alone, ``cpu:gloo,cuda:gloo`` for gloo.
    """
    import torch
    from torch.distributed.distributed_c10d import get_backend_config

    return torch.device("cpu") if "cpu:" in get_backend_config() else current_device()
