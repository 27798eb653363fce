"""Weights, shape and activations of a model: from a count, a transformers config, or a factory."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import warnings
from pathlib import Path
from typing import Any

from distlint.hardware.memory.activations import (
    DecoderFormula,
    Shape,
    assumed_shape,
    units_of,
)
from distlint.hardware.memory.config_file import about_the_model, one_line, read_config
from distlint.hardware.memory.errors import ModelSizeError
from distlint.hardware.memory.quantization import Format, format_asked, format_of
from distlint.hardware.memory.sizes import Adaptation, ModelSize
from distlint.hardware.memory.weights import Units, Weights


def size_from_count(parameters: int, adaptation: Adaptation) -> ModelSize:
    """The size of a decoder of which only the number of parameters is known.

    Raises:
        ModelSizeError: what is asked for needs the model's modules.
    """
    if adaptation.freeze or adaptation.lora_targets:
        raise ModelSizeError(
            "--freeze and --lora-targets name parts of a model; give --config or --model"
        )
    shape = assumed_shape(parameters)
    format = format_asked(adaptation.quantize)
    _need_adapters(format, adaptation)
    if shape.heads % adaptation.tensor_parallel:
        raise ModelSizeError(
            f"--tp {adaptation.tensor_parallel}: the assumed {shape.heads} heads cannot be divided "
            "by it; give --config"
        )
    units = _assumed_units(shape, parameters, format, adaptation)
    return ModelSize(
        "a decoder",
        parameters,
        units,
        shape,
        DecoderFormula(
            shape,
            units,
            eager_attention=adaptation.eager_attention,
            tensor_parallel=adaptation.tensor_parallel,
        ),
        notes=(
            f"The shape is assumed: {shape.layers} layers of {shape.hidden}, "
            f"{shape.block_parameters / 1e6:,.0f} M parameters each, and a Llama's activations; "
            "--config reads the real ones.",
        ),
    )


def _assumed_units(
    shape: Shape, parameters: int, format: Format | None, adaptation: Adaptation
) -> Units:
    """Everything is divided by tensor parallelism; adapters are on queries and values, as peft's."""
    gpus = adaptation.tensor_parallel
    if adaptation.lora is None:
        whole = units_of(shape, parameters)
        return whole.over(gpus)
    adapters = 2 * 2 * shape.hidden * adaptation.lora
    inside = -(-shape.block_parameters // gpus)
    block = Weights(trained=adapters) + (
        Weights(quantized=inside, quantized_bytes=format.size(inside))
        if format
        else Weights(frozen=inside)
    )
    root = Weights(frozen=-(-shape.root_parameters // gpus))
    total = root
    for _ in range(shape.layers):
        total += block
    return Units(total, block, root, head=Weights(frozen=-(-shape.head_parameters // gpus)))


def size_from_config(path: Path, adaptation: Adaptation) -> ModelSize:
    """The size of the model that a transformers configuration describes.

    The model is built on the meta device in this process: no memory, no weights, no network, and
    no code from the configuration's folder (a configuration whose class is not in transformers is
    refused).

    Args:
        path: a folder with a config.json, or the file itself.
        adaptation: what is done to the model before it is trained.

    Raises:
        ModelSizeError: no such file, not a transformers config, or transformers is missing.
    """
    file, described = read_config(path)
    if adaptation.quantize is None:
        format = format_of(file, described.get("quantization_config"))
    else:
        format = format_asked(adaptation.quantize)
    _need_adapters(format, adaptation)
    _need("torch", "--config")
    _need("transformers", "--config")
    from distlint.hardware.memory.building import build, measure

    def made(tensor_parallel: int) -> Any:
        try:
            return _on_meta(
                lambda: build(
                    about_the_model(described),
                    eager_attention=adaptation.eager_attention,
                    tensor_parallel=tensor_parallel,
                )
            )
        except ModelSizeError as error:
            raise ModelSizeError(f"{file}: {error}") from error
        except Exception as error:  # whatever a model's constructor raises about its own config
            raise ModelSizeError(
                f"{file}: transformers cannot build this model: {_named(error)}"
            ) from error

    model = made(1)
    local = made(adaptation.tensor_parallel) if adaptation.tensor_parallel > 1 else model
    return measure(model, local, adaptation, format)


def size_from_factory(target: str, adaptation: Adaptation) -> ModelSize:
    """The size of the model that `MODULE:CALLABLE` returns, called without arguments on meta.

    This imports and runs the user's code, with the current directory importable: it is only done
    for a name that the user gave.

    Raises:
        ModelSizeError: the name does not resolve, the call fails, or it returns no nn.Module.
    """
    module_name, colon, attribute = target.partition(":")
    if not (module_name and colon and attribute):
        raise ModelSizeError(f"--model {target}: write it as package.module:factory")
    if adaptation.tensor_parallel > 1:
        raise ModelSizeError("--tp divides a model by its configuration; give --config or --params")
    format = format_asked(adaptation.quantize)
    _need_adapters(format, adaptation)
    _need("torch", "--model")
    import torch

    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        factory: Any = importlib.import_module(module_name)
    except Exception as error:  # the user's module may raise anything while it is imported
        raise ModelSizeError(
            f"--model {target}: importing {module_name}: {_named(error)}"
        ) from error
    for name in attribute.split("."):
        if not hasattr(factory, name):
            raise ModelSizeError(f"--model {target}: {module_name} has no {attribute}")
        factory = getattr(factory, name)
    try:
        model = factory if isinstance(factory, torch.nn.Module) else _on_meta(factory)
    except Exception as error:  # the user's factory may raise anything
        raise ModelSizeError(f"--model {target}: calling it on meta: {_named(error)}") from error
    if not isinstance(model, torch.nn.Module):
        raise ModelSizeError(
            f"--model {target}: it returned {type(model).__name__}, not a torch.nn.Module"
        )
    from distlint.hardware.memory.building import measure

    return measure(model, model, adaptation, format)


def _need_adapters(format: Format | None, adaptation: Adaptation) -> None:
    if format is not None and adaptation.lora is None:
        raise ModelSizeError(
            f"the weights are quantized ({format.name}), which cannot be trained: give --lora RANK "
            "to train adapters, or --quantize none to plan for the weights themselves"
        )


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


def _named(error: BaseException) -> str:
    return f"{type(error).__name__}: {one_line(error)}"
