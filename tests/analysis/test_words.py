"""Words that questions look for in whole files: which count, and what only contains one."""

from __future__ import annotations

import ast

import pytest

from distlint.analysis import Model, Source, build_model
from distlint.analysis.questions.launched import on_one_machine
from distlint.analysis.questions.sharding import shown
from distlint.analysis.questions.shares.program import shares


def model_of(*texts: str) -> Model:
    return build_model(
        [Source(f"f{n}.py", f"f{n}", text, ast.parse(text)) for n, text in enumerate(texts)]
    )


@pytest.mark.parametrize(
    ("text", "shards"),
    [
        ("with deepspeed.zero.Init(): pass", True),
        ("with zero.GatheredParameters(x): pass", True),
        ("with nonzero.Init(): pass", False),
        ("x.zero_grad(set_to_none=True)", False),
        ("mode = 'ZeRO-3'", True),
        ("mode = 'Stage 3'", True),
        ("mode = 'stage 2'", False),
        ("model = FullyShard(model)", True),
        ("USE_FSDP = True", True),
    ],
)
def test_what_speaks_of_sharding(text: str, shards: bool) -> None:
    assert model_of("import torch\n" + text + "\n").answer(shown) is shards


@pytest.mark.parametrize(
    ("expression", "begins"),
    [
        ("data[rank::4]", True),
        ("data[rank * n:]", True),
        ("data[prank::4]", False),
        ("data[get_rank()::4]", True),
        ("data[forget_rank()::4]", False),
        ("data[self.process_index * n:]", True),
        ("load(data, rank, world_size)", True),
        ("load(data, ranked, size)", False),
    ],
)
def test_where_a_share_begins(expression: str, begins: bool) -> None:
    text = f"def part(self, data, rank, prank, ranked, n, world_size, size):\n    return {expression}\n"
    model = model_of(text)
    followed = [each.name for each in model.answer(shares).functions(model.modules)]
    assert followed == (["part"] if begins else [])


STARTS = """
import os
import torch.distributed as dist


def start(rank):
    os.environ["MASTER_ADDR"] = "{address}"
    dist.init_process_group("gloo", rank=rank)
"""
TRAINS = """
import accelerate
import f0

accelerator = accelerate.{made}
"""


@pytest.mark.parametrize(
    ("address", "made", "one"),
    [
        ("localhost", "nothing", True),
        ("10.0.0.1", "nothing", False),
        ("localhost", "Accelerator()", False),
    ],
)
def test_groups_that_meet_here(address: str, made: str, one: bool) -> None:
    model = model_of(STARTS.format(address=address), TRAINS.format(made=made))
    user = model.program.modules["f1"]
    assert on_one_machine(model, user) is one
