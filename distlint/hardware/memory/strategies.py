"""The table of strategies: how many bytes each keeps for a parameter, and what it shards.

Rows were checked against real bytes on two gloo processes
(tests/hardware/test_plan_bytes.py): torch 2.13.0 for DDP and FSDP2, deepspeed 0.19.8 for ZeRO.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from distlint.hardware.memory.activations import Compute


class Precision(enum.Enum):
    """What the weights are kept in and what the model computes in."""

    FP32 = "fp32"
    MIXED = "mixed"
    """Compute in bf16, keep fp32 weights: autocast, FSDP's MixedPrecisionPolicy, DeepSpeed bf16."""
    BF16 = "bf16"
    """Everything in bf16, the moments too (`model.to(torch.bfloat16)`)."""

    @property
    def compute_bytes(self) -> int:
        """Bytes of one element of an activation or of an unsharded weight."""
        return 4 if self is Precision.FP32 else 2


class Engine(enum.Enum):
    """Who keeps the state: torch keeps what the model is in, DeepSpeed keeps an fp32 master."""

    TORCH = "torch"
    DEEPSPEED = "deepspeed"


@dataclass(frozen=True, slots=True)
class ElementBytes:
    """Bytes per trained parameter of weights, gradients, an fp32 master, and each optimizer state."""

    weights: int
    gradients: int
    master: int
    state: int


ELEMENT_BYTES: dict[tuple[Engine, Precision], ElementBytes] = {
    # torch.optim.Adam makes its moments with zeros_like(param): torch 2.13.0, optim/adam.py
    (Engine.TORCH, Precision.FP32): ElementBytes(4, 4, 0, 4),
    (Engine.TORCH, Precision.MIXED): ElementBytes(4, 4, 0, 4),
    (Engine.TORCH, Precision.BF16): ElementBytes(2, 2, 0, 2),
    # DeepSpeed clones its partition in fp32 as the optimizer's parameter, under fp32 too:
    # deepspeed 0.19.8, runtime/zero/stage_1_and_2.py, single_partition_of_fp32_groups
    (Engine.DEEPSPEED, Precision.FP32): ElementBytes(4, 4, 4, 4),
    (Engine.DEEPSPEED, Precision.MIXED): ElementBytes(2, 2, 4, 4),
    # bf16 of DeepSpeed always keeps the fp32 master unless bf16_master_weights_and_grads is set
    (Engine.DEEPSPEED, Precision.BF16): ElementBytes(2, 2, 4, 4),
}


class Offload(enum.Enum):
    """What leaves the GPU with `--offload`."""

    NONE = "none"
    OPTIMIZER = "optimizer"
    """Optimizer state and gradients go to the host; weights stay."""
    EVERYTHING = "everything"
    """Only what is being computed with is on the GPU."""


@dataclass(frozen=True, slots=True)
class Strategy:
    """One row: what is divided by the number of GPUs, and what is kept besides.

    Attributes:
        key: the name in JSON.
        title: the name in the table.
        engine: whose element bytes apply.
        shards_weights, shards_gradients, shards_optimizer: divided by the number of GPUs.
        hybrid: divided by the GPUs of a group only; the groups hold copies.
        gathers_all: the unsharded weights stay, in the compute type, from forward to backward.
        gathers_root: what is outside of the blocks stays unsharded from forward to the end of backward.
        unsharded_gradients: a block's gradients exist whole until they are reduced.
        live_parameters: recently used parameters are kept unsharded, up to a number.
        unsharded_blocks: blocks that exist unsharded at once, in the compute type.
        bucket_copies: gradients exist a second time in the reducer's buckets.
        reduce_bucket: DeepSpeed's flat communication buffer exists (its size is an estimate).
        offload: what `--offload` can move to the host.
        setting: how to ask for it.
        source: where the row was read, with the version.
    """

    key: str
    title: str
    engine: Engine
    setting: str
    source: str
    shards_weights: bool = False
    shards_gradients: bool = False
    shards_optimizer: bool = False
    hybrid: bool = False
    gathers_all: bool = False
    gathers_root: bool = False
    unsharded_gradients: bool = False
    live_parameters: bool = False
    unsharded_blocks: int = 0
    bucket_copies: bool = False
    reduce_bucket: bool = False
    offload: Offload = Offload.NONE

    def compute(self, precision: Precision) -> Compute:
        """The types a step computes in: DDP's weights are fp32 and autocast, others are handed bf16."""
        if precision is Precision.MIXED:
            whole = self.engine is Engine.TORCH and not self.shards_weights
            return Compute.AUTOCAST if whole else Compute.BF16
        return Compute.FP32 if precision is Precision.FP32 else Compute.BF16


