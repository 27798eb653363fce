"""A config.json from anywhere, read with suspicion: what it may say before a model is built of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from distlint.hardware.memory.errors import ModelSizeError

_MOST_BYTES = 16 << 20

# Numbers that make loops or Python objects while a model is built, and the most of each: a model
# on the meta device has no size, but a million blocks take a million constructors.
_MOST_OF = {
    "layers": 10_000,
    "n_layer": 10_000,
    "depth": 10_000,
    "blocks": 10_000,
    "experts": 10_000,
    "labels": 1_000_000,
    "heads": 1_000_000,
    "codebooks": 10_000,
}
_LARGEST_NUMBER = 10**12

# What a configuration says about loading, not about the model; `auto_map` names foreign code.
_ABOUT_LOADING = frozenset(
    {"auto_map", "dtype", "torch_dtype", "quantization_config", "attn_implementation"}
    | {"_attn_implementation", "_attn_implementation_internal", "_name_or_path", "device_map"}
)


def read_config(path: Path) -> tuple[Path, dict[str, Any]]:
    """The file and its object, checked.

    Args:
        path: a folder with a config.json, or the file itself.

    Raises:
        ModelSizeError: it cannot be read, or is no configuration that a model can be built of.
    """
    file = path / "config.json" if path.is_dir() else path
    try:
        if file.exists() and not file.is_file():
            raise ModelSizeError(f"{file}: not a regular file; give a config.json or its folder")
        size = file.stat().st_size
        if size > _MOST_BYTES:
            raise ModelSizeError(f"{file}: {size:,} bytes is no config.json; give one")
        described = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelSizeError(
            f"{file}: {error.strerror or error}: give a config.json or its folder"
        ) from error
    except RecursionError:
        raise ModelSizeError(f"{file}: nested too deeply for a config.json") from None
    except ValueError as error:
        raise ModelSizeError(f"{file}: not JSON ({one_line(error)})") from error
    if not isinstance(described, dict) or not isinstance(described.get("model_type"), str):
        raise ModelSizeError(
            f"{file}: no model_type in it, so this is not a transformers config; give the "
            "config.json beside the model's weights"
        )
    architectures = described.get("architectures")
    if architectures is not None and not (
        isinstance(architectures, list) and all(isinstance(name, str) for name in architectures)
    ):
        raise ModelSizeError(f"{file}: architectures is not a list of class names")
    for key, number in _numbers(described):
        most = min(
            (most for word, most in _MOST_OF.items() if word in key), default=_LARGEST_NUMBER
        )
        if isinstance(number, int) and not -_LARGEST_NUMBER <= number <= most:
            raise ModelSizeError(f"{file}: {key} is {_shown(number)}; no model has that many")
        if number != number:
            raise ModelSizeError(f"{file}: {key} is not a number (NaN)")
    return file, described


def about_the_model(described: dict[str, Any]) -> dict[str, Any]:
    """The same configuration without what concerns loading, at every level."""
    return {
        key: about_the_model(value) if isinstance(value, dict) else value
        for key, value in described.items()
        if key not in _ABOUT_LOADING
    }


def one_line(error: BaseException) -> str:
    """An error's first line, cut where it is long."""
    text = str(error).strip().splitlines()
    return text[0][:200] if text else type(error).__name__


def _numbers(described: Any, key: str = "") -> Iterator[tuple[str, int | float]]:
    """Every number with the name it stands under."""
    if isinstance(described, dict):
        for name, value in described.items():
            yield from _numbers(value, name)
    elif isinstance(described, list):
        for value in described:
            yield from _numbers(value, key)
    elif isinstance(described, int | float) and not isinstance(described, bool):
        yield key, described


def _shown(number: int) -> str:
    """A number, without the digits of an absurd one."""
    bits = number.bit_length()
    return f"{number:,}" if bits < 64 else f"a number of {bits} bits"
