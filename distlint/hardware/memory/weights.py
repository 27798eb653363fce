"""A model's weights by what training does with them, and by the units that FSDP gathers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Weights:
    """Parameters, tied ones counted once.

    Attributes:
        trained: parameters with a gradient and optimizer state.
        frozen: parameters without either, kept in the compute type.
        quantized: frozen parameters that are kept in a quantized format.
        quantized_bytes: what that format takes for them, scales included.
    """

    trained: int = 0
    frozen: int = 0
    quantized: int = 0
    quantized_bytes: int = 0

    @property
    def count(self) -> int:
        """All of them."""
        return self.trained + self.frozen + self.quantized

    def gathered(self, compute_bytes: int) -> int:
        """Bytes of these weights unsharded: in the compute type, or as they are quantized."""
        return compute_bytes * (self.trained + self.frozen) + self.quantized_bytes

    def __add__(self, other: Weights) -> Weights:
        return Weights(
            self.trained + other.trained,
            self.frozen + other.frozen,
            self.quantized + other.quantized,
            self.quantized_bytes + other.quantized_bytes,
        )

    def __sub__(self, other: Weights) -> Weights:
        return Weights(
            self.trained - other.trained,
            self.frozen - other.frozen,
            self.quantized - other.quantized,
            self.quantized_bytes - other.quantized_bytes,
        )


@dataclass(frozen=True, slots=True)
class Units:
    """The model as FSDP gathers it: block by block, and what is outside of the blocks as one.

    Attributes:
        total: all weights.
        block: of the largest block.
        root: outside of all blocks (embeddings, the last norm, the head); FSDP's root unit.
        head: the part of the root that is used after the blocks, so that its gradient exists
            while they run backward.
    """

    total: Weights
    block: Weights
    root: Weights
    head: Weights

    def over(self, gpus: int) -> Units:
        """The part of one of so many GPUs that share every trained weight evenly."""
        return Units(
            *(
                Weights(trained=-(-part.trained // gpus))
                for part in (self.total, self.block, self.root, self.head)
            )
        )
