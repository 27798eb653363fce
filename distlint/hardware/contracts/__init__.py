"""The runtime's contracts as plain functions, for `distlint verify` and for the tests.

A contract is a function that every rank of an initialised process group calls with its own
`Context`. It returns when the contract holds on this rank and raises AssertionError where it does
not; any other exception is a failure too. Contracts leave the group usable, write only under
`Context.scratch`, and need no pytest. Importing this package imports no torch, so that the names
and summaries can be shown on a machine without it; the modules import it when they run.

How to run them (what `verify` and `tests/runtime` both do): start `world_size` processes, in each
initialise the default group, build a `Context`, then for each contract of `ALL`, in this order on
every rank, skip it where `Contract.unmet(context)` names a requirement, else call
`contract.run(context)`. A contract that fails on one rank may leave the others inside a collective:
run with a hard limit of time from outside, and treat the ranks that did not report as failed.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

GROUPS = (
    "identity",
    "sections",
    "wrapping",
    "temporary",
    "saving",
    "randomness",
    "devices",
)
"""The modules of this package that hold contracts, in the order in which they run."""

LIBRARIES = ("accelerate", "transformers", "peft", "deepspeed")
"""Requirements that mean: this package can be imported."""


@dataclass(frozen=True, slots=True)
class Context:
    """What a contract knows about the process that runs it.

    rank, world_size: place in the default process group.
    local_rank: place on this machine.
    device: where this rank's tensors belong (``cpu``, ``cuda:1``); with several ranks on one GPU
        they share it, with backend gloo.
    backend: ``gloo`` or ``nccl``.
    scratch: an existing empty directory that all ranks see; the caller removes it.
    """

    rank: int
    world_size: int
    local_rank: int
    device: torch.device
    backend: str
    scratch: Path


@dataclass(frozen=True, slots=True)
class Contract:
    """One promise of the runtime.

    name: ``group.kebab-case``, unique; what a record of `verify` is keyed by.
    summary: one sentence, the promise itself.
    min_ranks: with fewer ranks the contract says nothing and is left out.
    run: the check; called by every rank.
    requires: what the machine must have: ``cuda`` (this rank's device is a GPU), ``nccl`` (the
        backend is), ``fsdp``, ``compile`` (torch.compile works on this platform), ``posix``
        (limits and signals of POSIX), or the name of a library of `LIBRARIES`.
    """

    name: str
    summary: str
    min_ranks: int
    run: Callable[[Context], None]
    requires: tuple[str, ...] = ()

    def unmet(self, context: Context) -> str | None:
        """Why this contract cannot be checked here, in words; None when it can.

        The answer depends on the machine and the group only, so that all ranks of one machine
        decide alike.
        """
        if context.world_size < self.min_ranks:
            return f"needs {self.min_ranks} ranks, this group has {context.world_size}"
        for need in self.requires:
            if need == "cuda" and context.device.type != "cuda":
                return "needs a GPU"
            if need == "nccl" and context.backend != "nccl":
                return "needs the NCCL backend"
            if need == "posix" and os.name != "posix":
                return "needs a POSIX system"
            if need == "fsdp" and importlib.util.find_spec("torch.distributed.fsdp") is None:
                return "this torch has no torch.distributed.fsdp"
            if need == "compile" and not _can_compile():
                return "torch.compile does not work on this platform"
            if need in LIBRARIES and importlib.util.find_spec(need) is None:
                return f"{need} is not installed"
        return None


def _can_compile() -> bool:
    from torch._dynamo.eval_frame import is_dynamo_supported

    return is_dynamo_supported()


def load(group: str) -> tuple[Contract, ...]:
    """The contracts of one module of `GROUPS`, in the order of its tuple `CONTRACTS`."""
    contracts: tuple[Contract, ...] = importlib.import_module(f"{__name__}.{group}").CONTRACTS
    return contracts


def _load_all() -> tuple[Contract, ...]:
    found = tuple(contract for group in GROUPS for contract in load(group))
    names = [contract.name for contract in found]
    assert len(set(names)) == len(names), "two contracts share a name"
    return found


ALL: tuple[Contract, ...]
"""Every contract, in the order in which they run. Loaded on first use."""


def __getattr__(name: str) -> tuple[Contract, ...]:
    # Contract modules import Contract from here, so ALL can only be built after this module.
    if name == "ALL":
        globals()["ALL"] = _load_all()
        return _load_all()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
