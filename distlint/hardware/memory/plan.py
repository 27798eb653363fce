"""The plan: bytes per GPU for every strategy, what fits, and the smallest change that makes it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from distlint.hardware.memory.activations import Activations, DecoderFormula, Shape, units_of
from distlint.hardware.memory.optimizers import ADAM, Optimizer
from distlint.hardware.memory.strategies import (
    ELEMENT_BYTES,
    MOST_LIVE_PARAMETERS,
    REDUCE_BUCKET_ELEMENTS,
    STRATEGIES,
    Engine,
    Offload,
    Precision,
    Strategy,
)
from distlint.hardware.memory.units import GIB
from distlint.hardware.memory.weights import Units

# What a process takes before it holds one tensor (CUDA context, NCCL's buffers, the allocator's
# unused ends). An allowance, not a measurement; `--reserve` changes it.
DEFAULT_RESERVE = GIB

MOST_GPUS = 4096


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be trained, on what.

    Attributes:
        parameters: of the whole model, tied ones counted once.
        shape: of the model; guessed where only a count is known.
        gpus: number of GPUs, each with one process.
        memory: bytes of one GPU.
        precision: of weights and compute.
        offload: move to the host what the strategy can move.
        checkpointing: recompute activations block by block.
        batch: samples per GPU and step.
        sequence: tokens per sample.
        eager_attention: attention without a fused kernel.
        reserve: bytes kept for context and buffers.
        units: weights on one GPU before they are sharded; None trains `parameters` of `shape`.
        activations: what a step keeps; None goes by the formula for `shape`.
        optimizer: whose state is kept.
        shard_group: GPUs that share one copy in HSDP; None leaves HSDP out.
        tensor_parallel: GPUs that share each layer; the others are data-parallel.
    """

    parameters: int
    shape: Shape
    gpus: int
    memory: int
    precision: Precision = Precision.MIXED
    offload: bool = False
    checkpointing: bool = False
    batch: int = 1
    sequence: int = 2048
    eager_attention: bool = False
    reserve: int = DEFAULT_RESERVE
    units: Units | None = None
    activations: Activations | None = None
    optimizer: Optimizer = ADAM
    shard_group: int | None = None
    tensor_parallel: int = 1

    @property
    def ranks(self) -> int:
        """GPUs with different data, over which weights can be sharded."""
        return self.gpus // self.tensor_parallel

    @property
    def strategies(self) -> tuple[Strategy, ...]:
        """Those that can be had."""
        return tuple(s for s in STRATEGIES if self.shard_group or not s.hybrid)


@dataclass(frozen=True, slots=True)
class Usage:
    """Bytes of one GPU by what they hold; `host` is the host's memory for all its GPUs.

    weights, gradients, optimizer and buckets are exact up to padding where the optimizer's row is
    and nothing is quantized; unsharded is exact for FSDP; the rest are estimates.
    """

    weights: int
    gradients: int
    optimizer: int
    buckets: int
    unsharded: int
    activations: int
    communication: int
    reserve: int
    host: int

    @property
    def states(self) -> int:
        """What the strategy itself keeps: weights, gradients, optimizer, buckets, unsharded."""
        return self.weights + self.gradients + self.optimizer + self.buckets + self.unsharded

    @property
    def estimated(self) -> int:
        """What is only estimated: activations, communication buffers, reserve."""
        return self.activations + self.communication + self.reserve

    @property
    def total(self) -> int:
        """All of it."""
        return self.states + self.estimated


@dataclass(frozen=True, slots=True)
class Change:
    """A change to a run that makes it fit: words for it, the strategy, and what it then uses."""

    words: str
    strategy: Strategy
    usage: Usage
    request: Request


@dataclass(frozen=True, slots=True)
class Row:
    """One strategy of the plan; `change` makes this strategy fit and is None where none is known."""

    strategy: Strategy
    usage: Usage
    fits: bool
    change: Change | None


@dataclass(frozen=True, slots=True)
class Plan:
    """All strategies for one request, and the smallest change overall (None if one fits already)."""

    request: Request
    rows: tuple[Row, ...]
    change: Change | None

    @property
    def fitting(self) -> Row | None:
        """The first strategy that fits: the one with the least communication."""
        return next((row for row in self.rows if row.fits), None)


