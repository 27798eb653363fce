"""Activations of a transformer, by formula: an estimate, and marked as one wherever it is shown.

Korthikanti, Casper, Lym, McAfee, Andersch, Shoeybi, Catanzaro: "Reducing Activation Recomputation
in Large Transformer Models", 2022, arXiv:2205.05198. Equation 1: a layer keeps
s*b*h * (34 + 5*a*s/h) bytes in 16-bit precision; section 5: with full recomputation, 2*s*b*h;
section 4.3: the logits, 4*s*b*v. The formula is that of a GPT layer with a 4h MLP and dropout.
"""

from __future__ import annotations

from dataclasses import dataclass

from distlint.hardware.memory.strategies import Precision

SOURCE = "Korthikanti et al. 2022, arXiv:2205.05198, equation 1"


@dataclass(frozen=True, slots=True)
class Shape:
    """The dimensions that activations depend on.

    Attributes:
        layers: number of transformer blocks (L).
        hidden: width of the residual stream (h).
        heads: attention heads (a).
        vocabulary: size of the output layer (v); 0 for a model without one.
        block_parameters: parameters of the largest block.
        assumed: the shape was guessed from a parameter count.
    """

    layers: int
    hidden: int
    heads: int
    vocabulary: int
    block_parameters: int
    assumed: bool = False


def assumed_shape(parameters: int) -> Shape:
    """The shape that a decoder of this many parameters usually has.

    12 * L * h**2 parameters with h = 128 * L, heads of 128 and 32,000 tokens: within 5 % of the
    published shapes of Llama 7B (32 layers of 4096) and 13B (40 of 5120).
    """
    layers = max(1, round((parameters / (12 * 128**2)) ** (1 / 3)))
    hidden = 128 * layers
    return Shape(
        layers=layers,
        hidden=hidden,
        heads=layers,
        vocabulary=32_000,
        block_parameters=-(-parameters // layers),
        assumed=True,
    )


def activation_bytes(
    shape: Shape,
    *,
    batch: int,
    sequence: int,
    precision: Precision,
    checkpointing: bool,
    eager_attention: bool = False,
) -> int:
    """Bytes of activations that one GPU holds at the end of forward.

    Args:
        shape: of the model.
        batch: samples per GPU and step (b).
        sequence: tokens per sample (s).
        precision: fp32 doubles every term but the dropout masks.
        checkpointing: only each block's input is kept, and one block is recomputed at a time.
        eager_attention: the a*s*s attention matrix is kept; fused attention (SDPA, flash) does not.
    """
    tokens = sequence * batch
    wide = precision is Precision.FP32
    # 34 = 16 values of two bytes and two dropout masks of one; 5 = two values and one mask.
    layer = tokens * shape.hidden * (66 if wide else 34)
    if eager_attention:
        layer += shape.heads * sequence * tokens * (9 if wide else 5)
    if checkpointing:
        kept = tokens * shape.hidden * (4 if wide else 2)
        blocks = shape.layers * kept + layer
    else:
        blocks = shape.layers * layer
    return blocks + 4 * tokens * shape.vocabulary
