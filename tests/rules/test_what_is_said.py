"""What messages say of modes and memory, where the same rule has to say it in several ways."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import messages_in, severities

SUM = """
def train(model, loader):
    total = 0
    for batch in loader:
        loss = model(batch)
        loss.backward({arguments})
        total += loss
    return total
"""

CLIP = """
import torch
from accelerate import Accelerator

def train(model, optimizer, loader):
    accelerator = Accelerator()
    model, optimizer = accelerator.prepare(model, optimizer)
    for batch in loader:
        accelerator.backward(model(batch))
        {above}
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        {below}
"""

RESUME = """
import os
from accelerate import Accelerator

def train(model, out):
    accelerator = Accelerator()
    model = accelerator.prepare(model)
    try:
        names = os.listdir(out)
    except OSError:
        return None
    accelerator.{call}
    return names
"""

PART = """
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

def train(net, data, items):
    net = DistributedDataParallel(net)
    mine = [x[dist.get_rank()::dist.get_world_size()] for x in items]
    for batch in DataLoader(data, batch_sampler=mine):
        if {test}:
            continue
        net(batch).backward()
"""

CONTAINER = """
import torch
from accelerate import Accelerator

class Net(torch.nn.Module):
    def features_of(self, batch):
        return batch

class Trainer:
    def __init__(self):
        self.start()
        self.net = Net()
        self.net = self.prepared(self.net)

    def start(self):
        self.accelerator = Accelerator()

    def prepared(self, part):
        if isinstance(part, dict):
            for key in part.keys():
                part[key] = self.accelerator.prepare(part[key])
        else:
            part = self.accelerator.prepare(part)
        return part

    def step(self, batch):
        self.accelerator.backward(self.net.features_of(batch))
"""

SAMPLES = """
import torch
from accelerate import Accelerator

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        {state}

    def forward(self, x):
        return x

def train(optimizer, loader):
    accelerator = Accelerator({arguments})
    net = Net()
    net, optimizer = accelerator.prepare(net, optimizer)
    for batch in loader:
        accelerator.backward(net(batch))
    if accelerator.is_main_process:
        with torch.no_grad():
            net(torch.ones(2))
    accelerator.wait_for_everyone()
"""

ORDERED = """
import random
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed

class Shuffled(torch.utils.data.Sampler):
    def __iter__(self):
        rows = list(range(10))
        {draw}
        return iter(rows)

def get_sampler():
    return Shuffled()

def train(model, data, seed):
    accelerator = Accelerator()
    set_seed(seed)
    loader = torch.utils.data.DataLoader(data, sampler=get_sampler())
    model, loader = accelerator.prepare(model, loader)
    for batch in loader:
        accelerator.backward(model(batch + torch.randn_like(batch)))
"""


@pytest.mark.parametrize(("arguments", "memory"), [("", "host"), ("retain_graph=True", "device")])
def test_which_memory_graphs_fill(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: str, memory: str
) -> None:
    (said,) = messages_in("DL607", tmp_path, SUM.format(arguments=arguments), capsys)
    assert f"the {memory}'s memory grows" in said


@pytest.mark.parametrize(
    ("above", "below", "words"),
    [
        ("optimizer.step(); optimizer.zero_grad()", "pass", "has cleared the gradients"),
        ("optimizer.step()", "optimizer.zero_grad()", "as they lie in memory"),
        ("pass", "optimizer.step(); optimizer.zero_grad()", "as they lie in memory"),
    ],
)
def test_what_clipping_finds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], above: str, below: str, words: str
) -> None:
    (said,) = messages_in("DL604", tmp_path, CLIP.format(above=above, below=below), capsys)
    assert words in said


@pytest.mark.parametrize(
    ("call", "apart"), [("load_state(out)", True), ("wait_for_everyone()", False)]
)
def test_who_waits_behind_a_caught_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], call: str, apart: bool
) -> None:
    (said,) = messages_in("DL105", tmp_path, RESUME.format(call=call), capsys)
    assert ("else the ranks go on apart" in said) is apart


def test_a_part_of_the_data_has_other_elements(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = PART.format(test="len(batch['speech']) > 8")
    (said,) = messages_in("DL103", tmp_path, text, capsys)
    assert "of which each rank has its own elements" in said


def test_a_way_that_wraps_each_of_several_leaves_no_doubt(tmp_path: Path) -> None:
    assert severities(tmp_path, "DL201", CONTAINER) == ["warning"]


@pytest.mark.parametrize(
    ("state", "arguments", "expected"),
    [
        ("self.register_buffer('mean', torch.zeros(1))", "", "error"),
        ("self.norm = torch.nn.BatchNorm1d(2)", "", "error"),
        ("self.norm = torch.nn.LayerNorm(2)", "", "info"),  # nothing speaks of shards
        (
            "self.norm = torch.nn.BatchNorm1d(2)",
            "kwargs_handlers=[DistributedDataParallelKwargs(broadcast_buffers=False)]",
            "info",
        ),
    ],
)
def test_a_model_with_buffers_waits_in_ddp(
    tmp_path: Path, state: str, arguments: str, expected: str
) -> None:
    text = SAMPLES.format(state=state, arguments=arguments)
    assert severities(tmp_path, "DL106", text) == [expected]


@pytest.mark.parametrize(
    ("draw", "offered"),
    [
        ("random.shuffle(rows)", False),
        ("rows = torch.randperm(10).tolist()", False),
        ("random.Random(3).shuffle(rows)", True),
        ("random.seed(3); random.shuffle(rows)", True),
    ],
)
def test_a_sampler_keeps_the_common_stream(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], draw: str, offered: bool
) -> None:
    (said,) = messages_in("DL401", tmp_path, ORDERED.format(draw=draw), capsys)
    assert ("decorrelate(" in said) is offered
