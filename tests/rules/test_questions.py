"""What several rules ask of a program, each answer seen in a finding that comes or stays away."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import lines_of, marked

HEAD = """\
import os
import torch
import torch.distributed as dist
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.nn.parallel import DistributedDataParallel as DDP


class Net(nn.Module):
    pass


"""

PROGRAMS = {
    "no generator of one's own": (
        "DL401",
        """\
def train(model, optimizer, device, data):
    torch.manual_seed(1)  # here
    model = DDP(model)
    for _ in range(100):
        rows = torch.randint(len(data), (8,), generator=None)
        model(data[rows]).sum().backward()
        optimizer.step()
""",
    ),
    "a generator of one's own": (
        "DL401",
        """\
def train(model, optimizer, device, data, own):
    torch.manual_seed(1)
    model = DDP(model)
    for _ in range(100):
        rows = torch.randint(len(data), (8,), generator=own)
        model(data[rows]).sum().backward()
        optimizer.step()
""",
    ),
    "a seed that FSDP does not copy over": (
        "DL402",
        """\
def build(seed):
    torch.manual_seed(seed + dist.get_rank())  # here
    return FSDP(Net(), sync_module_states=False)
""",
    ),
    "a seed from nowhere": (
        "DL402",
        """\
def build():
    torch.seed()  # here
    return FSDP(Net())
""",
    ),
    "a loss of several steps": (
        "DL206",
        """\
def train(net, batch, optimizer):
    model = DDP(net)
    out = model.module(batch)  # here
    scaled = out * 2
    squared = scaled * scaled
    loss = squared.mean()
    loss.backward()
    optimizer.step()
""",
    ),
    "bytes that all ranks write": (
        "DL301",
        """\
def save(data):
    dist.barrier()
    with open("out.bin", "wb") as file:  # here
        file.write(data)
    dist.barrier()
""",
    ),
    "bytes that all ranks read": (
        "DL301",
        """\
def load():
    dist.barrier()
    with open("out.bin", "rb") as file:
        data = file.read()
    dist.barrier()
    return data
""",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_follows_from_the_answer(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, text = PROGRAMS[name]
    assert lines_of(code, tmp_path, HEAD + text, capsys) == marked(HEAD + text)
