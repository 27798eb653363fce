"""A warning wants a witness that harm happens on several processes; without one a finding is information."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.rules.checked import findings_in, severities

MEASURES = """
import time
import torch.distributed as dist


class Table:
    def __init__(self, rows, named):
        self.rows = rows
        self.named = named

    def __len__(self):
        return len(self.rows)


class Budget:
    def __init__(self, limit):
        self.limit = limit
        self.begun = time.time()

    def left(self):
        return self.limit - (time.time() - self.begun)


def train(rows, limit, last):
    begun = time.time()
    budget = Budget(limit)
    table = Table(rows, begun)
    for step, row in enumerate(table.rows):
        {made}
        if {test}:
            break
        dist.all_reduce(row)
"""


@pytest.mark.parametrize(
    ("made", "test", "expected"),
    [
        # torchrec a48cef7 torchrec/metrics/metric_module.py:271
        ("passed = time.time() - begun", "passed > limit", ["warning"]),
        ("passed = float(time.time() - begun)", "not (limit >= passed >= 0)", ["warning"]),
        ("pass", "budget.left() < 60", ["warning"]),
        # ChatLM-mini-Chinese 2696eb8 model/trainer.py:344: the length of what was made with a number of this rank's
        ("number = len(Table(rows, begun))", "step == number", ["info"]),
    ],
)
def test_a_condition_is_computed_from_the_clock(
    made: str, test: str, expected: list[str], tmp_path: Path
) -> None:
    found = severities(tmp_path, "DL103", MEASURES.format(made=made, test=test))
    assert found == expected or (expected == ["info"] and found == [])


MASKS = """
import torch
import torch.distributed as dist


class Head:
    def __init__(self, settings):
        self.settings = settings

    def loss(self, boxes, mask):
        {calls}

    def assign(self, boxes, mask):
        if boxes[boxes > mask].size(0) == 0:
            return boxes
        dist.all_reduce(boxes)
        return boxes
"""


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ("return self.assign(boxes, mask)", "warning"),
        # SST 7c95376 mmdet3d/models/dense_heads/sparse_cluster_head.py:306: no configuration has the key
        (
            "if self.settings.get('by_distance', False):\n            return self.assign(boxes, mask)",
            "info",
        ),
    ],
)
def test_an_option_that_may_be_off_everywhere(calls: str, expected: str, tmp_path: Path) -> None:
    assert severities(tmp_path, "DL103", MASKS.format(calls=calls)) == [expected]


EVALUATES = """
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = {layer}

    def forward(self, batch):
        return self.layer(batch)


def train(loader, held_out):
    model = DistributedDataParallel(Plain())
    for batch in loader:
        model(batch).mean().backward()
    if dist.get_rank() == 0:
        with torch.no_grad():
            print(model(held_out))
    dist.barrier()
"""


@pytest.mark.parametrize(
    ("layer", "expected"), [("nn.BatchNorm1d(2)", ["error"]), ("nn.Linear(2, 2)", ["info"])]
)
def test_a_forward_of_rank_0_alone(layer: str, expected: list[str], tmp_path: Path) -> None:
    assert severities(tmp_path, "DL106", EVALUATES.format(layer=layer)) == expected


DRAWS = """
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Flow(nn.Module):
    def forward(self, texts):
        return self.noise(texts)

    def noise(self, texts):
        {draw}

    def {other}(self, texts):
        return torch.randn(4)


def train(args, batches, optimizer):
    torch.manual_seed(args.seed)
    net = DistributedDataParallel(Flow())
    for batch in batches:
        net(batch).mean().backward()
        optimizer.step()
    {after}
"""


@pytest.mark.parametrize(
    ("draw", "expected"),
    [
        ("return texts + torch.randn_like(texts)", ["warning"]),
        ("return texts + torch.rand(texts.shape[0], device=texts.device)", ["warning"]),
        ("return texts + torch.randn(texts.size(0), 2)", ["warning"]),
        # Bert-VITS2 8f7fbd8 models.py:215: the longest text of this rank's batch says how much is drawn on the CPU
        ("return texts + torch.randn(texts.size(0), 2, texts.size(2)).to(texts.device)", ["info"]),
        # its other noise is drawn on the GPU, for other lengths on each rank as well
        (
            "return torch.randn_like(texts) + torch.randn(2, texts.size(1)).to(texts.device)",
            ["info"],
        ),
        # VoiceCraft a702dfd models/voicecraft.py:207
        ("return [torch.poisson(torch.ones(1)) for text in texts]", ["info"]),
    ],
)
def test_streams_that_stay_in_step(draw: str, expected: list[str], tmp_path: Path) -> None:
    text = DRAWS.format(draw=draw, other="shown", after="return net")
    assert severities(tmp_path, "DL401", text) == expected


def test_what_a_trained_model_generates_is_no_training(tmp_path: Path) -> None:
    """recipes fb47e15 torchrecipes/paved_path/charnn/combined_module.py:76."""
    text = DRAWS.format(
        draw="return texts", other="generate", after="return Flow().generate(batches)"
    )
    assert severities(tmp_path, "DL401", text) == []


BOOK = """\
import torch.distributed as dist

RANK = dist.get_rank() if dist.is_initialized() else 0
"""


@pytest.mark.parametrize(
    ("before", "reported"),
    [
        ("", False),
        ("!torchrun train.py\n", True),
        # Alpaca-CoT bd46c44 peft/examples/int8_training/peft_bnb_whisper_large_v2_training.ipynb
        ("import gradio as gr\ngr.Interface(run).launch(share=True)\n", False),
        ("import gradio as gr\njobs.launch(run, 2)\n", True),
        ("jobs.launch()\n", True),
        ('pl.Trainer(devices="auto", strategy="auto").fit(net)\n', False),
        ("pl.Trainer(devices=2).fit(net)\n", True),
        ("Fabric(devices='auto').launch(run)\n", True),
    ],
)
def test_the_kernel_of_a_notebook_has_one_rank(
    before: str, reported: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """maskrcnn-benchmark 57eec25 demo/shapes_pruning.ipynb."""
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "source": before + BOOK}
    book = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    files = {"book.ipynb": json.dumps(book)}
    assert bool(findings_in("DL509", tmp_path, files, capsys)) is reported