# In the order of what they cost in communication and change in code: the first that fits is the
# one to take. Backward of a sharded block holds its weights and the prefetched block's, and in FSDP
# its own unsharded gradients until they are reduced. DeepSpeed copies the gradients into its reduce
# bucket at once. FSDP's root unit (embeddings, last norm, head) is not resharded after forward, and
# the head's gradient waits for the root's others until backward is over.
STRATEGIES: tuple[Strategy, ...] = (
    Strategy(
        key="ddp",
        title="DDP",
        engine=Engine.TORCH,
        bucket_copies=True,
        setting="DistributedDataParallel(model)",
        source="torch 2.13.0 nn/parallel/distributed.py: gradient_as_bucket_view=False by default",
    ),
    Strategy(
        key="ddp-bucket-view",
        title="DDP, bucket view",
        engine=Engine.TORCH,
        setting="DistributedDataParallel(model, gradient_as_bucket_view=True)",
        source="torch 2.13.0 nn/parallel/distributed.py: gradients are views into the buckets",
    ),
    Strategy(
        key="zero1",
        title="ZeRO-1",
        engine=Engine.DEEPSPEED,
        shards_optimizer=True,
        reduce_bucket=True,
        setting='"zero_optimization": {"stage": 1}',
        source="deepspeed 0.19.8 runtime/zero/stage_1_and_2.py",
    ),
    Strategy(
        key="zero2",
        title="ZeRO-2",
        engine=Engine.DEEPSPEED,
        shards_gradients=True,
        shards_optimizer=True,
        reduce_bucket=True,
        offload=Offload.OPTIMIZER,
        setting='"zero_optimization": {"stage": 2}',
        source="deepspeed 0.19.8 runtime/zero/stage_1_and_2.py",
    ),
    Strategy(
        key="fsdp-shard-grad-op",
        title="FSDP, shard_grad_op",
        engine=Engine.TORCH,
        shards_weights=True,
        shards_gradients=True,
        shards_optimizer=True,
        gathers_all=True,
        unsharded_gradients=True,
        offload=Offload.EVERYTHING,
        setting="fully_shard(..., reshard_after_forward=False)",
        source="torch 2.13.0 distributed/fsdp/_fully_shard/_fully_shard.py; FSDP1: SHARD_GRAD_OP",
    ),
    Strategy(
        key="hsdp",
        title="HSDP",
        engine=Engine.TORCH,
        shards_weights=True,
        shards_gradients=True,
        shards_optimizer=True,
        hybrid=True,
        gathers_root=True,
        unsharded_gradients=True,
        unsharded_blocks=2,
        offload=Offload.EVERYTHING,
        setting="fully_shard(..., mesh=mesh) with a mesh of (replicate, shard)",
        source="torch 2.13.0 distributed/fsdp/_fully_shard/_fully_shard.py; FSDP1: HYBRID_SHARD",
    ),
    Strategy(
        key="fsdp",
        title="FSDP, full shard",
        engine=Engine.TORCH,
        shards_weights=True,
        shards_gradients=True,
        shards_optimizer=True,
        gathers_root=True,
        unsharded_gradients=True,
        unsharded_blocks=2,
        offload=Offload.EVERYTHING,
        setting="fully_shard(...) on each block and the model",
        source="torch 2.13.0 distributed/fsdp/_fully_shard/_fully_shard.py; FSDP1: FULL_SHARD",
    ),
    Strategy(
        key="zero3",
        title="ZeRO-3",
        engine=Engine.DEEPSPEED,
        shards_weights=True,
        shards_gradients=True,
        shards_optimizer=True,
        unsharded_blocks=2,
        live_parameters=True,
        reduce_bucket=True,
        offload=Offload.EVERYTHING,
        setting='"zero_optimization": {"stage": 3}',
        source="deepspeed 0.19.8 runtime/zero/stage3.py",
    ),
)

# deepspeed 0.19.8 runtime/zero/config.py: reduce_bucket_size = 5e8 elements. Stage 3 allocates it
# whole whatever the model's size (seen: one tensor of 500,000,000 elements for a tiny model).
REDUCE_BUCKET_ELEMENTS = 500_000_000

# deepspeed 0.19.8 runtime/zero/config.py: stage3_max_live_parameters and stage3_max_reuse_distance
# are 1e9: what was used last is not released, up to so many elements.
MOST_LIVE_PARAMETERS = 1_000_000_000
