"""What a script starts in files of the project that know of no ranks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import findings_in

SPAWNED = """\
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel as DDP

from networks import Network


def run(rank, options, loader):
    dist.init_process_group("nccl", rank=rank, world_size=options.processes)
    torch.manual_seed(options.seed)
    model = DDP(Network().cuda(rank), device_ids=[rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in loader:
        model(batch).sum().backward()
        optimizer.step()


def main(options, loader):
    mp.spawn(run, nprocs=options.processes, args=(options, loader))
"""

NETWORK = """\
import torch
from torch import nn


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def {method}(self, batch):
        return self.layer(batch + torch.randn_like(batch))

    def forward(self, batch):
        return self.layer({call})
"""


@pytest.mark.parametrize(
    ("method", "call", "lines"),
    [("perturbed", "self.perturbed(batch)", [11]), ("decode", "batch", [])],
)
def test_draws_of_a_model_in_another_file(
    method: str,
    call: str,
    lines: list[int],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    files = {"train.py": SPAWNED, "networks.py": NETWORK.format(method=method, call=call)}
    assert findings_in("DL401", tmp_path, files, capsys) == [("train.py", n) for n in lines]


LAUNCHED = """\
import os

import torch.distributed as dist

from fetching import Weights


def main(options):
    options.local_rank = int(os.environ.get("LOCAL_RANK", -1))
    if options.local_rank != -1:
        dist.init_process_group("nccl")
    weights = {weights}
    return weights


if __name__ == "__main__":
    main(parse())
"""

FETCHING = """\
import requests


class Weights:
    def __init__(self, address):
        fetch(address)


def fetch(address):
    answer = requests.get(address)
    with open("weights.pt", "wb") as stream:
        stream.write(answer.content)
"""


@pytest.mark.parametrize(
    ("weights", "lines"),
    [
        ("Weights(options.address)", [11]),
        ("Weights(options.address) if options.local_rank in (-1, 0) else None", []),
    ],
)
def test_fetched_where_the_group_is_made_under_a_test(
    weights: str, lines: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"train.py": LAUNCHED.format(weights=weights), "fetching.py": FETCHING}
    assert findings_in("DL301", tmp_path, files, capsys) == [("fetching.py", n) for n in lines]


HELPERS = """\
import torch.distributed as dist


def has_group():
    if not dist.is_available():
        return False
    if not dist.is_initialized():
        return False
    return True


def synchronized(options):
    return options.synchronized
"""

MERGING = """\
import json

import torch.distributed as dist
from helpers import has_group, synchronized


def merge(options, results, path):
    if {test}:
        dist.barrier()
    with open(path, "w") as stream:
        json.dump(results, stream)
"""


@pytest.mark.parametrize(
    ("test", "lines"),
    [
        ("has_group()", [10]),
        ("dist.is_initialized()", [10]),
        ("synchronized(options)", []),
        ("has_group() and options.synchronized", []),
    ],
)
def test_a_helper_that_asks_for_the_group(
    test: str, lines: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """MiniGPT-4 d94738a minigpt4/tasks/base_task.py:262: there is one wherever ranks meet."""
    files = {"merging.py": MERGING.replace("{test}", test), "helpers.py": HELPERS}
    assert findings_in("DL301", tmp_path, files, capsys) == [("merging.py", n) for n in lines]


DIVIDED = """\
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

from pictures import Pictures


def train(model, folder):
    model = DistributedDataParallel(model)
    data = Pictures(folder)
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        model(batch).sum().backward()
"""

PICTURES = """\
import os

from torch.utils.data import Dataset


class Pictures(Dataset):
    def __init__(self, folder):
        self.names = {names}

    def __len__(self):
        return len(self.names)

    def __getitem__(self, index):
        return self.names[index]
"""


@pytest.mark.parametrize(
    ("names", "lines"), [("os.listdir(folder)", [8]), ("sorted(os.listdir(folder))", [])]
)
def test_a_folder_listed_by_a_file_without_ranks(
    names: str, lines: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"train.py": DIVIDED, "pictures.py": PICTURES.format(names=names)}
    assert findings_in("DL405", tmp_path, files, capsys) == [("pictures.py", n) for n in lines]
