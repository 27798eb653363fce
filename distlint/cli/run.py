"""`distlint run`: a script on several processes under the rank sanitizer. It executes the script."""

from __future__ import annotations

import dataclasses
import json
import shlex
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import NoReturn

import click

from distlint.cli.failure import CannotRun
from distlint.hardware.sanitizer import (
    between_runs,
    findings,
    flight_recorder,
    report,
    startup,
    supervision,
)
from distlint.hardware.sanitizer.launcher import MODULES, Launcher
from distlint.hardware.sanitizer.ranks import Plan

DIVERGED = 3
"""Exit status when the ranks diverged or stalled."""


def _two_sizes(
    context: click.Context, option: click.Parameter, value: str | None
) -> tuple[int, int] | None:
    """The numbers of ranks of `--compare`."""
    if value is None:
        return None
    few, _, many = value.partition(",")
    try:
        sizes = int(few), int(many)
    except ValueError:
        sizes = (0, 0)
    if not 1 <= sizes[0] < sizes[1] <= 256:
        raise click.BadParameter("two numbers of ranks, the smaller one first, as in 1,2")
    return sizes


_WATCHING = (
    click.option(
        "--stall-timeout",
        type=click.FloatRange(min=0.5),
        default=15.0,
        show_default=True,
        help="Seconds after which idle ranks that all wait for one another count as stalled.",
    ),
    click.option(
        "--patience",
        type=click.FloatRange(min=1.0),
        # NCCL's watchdog aborts after ten minutes: be first, while the stacks can still be had.
        default=540.0,
        show_default=True,
        help="The same where some rank computes, sleeps or reads while others wait.",
    ),
    click.option(
        "--notice",
        type=click.FloatRange(min=0.5),
        default=5.0,
        show_default=True,
        help="Seconds of waiting after which a line says who waits where.",
    ),
    click.option(
        "--replicas",
        is_flag=True,
        help="Compare the parameters of DDP's modules on all ranks after each optimizer step.",
    ),
)


_WATCHING_NAMES = frozenset({"stall_timeout", "patience", "notice", "replicas"})


def watching(command: Callable[..., None]) -> Callable[..., None]:
    """The options that say how ranks are watched, whoever starts them."""
    for option in reversed(_WATCHING):
        command = option(command)
    return command


