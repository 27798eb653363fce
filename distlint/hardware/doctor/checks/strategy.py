"""The model against the GPUs: does it fit, and is it to be divided over them."""

from __future__ import annotations

from collections.abc import Iterator

from distlint.hardware.doctor.check import Check, Result, error, ok, skipped
from distlint.hardware.doctor.machine import Machine, Unknown
from distlint.hardware.memory.activations import assumed_shape
from distlint.hardware.memory.plan import Request, make_plan
from distlint.hardware.memory.units import gib
from distlint.hardware.strategy import ModelParallel, StrategyError, decide


def memory(machine: Machine) -> Iterator[Result]:
    """The GPUs' memory against the plan for --params."""
    parameters = machine.options.parameters
    if parameters is None:
        model = machine.options.model
        count = (
            f"distlint plan --config {model} counts them" if model else "distlint plan says more"
        )
        yield skipped(f"--params was not given ({count})")
        return
    smallest = min((gpu.memory for gpu in machine.visible if gpu.memory), default=0)
    if not smallest:
        yield skipped("no GPU whose memory is known is visible")
        return
    gpus = min(machine.processes or machine.gpu_count, machine.gpu_count)
    plan = make_plan(
        Request(parameters=parameters, shape=assumed_shape(parameters), gpus=gpus, memory=smallest)
    )
    saw = f"{parameters:,} parameters on {gpus} x {gib(smallest)} GiB"
    if plan.fitting is not None:
        row = plan.fitting
        yield ok(f"{saw}: {row.strategy.title} takes {gib(row.usage.total)} GiB on each")
    elif plan.change is not None:
        yield error(
            f"{saw}: no strategy fits",
            "the job runs out of memory in its first step, after loading everything.",
            f"{plan.change.words}, then {plan.change.strategy.title}.",
        )
    else:
        yield error(
            f"{saw}: no strategy fits",
            "the job runs out of memory in its first step, after loading everything.",
            "use GPUs with more memory, or tensor parallelism.",
        )


def model_parallel(machine: Machine) -> Iterator[Result]:
    """The three-state question, answered with a reason."""
    if isinstance(machine.gpus, Unknown):
        yield skipped(machine.gpus.reason)
        return
    asked = ModelParallel(machine.options.model_parallel)
    smallest = min((gpu.memory for gpu in machine.visible if gpu.memory), default=None)
    try:
        decision = decide(
            asked,
            gpus_there=machine.gpu_count,
            gpus_asked=machine.options.num_processes if machine.gpu_count else None,
            parameters=machine.options.parameters,
            memory=smallest,
        )
    except StrategyError as problem:
        yield error(
            f"--model-parallel {asked.value}: {problem}",
            "a job that counts on GPUs that are not there puts two ranks on one, or runs out of "
            "memory.",
            "start as many processes as there are GPUs, or make more of them visible.",
        )
        return
    answer = "yes" if decision.model_parallel else "no"
    yield ok(f"model parallel: {answer}; {decision.reason}")


CHECKS = (
    Check("memory", "model", memory),
    Check("model-parallel", "model", model_parallel),
)
