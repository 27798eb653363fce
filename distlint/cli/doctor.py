"""`distlint doctor`: looks at this machine before a distributed job starts."""

from __future__ import annotations

import json
import shutil
import sys
import time
from pathlib import Path

import click

from distlint.cli.failure import CannotRun
from distlint.hardware.doctor.checks import CHECKS
from distlint.hardware.doctor.machine import Options
from distlint.hardware.doctor.probing import look_at_machine
from distlint.hardware.doctor.report import as_json, judge, render
from distlint.hardware.memory.units import parse_count
from distlint.reporting.style import style_for


@click.command()
@click.option(
    "--num-processes",
    type=click.IntRange(min=1),
    help="Processes to be started on this machine. Default: the configuration's.",
)
@click.option(
    "--config-file", "--config", metavar="FILE", help="accelerate's configuration to judge."
)
@click.option("--deepspeed-config", metavar="FILE", help="A DeepSpeed JSON to judge.")
@click.option(
    "--script", metavar="FILE", help="The training script: read, with the configuration. Not run."
)
@click.option(
    "--model", metavar="DIR", help="A transformers config.json or its folder, read with them."
)
@click.option("--checkpoint-dir", metavar="DIR", help="Where checkpoints will be written.")
@click.option("--params", metavar="COUNT", help="Parameters of the model to be trained: 7b.")
@click.option(
    "--model-parallel",
    type=click.Choice(["yes", "no", "decide"]),
    default="decide",
    show_default=True,
    help="Whether one model is to be divided over several GPUs.",
)
@click.option(
    "--shm",
    metavar="DIR",
    default="/dev/shm",
    show_default=True,
    help="Where shared memory is mounted.",
)
@click.option("--json", "as_record", is_flag=True, help="Print JSON.")
def doctor(
    num_processes: int | None,
    config_file: str | None,
    deepspeed_config: str | None,
    script: str | None,
    model: str | None,
    checkpoint_dir: str | None,
    params: str | None,
    model_parallel: str,
    shm: str,
    as_record: bool,
) -> None:
    """Check this machine before a distributed job starts.

    Exit code 0: nothing in the way; 1: an error was found; 2: the checks could not run.
    """
    try:
        parameters = None if params is None else parse_count(params)
    except ValueError as problem:
        raise CannotRun(str(problem)) from None
    for option, path in (("--script", script), ("--model", model)):
        if path is not None and not Path(path).exists():
            raise CannotRun(f"{option} {path}: no such file; nothing is fetched from a hub")
    started = time.monotonic()
    try:
        machine = look_at_machine(
            Options(
                num_processes=num_processes,
                config_file=config_file,
                deepspeed_config=deepspeed_config,
                checkpoint_dir=checkpoint_dir,
                shm_path=shm,
                parameters=parameters,
                model_parallel=model_parallel,
                script=script,
                model=model,
            )
        )
    except OSError as problem:
        raise CannotRun(f"processes cannot be started: {problem.strerror or problem}") from None
    report = judge(machine, CHECKS, time.monotonic() - started)
    if as_record:
        click.echo(json.dumps(as_json(report), indent=2))
    else:
        width = shutil.get_terminal_size((100, 24)).columns
        click.echo(render(report, style_for(sys.stdout), max(40, min(width, 140))), color=True)
    raise SystemExit(report.exit_code)
