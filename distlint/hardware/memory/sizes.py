"""A model by numbers, and what is asked to be done to it before it is trained."""

from __future__ import annotations

from dataclasses import dataclass

from distlint.hardware.memory.activations import Activations, Shape
from distlint.hardware.memory.weights import Units

# The length of --params and of models without learned positions.
USUAL_SEQUENCE = 2048


@dataclass(frozen=True, slots=True)
class Adaptation:
    """What is done to the model before it is trained.

    Attributes:
        lora: rank of the adapters; None trains the weights themselves.
        lora_targets: names of the layers that get one, or `all-linear`; empty takes peft's choice.
        quantize: a name of FORMATS, `none`, or None for what the configuration says.
        freeze: patterns of names of parameters or modules that are not trained.
        tensor_parallel: GPUs that share each layer.
        eager_attention: no fused attention.
    """

    lora: int | None = None
    lora_targets: tuple[str, ...] = ()
    quantize: str | None = None
    freeze: tuple[str, ...] = ()
    tensor_parallel: int = 1
    eager_attention: bool = False


@dataclass(frozen=True, slots=True)
class ModelSize:
    """A model by numbers.

    Attributes:
        name: for the heading.
        parameters: of the whole model, tied ones once.
        units: weights on one GPU before they are sharded over data-parallel ranks.
        shape: dimensions.
        activations: what a step keeps.
        sequence: tokens per sample if nobody says otherwise; None where it takes no tokens.
        most_tokens: learned positions; None where length has no such end.
        sample: words for a sample that is no text.
        notes: what was assumed, for the end of the output.
    """

    name: str
    parameters: int
    units: Units
    shape: Shape
    activations: Activations
    sequence: int | None = USUAL_SEQUENCE
    most_tokens: int | None = None
    sample: str = ""
    notes: tuple[str, ...] = ()
