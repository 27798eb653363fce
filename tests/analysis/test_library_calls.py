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
