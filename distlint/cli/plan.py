"""`distlint plan`: memory per GPU by strategy, and the smallest change that makes it fit."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import Any

import click

from distlint.cli.failure import CannotRun
from distlint.hardware.gpus import GpuQueryError, installed_gpus
from distlint.hardware.memory.errors import ModelSizeError
from distlint.hardware.memory.limits import largest_that_fits
from distlint.hardware.memory.model_size import (
    size_from_config,
    size_from_count,
    size_from_factory,
)
from distlint.hardware.memory.optimizers import OPTIMIZERS
from distlint.hardware.memory.plan import Request, make_plan
from distlint.hardware.memory.quantization import FORMATS
from distlint.hardware.memory.record import as_json
from distlint.hardware.memory.sizes import Adaptation, ModelSize
from distlint.hardware.memory.strategies import Precision
from distlint.hardware.memory.table import render
from distlint.hardware.memory.units import GIB, parse_count, parse_memory, parse_whole
from distlint.reporting.style import style_for

# What is more than these is a slip, or a test of the program.
_MOST_GPUS = 1_000_000
_MOST_SAMPLES = 1_000_000
_MOST_TOKENS = 100_000_000
_LEAST_MEMORY = 64 << 20


class _Parsed(click.ParamType):  # type: ignore[type-arg]  # not generic at run time before click 8.3
    """An option's text as a function reads it; what it does not take is one line and exit code 2."""

    def __init__(self, name: str, parse: Callable[[str], Any]) -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, _: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return self._parse(value)
        except ValueError as error:
            option = f"{param.opts[0]}: " if param is not None else ""
            raise CannotRun(f"{option}{error}") from None


def _one_of(names: Collection[str]) -> _Parsed:
    def parse(text: str) -> str:
        if text not in names:
            raise ValueError(f"{text[:40]!r} is none of {', '.join(names)}")
        return text

    return _Parsed("|".join(names), parse)


def _whole(most: int) -> _Parsed:
    return _Parsed("number", partial(parse_whole, most=most))


