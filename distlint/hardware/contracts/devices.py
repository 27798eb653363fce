"""Contracts: tensors go where they are told, keep their dtype, and stay where they are already."""

from __future__ import annotations

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from distlint import runtime
from distlint.hardware.contracts import Context, Contract
from distlint.hardware.contracts.ranks import raised


def check_two_gpus(context: Context) -> None:
    """On fake tensors, which check devices as real ones do, and need no GPU."""
    with FakeTensorMode(allow_non_fake_inputs=True):
        first = torch.empty(4, dtype=torch.float16, device="cuda:0")
        mask = torch.empty(4, dtype=torch.bool, device="cuda:1")
        assert isinstance(raised(lambda: first + mask), RuntimeError)
        moved = runtime.to_device_of(mask, first)
        assert moved.device == first.device
        assert moved.dtype == torch.bool
        assert (first + moved).device == torch.device("cuda:0")
        one, other = runtime.same_device(first, {"mask": [mask]})
        assert one is first
        assert other["mask"][0].device == torch.device("cuda:0")
        one, other = runtime.same_device(first, mask, device="cuda:1")
        assert other is mask
        assert one.device == torch.device("cuda:1")


def check_nothing_moves(context: Context) -> None:
    here = torch.ones(2, device=context.device)
    nest = {"a": [here, (here, "text", 3)], "b": None}
    assert runtime.to_device_of(nest, here) is nest
    assert runtime.to_device_of(here, context.device) is here
    linear = torch.nn.Linear(2, 2).to(context.device)
    assert runtime.to_device_of(here, linear) is here


def check_meta(context: Context) -> None:
    here = torch.ones(2, device=context.device)
    empty = torch.ones(2, device="meta")
    assert isinstance(raised(lambda: runtime.to_device_of(here, empty)), ValueError)
    assert isinstance(raised(lambda: runtime.to_device_of(empty, here)), ValueError)
    assert runtime.to_device_of(empty, empty) is empty


def check_real_gpu(context: Context) -> None:
    here = torch.ones(2, device=context.device)
    index = torch.tensor([1])
    assert runtime.to_device_of(index, here).device == context.device
    assert runtime.to_device_of(index, "cuda").device == torch.device(
        "cuda", torch.cuda.current_device()
    )
    with runtime.rank_rng(3):
        inside = torch.rand(1, device=context.device)
    with runtime.rank_rng(3):
        assert torch.equal(torch.rand(1, device=context.device), inside)


CONTRACTS = (
    Contract(
        "devices.two-gpus",
        "to_device_of() and same_device() repair what raises between two GPUs, and keep dtypes",
        1,
        check_two_gpus,
    ),
    Contract(
        "devices.nothing-moves",
        "what is there already comes back as the same object",
        1,
        check_nothing_moves,
    ),
    Contract(
        "devices.meta",
        "nothing moves to or from the meta device without an error",
        1,
        check_meta,
    ),
    Contract(
        "devices.real-gpu",
        "on a GPU: tensors arrive on this rank's device, and its random stream is restored",
        1,
        check_real_gpu,
        ("cuda",),
    ),
)
