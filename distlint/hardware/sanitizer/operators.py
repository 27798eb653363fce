"""The `c10d` operators: what each is called, and what its ranks must agree on.

Source: the schemas of torch/csrc/distributed/c10d/Ops.cpp (torch 2.13). Tensors may differ where the
backends allow it: the inputs of an all_gather (lists of different lengths are NCCL's), and what only
the root passes to gather and scatter. Of an all_to_all, what one rank sends to another must be what
that one expects.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True)
class Operator:
    """One row: the collective's name as `torch.distributed` has it, and its arguments' roles.

    `compared` is the argument whose tensors must have equal dtypes and element counts on all ranks,
    `displayed` the one that is shown where nothing is compared, `shapes` whether equal counts of
    different shapes are told too, `root` and `reduces` whether there is one, `exchange` the arguments
    of an all_to_all: what is received, what is sent, and the split sizes of both. `partner` is the
    argument that names the other rank of a point-to-point operation.
    """

    name: str
    compared: str = ""
    displayed: str = ""
    shapes: bool = False
    root: bool = False
    reduces: bool = False
    exchange: tuple[str, str, str, str] | None = None
    partner: str | None = None

    def tensors(self, arguments: Mapping[str, Any]) -> list[torch.Tensor]:
        """The tensors to show, flattened."""
        return list(flat(arguments.get(self.compared or self.displayed)))

    def agreed(self, arguments: Mapping[str, Any], ranks: Sequence[int]) -> list[tuple[str, str]]:
        """What all ranks of a group (`ranks`, global) must have alike: each with its name."""
        parts = []
        tensors = list(flat(arguments[self.compared])) if self.compared else []
        if self.compared or self.exchange:
            typed = tensors or list(flat(arguments[self.displayed]))[:1]
            parts.append(("dtype", ", ".join(dtype_text(t) for t in typed)))
        if self.compared:
            parts.append(("number of elements", ", ".join(str(t.numel()) for t in tensors)))
        if self.root:
            parts.append(("root", f"rank {ranks[arguments['root_rank']]}"))
        if self.reduces and (reduction := _reduction(arguments["reduce_op"])):
            parts.append(("reduce op", reduction))
        return parts

    def exchanged(self, arguments: Mapping[str, Any], size: int) -> tuple[list[int], list[int]]:
        """Element counts that an all_to_all sends to, and expects from, each of `size` ranks."""
        assert self.exchange is not None
        received, sent, received_splits, sent_splits = (arguments.get(a) for a in self.exchange)
        return _counts(sent, sent_splits, size), _counts(received, received_splits, size)


def _counts(tensors: Any, splits: list[int] | None, size: int) -> list[int]:
    if isinstance(tensors, (list, tuple)):
        return [tensor.numel() for tensor in tensors]
    if not splits:
        return [tensors.numel() // size] * size
    row = tensors.numel() // max(tensors.shape[0], 1)
    return [split * row for split in splits]


def _reduction(operation: Any) -> str | None:
    """The name of a reduce op (a ScriptObject here); None where this torch does not tell it."""
    return _reductions()[operation.op()] if operation._has_method("op") else None


@lru_cache(maxsize=1)
def _reductions() -> dict[int, str]:
    from torch.distributed import ReduceOp

    return {op.value: name.lower() for name, op in ReduceOp.RedOpType.__members__.items()}


def dtype_text(tensor: torch.Tensor) -> str:
    """``float32``."""
    return str(tensor.dtype).removeprefix("torch.")


def flat(value: Any) -> Iterator[torch.Tensor]:
    """The tensors of a nest of lists, in order."""
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from flat(item)
    elif value is not None:
        yield value


OPERATORS: dict[str, Operator] = {
    "allreduce_": Operator("all_reduce", "tensors", shapes=True, reduces=True),
    "allreduce_coalesced_": Operator("all_reduce_coalesced", "tensors", shapes=True, reduces=True),
    "broadcast_": Operator("broadcast", "tensors", shapes=True, root=True),
    "reduce_": Operator("reduce", "tensors", shapes=True, root=True, reduces=True),
    "allgather_": Operator("all_gather", "output_tensors", shapes=True),
    "allgather_coalesced_": Operator("all_gather_coalesced", "output_lists"),
    "_allgather_base_": Operator("all_gather_into_tensor", "output_tensor"),
    "allgather_into_tensor_coalesced_": Operator("all_gather_into_tensor_coalesced", "outputs"),
    "reduce_scatter_": Operator("reduce_scatter", "input_tensors", shapes=True, reduces=True),
    "_reduce_scatter_base_": Operator("reduce_scatter_tensor", "input_tensor", reduces=True),
    "reduce_scatter_tensor_coalesced_": Operator(
        "reduce_scatter_tensor_coalesced", "inputs", reduces=True
    ),
    "gather_": Operator("gather", "input_tensors", shapes=True, root=True),
    "scatter_": Operator("scatter", "output_tensors", shapes=True, root=True),
    "alltoall_": Operator(
        "all_to_all",
        displayed="input_tensors",
        exchange=("output_tensors", "input_tensors", "", ""),
    ),
    "alltoall_base_": Operator(
        "all_to_all_single",
        displayed="input",
        exchange=("output", "input", "output_split_sizes", "input_split_sizes"),
    ),
    "barrier": Operator("barrier"),
    "monitored_barrier_": Operator("monitored_barrier"),
    "send": Operator("send", "tensors", partner="dst"),
    "recv_": Operator("recv", "tensors", partner="src"),
    "recv_any_source_": Operator("recv", "tensors", partner="any"),
}
