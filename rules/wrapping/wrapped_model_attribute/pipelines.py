"""Wrapped models that are handed to a pipeline of diffusers, which takes models of its own classes only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.interpreter.ir import CallSite

if TYPE_CHECKING:
    from distlint.analysis.interpreter.values import Wrap
    from distlint.analysis.model import Model

_PARTS: Final = frozenset(
    {"unet", "transformer", "text_encoder", "text_encoder_2", "vae", "controlnet"}
)
_REFUSED: Final = frozenset({"ddp", "accelerate"})


def handed_to_pipelines(model: Model) -> Iterator[tuple[CallSite, dict[str, Wrap]]]:
    """The calls that load a pipeline around wrapped models: the call, and the wraps of its parts by their names.

    A part of another class raises ValueError (diffusers issue 2966).
    """
    for call in model.calls(".from_pretrained"):
        site = call.site
        if "ipeline" not in site.name:
            continue
        wrapped = {
            name: value.wraps[-1]
            for name, value in site.keywords.items()
            if name in _PARTS and value.wraps and value.wraps[-1].kind in _REFUSED
        }
        if wrapped:
            yield site, wrapped
