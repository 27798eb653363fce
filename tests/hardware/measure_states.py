"""Measures the bytes that a strategy really keeps, on ranks over gloo.

Prints a line of JSON from rank 0 for each measurement: bytes of weights, gradients, optimizer state
and reducer buckets that this rank holds after a backward pass and a step, or what WHAT says instead.
Run with: WHAT STRATEGY PRECISION, as often as wanted.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh

WIDTH, DEPTH, VOCABULARY = 64, 8, 128
PARAMETERS = WIDTH * WIDTH * DEPTH
ROOT = 2 * WIDTH * VOCABULARY  # with an embedding and a head: what FSDP's root unit holds


class Stack(nn.Module):
    """Square layers whose size every small number of ranks divides."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(DEPTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return x


class Decoder(nn.Module):
    """The same layers between an embedding and a head, which no block holds."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(DEPTH))
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.embedding(x)
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return self.head(x)  # type: ignore[no-any-return]


def local(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def unique_bytes(tensors: list[torch.Tensor]) -> int:
    """Bytes of the storages behind the tensors, each once: views into one bucket share it."""
    storages = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors}
    return sum(storages.values())


def measure_torch(strategy: str, precision: str) -> dict[str, int]:
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    model: nn.Module = Stack().to(dtype)
    if strategy == "ddp":
        model = nn.parallel.DistributedDataParallel(model)
    elif strategy == "ddp-bucket-view":
        model = nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)
    else:
        from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

        policy = (
            MixedPrecisionPolicy(param_dtype=torch.bfloat16)
            if precision == "mixed"
            else MixedPrecisionPolicy()
        )
        # HSDP: shards within groups of half the ranks, and the two groups hold copies.
        halves = (2, dist.get_world_size() // 2)
        if strategy == "hsdp":
            mesh = init_device_mesh("cpu", halves, mesh_dim_names=("copies", "shards"))
        else:
            mesh = init_device_mesh("cpu", (dist.get_world_size(),))
        for layer in model.layers:  # type: ignore[union-attr]
            fully_shard(layer, mesh=mesh, mp_policy=policy)
        fully_shard(model, mesh=mesh, mp_policy=policy)
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(3):  # DDP rebuilds its buckets after the first backward
        optimizer.zero_grad(set_to_none=False)
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "mixed"):
            loss = model(torch.randn(4, WIDTH, dtype=dtype)).float().pow(2).mean()
        loss.backward()
        optimizer.step()
    parameters = list(model.parameters())
    moments = [
        local(state[name])
        for state in optimizer.state.values()
        for name in ("exp_avg", "exp_avg_sq")
    ]
    buckets = 0
    if strategy == "ddp":
        sizes = model._get_ddp_logging_data()["rebuilt_bucket_sizes"]  # type: ignore[operator]
        buckets = sum(int(size) for size in str(sizes).split(",") if size.strip())
    return {
        "weights": unique_bytes([local(p) for p in parameters]),
        "gradients": unique_bytes([local(p.grad) for p in parameters if p.grad is not None]),
        "optimizer": unique_bytes(moments),
        "buckets": buckets,
    }


def measure_unsharded(strategy: str, precision: str) -> dict[str, int]:
    """Bytes that FSDP2 holds unsharded: when forward has ended, and the most while backward runs.

    The unsharded weights and their gradients, as FSDP's own parameter objects hold them, looked at
    whenever the gradient of a parameter is there.
    """
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16 if precision == "mixed" else None)
    model = Decoder().to(dtype)
    reshard = None if strategy == "fsdp" else False
    for layer in model.layers:
        fully_shard(layer, mp_policy=policy, reshard_after_forward=reshard)
    fully_shard(model, mp_policy=policy, reshard_after_forward=reshard)

    def groups() -> list[Any]:
        states = [module._get_fsdp_state() for module in (model, *model.layers)]
        return [group for state in states for group in state._fsdp_param_groups]

    def held_by_fsdp() -> list[Any]:
        return [parameter for group in groups() for parameter in group.fsdp_params]

    def unsharded() -> int:
        whole = [p._unsharded_param for p in held_by_fsdp() if hasattr(p, "_unsharded_param")]
        # A prefetched block lies in the all-gather's output until its turn comes.
        prefetched = [g._all_gather_result for g in groups() if g._all_gather_result is not None]
        return unique_bytes(
            [
                *whole,
                *(p.grad for p in whole if p.grad is not None),
                *(result.all_gather_output for result in prefetched),
            ]
        )

    most = 0

    def look(*_: object) -> None:
        nonlocal most
        most = max(most, unsharded())

    tokens = torch.zeros(4, dtype=torch.long)
    model(tokens).float().sum().backward()
    loss = model(tokens).float().sum()
    after_forward = unsharded()
    for parameter in held_by_fsdp():
        parameter._unsharded_param.register_post_accumulate_grad_hook(look)
    loss.backward()
    return {"after_forward": after_forward, "in_backward": most}


def measure_tensor_parallel(folder: str) -> dict[str, int]:
    """Bytes of the weights that a rank holds of a model which transformers divides by its own plan.

    By elements: on the CPU a part of the rows is a view of the file's tensor, and a copy on a GPU.
    """
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(folder, tp_plan="auto", dtype=torch.float32)
    return {"weights": sum(local(p).numel() * p.element_size() for p in model.parameters())}


def measure_deepspeed(stage: int, precision: str) -> dict[str, int]:
    """Every tensor of a kilobyte or more that is alive after backward, by what it must be.

    DeepSpeed's own structures are private and differ by stage; a census of all tensors misses
    nothing. Rank-local sizes tell shards from whole tensors.
    """
    import deepspeed

    config = {
        "train_micro_batch_size_per_gpu": 1,
        # Two micro steps: stage 1 keeps whole gradients between them.
        "gradient_accumulation_steps": 2,
        "optimizer": {"type": "Adam", "params": {"lr": 1e-3, "torch_adam": True}},
        # Stage 3 keeps small parameters whole, and recently used ones: neither here.
        "zero_optimization": {
            "stage": stage,
            "reduce_bucket_size": WIDTH * WIDTH,
            "stage3_param_persistence_threshold": 0,
            "stage3_max_live_parameters": 0,
            "stage3_prefetch_bucket_size": 0,
        },
        "bf16": {"enabled": precision == "mixed"},
    }
    engine, *_ = deepspeed.initialize(model=Stack(), config=config)
    dtype = torch.bfloat16 if precision == "mixed" else torch.float32
    for _ in range(3):  # ends after the first of two micro steps, with gradients accumulated
        x = torch.randn(4, WIDTH, dtype=dtype)
        engine.backward(engine(x).float().pow(2).mean())
        engine.step()
        del x
    gc.collect()
    seen: dict[int, int] = {}
    for thing in gc.get_objects():
        if isinstance(thing, torch.Tensor):
            # A gradient that only its parameter holds is no Python object.
            held = [thing, thing.grad] if thing.is_leaf else [thing]
            for tensor in held:
                if tensor is not None and tensor.untyped_storage().nbytes() >= 1024:
                    storage = tensor.untyped_storage()
                    seen[storage.data_ptr()] = storage.nbytes()
                    if os.environ.get("CENSUS"):
                        print(tensor.dtype, tuple(tensor.shape), storage.nbytes(), file=sys.stderr)
    return {"all": sum(seen.values())}


def measure(what: str, strategy: str, precision: str) -> dict[str, int]:
    torch.manual_seed(0)
    if strategy.startswith("zero"):
        os.environ["DS_ACCELERATOR"] = "cpu"
        return measure_deepspeed(int(strategy.removeprefix("zero")), precision)
    if not dist.is_initialized():
        dist.init_process_group("gloo")
    if what == "tensor-parallel":
        return measure_tensor_parallel(strategy)
    return (measure_unsharded if what == "unsharded" else measure_torch)(strategy, precision)


def main() -> None:
    asked = sys.argv[1:]
    for what, strategy, precision in zip(asked[::3], asked[1::3], asked[2::3], strict=True):
        measured = measure(what, strategy, precision)
        if dist.get_rank() == 0:
            print(json.dumps({"parameters": PARAMETERS, **measured}), flush=True)
    dist.barrier()
    sys.stdout.flush()
    # Not destroy_process_group: gloo's threads sometimes abort while the peer closes its side.
    os._exit(0)


if __name__ == "__main__":
    main()
