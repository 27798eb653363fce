"""Which strategy, how many processes and which precision: from the hardware and what was asked."""

from __future__ import annotations

from collections.abc import Sequence

from distlint.hardware.accelerate_config.documents import Choice, Strategy
from distlint.hardware.gpus import Gpu

# bf16 arithmetic is native from compute capability 8.0 (torch 2.13.0, cuda/__init__.py,
# is_bf16_supported with including_emulation=False).
_BF16_FROM = (8, 0)


class ChoiceError(Exception):
    """What was asked for cannot run on this hardware; the message says what to ask for instead."""


def open_strategies(gpus: Sequence[Gpu]) -> tuple[Strategy, ...]:
    """The strategies between which only the user can decide; the first is the default."""
    if not gpus:
        return (Strategy.CPU,)
    if len(gpus) == 1:
        return (Strategy.DDP,)
    return (Strategy.DDP, Strategy.FSDP, Strategy.ZERO2, Strategy.ZERO3)


def choose(
    strategy: Strategy,
    gpus: Sequence[Gpu],
    processes: int | None,
    mixed_precision: str | None,
    *,
    other_machine: bool = False,
) -> Choice:
    """The choice for this strategy on these GPUs.

    Args:
        strategy: as asked, or the first of `open_strategies`.
        gpus: those that a process here would see.
        processes: as asked; None takes one for each GPU, one on the CPU.
        mixed_precision: as asked; None takes what the GPUs compute natively.
        other_machine: the file is for a machine that has `processes` GPUs; none are looked for.

    Raises:
        ChoiceError: more GPUs asked for than are there, or a GPU strategy without GPUs.
    """
    on_cpu = strategy is Strategy.CPU
    if other_machine and processes is None:
        raise ChoiceError("--other-machine needs --num-processes: its GPUs cannot be counted here")
    if not on_cpu and not other_machine:
        _check_gpus(strategy, len(gpus), processes)
    if on_cpu:
        count = processes or 1
        reason = (
            "One process: torch uses all cores of the machine through its threads."
            if count == 1
            else "As asked with --num-processes."
        )
    elif processes is None:
        count = len(gpus)
        reason = f"One process for each of the {count} visible GPUs." if count > 1 else "One GPU."
    else:
        count = processes
        reason = (
            "As asked, for another machine."
            if other_machine
            else f"As asked; {len(gpus)} GPUs are visible."
        )
    precision, precision_reason = _precision(on_cpu, gpus, mixed_precision, other_machine)
    return Choice(strategy, count, precision, reason, precision_reason)


def _check_gpus(strategy: Strategy, there: int, asked: int | None) -> None:
    if not there:
        raise ChoiceError(
            f"--strategy {strategy.value} needs GPUs and none is visible: accelerate would start "
            "processes that each believe they are the main one. Use --strategy cpu, or "
            "--other-machine --num-processes N for a machine that has GPUs"
        )
    if asked is not None and asked > there:
        raise ChoiceError(
            f"{asked} GPUs are asked for and {there} {'is' if there == 1 else 'are'} visible: "
            f"accelerate would put process {there} on GPU 0 beside process 0. Use "
            f"--num-processes {there}, or --other-machine if the file is for another machine"
        )


def _precision(
    on_cpu: bool, gpus: Sequence[Gpu], asked: str | None, other_machine: bool
) -> tuple[str, str]:
    known = [gpu.compute for gpu in gpus if gpu.compute > (0, 0)]
    oldest = min(known, default=None)
    if asked is not None:
        return asked, "As asked with --mixed-precision."
    if on_cpu:
        return "no", "fp32: without bf16 instructions autocast is slower on a CPU."
    if other_machine:
        return "bf16", "For GPUs from Ampere (A100) on; older ones need fp16."
    if oldest is None:
        return "no", "The GPU's compute capability is unknown: fp32 works everywhere."
    if oldest >= _BF16_FROM:
        return "bf16", f"Compute capability {oldest[0]}.{oldest[1]} computes bf16 natively."
    return "fp16", (
        f"Compute capability {oldest[0]}.{oldest[1]} only emulates bf16; fp16 needs loss scaling,\n"
        "which accelerate does."
    )
