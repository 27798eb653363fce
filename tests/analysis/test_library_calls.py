"""What the rows of the tables say that a call does, by its arguments."""

from __future__ import annotations

import ast
import textwrap

import pytest

from distlint.analysis import Model, Source, build_model

HEAD = """
import deepspeed
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from accelerate import Accelerator

"""


def model_of(text: str) -> Model:
    source = HEAD + textwrap.dedent(text)
    return build_model([Source("script.py", "script", source, ast.parse(source))])


def diverges(text: str) -> list[str]:
    """The lines of the collectives that some ranks do not reach."""
    found = []
    for divergence in model_of(text).divergences():
        line = divergence.event.node.lineno  # type: ignore[attr-defined]
        found.append(divergence.module.source.text.splitlines()[line - 1].strip())
    return found


def on_rank_zero(call: str) -> str:
    return f"def save(state, path, flag, *args, **more):\n    if dist.get_rank() == 0:\n        {call}\n"


@pytest.mark.parametrize(
    "call",
    [
        "dcp.save(state, checkpoint_id=path, no_dist=True)",
        "dcp.load(state, checkpoint_id=path, no_dist=True)",
        "dist.new_group([0], None, None, None, True)",
        "with deepspeed.zero.GatheredParameters(state, enabled=False): pass",
        "with deepspeed.zero.GatheredParameters(state, None, None, False): pass",
        "with Accelerator().split_between_processes(state): pass",
    ],
)
def test_an_argument_that_turns_the_collective_off(call: str) -> None:
    assert diverges(on_rank_zero(call)) == []


@pytest.mark.parametrize(
    "call",
    [
        "dcp.save(state, checkpoint_id=path)",
        "dcp.save(state, checkpoint_id=path, no_dist=False)",
        "dcp.save(state, checkpoint_id=path, no_dist=flag)",
        "dcp.save(state, checkpoint_id=path, **more)",
        "dist.new_group([0], None, None, None, False)",
        "dist.new_group(*args)",
        "with deepspeed.zero.GatheredParameters(state, enabled=flag): pass",
        "with Accelerator().split_between_processes(state, True): pass",
    ],
)
def test_an_argument_that_may_leave_it_on(call: str) -> None:
    assert diverges(on_rank_zero(call)) == [call]


@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_a_decorator_lets_in_the_rank_that_it_names(rank: int) -> None:
    text = f"""
        accelerator = Accelerator()

        @accelerator.on_process(process_index={rank})
        def report():
            print(accelerator.process_index)

        def main():
            report()
        """
    model = model_of(text)
    printing = {
        run_rank.rank
        for runs in model.functions()
        if runs.function.name == "report"
        for run_rank, run in runs.summaries()
        if any(call.name == "builtins.print" for call in run.calls)
    }
    followed = {r.rank for runs in model.functions() for r, _ in runs.summaries()}
    assert printing == {rank} & followed
    assert followed >= {0, 1}


def test_a_collective_under_a_decorator_that_names_a_rank() -> None:
    text = """
        accelerator = Accelerator()

        @accelerator.on_process(process_index=1)
        def report(x):
            accelerator.wait_for_everyone()

        def main(x):
            report(x)
            accelerator.wait_for_everyone()
        """
    assert diverges(text) == ["accelerator.wait_for_everyone()"]


@pytest.mark.parametrize(
    "test",
    ["dist.get_rank(group) == 0", "dist.get_rank(group=group) == 0"],
)
def test_a_place_in_a_group_is_not_the_rank(test: str) -> None:
    text = f"""
        def main(group, x):
            if {test}:
                print(x)
        """
    assert {
        guard.value.truthiness()
        for call in model_of(text).calls("builtins.print")
        for guard in call.site.guards
    } == {None}


def test_the_default_group_is_no_group() -> None:
    text = """
        def main(x):
            if dist.get_rank(dist.group.WORLD) == 0:
                dist.barrier()
        """
    assert diverges(text) == ["dist.barrier()"]


def test_what_a_predicate_takes_beside_a_group() -> None:
    text = """
        from timm import utils

        def main(args):
            if utils.is_primary(args):
                dist.barrier()
        """
    assert diverges(text) == ["dist.barrier()"]


def test_a_collective_of_a_group_that_is_no_argument() -> None:
    """Ranks of one tensor-parallel group meet each other, and not those in a collective of the job."""
    text = """
        from megatron.core.tensor_parallel import reduce_from_tensor_model_parallel_region

        def main(x):
            if dist.get_rank() == 0:
                reduce_from_tensor_model_parallel_region(x)
            dist.barrier()
        """
    assert diverges(text) == []
