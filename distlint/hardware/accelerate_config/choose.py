"""Which strategy, how many processes and which precision: from the hardware and what was asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from distlint.hardware.accelerate_config.documents import Choice, Machines, Offload, Strategy
from distlint.hardware.gpus import Gpu
from distlint.hardware.memory.units import gib

# bf16 arithmetic is native from compute capability 8.0 (torch 2.13.0, cuda/__init__.py,
# is_bf16_supported with including_emulation=False).
_BF16_FROM = (8, 0)


class ChoiceError(Exception):
    """What was asked for cannot run on this hardware; the message says what to ask for instead."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """What was asked for beside the strategy; see Choice."""

    machines: Machines = field(default_factory=Machines)
    offload: Offload = Offload.NONE
    wrap: tuple[str, ...] = ()
    accumulation: int = 1


NOTHING_ELSE = Wishes()


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
    wishes: Wishes = Wishes(),  # frozen
) -> Choice:
    """The choice for this strategy on these GPUs.

    Args:
        strategy: as asked, or the first of `open_strategies`.
        gpus: those that a process here would see.
        processes: as asked, on all machines; None takes one for each GPU of each, one on the CPU.
        mixed_precision: as asked; None takes what the GPUs compute natively.
        other_machine: the file is for a machine that has `processes` GPUs; none are looked for.
        wishes: machines, offload, classes to wrap, accumulation.

    Raises:
        ChoiceError: more GPUs asked for than are there, a GPU strategy without GPUs, or wishes that
            the strategy has no setting for.
    """
    machines = wishes.machines.count
    _check_wishes(strategy, wishes, processes)
    on_cpu = strategy is Strategy.CPU
    if other_machine and processes is None:
        raise ChoiceError("--other-machine needs --num-processes: its GPUs cannot be counted here")
    if not on_cpu and not other_machine:
        _check_gpus(strategy, len(gpus), None if processes is None else processes // machines)
    if on_cpu:
        count = processes or 1
        reason = (
            "One process: torch uses all cores of the machine through its threads."
            if count == 1
            else "As asked with --num-processes."
        )
    elif processes is None:
        count = len(gpus) * machines
        reason = (
            f"One process for each of the {len(gpus)} visible GPUs."
            if len(gpus) > 1
            else "One GPU."
        )
        if machines > 1:
            reason = f"{len(gpus)} on each of {machines} machines, which must have as many GPUs."
    else:
        count = processes
        reason = (
            "As asked, for another machine."
            if other_machine
            else f"As asked; {len(gpus)} GPUs are visible."
        )
    precision, precision_reason = _precision(on_cpu, gpus, mixed_precision, other_machine)
    return Choice(
        strategy,
        count,
        precision,
        reason,
        precision_reason,
        machines=wishes.machines,
        offload=wishes.offload,
        wrap=wishes.wrap,
        accumulation=wishes.accumulation,
    )


def warnings_about(choice: Choice, gpus: Sequence[Gpu]) -> list[str]:
    """What runs with this choice on these GPUs, and worse than it could."""
    if choice.strategy is Strategy.CPU:
        if choice.mixed_precision == "fp16":
            return [
                "fp16 on the CPU has no loss scaling, and many operations have no fp16: use "
                "--mixed-precision bf16 or no"
            ]
        return []
    found = []
    old = [gpu for gpu in gpus if (0, 0) < gpu.compute < _BF16_FROM]
    if choice.mixed_precision == "bf16" and old:
        found.append(
            f"bf16 on {old[0].name} (compute capability {old[0].compute[0]}.{old[0].compute[1]}) is "
            "emulated, slower than fp32: use --mixed-precision fp16"
        )
    memories = [gpu.memory for gpu in gpus if gpu.memory]
    if memories and max(memories) > 1.1 * min(memories):
        found.append(
            f"the GPUs have {gib(min(memories))} to {gib(max(memories))} GiB: every rank has the "
            "same part, so that only the smallest counts; leave it out with CUDA_VISIBLE_DEVICES, "
            "or plan for it"
        )
    elif len(names := {gpu.name for gpu in gpus}) > 1:
        found.append(
            f"the GPUs differ ({', '.join(sorted(names))}): every collective waits for the slowest"
        )
    return found


def _check_wishes(strategy: Strategy, wishes: Wishes, processes: int | None) -> None:
    machines = wishes.machines
    if machines.count > 1 and machines.ip is None:
        raise ChoiceError(
            f"--num-machines {machines.count} needs --main-process-ip: the address at which the "
            "other machines reach rank 0's"
        )
    if not 0 <= machines.rank < machines.count:
        raise ChoiceError(
            f"--machine-rank {machines.rank} of {machines.count} machines: "
            f"it is 0 to {machines.count - 1}"
        )
    if processes is not None and processes % machines.count:
        raise ChoiceError(
            f"--num-processes {processes} on {machines.count} machines: it counts all of them and "
            "must be a multiple of their number"
        )
    if machines.count > 1 and strategy is Strategy.CPU:
        raise ChoiceError(
            "--strategy cpu writes no file for several machines: accelerate launch starts one "
            "process with it; start them with torchrun --nnodes"
        )
    if wishes.wrap and strategy is not Strategy.FSDP:
        raise ChoiceError(f"--wrap is FSDP's: --strategy {strategy.value} wraps no blocks")
    if wishes.offload is not Offload.NONE and strategy in (Strategy.DDP, Strategy.CPU):
        raise ChoiceError(
            f"--offload {wishes.offload.value}: --strategy {strategy.value} divides nothing that "
            "could be offloaded; use fsdp, zero2 or zero3"
        )
    if wishes.offload is Offload.OPTIMIZER and strategy is Strategy.FSDP:
        raise ChoiceError(
            "--offload optimizer: FSDP offloads weights, gradients and optimizer together; use "
            "--offload all, or --strategy zero2"
        )
    if wishes.offload is Offload.ALL and strategy is Strategy.ZERO2:
        raise ChoiceError(
            "--offload all: ZeRO-2 does not divide the weights, so it cannot offload them; use "
            "--offload optimizer, or --strategy zero3"
        )


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
