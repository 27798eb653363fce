"""Small nets for the contracts, and how each wrapper is put around one on any device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

if TYPE_CHECKING:
    from distlint.hardware.contracts import Context


class Net(nn.Module):
    """Two layers under the names that wrappers use, a tied weight and a buffer.

    `module` is a layer of the net's own: who unwraps by ``hasattr(m, "module")`` goes too far.
    """

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.module = nn.Linear(width, width)
        self.model = nn.Linear(width, width)
        self.head = nn.Linear(width, width, bias=False)
        self.head.weight = self.model.weight
        self.register_buffer("count", torch.arange(3, dtype=torch.float32))
        self.config = {"width": width}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden: torch.Tensor = self.head(torch.relu(self.model(torch.relu(self.module(x)))))
        return hidden


class Stack(nn.Module):
    """Layers of odd sizes, so that their shards are uneven and some are empty."""

    def __init__(self) -> None:
        super().__init__()
        self.module = nn.Linear(5, 7)
        self.out = nn.Linear(7, 1)
        self.register_buffer("count", torch.arange(3, dtype=torch.float32))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.out(torch.relu(self.module(x)))
        return result


def seeded(kind: type[nn.Module], context: Context) -> Any:
    """A net with the same weights on every rank, on this rank's device."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return kind().to(context.device)


def whole(kind: type[nn.Module]) -> dict[str, torch.Tensor]:
    """The state that `seeded` nets of this class have, on the CPU."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return kind().state_dict()


def ddp(net: nn.Module) -> DistributedDataParallel:
    """The net in DDP."""
    return DistributedDataParallel(net)


def fsdp1(net: nn.Module, context: Context, **options: Any) -> nn.Module:
    """The net in FSDP1."""
    from torch.distributed.fsdp import FullyShardedDataParallel

    # Without a device FSDP1 refuses to start where there is no GPU (torch 2.13.0, _init_utils.py).
    return FullyShardedDataParallel(net, device_id=context.device, **options)


def fsdp2(net: nn.Module, context: Context) -> nn.Module:
    """The net under FSDP2, which changes it in place, each layer a unit of its own."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh(context.device.type, (context.world_size,))
    fully_shard(net, mesh=mesh)
    return net


def compiled(net: nn.Module) -> nn.Module:
    """The net under torch.compile, with the backend that needs no C++ compiler."""
    return torch.compile(net, backend="eager")  # type: ignore[return-value]
