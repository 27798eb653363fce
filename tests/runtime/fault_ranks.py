"""What ranks do in the tests of faults: processes that end, stores that vanish, odd groups.

Each function runs on every rank (see rank_processes) and returns what the test looks at.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from distlint import runtime


def _caught(action: Callable[[], object]) -> dict[str, Any]:
    start = time.perf_counter()
    try:
        action()
    except BaseException as error:
        kind, text = type(error).__name__, str(error)
    else:
        kind, text = "ok", ""
    return {"kind": kind, "text": text, "seconds": time.perf_counter() - start}


def longer_than_the_group_timeout(seconds: float) -> dict[str, Any]:
    """A section outlasts the timeout of the group's collectives, which work afterwards."""
    caught = _caught(lambda: runtime.run_on_main(time.sleep, seconds))
    total = torch.ones(1)
    dist.all_reduce(total)
    return {**caught, "total": total.item()}


def main_vanishes() -> dict[str, Any]:
    """Rank 0 ends inside the section without a word, as when it is killed."""
    return _caught(lambda: runtime.run_on_main(os._exit, 7))


def main_exits_before_others_come() -> dict[str, Any]:
    """Rank 0 leaves with sys.exit; the others come to the section when it is long gone."""
    if dist.get_rank() != 0:
        time.sleep(2)
    if dist.get_rank() == 0:
        runtime.run_on_main(sys.exit, "the data set is damaged")
    return _caught(lambda: runtime.run_on_main(sys.exit, "the data set is damaged"))


def main_finishes_before_others_read() -> dict[str, Any]:
    """Rank 0 is through and destroys the group, as scripts do at their end; others read later."""
    if dist.get_rank() != 0:
        time.sleep(1)
    caught = _caught(lambda: runtime.run_on_main(lambda: "value", broadcast=True))
    if dist.get_rank() == 0:
        dist.destroy_process_group()
    return caught


def rank_is_missing() -> dict[str, Any]:
    """Rank 1 ends without coming to the barrier."""
    if dist.get_rank() == 1:
        return {"kind": "left"}
    return _caught(lambda: runtime.barrier(timeout=2))


def odd_groups(folder: str) -> dict[str, Any]:
    """Groups over a file store, groups made again, a forked child; one after the other."""
    rank, world = dist.get_rank(), dist.get_world_size()
    found: dict[str, Any] = {"first": _round(rank)}
    runtime.barrier()
    dist.barrier()
    dist.destroy_process_group()
    time.sleep(0.2)
    dist.init_process_group(
        "gloo",
        init_method=f"file://{folder}/store",
        rank=rank,
        world_size=world,
        timeout=timedelta(seconds=60),
    )
    found["file store"] = _round(rank)
    found["child"] = _in_forked_child(rank)
    found["half group"] = _in_subgroup(rank)
    # Without a terminal (this process has none) everyone goes on.
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        runtime.breakpoint(rank=1)
    found["breakpoint"] = [str(warning.message) for warning in caught]
    runtime.barrier()
    return found


def _round(rank: int) -> list[Any]:
    def fail() -> None:
        raise OSError("disk")

    value = runtime.run_on_main(lambda: rank + 40, broadcast=True)
    failed = _caught(lambda: runtime.run_on_main(fail))["kind"]
    runtime.barrier()
    return [value, failed, runtime.any_rank(rank == 1)]