@click.command(
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    short_help="Run a script on several processes and name the first divergence.",
)
@click.option("-n", "--nproc", type=click.IntRange(1, 256), help="How many ranks.")
@click.option(
    "--backend",
    type=click.Choice(["gloo", "nccl"]),
    help="Use this backend in init_process_group, whatever the script asks for.",
)
@click.option("-m", "as_module", is_flag=True, help="SCRIPT is a module, as with `python -m`.")
@watching
@click.option(
    "--log-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep what each rank prints in this folder, as rank0.log, rank1.log, …",
)
@click.option(
    "--compare",
    metavar="M,N",
    callback=_two_sizes,
    help="Run the script on M ranks, then on N, and say where training parts: 1,2 for example.",
)
@click.option(
    "--launcher",
    type=click.Choice(list(MODULES)),
    help="Have this launcher start the ranks; its arguments follow after `--`.",
)
@click.option(
    "--read",
    "dumps",
    type=click.Path(exists=True, path_type=Path),
    help="Run nothing: read the dumps of torch's flight recorder in this folder.",
)
@click.option(
    "--environment",
    is_flag=True,
    help="Run nothing: print what to set to have ranks watched under any launcher.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object; the script prints to stderr."
)
@click.argument("script", required=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def run(
    nproc: int | None,
    backend: str | None,
    as_module: bool,
    stall_timeout: float,
    patience: float,
    notice: float,
    log_dir: Path | None,
    replicas: bool,
    compare: tuple[int, int] | None,
    launcher: str | None,
    dumps: Path | None,
    environment: bool,
    as_json: bool,
    script: str | None,
    arguments: tuple[str, ...],
) -> None:
    """Run SCRIPT on several processes of this machine and name the first divergence of the ranks.

    THIS EXECUTES SCRIPT, as `torchrun --nproc-per-node N SCRIPT` would.

    Exit status: 3 when the ranks diverged or stalled, else the script's own.
    """
    if environment:
        if script is not None or nproc is not None:
            raise click.UsageError("--environment runs nothing: leave out the script and -n")
        click.echo(_environment())
        return
    if dumps is not None:
        if script is not None or nproc is not None or compare is not None:
            raise click.UsageError("--read runs nothing: leave out the script, -n and --compare")
        result = _compared(dumps)
        if result.divergence is None and not as_json:
            click.echo(report.no_divergence(result))
        say(result, as_json)
    if script is None:
        raise click.UsageError("Missing argument 'SCRIPT'.")
    if compare is not None and (nproc is not None or launcher is not None):
        raise click.UsageError("--compare starts its own ranks: leave out -n and --launcher")
    command: tuple[str, ...] = (script, *arguments)
    if launcher is not None:
        if nproc is not None or backend is not None or log_dir is not None or as_module:
            raise click.UsageError(
                "with --launcher, ranks, backend, module and logs are the launcher's: "
                "give its own options after `--`"
            )
        _check_module(MODULES[launcher].partition(".")[0], f"--launcher {launcher}")
    elif nproc is None and compare is None:
        raise click.UsageError("Missing option '-n' / '--nproc'.")
    else:
        _check(script, as_module)
        command = ("module" if as_module else "script", *command)
    plan = Plan(
        command=command,
        ranks=nproc or 0,
        backend=backend,
        stall=stall_timeout,
        patience=patience,
        output_to_stderr=as_json,
        notice=notice,
        replicas=replicas,
        logs=log_dir,
    )
    if compare is not None:
        _compare(plan, compare, as_json)
    say(_supervised(plan, launcher), as_json)


def _supervised(plan: Plan, launcher: str | None = None) -> supervision.Result:
    """Run the ranks; exits where they could not be started, or on Ctrl-C."""
    try:
        if launcher is not None:
            started = Launcher(launcher, plan, _watching_options())
            result = supervision.run_launched(plan, started, listener())
        else:
            result = supervision.run(plan, listener())
    except KeyboardInterrupt:
        click.echo("distlint run: interrupted; all ranks are ended", err=True)
        sys.exit(130)
    except OSError as error:
        raise CannotRun(f"the ranks could not be started: {error}") from error
    for state in result.ranks:
        if state.torn_down:
            click.echo(f"distlint run: {report.torn_down(state)}", err=True)
    return result


def _watching_options() -> str:
    """Those of the options that say how to watch which are not as they would be anyway."""
    context = click.get_current_context()
    words: list[str] = []
    for option in context.command.params:
        value = context.params.get(option.name or "")
        if option.name in _WATCHING_NAMES and value != option.get_default(context):
            words += [option.opts[0]] if value is True else [option.opts[0], str(value)]
    return " ".join(words)


def _environment() -> str:
    """Commands for a shell."""
    folder, options = shlex.quote(str(startup.FOLDER)), shlex.quote(_watching_options() or "1")
    return (
        f"export PYTHONPATH={folder}${{PYTHONPATH:+:$PYTHONPATH}}\n"
        f"export {startup.VARIABLE}={options}"
    )


def _compare(plan: Plan, sizes: tuple[int, int], as_json: bool) -> NoReturn:
    """Run the script on one number of ranks, then on the other, and say where they part; exits."""
    logs: list[dict[int, between_runs.Log]] = []
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="distlint-run-") as folder:
            logs_of_size = plan.logs / f"{size}-ranks" if plan.logs is not None else None
            result = _supervised(
                dataclasses.replace(plan, ranks=size, training=Path(folder), logs=logs_of_size)
            )
            if _status(result):
                say(result, as_json)
            logs.append(between_runs.read(Path(folder)))
    parting = between_runs.compare(*logs)
    status = DIVERGED if parting.parted else 0
    stacks = [remark.stack for remark in parting.parted if remark.stack]
    found, why_not = findings.findings_at(stacks)
    if why_not is not None:
        click.echo(f"distlint run: {why_not}", err=True)
    if as_json:
        click.echo(json.dumps(report.parting_object(parting, found, status), indent=2))
    else:
        click.echo(report.parting_text(sizes, parting, found), err=bool(status))
        if status and not found and why_not is None:
            click.echo("\n" + report.SILENT, err=True)
    sys.exit(status)


