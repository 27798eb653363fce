"""Runs inside each rank: tells what the parameters of DDP's modules are, before training and after
each optimizer step. DDP means them to be equal on all ranks, to the bit; nothing else checks that.

Told is a sum over the bytes of each parameter, taken as integers: no collective, no copy.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

_INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


class ReplicaWatch:
    """Follows the modules that DDP wraps; `tell` gets an event for each of their states."""

    def __init__(self, tell: Callable[[Any, dict[str, Any]], None]) -> None:
        """`tell` is called with the process group of the module and the rest of the event."""
        self._tell = tell
        self._modules: list[weakref.ref[Any]] = []
        self._steps: list[int] = []
        self._depth = 0

    def install(self) -> None:
        """Follow every optimizer of this process."""
        register_optimizer_step_pre_hook(self._before)
        register_optimizer_step_post_hook(self._after)

    def add(self, module: Any) -> None:
        """Take in a module that DDP wraps, before its first forward pass."""
        if not any(known() is module for known in self._modules):
            self._modules.append(weakref.ref(module))
            self._steps.append(0)
            self._tell_state(len(self._modules) - 1, module)

    def _before(self, *_: Any) -> None:
        self._depth += 1

    def _after(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        self._depth -= 1
        if self._depth:
            return  # Inside of another: ZeroRedundancyOptimizer hands out the parts after it.
        stepped = {id(p) for group in optimizer.param_groups for p in group["params"]}
        for index, known in enumerate(self._modules):
            module = known()
            if module is not None and any(id(p) in stepped for p in module.module.parameters()):
                self._steps[index] += 1
                self._tell_state(index, module)

    def _tell_state(self, index: int, module: Any) -> None:
        named = [
            (name, parameter)
            for name, parameter in module.module.named_parameters()
            if name not in module.parameters_to_ignore and type(parameter.data) is torch.Tensor
        ]
        event = {
            "kind": "replica",
            "module": f"{type(module.module).__name__} number {index + 1}",
            "step": self._steps[index],
            "sums": [[name, byte_sum(parameter)] for name, parameter in named],
        }
        self._tell(module.process_group, event)


def byte_sum(parameter: torch.Tensor) -> int:
    """A sum over the bytes of a tensor, which two different ones hardly ever share."""
    with torch.no_grad():
        flat = parameter.detach().contiguous().flatten()
        if flat.is_complex():
            flat = torch.view_as_real(flat).flatten()
        return int(flat.view(_INTEGERS[flat.element_size()]).sum(dtype=torch.int64).item())
