"""Contracts: the net comes out of every wrapper, and nothing changes on the way."""

from __future__ import annotations

import torch
from torch import nn

from distlint import runtime
from distlint.hardware.contracts import Context, Contract
from distlint.hardware.contracts.nets import Net, compiled, ddp, fsdp1, fsdp2, seeded


def _comes_out(wrapped: nn.Module, net: nn.Module) -> None:
    before = list(wrapped.named_modules())
    assert runtime.unwrap(wrapped) is net, type(runtime.unwrap(wrapped))
    assert runtime.unwrap(net) is net
    after = list(wrapped.named_modules())
    assert [name for name, _ in before] == [name for name, _ in after]
    assert all(one is other for (_, one), (_, other) in zip(before, after, strict=True))


def check_plain(context: Context) -> None:
    net = seeded(Net, context)
    _comes_out(net, net)
    _comes_out(nn.DataParallel(net), net)
    for wrong in (None, 3, [net], {"module": net}):
        try:
            runtime.unwrap(wrong)  # type: ignore[arg-type]
        except TypeError as error:
            assert type(wrong).__name__ in str(error)
        else:
            raise AssertionError(f"unwrap({wrong!r}) returned")


def check_ddp(context: Context) -> None:
    net = seeded(Net, context)
    wrapped = ddp(net)
    _comes_out(wrapped, net)
    assert runtime.unwrap(wrapped).config == {"width": 8}


def check_fsdp1(context: Context) -> None:
    net = seeded(Net, context)
    _comes_out(fsdp1(net, context, use_orig_params=True), net)


def check_fsdp2(context: Context) -> None:
    net = seeded(Net, context)
    _comes_out(fsdp2(net, context), net)


def check_compiled(context: Context) -> None:
    outside = seeded(Net, context)
    _comes_out(compiled(ddp(outside)), outside)
    inside = seeded(Net, context)
    _comes_out(ddp(compiled(inside)), inside)
    in_place = seeded(Net, context)
    in_place.compile(backend="eager")
    _comes_out(ddp(in_place), in_place)


def check_keep_compile(context: Context) -> None:
    net = seeded(Net, context)
    once = compiled(net)
    assert runtime.unwrap(ddp(once), keep_compile=True) is once
    assert runtime.unwrap(ddp(net), keep_compile=True) is net
    other = seeded(Net, context)
    wrapped = ddp(other)
    outside = compiled(wrapped)
    kept = runtime.unwrap(outside, keep_compile=True)
    assert isinstance(kept, type(outside))
    assert kept._orig_mod is runtime.unwrap(wrapped)
    assert outside._orig_mod is wrapped
    x = torch.ones(2, 8, device=context.device)
    assert torch.equal(kept(x), other(x))


CONTRACTS = (
    Contract(
        "wrapping.plain",
        "unwrap() returns a plain net as it is, and refuses what is no module",
        1,
        check_plain,
    ),
    Contract("wrapping.ddp", "unwrap() takes the net out of DDP", 1, check_ddp),
    Contract("wrapping.fsdp1", "unwrap() takes the net out of FSDP1", 1, check_fsdp1, ("fsdp",)),
    Contract("wrapping.fsdp2", "unwrap() leaves an FSDP2 net as it is", 1, check_fsdp2, ("fsdp",)),
    Contract(
        "wrapping.compiled",
        "unwrap() takes the net out of compile(DDP(net)) and DDP(compile(net)), changing neither",
        1,
        check_compiled,
        ("compile",),
    ),
    Contract(
        "wrapping.keep-compile",
        "unwrap(keep_compile=True) keeps the compiled net, in both nestings",
        1,
        check_keep_compile,
        ("compile",),
    ),
)