def _compared(path: Path) -> supervision.Result:
    try:
        return flight_recorder.compare_dumps(flight_recorder.dump_files(path))
    except flight_recorder.NotADump as error:
        raise CannotRun(f"{error}") from error
    except OSError as error:
        raise CannotRun(f"{path}: cannot be read: {error.strerror}") from error


def say(result: supervision.Result, as_json: bool) -> None:
    """Report on a run, with what `distlint check` says there; exits."""
    status = _status(result)
    found: list[findings.RuleFinding] = []
    why_not: str | None = None
    if result.divergence is not None:
        found, why_not = findings.findings_at(report.stacks_of(result))
        if why_not is not None:
            click.echo(f"distlint run: {why_not}", err=True)
    if as_json:
        click.echo(json.dumps(report.as_object(result, found, status), indent=2))
    elif result.lost:
        click.echo(report.LOST, err=True)
    elif result.divergence is not None or result.failed is not None:
        click.echo(report.as_text(result, found), err=True)
        if result.divergence is not None and why_not is None and not found:
            click.echo("\n" + report.SILENT, err=True)
    sys.exit(status)


def listener() -> supervision.Listener:
    """Tells on standard error, SIGUSR1 asks; SIGTERM leaves through the regular way out."""
    listening = supervision.Listener(
        waiting=lambda states, seconds: click.echo(report.waiting_text(states, seconds), err=True),
        stacks=lambda states: click.echo(report.stacks_text(states), err=True),
    )

    def asked(number: int, frame: FrameType | None) -> None:
        listening.wants_stacks = True

    signal.signal(signal.SIGTERM, _terminated)
    signal.signal(signal.SIGUSR1, asked)
    return listening


def _terminated(number: int, frame: FrameType | None) -> None:
    """Leave through the regular way out, which ends the ranks."""
    raise SystemExit(128 + number)


def _check(script: str, as_module: bool) -> None:
    """Say what is wrong before N processes say it each."""
    _check_module("torch", "`distlint run`")
    if sys.platform == "win32":
        raise CannotRun("`distlint run` works on Linux and macOS; here, use WSL")
    if not as_module and not Path(script).is_file():
        raise CannotRun(f"{script}: no such file; for a module of that name add -m")
    if as_module and not _is_there(script.partition(".")[0]):
        raise CannotRun(f"{script}: no such module here; give its name, as in mypackage.train")


def _is_there(package: str) -> bool:
    """Whether the ranks find a module, in the working directory or installed. Imports nothing."""
    import importlib.util
    from importlib.machinery import PathFinder

    if not package.isidentifier():
        return False
    here = PathFinder.find_spec(package, [str(Path.cwd())])
    return here is not None or importlib.util.find_spec(package) is not None


def _check_module(name: str, who: str) -> None:
    import importlib.util

    if importlib.util.find_spec(name) is None:
        install = "'torch>=2.4' accelerate" if name == "torch" else name
        raise CannotRun(f"{who} needs {name}: pip install {install}")


def _status(result: supervision.Result) -> int:
    if result.divergence is not None:
        return DIVERGED
    if result.lost:
        return 1
    if result.launcher_status is not None:
        return (
            result.launcher_status if result.launcher_status >= 0 else 128 - result.launcher_status
        )
    if result.failed is not None:
        status = result.failed_state.status or 1
        return status if status > 0 else 128 - status
    return 0
