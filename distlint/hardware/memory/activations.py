"""Activations: what is kept for a step, and a formula for models of which only a size is known.

The formula is that of a Llama block as transformers writes it, from what tracing.py counts: an
estimate, and marked as one wherever it is shown.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Protocol

from distlint.hardware.memory.weights import Units, Weights


class Compute(enum.Enum):
    """The types that a step computes in."""

    FP32 = "fp32"
    AUTOCAST = "autocast"
    """fp32 weights, cast to bf16 for each matrix product; the residual stream stays fp32."""
    BF16 = "bf16"
    """bf16 weights, as FSDP's mixed precision and DeepSpeed hand them to the model."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Bytes of a step on one GPU, without weights and their gradients.

    Attributes:
        saved: for backward, when forward ends.
        peak: alive at once at the worst moment, the saved ones included.
    """

    saved: int
    peak: int


class Activations(Protocol):
    """Whatever can say what a step keeps."""

    def kept(self, compute: Compute, *, checkpointing: bool, batch: int, sequence: int) -> Kept:
        """Bytes for one step."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The dimensions of a decoder.

    Attributes:
        layers: number of transformer blocks (L).
        hidden: width of the residual stream (h).
        heads: attention heads (a).
        vocabulary: size of the output layer (v); 0 for a model without one.
        block_parameters: parameters of the largest block.
        root_parameters: parameters outside of all blocks.
        head_parameters: those of the root that are used after the blocks.
        assumed: the shape was guessed from a parameter count.
    """

    layers: int
    hidden: int
    heads: int
    vocabulary: int
    block_parameters: int
    root_parameters: int = 0
    head_parameters: int = 0
    assumed: bool = False


def assumed_shape(parameters: int) -> Shape:
    """The shape that a decoder of this many parameters usually has.

    12 * L * h**2 parameters with h = 128 * L, heads of 128 and 32,000 tokens: within 5 % of the
    published shapes of Llama 7B (32 layers of 4096) and 13B (40 of 5120).
    """
    layers = max(1, round((parameters / (12 * 128**2)) ** (1 / 3)))
    hidden = 128 * layers
    table = min(_VOCABULARY * hidden, parameters // 4)
    return Shape(
        layers=layers,
        hidden=hidden,
        heads=layers,
        vocabulary=_VOCABULARY,
        block_parameters=-(-(parameters - 2 * table) // layers),
        root_parameters=2 * table,
        head_parameters=table,
        assumed=True,
    )


_VOCABULARY = 32_000


def units_of(shape: Shape, parameters: int) -> Units:
    """The units of a model of which every weight is trained."""
    return Units(
        total=Weights(trained=parameters),
        block=Weights(trained=min(shape.block_parameters, parameters)),
        root=Weights(trained=shape.root_parameters),
        head=Weights(trained=shape.head_parameters),
    )


@dataclass(frozen=True, slots=True)
class _PerToken:
    """Bytes that a Llama block takes for each token, in multiples of the hidden width.

    Attributes:
        stream: saved of what every GPU of a tensor-parallel group has whole: residuals and norms.
        inner: saved of what is divided between them: heads and MLP.
        matrix: bytes for each head and pair of tokens, kept by eager attention.
        stored: a block's input, which checkpointing keeps.
        transient: the gradients and temporaries of one block's backward.
    """

    stream: float
    inner: float
    matrix: float
    stored: float
    transient: float


# Counted on fake tensors for blocks of 2048 with 16 heads and an MLP of 8/3 h (transformers 5.23.0);
# tests/hardware/test_plan_activations.py holds the formula to 5 % of what a Llama 7B is counted to.
_ADAPTED_BLOCK = {
    Compute.FP32: _PerToken(stream=12.1, inner=48, matrix=3.5, stored=4, transient=34.9),
    Compute.AUTOCAST: _PerToken(stream=12.1, inner=24.1, matrix=5.75, stored=2, transient=19.7),
    Compute.BF16: _PerToken(stream=10, inner=24, matrix=5.75, stored=2, transient=19.7),
}
_LLAMA_BLOCK = {
    Compute.FP32: _PerToken(stream=24, inner=58.7, matrix=4, stored=4, transient=24.3),
    Compute.AUTOCAST: _PerToken(stream=26, inner=29.35, matrix=6, stored=4, transient=24.3),
    Compute.BF16: _PerToken(stream=16, inner=29.35, matrix=6, stored=2, transient=14.4),
}

# The logits: fp32 log-probabilities are saved, the model's own type is held by its output, and
# their gradient comes on top when backward begins.
_LOGITS = {
    Compute.FP32: (4, 4 + 4 + 4),
    Compute.AUTOCAST: (4, 2 + 4 + 4),
    Compute.BF16: (4, 2 + 4 + 4),
}


# The last norm keeps its input, what it makes of it, and that in bf16 for the head.
_LAST_NORM = 10


@dataclass(frozen=True, slots=True)
class DecoderFormula:
    """Activations of a Llama of a given shape, without running one."""

    shape: Shape
    units: Units
    eager_attention: bool = False
    tensor_parallel: int = 1

    def kept(self, compute: Compute, *, checkpointing: bool, batch: int, sequence: int) -> Kept:
        """Bytes for one step."""
        shape, total = self.shape, self.units.total
        # With adapters (of peft, on queries and values) frozen layers keep no input.
        per = (_ADAPTED_BLOCK if total.trained < total.count / 2 else _LLAMA_BLOCK)[compute]
        tokens = batch * sequence
        wide = tokens * shape.hidden
        block = wide * (per.stream + per.inner / self.tensor_parallel)
        if self.eager_attention:
            pairs = tokens * sequence * shape.heads / self.tensor_parallel
            block += pairs * per.matrix
        saved_logits, peak_logits = (tokens * shape.vocabulary * b for b in _LOGITS[compute])
        transient = wide * per.transient
        # autocast keeps a bf16 copy of every weight of a matrix product until backward is over
        table = shape.vocabulary * shape.hidden
        casts = 2 * (total.trained - table)
        casts = max(0, casts) if compute is Compute.AUTOCAST else 0
        if checkpointing:
            stored = shape.layers * wide * per.stored
            head = min(casts, 2 * table) + wide * _LAST_NORM
            saved = stored + saved_logits + head
            peak = max(stored + block + transient, stored + peak_logits + casts)
        else:
            saved = shape.layers * block + saved_logits + casts
            peak = saved - saved_logits + max(peak_logits, transient)
        return Kept(round(saved), round(max(saved, peak)))


@dataclass(frozen=True, slots=True)
class TextAndImages:
    """A language model and the tower that sees: one is kept while the other runs."""

    text: Activations
    images: Activations

    def kept(self, compute: Compute, *, checkpointing: bool, batch: int, sequence: int) -> Kept:
        """Bytes for one step."""
        text, images = (
            part.kept(compute, checkpointing=checkpointing, batch=batch, sequence=sequence)
            for part in (self.text, self.images)
        )
        return Kept(text.saved + images.saved, max(text.peak + images.saved, images.peak))
