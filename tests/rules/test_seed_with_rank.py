"""Seeds to which a function of the project adds the rank itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import findings_in

TRAINING = """\
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

from seeds import setup_seed


def main(args, model, loader):
    dist.init_process_group("nccl")
    setup_seed(args.seed, args.resume)
    model = DDP(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in loader:
        model(batch + torch.randn_like(batch)).sum().backward()
        optimizer.step()
"""

SEEDS = """\
import os
import time

import torch


def setup_seed(seed, resume):
    if resume:
        seed = {again}
    seed = {added}
    torch.manual_seed(seed)
"""


@pytest.mark.parametrize(
    ("again", "added", "lines"),
    [
        ("int(time.time())", "int(os.environ['RANK']) + seed", []),
        ("int(time.time())", "seed + 1000 * int(os.environ['RANK'])", []),
        ("seed + 1", "int(os.environ['RANK']) + seed", []),
        ("seed + 1", "seed + 7", [10]),
    ],
)
def test_rank_added_to_a_parameter(
    again: str,
    added: str,
    lines: list[int],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    files = {"train.py": TRAINING, "seeds.py": SEEDS.format(again=again, added=added)}
    assert findings_in("DL401", tmp_path, files, capsys) == [("train.py", n) for n in lines]


BY_NAME = """\
import torch
import torch.distributed as dist
from torch.multiprocessing import Process
from torch.nn.parallel import DistributedDataParallel as DDP


def work(rank, args, model, loader):
    torch.manual_seed({seed})
    model = DDP(model)
    for batch in loader:
        model(batch + torch.randn_like(batch)).sum().backward()


def start(rank, size, run, args, *given):
    dist.init_process_group("nccl", rank=rank, world_size=size)
    run(rank, args, *given)


def main(args, *given):
    for rank in range(args.size):
        Process(target=start, args=(rank, args.size, work, args, *given)).start()
    if args.size == 1:
        start(0, 1, work, args, *given)
"""


@pytest.mark.parametrize(("seed", "lines"), [("args.seed + rank", []), ("args.seed", [8])])
def test_a_rank_by_its_name(
    seed: str, lines: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # denoising-diffusion-gan 6818ded train_ddgan.py:195: the one call that is followed is that of one process.
    files = {"train.py": BY_NAME.replace("{seed}", seed)}
    found = findings_in("DL401", tmp_path, files, capsys)
    assert [line for _, line in found] == lines
