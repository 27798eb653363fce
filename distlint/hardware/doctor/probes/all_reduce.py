"""An all_reduce among processes of this machine, over gloo or NCCL, with a timeout.

torch is imported once and the ranks are forked from there (before CUDA starts): one import
instead of one for each rank.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from datetime import timedelta
from importlib import import_module
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Any

from distlint.hardware.doctor.machine import AllReduce, Options, Unknown
from distlint.hardware.doctor.patience import patience

_RENDEZVOUS = "127.0.0.1"


def over_gloo(options: Options) -> AllReduce | Unknown:
    """Two ranks over gloo, on the interface that gloo picks under this environment."""
    return _all_reduce("gloo", 2, 5.0 * patience())


def over_nccl(options: Options, world_size: int) -> AllReduce | Unknown:
    """One rank on each visible GPU over NCCL."""
    return _all_reduce("nccl", world_size, 15.0 * patience())


def _all_reduce(backend: str, world_size: int, limit_s: float) -> AllReduce | Unknown:
    if importlib.util.find_spec("torch") is None:
        return Unknown("torch is not installed here")
    dist: Any = import_module("torch.distributed")
    if not dist.is_available() or not dist.is_backend_available(backend):
        return Unknown(f"this build of torch has no {backend}")
    context: Any = get_context("fork" if sys.platform == "linux" else "spawn")
    timeout = timedelta(seconds=limit_s)
    store = dist.TCPStore(_RENDEZVOUS, 0, None, True, timeout, wait_for_workers=False)
    started = time.monotonic()
    ranks: dict[Connection, int] = {}
    processes = []
    for rank in range(world_size):
        out, into = context.Pipe(duplex=False)
        arguments = (backend, rank, world_size, limit_s, store.port, into)
        process = context.Process(target=_rank, args=arguments, daemon=True)
        process.start()
        into.close()
        processes.append(process)
        ranks[out] = rank
    failures: dict[int, str] = {}
    deadline = started + limit_s + 2
    waiting = dict(ranks)
    while waiting and time.monotonic() < deadline:
        for ready in wait(list(waiting), timeout=max(0.0, deadline - time.monotonic())):
            assert isinstance(ready, Connection)
            rank = waiting.pop(ready)
            try:
                said = ready.recv()
            except EOFError:
                said = "the process died"
            if said:
                failures[rank] = said
    failures |= dict.fromkeys(waiting.values(), f"no answer within {limit_s:.0f} s")
    seconds = time.monotonic() - started
    for process in processes:
        process.kill()
    failure = "; ".join(f"rank {rank}: {said}" for rank, said in sorted(failures.items()))
    return AllReduce(world_size, seconds, failure)


def _rank(
    backend: str,
    rank: int,
    world_size: int,
    limit_s: float,
    port: int,
    into: Connection,
) -> None:
    """One rank: meets the others at the parent's store, adds, and reports what went wrong, if so."""
    torch: Any = import_module("torch")
    dist: Any = import_module("torch.distributed")
    timeout = timedelta(seconds=limit_s)
    try:
        store = dist.TCPStore(_RENDEZVOUS, port, None, False, timeout)
        if backend == "nccl":
            torch.cuda.set_device(rank)
        device = torch.device("cuda", rank) if backend == "nccl" else torch.device("cpu")
        dist.init_process_group(
            backend, store=store, rank=rank, world_size=world_size, timeout=timeout
        )
        value = torch.tensor([float(rank)], device=device)
        dist.all_reduce(value)
        expected = world_size * (world_size - 1) / 2
        if value.item() != expected:
            into.send(f"the sum of the ranks is {value.item():g}, not {expected:g}")
            return
        dist.barrier()
        into.send("")
    except Exception as problem:  # whatever the backend raises is the answer
        into.send(f"{type(problem).__name__}: {str(problem).strip().splitlines()[0]}")
    finally:
        into.close()
        os._exit(0)  # a backend that hangs in its destructor must not keep the process
