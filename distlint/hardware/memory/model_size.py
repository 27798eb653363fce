"""Parameters and shape of a model: from a count, a transformers config, or a factory."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from distlint.hardware.memory.activations import Shape, assumed_shape


class ModelSizeError(Exception):
    """The model's size cannot be had; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class ModelSize:
    """A model by numbers: name for the heading, parameters (tied ones once), shape."""

    name: str
    parameters: int
    shape: Shape


def size_from_count(parameters: int) -> ModelSize:
    """The size of a model of which only the number of parameters is known; the shape is assumed."""
    return ModelSize("a decoder", parameters, assumed_shape(parameters))


def size_from_config(path: Path) -> ModelSize:
    """The size of the model that a transformers configuration describes.

    The model is built on the meta device in this process: no memory, no weights, no network, and
    no code from the configuration's folder (a configuration with `auto_map` and no class in
    transformers is refused).

    Args:
        path: a folder with a config.json, or the file itself.

    Raises:
        ModelSizeError: no such file, not a transformers config, or transformers is missing.
    """
    file = path / "config.json" if path.is_dir() else path
    try:
        described = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelSizeError(
            f"{file}: {error.strerror or error}: give a config.json or its folder"
        ) from error
    except ValueError as error:
        raise ModelSizeError(f"{file}: not JSON ({error})") from error
    if not isinstance(described, dict) or "model_type" not in described:
        raise ModelSizeError(f"{file}: no model_type in it, so this is not a transformers config")
    _need("transformers", "--config")
    _need("torch", "--config")
    import transformers

    known = transformers.CONFIG_MAPPING
    if described["model_type"] not in known:
        raise ModelSizeError(
            f"{file}: model_type {described['model_type']!r} is not in transformers "
            f"{transformers.__version__}; pass --model MODULE:FACTORY or --params"
        )
    try:
        config = known[described["model_type"]].from_dict(described)
        model = _on_meta(lambda: _build(transformers, config, described.get("architectures")))
    except Exception as error:  # whatever a model's constructor raises about its own config
        raise ModelSizeError(
            f"{file}: transformers cannot build this model: {_first_line(error)}"
        ) from error
    return _measure(model, type(model).__name__)


def size_from_factory(target: str) -> ModelSize:
    """The size of the model that `MODULE:CALLABLE` returns, called without arguments on meta.

    This imports and runs the user's code, with the current directory importable: it is only done
    for a name that the user gave.

    Raises:
        ModelSizeError: the name does not resolve, the call fails, or it returns no nn.Module.
    """
    module_name, colon, attribute = target.partition(":")
    if not (module_name and colon and attribute):
        raise ModelSizeError(f"--model {target}: write it as package.module:factory")
    _need("torch", "--model")
    import torch

    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        factory: Any = importlib.import_module(module_name)
    except Exception as error:  # the user's module may raise anything while it is imported
        raise ModelSizeError(
            f"--model {target}: importing {module_name}: {_first_line(error)}"
        ) from error
    for name in attribute.split("."):
        if not hasattr(factory, name):
            raise ModelSizeError(f"--model {target}: {module_name} has no {attribute}")
        factory = getattr(factory, name)
    try:
        model = factory if isinstance(factory, torch.nn.Module) else _on_meta(factory)
    except Exception as error:  # the user's factory may raise anything
        raise ModelSizeError(
            f"--model {target}: calling it on meta: {_first_line(error)}"
        ) from error
    if not isinstance(model, torch.nn.Module):
        raise ModelSizeError(
            f"--model {target}: it returned {type(model).__name__}, not a torch.nn.Module"
        )
    return _measure(model, type(model).__name__)


def _need(package: str, option: str) -> None:
    if importlib.util.find_spec(package) is None:
        raise ModelSizeError(
            f"{option} builds the model on the meta device and needs {package}: "
            f"pip install {package}, or pass --params"
        )


def _on_meta(build: Any) -> Any:
    import torch

    with torch.device("meta"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return build()


def _build(transformers: Any, config: Any, architectures: list[str] | None) -> Any:
    """The class that the config names, else the plain model of its type."""
    for name in architectures or ():
        architecture = getattr(transformers, name, None)
        if architecture is not None:
            return architecture(config)
    return transformers.AutoModel.from_config(config, trust_remote_code=False)


def _measure(model: Any, name: str) -> ModelSize:
    """Counts of a built model; its blocks are the modules that FSDP would wrap."""
    parameters = sum(p.numel() for p in model.parameters())
    if not parameters:
        raise ModelSizeError(f"{name} has no parameters")
    sizes = [sum(p.numel() for p in block.parameters()) for block in _blocks(model)]
    config: Any = getattr(model, "config", None)
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    guess = assumed_shape(parameters)
    shape = Shape(
        layers=_number(text, "num_hidden_layers", "n_layer", "num_layers") or len(sizes) or 1,
        hidden=_number(text, "hidden_size", "n_embd", "d_model") or guess.hidden,
        heads=_number(text, "num_attention_heads", "n_head", "num_heads") or guess.heads,
        vocabulary=_number(text, "vocab_size") or 0,
        block_parameters=max(sizes, default=parameters),
        assumed=_number(text, "hidden_size", "n_embd", "d_model") is None,
    )
    return ModelSize(name, parameters, shape)


def _blocks(model: Any) -> list[Any]:
    """The repeated blocks: those of `_no_split_modules` (transformers), else the longest list.

    transformers 5.23.0 modeling_utils.py: `_no_split_modules` names the classes that
    accelerate's TRANSFORMER_BASED_WRAP wraps.
    """
    import torch

    names = set(getattr(model, "_no_split_modules", None) or ())
    named = [m for m in model.modules() if type(m).__name__ in names]
    if named:
        return named
    lists = [list(m) for m in model.modules() if isinstance(m, torch.nn.ModuleList) and len(m)]
    return max(lists, key=lambda ms: sum(p.numel() for m in ms for p in m.parameters()), default=[])


def _number(config: Any, *names: str) -> int | None:
    for name in names:
        value = getattr(config, name, None)
        if isinstance(value, int):
            return value
    return None


def _first_line(error: BaseException) -> str:
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0]}" if text else type(error).__name__
