"""What a transformers model is fed in a training step, by its forward's signature and its config."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn


@dataclass(frozen=True, slots=True)
class Fed:
    """What one sample of a model is.

    Attributes:
        text: it takes tokens.
        image: (channels, height, width), or None.
        sound: (mel bins, frames), or None.
        most_tokens: its learned positions; None where length has no such end.
    """

    text: bool = True
    image: tuple[int, int, int] | None = None
    sound: tuple[int, int] | None = None
    most_tokens: int | None = None

    @property
    def words(self) -> str:
        """The sample, where it is no text."""
        if self.image:
            return f"{self.image[1]} x {self.image[2]} pixels"
        return f"{self.sound[1]} frames" if self.sound else ""


def fed_to(model: nn.Module) -> Fed:
    """What `model` (of transformers) takes."""
    names = inspect.signature(model.forward).parameters
    config = model.config
    return Fed(
        text="input_ids" in names,
        image=_image(config) if "pixel_values" in names else None,
        sound=_sound(config) if "input_features" in names else None,
        most_tokens=_learned_positions(model) if "input_ids" in names else None,
    )


def example_inputs(
    model: nn.Module, fed: Fed, batch: int, sequence: int
) -> Iterator[dict[str, Any]]:
    """Keyword arguments for one step, the ones with a loss first; the caller takes what works.

    An image that belongs to a text is left to its own tower: where its features go among the
    tokens depends on the values of the tokens, which fake tensors do not have.
    """
    names = inspect.signature(model.forward).parameters
    tokens = torch.zeros(batch, sequence, dtype=torch.long)
    base: dict[str, Any] = {}
    if fed.text:
        base["input_ids"] = tokens
        if "use_cache" in names:
            base["use_cache"] = False
    elif fed.image:
        base["pixel_values"] = torch.zeros(batch, *fed.image)
    if fed.sound:
        base["input_features"] = torch.zeros(batch, *fed.sound)
    decoder = {"decoder_input_ids": tokens} if "decoder_input_ids" in names else {}
    if "labels" in names:
        each = torch.zeros(batch, dtype=torch.long)
        for labels in (tokens, each) if fed.text or decoder else (each,):
            yield {**base, "labels": labels}
    yield {**base, **decoder}
    if fed.text and fed.image:
        yield {**base, **decoder, "pixel_values": torch.zeros(batch, *fed.image)}


class ImageTower(nn.Module):
    """The part of a model that makes features of an image, as a model of its own."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, pixel_values: torch.Tensor) -> Any:
        """The features, as the language model takes them."""
        return self.model.get_image_features(pixel_values=pixel_values)  # type: ignore[operator]

    def gradient_checkpointing_enable(self, **options: Any) -> None:
        """As transformers does."""
        self.model.gradient_checkpointing_enable(**options)  # type: ignore[operator]

    def gradient_checkpointing_disable(self) -> None:
        """As transformers does."""
        self.model.gradient_checkpointing_disable()  # type: ignore[operator]


def image_inputs(fed: Fed, batch: int) -> Iterator[dict[str, Any]]:
    """One image for each sample."""
    assert fed.image is not None
    yield {"pixel_values": torch.zeros(batch, *fed.image)}


def _image(config: Any) -> tuple[int, int, int] | None:
    vision = getattr(config, "vision_config", None) or config
    size = getattr(vision, "image_size", None)
    channels = getattr(vision, "num_channels", None) or getattr(vision, "in_channels", None) or 3
    match size:
        case int():
            return channels, size, size
        case [int() as height, int() as width]:
            return channels, height, width
        case _:
            return None


def _sound(config: Any) -> tuple[int, int] | None:
    """Whisper's encoder halves the frames with its second convolution."""
    bins = getattr(config, "num_mel_bins", None)
    positions = getattr(config, "max_source_positions", None)
    if isinstance(bins, int) and isinstance(positions, int):
        return bins, 2 * positions
    return None


# A table of learned positions ends the length; rotary, relative and ALiBi positions do not.
_POSITION_TABLES = frozenset(
    {"wpe", "position_embeddings", "position_embedding", "embed_positions", "pos_emb"}
)


def _learned_positions(model: nn.Module) -> int | None:
    """The fewest positions of the tables that index tokens; offsets as OPT's and RoBERTa's go off."""
    vision = next(
        (part for name, part in model.named_modules() if name.endswith(("vision_tower", "visual"))),
        None,
    ) or next((p for n, p in model.named_modules() if n.endswith("vision_model")), None)
    of_images = set(vision.modules()) if vision is not None else set()
    sizes = [
        module.num_embeddings
        - (2 if hasattr(module, "offset") else 0)
        - ((module.padding_idx or 0) + 1 if module.padding_idx is not None else 0)
        for name, module in model.named_modules()
        if isinstance(module, nn.Embedding)
        and name.rpartition(".")[2] in _POSITION_TABLES
        and module not in of_images
    ]
    return min(sizes, default=None)
