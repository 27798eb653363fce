"""The `c10d` operators: what each is called, and what its ranks must agree on.

Source: the schemas of torch/csrc/distributed/c10d/Ops.cpp (torch 2.13). Tensors may differ where the
backends allow it: the inputs of an all_gather (lists of different lengths are NCCL's), all_to_all
(uneven splits), and what only the root passes to gather and scatter. The reduction (sum, max, …) is
opaque to Python here and is not compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True)
class Operator:
    """One row: the collective's name as `torch.distributed` has it, and its arguments' roles.

    `compared` is the argument whose tensors must have equal element counts and dtypes on all ranks,
    `displayed` the one that is shown where nothing is compared, `root` whether there is one,
    `partner` the argument that names the other rank of a point-to-point operation.
    """

    name: str
    compared: str = ""
    displayed: str = ""
    root: bool = False
    partner: str | None = None

    def tensors(self, arguments: Mapping[str, Any]) -> list[torch.Tensor]:
        """The tensors to show, flattened."""
        return list(flat(arguments.get(self.compared or self.displayed)))

    def agreed(self, arguments: Mapping[str, Any]) -> list[str]:
        """What all ranks of the group must have alike."""
        parts = []
        if self.compared:
            tensors = flat(arguments[self.compared])
            parts = [f"{str(t.dtype).removeprefix('torch.')} x {t.numel()}" for t in tensors]
        if self.root:
            parts.append(f"root {arguments['root_rank']}")
        return parts


def flat(value: Any) -> Iterator[torch.Tensor]:
    """The tensors of a nest of lists, in order."""
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from flat(item)
    elif value is not None:
        yield value


OPERATORS: dict[str, Operator] = {
    "allreduce_": Operator("all_reduce", "tensors"),
    "allreduce_coalesced_": Operator("all_reduce_coalesced", "tensors"),
    "broadcast_": Operator("broadcast", "tensors", root=True),
    "reduce_": Operator("reduce", "tensors", root=True),
    "allgather_": Operator("all_gather", "output_tensors"),
    "allgather_coalesced_": Operator("all_gather_coalesced", "output_lists"),
    "_allgather_base_": Operator("all_gather_into_tensor", "output_tensor"),
    "allgather_into_tensor_coalesced_": Operator("all_gather_into_tensor_coalesced", "outputs"),
    "reduce_scatter_": Operator("reduce_scatter", "input_tensors"),
    "_reduce_scatter_base_": Operator("reduce_scatter_tensor", "input_tensor"),
    "reduce_scatter_tensor_coalesced_": Operator("reduce_scatter_tensor_coalesced", "inputs"),
    "gather_": Operator("gather", "input_tensors", root=True),
    "scatter_": Operator("scatter", "output_tensors", root=True),
    "alltoall_": Operator("all_to_all", displayed="input_tensors"),
    "alltoall_base_": Operator("all_to_all_single", displayed="input"),
    "barrier": Operator("barrier"),
    "monitored_barrier_": Operator("monitored_barrier"),
    "send": Operator("send", "tensors", partner="dst"),
    "recv_": Operator("recv", "tensors", partner="src"),
    "recv_any_source_": Operator("recv", "tensors", partner="any"),
}
