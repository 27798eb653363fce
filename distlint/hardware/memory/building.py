"""Models of transformers on the meta device: built, adapted as they will be trained, and counted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from typing import Any

import torch
from torch import nn

from distlint.hardware.memory.activations import (
    Activations,
    Compute,
    DecoderFormula,
    Shape,
    TextAndImages,
    assumed_shape,
)
from distlint.hardware.memory.config_file import one_line
from distlint.hardware.memory.errors import ModelSizeError
from distlint.hardware.memory.inputs import (
    Fed,
    ImageTower,
    example_inputs,
    fed_to,
    image_inputs,
)
from distlint.hardware.memory.quantization import Format
from distlint.hardware.memory.sizes import USUAL_SEQUENCE, Adaptation, ModelSize
from distlint.hardware.memory.tracing import TraceError, Tracer
from distlint.hardware.memory.weights import Units, Weights


def build(described: dict[str, Any], *, eager_attention: bool, tensor_parallel: int) -> Any:
    """The model that a configuration describes; with tensor parallelism, one GPU's part of it.

    Raises:
        ModelSizeError: transformers has no such model, or it cannot be divided so.
    """
    import transformers

    transformers.logging.set_verbosity_error()
    kind = described["model_type"]
    known = transformers.CONFIG_MAPPING
    if kind not in known:
        raise ModelSizeError(
            f"model_type {kind!r} is not in transformers {transformers.__version__}; pass --model "
            "MODULE:FACTORY or --params"
        )
    config = known[kind].from_dict(described)
    if tensor_parallel > 1:
        _divide(config, tensor_parallel)
    if eager_attention:
        config._attn_implementation = "eager"
    for name in described.get("architectures") or ():
        architecture = getattr(transformers, name, None)
        if isinstance(architecture, type) and issubclass(
            architecture, transformers.PreTrainedModel
        ):
            return architecture(config)
    from_config: Any = transformers.AutoModel.from_config
    return from_config(config, trust_remote_code=False)


# What each GPU of a tensor-parallel group has its share of; the width of a head stays.
_DIVIDED = ("num_attention_heads", "num_key_value_heads", "intermediate_size")
_DIVIDED_IF_THERE = ("moe_intermediate_size", "shared_expert_intermediate_size")


def _divide(config: Any, gpus: int) -> None:
    """Makes `config` that of one GPU's part: its heads and its share of every MLP."""
    text = config.get_text_config()
    if not getattr(text, "base_model_tp_plan", None):
        raise ModelSizeError(
            f"transformers has no tensor-parallel plan for {config.model_type}; leave --tp away"
        )
    heads, width = text.num_attention_heads, text.hidden_size
    head = getattr(text, "head_dim", None) or width // heads
    names = [*_DIVIDED, *(name for name in _DIVIDED_IF_THERE if getattr(text, name, None))]
    for name in names:
        value = getattr(text, name, None) or heads
        if value % gpus:
            raise ModelSizeError(f"--tp {gpus} does not divide {name}, which is {value}")
        setattr(text, name, value // gpus)
    text.head_dim = head


def measure(
    model: nn.Module, local: nn.Module, adaptation: Adaptation, format: Format | None
) -> ModelSize:
    """Counts of a model on meta, and its activations.

    Args:
        model: the whole model.
        local: one GPU's part of it under tensor parallelism, else the same; it is used up.
        adaptation: what is done to it before it is trained.
        format: what its linear layers are quantized in.
    """
    name = type(model).__name__
    whole = sum(p.numel() for p in model.parameters())
    if not whole:
        raise ModelSizeError(f"{name} has no parameters")
    blocks = _blocks(model)
    for each in {id(m): m for m in (model, local)}.values():
        _adapt(each, adaptation)
    if not any(p.requires_grad for p in model.parameters()):
        raise ModelSizeError(f"nothing of {name} is left to train; --freeze covers all of it")
    units = _units(model, blocks, _weigher(model, format, adaptation.tensor_parallel))
    shape = _shape(model, blocks, units)
    fed = fed_to(local) if hasattr(local, "config") else Fed()
    sequence = min(USUAL_SEQUENCE, fed.most_tokens or USUAL_SEQUENCE) if fed.text else None
    formula = DecoderFormula(
        shape,
        units,
        eager_attention=adaptation.eager_attention,
        tensor_parallel=adaptation.tensor_parallel,
    )
    activations: Activations = formula
    notes: tuple[str, ...]
    if not hasattr(local, "config"):
        notes = (f"Activations are a Llama's of this size: {name} is no transformers model.",)
    else:
        activations, notes = _traced(local, fed, sequence or 0, formula)
    return ModelSize(
        name=name,
        parameters=whole,
        units=units,
        shape=shape,
        activations=activations,
        sequence=sequence,
        most_tokens=fed.most_tokens,
        sample=fed.words,
        notes=notes,
    )


def _traced(
    model: Any, fed: Fed, sequence: int, formula: DecoderFormula
) -> tuple[Activations, tuple[str, ...]]:
    """The model's activations by running it on fake tensors, by the formula where it does not run."""
    tracer = Tracer(model, lambda b, s: example_inputs(model, fed, b, s))
    try:
        tracer.kept(Compute.BF16, checkpointing=False, batch=1, sequence=sequence)
    except TraceError as error:
        return formula, (
            f"Activations are a Llama's of this size: {type(model).__name__} does not run on fake "
            f"tensors ({error}).",
        )
    if not (fed.text and fed.image):
        return tracer, ()
    if not hasattr(model, "get_image_features"):
        return tracer, ()
    # Which block's output is taken is an index: none may be missing.
    images = Tracer(ImageTower(model), lambda b, _: image_inputs(fed, b), whole=True)
    try:
        images.kept(Compute.BF16, checkpointing=False, batch=1, sequence=sequence)
    except TraceError as error:
        return tracer, (f"The activations of the image tower are missing ({error}).",)
    return TextAndImages(tracer, images), (
        f"Each sample has one image ({fed.words}), whose tokens are among the --seq.",
    )


def _adapt(model: nn.Module, adaptation: Adaptation) -> None:
    """Freezes what is frozen and adds adapters, as a training script would."""
    for pattern in adaptation.freeze:
        matching = [
            p
            for name, p in model.named_parameters()
            if fnmatchcase(name, pattern) or fnmatchcase(name, f"{pattern}.*")
        ]
        if not matching:
            raise ModelSizeError(
                f"--freeze {pattern}: no parameter or module of {type(model).__name__} is called "
                f"so; the first is {next(model.named_parameters())[0]}"
            )
        for parameter in matching:
            parameter.requires_grad_(False)
    if adaptation.lora is not None:
        _add_adapters(model, adaptation.lora, adaptation.lora_targets)


def _add_adapters(model: nn.Module, rank: int, targets: tuple[str, ...]) -> None:
    try:
        from peft import LoraConfig, inject_adapter_in_model
    except ImportError:
        raise ModelSizeError(
            "--lora puts adapters into the model and needs peft: pip install peft"
        ) from None
    chosen: Any = list(targets) or None
    if chosen == ["all-linear"]:
        chosen = "all-linear"
    try:
        with torch.device("meta"):
            inject_adapter_in_model(LoraConfig(r=rank, target_modules=chosen), model)
    except Exception as error:  # peft raises several kinds about layers that it does not find
        raise ModelSizeError(
            f"--lora: peft cannot adapt {type(model).__name__} ({one_line(error)}); name its layers "
            "with --lora-targets, or all-linear"
        ) from error


def _weigher(
    model: nn.Module, format: Format | None, gpus: int
) -> Callable[[str, torch.Tensor], Weights]:
    """What one parameter is on one GPU."""
    packed = _quantized(model) if format else set()
    divided = _divided_parameters(model) if gpus > 1 else re.compile("$.")

    def weigh(name: str, parameter: torch.Tensor) -> Weights:
        count = parameter.numel()
        if divided.fullmatch(name.replace(".base_layer.", ".")):
            count = -(-count // gpus)
        if parameter.requires_grad:
            return Weights(trained=count)
        if format and id(parameter) in packed:
            return Weights(quantized=count, quantized_bytes=format.size(count))
        return Weights(frozen=count)

    return weigh


def _quantized(model: nn.Module) -> set[int]:
    """Ids of the weights of linear layers, but not of the output layer: as bitsandbytes does."""
    head = getattr(model, "get_output_embeddings", lambda: None)()
    return {
        id(module.weight)
        for module in model.modules()
        if (isinstance(module, nn.Linear) or type(module).__name__ == "Conv1D")
        and module is not head
    }


# Styles of transformers' plans that divide a layer, and whether they divide its bias too.
_STYLES = {
    "colwise": True,
    "colwise_gather_output": True,
    "colwise_rep": True,
    "packed_colwise": True,
    "rowwise": False,
    "rowwise_rep": False,
    "packed_rowwise": False,
    "embedding_rowwise": False,
}


def _divided_parameters(model: Any) -> re.Pattern[str]:
    """Names of the parameters that transformers' tensor-parallel plan divides."""
    patterns = [
        re.escape(place).replace(r"\*", r"\d+")
        + (r"(\.weight|\.bias)?" if _STYLES[style] else r"(\.weight)?")
        for place, style in model.tp_plan.items()
        if style in _STYLES
    ]
    return re.compile("|".join(patterns) or "$.")


def _units(
    model: nn.Module,
    blocks: list[nn.Module],
    weigh: Callable[[str, torch.Tensor], Weights],
) -> Units:
    """Weights as FSDP gathers them: each block by itself, the rest as the root."""
    weights = {id(p): weigh(name, p) for name, p in model.named_parameters()}

    def of(parameters: Iterable[torch.Tensor]) -> Weights:
        ids = dict.fromkeys(id(p) for p in parameters)
        return sum((weights[i] for i in ids), Weights())

    total = of(model.parameters())
    each = [of(block.parameters()) for block in blocks]
    in_blocks = {id(p) for block in blocks for p in block.parameters()}
    outside = [p for p in model.parameters() if id(p) not in in_blocks]
    owners: dict[int, list[nn.Module]] = {}
    for module in model.modules():
        for parameter in module._parameters.values():
            if parameter is not None:
                owners.setdefault(id(parameter), []).append(module)
    late = [p for p in outside if not all(isinstance(m, nn.Embedding) for m in owners[id(p)])]
    return Units(
        total=total,
        block=max(each, key=lambda unit: unit.count, default=total),
        root=of(outside) if blocks else Weights(),
        head=of(late) if blocks else Weights(),
    )


def _blocks(model: Any) -> list[nn.Module]:
    """The repeated blocks: those of `_no_split_modules` (transformers), else the longest list.

    transformers 5.23.0 modeling_utils.py: `_no_split_modules` names the classes that
    accelerate's TRANSFORMER_BASED_WRAP wraps.
    """
    names = set(getattr(model, "_no_split_modules", None) or ())
    named = [m for m in model.modules() if type(m).__name__ in names]
    if named:
        return named
    lists = [list(m) for m in model.modules() if isinstance(m, nn.ModuleList) and len(m)]
    return max(lists, key=lambda ms: sum(p.numel() for m in ms for p in m.parameters()), default=[])


def _shape(model: Any, blocks: list[nn.Module], units: Units) -> Shape:
    config: Any = getattr(model, "config", None)
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    guess = assumed_shape(units.total.count)
    hidden = _number(text, "hidden_size", "n_embd", "d_model")
    return Shape(
        layers=len(blocks) or _number(text, "num_hidden_layers", "n_layer", "num_layers") or 1,
        hidden=hidden or guess.hidden,
        heads=_number(text, "num_attention_heads", "n_head", "num_heads") or guess.heads,
        vocabulary=_number(text, "vocab_size") or 0,
        block_parameters=units.block.count,
        root_parameters=units.root.count,
        head_parameters=units.head.count,
        assumed=hidden is None,
    )


def _number(config: Any, *names: str) -> int | None:
    for name in names:
        value = getattr(config, name, None)
        if isinstance(value, int):
            return value
    return None
