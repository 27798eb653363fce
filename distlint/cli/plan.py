"""`distlint plan`: memory per GPU by strategy, and the smallest change that makes it fit."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import click

from distlint.cli.failure import CannotRun
from distlint.hardware.gpus import GpuQueryError, installed_gpus
from distlint.hardware.memory.model_size import (
    ModelSize,
    ModelSizeError,
    size_from_config,
    size_from_count,
    size_from_factory,
)
from distlint.hardware.memory.plan import Request, make_plan
from distlint.hardware.memory.record import as_json
from distlint.hardware.memory.strategies import Precision
from distlint.hardware.memory.table import render
from distlint.hardware.memory.units import GIB, parse_count, parse_memory
from distlint.reporting.style import style_for


def _count(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    return _parsed(parse_count, value)


def _memory(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    return _parsed(parse_memory, value)


def _parsed(parse: Callable[[str], int], value: str | None) -> int | None:
    try:
        return None if value is None else parse(value)
    except ValueError as error:
        raise CannotRun(str(error)) from None


_POSITIVE = click.IntRange(min=1)


@click.command()
@click.option("--params", callback=_count, help="Number of parameters: 7b, 350m, 6738415616.")
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
    "--gpus", type=_POSITIVE, help="Number of GPUs. Default: those of this machine, or 8."
)
@click.option(
    "--memory",
    callback=_memory,
    help="Memory of one GPU: 80GB (as on its label, 2**30 bytes each). Default: this machine's, "
    "or 80GB.",
)
@click.option(
    "--precision",
    type=click.Choice([p.value for p in Precision]),
    default=Precision.MIXED.value,
    show_default=True,
    help="mixed: bf16 compute with fp32 weights (autocast, MixedPrecisionPolicy, DeepSpeed bf16).",
)
@click.option("--offload", is_flag=True, help="Move to the host what the strategy can move.")
@click.option("--activation-checkpointing", is_flag=True, help="Recompute activations by block.")
@click.option("--batch", type=_POSITIVE, default=1, show_default=True, help="Samples per GPU.")
@click.option("--seq", type=_POSITIVE, default=2048, show_default=True, help="Tokens per sample.")
@click.option("--eager-attention", is_flag=True, help="Attention without SDPA or flash kernels.")
@click.option(
    "--reserve",
    callback=_memory,
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
    offload: bool,
    activation_checkpointing: bool,
    batch: int,
    seq: int,
    eager_attention: bool,
    reserve: int,
    as_record: bool,
) -> None:
    """Show what a training run takes on each GPU, by strategy, and what makes it fit.

    Exit code 0: some strategy fits; 1: none does as asked; 2: the plan could not be made.
    """
    if sum(given is not None for given in (params, config_path, model)) != 1:
        raise CannotRun("give one of --params 7b, --config DIR, --model MODULE:FACTORY")
    try:
        size = _size(params, config_path, model)
    except ModelSizeError as error:
        raise CannotRun(str(error)) from None
    gpus, memory = _hardware(gpus, memory)
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
            sequence=seq,
            eager_attention=eager_attention,
            reserve=reserve,
        )
    )
    if as_record:
        click.echo(json.dumps(as_json(made, size), indent=2))
    else:
        width = shutil.get_terminal_size((100, 24)).columns
        click.echo(render(made, size.name, width=width, style=style_for(sys.stdout)), color=True)
    if made.fitting is None:
        raise SystemExit(1)


def _size(params: int | None, config_path: Path | None, model: str | None) -> ModelSize:
    if params is not None:
        return size_from_count(params)
    if config_path is not None:
        return size_from_config(config_path)
    assert model is not None
    return size_from_factory(model)


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