def usage_of(strategy: Strategy, request: Request) -> Usage:
    """Bytes that one GPU holds at the peak of a step, between backward and the optimizer's step."""
    per = ELEMENT_BYTES[strategy.engine, request.precision]
    compute = request.precision.compute_bytes
    units = request.units or units_of(request.shape, request.parameters)
    trained = units.total.trained
    # Frozen weights need no fp32 master: they are kept in what the model computes in.
    all_weights = per.weights * trained + units.total.gathered(compute) - compute * trained
    all_optimizer = round(trained * (per.master + request.optimizer.per_parameter(per.state)))
    ranks = request.shard_group if strategy.hybrid and request.shard_group else request.ranks

    def kept(whole: int, sharded: bool) -> int:
        return -(-whole // ranks) if sharded else whole

    weights = kept(all_weights, strategy.shards_weights)
    gradients = kept(per.gradients * trained, strategy.shards_gradients)
    optimizer = kept(all_optimizer, strategy.shards_optimizer)
    buckets = per.gradients * trained if strategy.bucket_copies and request.ranks > 1 else 0
    host = 0
    if request.offload and strategy.offload is not Offload.NONE:
        # Gradients reach the host in fp32 where DeepSpeed steps there: 4 + 12 bytes for each
        # parameter in all (deepspeed 0.19.8 stage_1_and_2.py: max(4 * gpus, 16)).
        gradient_on_host = 4 if strategy.engine is Engine.DEEPSPEED else per.gradients
        host = all_optimizer + trained * gradient_on_host
        gradients = optimizer = 0
        if strategy.offload is Offload.EVERYTHING:
            host += all_weights
            weights = 0
        host *= request.gpus // ranks  # every tensor-parallel part and every copy of HSDP
    source = request.activations or DecoderFormula(
        request.shape, units, eager_attention=request.eager_attention
    )
    return Usage(
        weights=weights,
        gradients=gradients,
        optimizer=optimizer,
        buckets=buckets,
        unsharded=_unsharded(strategy, units, compute),
        activations=source.kept(
            strategy.compute(request.precision),
            checkpointing=request.checkpointing,
            batch=request.batch,
            sequence=request.sequence,
        ).peak,
        communication=_communication(strategy, units, compute),
        reserve=request.reserve,
        host=host,
    )


def _unsharded(strategy: Strategy, units: Units, compute: int) -> int:
    """Weights and gradients that exist whole for a while, at the worst moment of backward."""
    if not strategy.shards_weights:
        return 0
    block = units.block.gathered(compute)
    gradients = compute * units.block.trained if strategy.unsharded_gradients else 0
    if not (strategy.gathers_all or strategy.gathers_root):
        return min(strategy.unsharded_blocks * block, units.total.gathered(compute))
    root = units.root.gathered(compute)
    stays = units.total.gathered(compute) if strategy.gathers_all else root
    if not strategy.gathers_all:
        block = min(strategy.unsharded_blocks * block, units.total.gathered(compute) - root)
    else:
        block = 0
    in_a_block = stays + block + gradients + compute * units.head.trained
    at_the_end = root + compute * units.root.trained  # every block is resharded by then
    return max(in_a_block, at_the_end)


def _communication(strategy: Strategy, units: Units, compute: int) -> int:
    """DeepSpeed's reduce bucket, and what ZeRO-3 does not release by its defaults."""
    bucket = REDUCE_BUCKET_ELEMENTS * compute if strategy.reduce_bucket else 0
    if not strategy.live_parameters:
        return bucket
    live = min(MOST_LIVE_PARAMETERS * compute, units.total.gathered(compute))
    return bucket + max(0, live - _unsharded(strategy, units, compute))


def make_plan(request: Request) -> Plan:
    """Every strategy for this request, and the smallest change where one does not fit."""
    rows = tuple(_row(strategy, request) for strategy in request.strategies)
    change = None
    if not any(row.fits for row in rows):
        for words, changed in changes(request):
            fitting = next(
                (s for s in request.strategies if usage_of(s, changed).total <= request.memory),
                None,
            )
            if fitting is not None:
                change = Change(words, fitting, usage_of(fitting, changed), changed)
                break
    return Plan(request, rows, change)


def changes(request: Request) -> Iterator[tuple[str, Request]]:
    """Changes to a run in the order of what they cost, each with the request after it.

    First what costs time only, then what changes the run, then more hardware; single changes
    before two at once.
    """
    checkpoint = _change(
        "activation checkpointing (about a third more compute)",
        lambda r: replace(r, checkpointing=True),
        possible=not request.checkpointing,
    )
    batch = _change(
        "--batch 1 with gradient accumulation",
        lambda r: replace(r, batch=1),
        possible=request.batch > 1,
    )
    offload = _change(
        "offloading to the host (slower steps)",
        lambda r: replace(r, offload=True),
        possible=not request.offload,
    )
    more = [
        _change(f"{gpus} GPUs", lambda r, n=gpus: replace(r, gpus=n))  # type: ignore[misc]
        for gpus in _more_gpus(request.gpus)
    ]
    single = [*checkpoint, *batch, *offload]
    for words, apply in single:
        yield words, apply(request)
    for first in range(len(single)):
        for second in range(first + 1, len(single)):
            yield (
                f"{single[first][0]} and {single[second][0]}",
                single[second][1](single[first][1](request)),
            )
    for (words, apply), *_ in more:
        yield words, apply(request)
    for (words, apply), *_ in more:
        for other, also in single:
            yield f"{words} and {other}", also(apply(request))
    for (words, apply), *_ in more:
        result = apply(request)
        for _, also in single:
            result = also(result)
        yield " and ".join([words, *(other for other, _ in single)]), result


_Step = tuple[str, Callable[[Request], Request]]


def _change(
    words: str, apply: Callable[[Request], Request], *, possible: bool = True
) -> list[_Step]:
    return [(words, apply)] if possible else []


def _more_gpus(gpus: int) -> Iterator[int]:
    while (gpus := 2 * gpus) <= MOST_GPUS:
        yield gpus


def _row(strategy: Strategy, request: Request) -> Row:
    usage = usage_of(strategy, request)
    fits = usage.total <= request.memory
    change = None
    if not fits:
        for words, changed in changes(request):
            after = usage_of(strategy, changed)
            if after.total <= request.memory:
                change = Change(words, strategy, after, changed)
                break
    return Row(strategy, usage, fits, change)
