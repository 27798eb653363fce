"""`distlint config`: the accelerate configuration for this machine, with comments saying why."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import click

from distlint.cli.failure import CannotRun
from distlint.hardware.accelerate_config.choose import (
    ChoiceError,
    Wishes,
    choose,
    open_strategies,
    warnings_about,
)
from distlint.hardware.accelerate_config.documents import (
    Choice,
    Machines,
    Offload,
    Strategy,
    text_of,
)
from distlint.hardware.gpus import Gpu, GpuQueryError, installed_gpus, visible_gpus

_WHEN = {
    Strategy.DDP: "model, gradients and Adam's state fit on one GPU (see distlint plan)",
    Strategy.FSDP: "they do not: torch shards all three",
    Strategy.ZERO2: "the weights fit, gradients and optimizer do not; needs deepspeed",
    Strategy.ZERO3: "the weights do not fit; needs deepspeed",
}


@click.command()
@click.option(
    "--strategy",
    type=click.Choice([s.value for s in Strategy]),
    help="How the processes share the work. Default: by the hardware.",
)
@click.option(
    "--num-processes",
    metavar="auto|N",
    default="auto",
    show_default=True,
    help="auto: one for each visible GPU.",
)
@click.option(
    "--mixed-precision",
    type=click.Choice(["no", "fp16", "bf16"]),
    help="Default: what the GPUs compute natively.",
)
@click.option(
    "--num-machines",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Machines of the job. --num-processes counts all of them.",
)
@click.option(
    "--machine-rank",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="The machine that the file is for.",
)
@click.option("--main-process-ip", metavar="HOST", help="Where the machines reach rank 0's.")
@click.option(
    "--main-process-port",
    type=click.IntRange(1, 65535),
    default=29500,
    show_default=True,
    help="The port there.",
)
@click.option(
    "--offload",
    type=click.Choice([o.value for o in Offload]),
    default=Offload.NONE.value,
    show_default=True,
    help="What goes to the host's memory. zero2: optimizer; fsdp: all; zero3: both.",
)
@click.option(
    "--wrap",
    metavar="CLASS,CLASS",
    help="Classes of the model's blocks, for FSDP. Default: the model's _no_split_modules.",
)
@click.option(
    "--accumulate",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Batches for each step of the optimizer.",
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="The file. Default: standard output."
)
@click.option("--force", is_flag=True, help="Overwrite the file if it exists.")
@click.option(
    "--other-machine",
    is_flag=True,
    help="Do not look at this machine's GPUs: the file is for another one.",
)
def config(
    strategy: str | None,
    num_processes: str,
    mixed_precision: str | None,
    num_machines: int,
    machine_rank: int,
    main_process_ip: str | None,
    main_process_port: int,
    offload: str,
    wrap: str | None,
    accumulate: int,
    output: Path | None,
    force: bool,
    other_machine: bool,
) -> None:
    """Write the accelerate configuration for this machine.

    Exit code 0: written; 2: it could not be, and why.
    """
    processes = _processes(num_processes)
    if output is not None and output.exists() and not force:
        raise CannotRun(f"{output} exists and is left as it is; --force overwrites it")
    gpus = () if other_machine else _gpus()
    chosen = Strategy(strategy) if strategy else _decide(gpus, other_machine)
    wishes = Wishes(
        Machines(num_machines, machine_rank, main_process_ip, main_process_port),
        Offload(offload),
        _classes(wrap),
        accumulate,
    )
    try:
        choice = choose(
            chosen, gpus, processes, mixed_precision, other_machine=other_machine, wishes=wishes
        )
    except ChoiceError as error:
        raise CannotRun(str(error)) from None
    if output is None:
        click.echo(text_of(choice), nl=False)
    else:
        _write(output, text_of(choice))
        click.echo(f"{output}: {_said(choice)}", err=True)
    for said in warnings_about(choice, gpus):
        click.echo(f"Warning: {said}", err=True)
    if choice.accumulation > 1 and choice.strategy not in (Strategy.ZERO2, Strategy.ZERO3):
        click.echo(
            "accelerate's configuration has no accumulation outside DeepSpeed: start with "
            f"ACCELERATE_GRADIENT_ACCUMULATION_STEPS={choice.accumulation}, as the file says",
            err=True,
        )
    if choice.strategy is Strategy.CPU and choice.processes > 1:
        click.echo(
            "accelerate launch starts one process with this file; start "
            f"{choice.processes} with torchrun --nproc-per-node {choice.processes}",
            err=True,
        )


def _processes(text: str) -> int | None:
    if text == "auto":
        return None
    if not text.isdecimal() or int(text) < 1:
        raise CannotRun(f"--num-processes {text}: write auto or a number from 1 on")
    return int(text)


def _classes(text: str | None) -> tuple[str, ...]:
    names = tuple(name.strip() for name in (text or "").split(",") if name.strip())
    for name in names:
        if not name.isidentifier():
            raise CannotRun(f"--wrap {text}: {name!r} is no class name; write First,Second")
    return names


def _gpus() -> tuple[Gpu, ...]:
    try:
        installed = installed_gpus()
        for gpu in installed:
            if gpu.lost:
                click.echo(f"Warning: nvidia-smi has lost a GPU ({gpu.lost}); see doctor", err=True)
        return visible_gpus(installed, os.environ.get("CUDA_VISIBLE_DEVICES"))
    except GpuQueryError as error:
        raise CannotRun(f"{error}; --other-machine writes a file without looking") from None


def _decide(gpus: tuple[Gpu, ...], other_machine: bool) -> Strategy:
    """The only strategy that this hardware leaves, the user's answer, or the default."""
    options = tuple(_WHEN) if other_machine else open_strategies(gpus)
    if len(options) == 1:
        return options[0]
    if sys.stdin.isatty() and sys.stderr.isatty():
        for option in options:
            click.echo(f"  {option.value:<6} {_WHEN[option]}", err=True)
        answer = click.prompt(
            "Strategy",
            type=click.Choice([option.value for option in options]),
            default=options[0].value,
            err=True,
        )
        return Strategy(answer)
    click.echo(
        f"--strategy {options[0].value} is taken; also possible: "
        f"{', '.join(option.value for option in options[1:])}",
        err=True,
    )
    return options[0]


def _said(choice: Choice) -> str:
    return (
        f"{choice.strategy.value}, {choice.processes} "
        f"process{'es' * (choice.processes > 1)}, {choice.mixed_precision} mixed precision"
    )


def _write(path: Path, text: str) -> None:
    """Write beside the file and rename: an interrupted write leaves the old file."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name + ".")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
            Path(name).chmod(mode)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise CannotRun(f"{path}: {error.strerror or error}") from None