def _in_forked_child(rank: int) -> str:
    """What a barrier does in a forked child, such as a data loader's worker."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, _caught(runtime.barrier)["text"].encode())
        os._exit(0)
    os.waitpid(child, 0)
    text = os.read(reader, 10_000).decode()
    os.close(reader)
    os.close(writer)
    return text


def _in_subgroup(rank: int) -> float:
    """Subgroups change nothing: the runtime meets in the default group."""
    group = dist.new_group([0])
    total = torch.ones(1)
    if rank == 0:
        dist.all_reduce(total, group=group)
    runtime.barrier()
    return total.item()


def two_machines(folder: str) -> dict[str, Any]:
    """Every rank is its launcher's first on a machine of its own, with a disk of its own."""
    from distlint.hardware.contracts.nets import Stack, whole

    rank = dist.get_rank()
    os.environ["GROUP_RANK"] = str(rank)
    os.environ["LOCAL_RANK"] = "0"
    inside, other = (Path(folder, f"inside-{number}") for number in (rank, 1 - rank))
    dist.barrier()
    with runtime.main_process_first():
        inside.touch()
        time.sleep(0.3)
        alone = not other.exists()
        inside.unlink()
    dist.barrier()
    with runtime.main_process_first(local=True):
        inside.touch()
        waited = 0
        while not (met := other.exists()) and waited < 600:
            time.sleep(0.1)
            waited += 1
    from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard

    loaded = []
    wraps: tuple[Any, ...] = (FullyShardedDataParallel, fully_shard)
    for wrap in wraps:
        torch.manual_seed(0)
        options = {} if wrap is fully_shard else {"device_id": torch.device("cpu")}
        model = wrap(Stack(), **options)
        path = f"{folder}/disk-{rank}.pt"
        runtime.save(model, path, on_each_node=True)
        state = torch.load(path)
        loaded.append(all(torch.equal(state[key], value) for key, value in whole(Stack).items()))

    def fail(value: object, path: str) -> None:
        if rank == 1:
            raise OSError("this machine's disk")

        torch.save(value, path)

    failed = _caught(lambda: runtime.save({}, path, on_each_node=True, save_fn=fail))

    def full() -> None:
        if rank == 1:
            raise OSError("this machine's disk")

    def first() -> None:
        with runtime.main_process_first(local=True):
            full()

    values = runtime.run_on_main(lambda: rank, local=True, broadcast=True)
    return {
        "alone": alone,
        "met": met,
        "loaded": loaded,
        "failed": failed,
        "value": values,
        "full": [_caught(lambda: runtime.run_on_main(full, local=True)), _caught(first)],
    }


def without_group() -> dict[str, Any]:
    """WORLD_SIZE says two, and nobody initialised a group."""
    folder = os.environ["FAULT_FOLDER"]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        runtime.save({"rank": runtime.rank_info().rank}, f"{folder}/{os.getpid()}.pt")
        runtime.barrier()
        value = runtime.run_on_main(lambda: 3)
        agreed = runtime.any_rank(True)
    needs = _caught(lambda: runtime.run_on_main(lambda: 3, broadcast=True))
    return {
        "rank": runtime.rank_info().rank,
        "wrote": Path(folder, f"{os.getpid()}.pt").exists(),
        "value": value,
        "agreed": agreed,
        "warnings": [str(warning.message) for warning in caught],
        "broadcast": needs["kind"],
        "messages": needs["text"],
    }


def under_torchrun() -> dict[str, Any]:
    """Two workers of torchrun that have no process group; then accelerate makes one."""
    rank = runtime.rank_info().rank
    before = {
        "initialized": dist.is_initialized(),
        "rank": rank,
        "value": runtime.run_on_main(lambda: os.getpid(), broadcast=True),
        "any": runtime.any_rank(rank == 1),
        "all": runtime.all_ranks(rank == 1),
    }

    def fail() -> None:
        raise OSError("no space")

    before["failed"] = _caught(lambda: runtime.run_on_main(fail))["kind"]
    # A meeting that rank 1 misses leaves its keys in the agent's store, where the next will be.
    missed = _caught(lambda: runtime.barrier(timeout=0.5))["kind"] if rank == 0 else ""

    from accelerate import PartialState

    state = PartialState()
    found = {
        "before": before,
        "missed": missed,
        "initialized": dist.is_initialized(),
        "accelerate": [state.num_processes, state.is_main_process],
        "after": _round(rank),
        "pid": os.getpid(),
    }
    dist.barrier()
    dist.destroy_process_group()
    if rank != 0:
        time.sleep(0.5)
    # Slow, so that rank 1 waits for a result while an old one of the same number might lie there.
    again = [_caught(lambda: runtime.run_on_main(time.sleep, 0.7)) for _ in range(6)]
    return {**found, "again": [one["kind"] + one["text"] for one in again]}


def stop_at_breakpoint(timeout: float) -> dict[str, Any]:
    """Rank 0 stops; its terminal is a pseudo-terminal that the test types into."""
    start = time.time()

    def stop() -> str:
        secret = "of the caller"
        runtime.breakpoint(header="look here", timeout=timeout)
        secret += "!"
        return secret

    first = _caught(stop)
    released = time.time() - start
    second = _caught(stop)
    runtime.barrier()
    return {"first": first, "second": second, "released": released}
