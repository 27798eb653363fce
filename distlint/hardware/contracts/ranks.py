"""What ranks know of each other, for contracts that compare them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch.distributed as dist


def everyone(value: Any) -> list[Any]:
    """The values of all ranks in their order. Collective."""
    values: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(values, value)
    return values


def together() -> None:
    """A barrier that owes nothing to the runtime. Collective."""
    everyone(None)


def raised(action: Callable[[], object]) -> BaseException:
    """What `action` raises. AssertionError where it raises nothing."""
    try:
        action()
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


def outcome(action: Callable[[], object]) -> str:
    """``ok``, or the name of the class of what `action` raises."""
    try:
        action()
    except BaseException as error:
        return type(error).__name__
    return "ok"


def seconds(action: Callable[[], object]) -> float:
    """How long `action` takes."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start
