"""The three-state question "model parallel: yes, no, decide", answered with a reason.

Model parallel means that one model is divided over several GPUs (FSDP, ZeRO-3, or device_map in
one process); without it every GPU holds a whole model (DDP), or there is one GPU.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from distlint.hardware.memory.activations import assumed_shape
from distlint.hardware.memory.plan import Request, make_plan
from distlint.hardware.memory.units import gib


class ModelParallel(enum.Enum):
    """What was asked for."""

    YES = "yes"
    NO = "no"
    DECIDE = "decide"


class StrategyError(Exception):
    """What was asked for cannot be had on these GPUs; the message says what can."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer: whether the model is divided, over how many GPUs, and why."""

    model_parallel: bool
    gpus: int
    reason: str


def decide(
    asked: ModelParallel,
    *,
    gpus_there: int,
    gpus_asked: int | None = None,
    parameters: int | None = None,
    memory: int | None = None,
) -> Decision:
    """Decides whether the model is divided.

    Args:
        asked: yes, no, or decide by the memory.
        gpus_there: GPUs that are visible.
        gpus_asked: GPUs that the user wants; None takes all.
        parameters: of the model; None where unknown.
        memory: bytes of the smallest GPU; None where unknown.

    Raises:
        StrategyError: more GPUs are asked for than are there, or yes with fewer than two.
    """
    if gpus_asked is not None and gpus_asked > gpus_there:
        raise StrategyError(
            f"{gpus_asked} GPUs are asked for and {_are(gpus_there)} visible; "
            + ("ask for one" if gpus_there == 1 else f"ask for {gpus_there or 'the CPU'}")
        )
    gpus = gpus_there if gpus_asked is None else gpus_asked
    if asked is ModelParallel.YES:
        if gpus < 2:
            raise StrategyError(
                f"model parallel needs two GPUs and {_are(gpus)} "
                f"{'visible' if gpus_asked is None else 'asked for'}; use --model-parallel no"
            )
        return Decision(True, gpus, f"as asked, over {gpus} GPUs")
    if asked is ModelParallel.NO:
        return Decision(False, gpus, "as asked")
    if gpus == 0:
        return Decision(False, 0, "no GPU is visible: one process on the CPU")
    if gpus == 1:
        return Decision(False, 1, "one GPU: there is nothing to divide the model over")
    if parameters is None or not memory:
        return Decision(
            False,
            gpus,
            f"{gpus} GPUs and a model of unknown size: DDP, unless it does not fit "
            "(--params lets distlint find out)",
        )
    plan = make_plan(
        Request(parameters=parameters, shape=assumed_shape(parameters), gpus=gpus, memory=memory)
    )
    rows = {row.strategy.key: row for row in plan.rows}
    whole = rows["ddp-bucket-view"]
    if whole.fits:
        return Decision(
            False,
            gpus,
            f"a whole replica takes {gib(whole.usage.total)} of {gib(memory)} GiB: it fits, DDP",
        )
    fitting = plan.fitting
    if fitting is None:
        raise StrategyError(
            f"{parameters:,} parameters fit on {gpus} GPUs of {gib(memory)} GiB by no strategy; "
            "distlint plan says what to change"
        )
    return Decision(
        True,
        gpus,
        f"a whole replica takes {gib(whole.usage.total)} of {gib(memory)} GiB: it does not fit; "
        f"{fitting.strategy.title} takes {gib(fitting.usage.total)}",
    )


def _are(count: int) -> str:
    return f"{count or 'none'} {'are' if count > 1 else 'is'}"