def _list(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise ValueError("names no layer: write q_proj,v_proj or all-linear")
    return names


_COUNT = _Parsed("count", parse_count)
_MEMORY = _Parsed("size", partial(parse_memory, least=_LEAST_MEMORY))


@click.command()
@click.option("--params", type=_COUNT, help="Number of parameters: 7b, 350m, 6738415616.")
@click.option(
    "--config",
    "config_path",
    type=click.Path(path_type=Path),
    help="A transformers config.json, or its folder; the model is built on the meta device.",
)
@click.option(
    "--model",
    metavar="MODULE:FACTORY",
    help="A callable that returns the model. This imports and runs your code.",
)
@click.option(
    "--gpus",
    type=_whole(_MOST_GPUS),
    help="Number of GPUs. Default: those of this machine, or 8.",
)
@click.option(
    "--memory",
    type=_MEMORY,
    help="Memory of one GPU: 80GB (as on its label, 2**30 bytes each). Default: this machine's, "
    "or 80GB.",
)
@click.option(
    "--precision",
    type=_one_of([p.value for p in Precision]),
    default=Precision.MIXED.value,
    show_default=True,
    help="mixed: bf16 compute with fp32 weights (autocast, MixedPrecisionPolicy, DeepSpeed bf16).",
)
@click.option(
    "--optimizer",
    type=_one_of(OPTIMIZERS),
    default="adam",
    show_default=True,
    help="Whose state is kept; AdamW keeps what Adam keeps.",
)
@click.option("--lora", type=_whole(65_536), help="Train adapters of this rank, not the weights.")
@click.option(
    "--lora-targets", type=_Parsed("names", _list), help="q_proj,v_proj or all-linear; else peft's."
)
@click.option(
    "--quantize",
    type=_one_of([*FORMATS, "none"]),
    help="Format of the frozen linear weights. Default: the config's quantization_config.",
)
@click.option(
    "--freeze",
    multiple=True,
    help="Parameters or modules that are not trained: model.vision_tower, *.embed_tokens.",
)
@click.option("--tp", type=_whole(1024), default="1", help="GPUs that share each layer.")
@click.option("--shard-group", type=_whole(_MOST_GPUS), help="GPUs that share one copy in HSDP.")
@click.option("--offload", is_flag=True, help="Move to the host what the strategy can move.")
@click.option("--activation-checkpointing", is_flag=True, help="Recompute activations by block.")
@click.option(
    "--batch", type=_whole(_MOST_SAMPLES), default="1", show_default=True, help="Samples per GPU."
)
@click.option(
    "--seq",
    type=_whole(_MOST_TOKENS),
    help="Tokens per sample. Default: 2048, or the model's learned positions if they are fewer.",
)
@click.option("--eager-attention", is_flag=True, help="Attention without SDPA or flash kernels.")
@click.option("--largest", is_flag=True, help="Find the largest batch, and the longest sample.")
@click.option(
    "--reserve",
    type=_Parsed("size", partial(parse_memory, least=0)),
    default="1GB",
    show_default=True,
    help="Kept for the CUDA context and NCCL.",
)
@click.option("--json", "as_record", is_flag=True, help="Print JSON, all sizes in bytes.")
def plan(
    params: int | None,
    config_path: Path | None,
    model: str | None,
    gpus: int | None,
    memory: int | None,
    precision: str,
    optimizer: str,
    lora: int | None,
    lora_targets: tuple[str, ...] | None,
    quantize: str | None,
    freeze: tuple[str, ...],
    tp: int,
    shard_group: int | None,
    offload: bool,
    activation_checkpointing: bool,
    batch: int,
    seq: int | None,
    eager_attention: bool,
    largest: bool,
    reserve: int,
    as_record: bool,
) -> None:
    """Show what a training run takes on each GPU, by strategy, and what makes it fit.

    Exit code 0: some strategy fits; 1: none does as asked; 2: the plan could not be made.
    """
    if sum(given is not None for given in (params, config_path, model)) != 1:
        raise CannotRun("give one of --params 7b, --config DIR, --model MODULE:FACTORY")
    if lora_targets and lora is None:
        raise CannotRun("--lora-targets goes with --lora RANK")
    gpus, memory = _hardware(gpus, memory)
    _check_groups(gpus, tp, shard_group)
    adaptation = Adaptation(
        lora=lora,
        lora_targets=lora_targets or (),
        quantize=quantize,
        freeze=freeze,
        tensor_parallel=tp,
        eager_attention=eager_attention,
    )
    try:
        size = _size(params, config_path, model, adaptation)
    except ModelSizeError as error:
        raise CannotRun(str(error)) from None
    made = make_plan(
        Request(
            parameters=size.parameters,
            shape=size.shape,
            gpus=gpus,
            memory=memory,
            precision=Precision(precision),
            offload=offload,
            checkpointing=activation_checkpointing,
            batch=batch,
            sequence=_sequence(seq, size),
            eager_attention=eager_attention,
            reserve=reserve,
            units=size.units,
            activations=size.activations,
            optimizer=OPTIMIZERS[optimizer],
            shard_group=shard_group,
            tensor_parallel=tp,
        )
    )
    most = largest_that_fits(made, size) if largest else None
    if as_record:
        click.echo(json.dumps(as_json(made, size, most), indent=2))
    else:
        width = shutil.get_terminal_size((100, 24)).columns
        text = render(made, size, most, width=width, style=style_for(sys.stdout))
        click.echo(text, color=True)
    if made.fitting is None:
        raise SystemExit(1)


def _size(
    params: int | None, config_path: Path | None, model: str | None, adaptation: Adaptation
) -> ModelSize:
    if params is not None:
        return size_from_count(params, adaptation)
    if config_path is not None:
        return size_from_config(config_path, adaptation)
    assert model is not None
    return size_from_factory(model, adaptation)


def _sequence(asked: int | None, size: ModelSize) -> int:
    """Tokens per sample; 0 for a model that takes none."""
    if size.sequence is None:
        if asked is not None:
            raise CannotRun(f"--seq: {size.name} takes no tokens ({size.sample}); leave it away")
        return 0
    if asked is not None and size.most_tokens is not None and asked > size.most_tokens:
        raise CannotRun(
            f"--seq {asked}: {size.name} has {size.most_tokens} learned positions; give at most "
            "those"
        )
    return asked or size.sequence


def _check_groups(gpus: int, tp: int, shard_group: int | None) -> None:
    if gpus % tp:
        raise CannotRun(f"--tp {tp} does not divide {gpus} GPUs; give a number that does")
    ranks = gpus // tp
    if shard_group is not None and (shard_group >= ranks or ranks % shard_group):
        raise CannotRun(
            f"--shard-group {shard_group}: {ranks} data-parallel GPUs cannot be divided into "
            "several such groups; give a number that divides them"
        )


def _hardware(gpus: int | None, memory: int | None) -> tuple[int, int]:
    """What was asked for; else this machine's GPUs; else eight of 80 GB."""
    if gpus is not None and memory is not None:
        return gpus, memory
    try:
        found = installed_gpus()
    except GpuQueryError as error:
        raise CannotRun(f"{error}; give --gpus and --memory") from None
    smallest = min((gpu.memory for gpu in found if gpu.memory), default=80 * GIB)
    return gpus or len(found) or 8, memory or smallest
