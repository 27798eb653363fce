"""Whether a forward of DDP meets the other ranks: by the buffers of the classes that the model may be of."""

from __future__ import annotations

import ast

import pytest

from distlint.analysis import Source, build_model
from distlint.rule import load_rules

TEXT = """
import timm, torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Part(nn.Module):
    def __init__(self):
        super().__init__()
        {part}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = Part()

    def forward(self, x):
        return self.part(x)


class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList([Part(), Part()])

    def forward(self, x):
        return self.parts[1](self.parts[0](x))


MADE = {{"net": Net, "table": nn.BatchNorm2d}}


class Chosen(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.part = MADE[kind](3)


def look(samples, net):
    dist.init_process_group("nccl")
    model = DistributedDataParallel({made})
    if dist.get_rank() == 0:
        print(model(samples))
"""


@pytest.mark.parametrize(
    ("part", "made", "severity"),
    [
        ("self.norm = nn.InstanceNorm2d(3, affine=True)", "Net()", "info"),
        ("self.norm = nn.LayerNorm(3)", "Net()", "info"),
        ("self.norm = nn.InstanceNorm2d(3, track_running_stats=True)", "Net()", "warning"),
        ("self.norm = torch.nn.utils.spectral_norm(nn.Linear(3, 3))", "Net()", "warning"),
        ("self.norm = torch.nn.utils.weight_norm(nn.Linear(3, 3))", "Net()", "info"),
        (
            "self.norm = torch.nn.utils.parametrizations.orthogonal(nn.Linear(3, 3))",
            "Net()",
            "warning",
        ),
        ("self.norm = timm.create_model('vit')", "Net()", "warning"),
        ("self.loss = nn.CrossEntropyLoss()", "Net()", "warning"),
        ("self.norm = nn.BatchNorm2d(3)", "Net()", "error"),
        ("self.register_buffer('table', torch.ones(3))", "Net()", "error"),
        ("self.norm = nn.LayerNorm(3)", "net", "warning"),
        ("self.norm = nn.LayerNorm(3)", "Stack()", "info"),
        ("self.norm = nn.BatchNorm2d(3)", "Stack()", "error"),
        ("self.norm = nn.LayerNorm(3)", "Chosen(kind)", "warning"),
    ],
)
def test_a_forward_by_rank_0_alone(part: str, made: str, severity: str) -> None:
    text = TEXT.format(part=part, made=made)
    model = build_model([Source("m.py", "m", text, ast.parse(text))])
    assert [finding.severity.value for finding in load_rules()["DL106"].check(model)] == [severity]
