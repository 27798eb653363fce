"""Runs inside each rank of `distlint run --compare`: notes what training does, in a file of its own.

Noted are each optimizer step, with a summary of the parameters it trains and of their module's
buffers, and of each pass over a DataLoader the indices of the samples. No collective, no copy.
"""

from __future__ import annotations

import gc
import json
import operator
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from torch.utils.data import dataloader

from distlint.hardware.sanitizer.replicas import byte_sum

Frames = tuple[tuple[str, int, str], ...]
_WRAPPERS = ("DistributedDataParallel", "FullyShardedDataParallel")


class TrainingLog:
    """Writes one JSON object a line: steps as they are made, passes over a loader when they end."""

    def __init__(self, path: Path, stack: Callable[[FrameType | None], Frames]) -> None:
        """`stack` gives the frames of the user's program."""
        self._file = path.open("w", encoding="utf-8", buffering=1)
        self._stack = stack
        self._depth = 0
        self._steps = 0
        self._optimizers: list[_Followed] = []
        self._passes: list[dict[str, Any]] = []

    def install(self) -> None:
        """Follow every optimizer and every DataLoader of this process."""
        register_optimizer_step_pre_hook(self._before)
        register_optimizer_step_post_hook(self._after)
        self._watch_loaders()

    def close(self) -> None:
        """Write the passes that the script has left before their end."""
        for one in list(self._passes):
            self._end(one)
        self._file.close()

    def _before(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        self._depth += 1
        if self._depth == 1 and not any(f.optimizer() is optimizer for f in self._optimizers):
            self._optimizers.append(_Followed(optimizer))
            self._note_step(self._optimizers[-1])

    def _after(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        self._depth -= 1
        if self._depth:
            return  # Inside of another: ZeroRedundancyOptimizer hands out the parts after it.
        self._steps += 1
        for followed in self._optimizers:
            if followed.optimizer() is optimizer:
                followed.steps += 1
                self._note_step(followed)

    def _note_step(self, followed: _Followed) -> None:
        noted = {
            "kind": "step",
            "optimizer": self._optimizers.index(followed) + 1,
            "step": followed.steps,
            "parameters": followed.parameters(),
            "buffers": followed.buffers(),
            "own": followed.own_draws(),
            "stack": self._stack(sys._getframe()),
        }
        self._file.write(json.dumps(noted) + "\n")

    def _watch_loaders(self) -> None:
        iterator: Any = dataloader._BaseDataLoaderIter
        start, reset, draw = iterator.__init__, iterator._reset, iterator._next_index

        def begin(it: Any, loader: Any) -> None:
            sized = isinstance(getattr(loader, "dataset", None), torch.utils.data.Dataset)
            sized = sized and hasattr(loader.dataset, "__len__")
            it.distlint_pass = {
                "kind": "pass",
                "samples": len(loader.dataset) if sized else None,
                "batches": [],
                "begun": self._steps,
                "stack": self._stack(sys._getframe()),
            }
            self._passes.append(it.distlint_pass)

        def __init__(it: Any, loader: Any) -> None:
            begin(it, loader)
            start(it, loader)

        def _reset(it: Any, loader: Any, first_iter: bool = False) -> None:
            if not first_iter and it.distlint_pass["batches"]:
                begin(it, loader)
            reset(it, loader, first_iter)

        def _next_index(it: Any) -> Any:
            try:
                drawn = draw(it)
            except StopIteration:
                self._end(it.distlint_pass)
                raise
            it.distlint_pass["batches"].append(_indices(drawn))
            return drawn

        iterator.__init__, iterator._reset, iterator._next_index = __init__, _reset, _next_index

    def _end(self, one: dict[str, Any]) -> None:
        if any(one is known for known in self._passes):
            self._passes = [known for known in self._passes if known is not one]
            self._file.write(json.dumps(one | {"ended": self._steps}) + "\n")


class _Followed:
    """One optimizer, and the modules whose parameters it trains."""

    def __init__(self, optimizer: torch.optim.Optimizer) -> None:
        self.optimizer = weakref.ref(optimizer)
        self.steps = 0
        trained = {id(p) for group in optimizer.param_groups for p in group["params"]}
        roots = [root for root in _roots() if any(id(p) in trained for p in root.parameters())]
        prefixes = [f"{type(root).__name__}." if len(roots) > 1 else "" for root in roots]
        self._roots = [
            (prefix, weakref.ref(root)) for prefix, root in zip(prefixes, roots, strict=True)
        ]
        self._trained = trained

    def parameters(self) -> dict[str, list[float]]:
        """By name; those that are whole on this rank."""
        return {
            f"{prefix}{name}": _summary(parameter)
            for prefix, root in self._living()
            for name, parameter in root.named_parameters()
            if id(parameter) in self._trained and type(parameter.data) is torch.Tensor
        }

    def buffers(self) -> dict[str, list[float]]:
        """By name, of the modules that hold the parameters."""
        return {
            f"{prefix}{name}": _summary(buffer)
            for prefix, root in self._living()
            for name, buffer in root.named_buffers()
            if type(buffer) is torch.Tensor
        }

    def own_draws(self) -> list[str]:
        """The kinds of modules that do something else with a part of a batch than with the whole."""
        kinds = (torch.nn.modules.batchnorm._BatchNorm, torch.nn.modules.dropout._DropoutNd)
        modules = [module for _, root in self._living() for module in root.modules()]
        found = [
            m for m in modules if isinstance(m, kinds) and m.training and getattr(m, "p", True)
        ]
        return sorted(
            {type(m).__name__ for m in found if not isinstance(m, torch.nn.SyncBatchNorm)}
        )

    def _living(self) -> list[tuple[str, Any]]:
        return [(prefix, root) for prefix, known in self._roots if (root := known()) is not None]


def _roots() -> list[torch.nn.Module]:
    """The modules that are in no other but a wrapper; none that FSDP1 has flattened."""
    modules = [m for m in gc.get_objects() if issubclass(type(m), torch.nn.Module)]
    inner = {
        id(child)
        for module in modules
        if type(module).__name__ not in _WRAPPERS
        for child in module.children()
    }
    roots = [m for m in modules if id(m) not in inner and type(m).__name__ not in _WRAPPERS]
    return [
        root for root in roots if not any(type(m).__name__ == _WRAPPERS[1] for m in root.modules())
    ]


def _summary(tensor: torch.Tensor) -> list[float]:
    """A sum over the bytes, the sum and the norm: the first to compare to the bit, the others nearly."""
    with torch.no_grad():
        values = torch.view_as_real(tensor) if tensor.is_complex() else tensor
        wide = values.detach().double()
        return [byte_sum(tensor), float(wide.sum()), float(wide.norm()), tensor.numel()]


def _indices(drawn: Any) -> list[int | str | None]:
    """The indices of one batch, or of one sample where the loader makes no batches."""
    listed = drawn if isinstance(drawn, (list, tuple)) else [drawn]
    return [_index(one) for one in listed]


def _index(one: Any) -> int | str | None:
    if one is None:
        return None  # An iterable data set has no indices.
    try:
        return operator.index(one)
    except TypeError:
        return repr(one)
