"""What looks like a bug and changes nothing in the program that it is in: information, beside what does go wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import findings_in, severities_in

WORKER = """\
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel


def validate(loader, model):
    model.eval()
    with torch.no_grad():
        for images, target in loader:
            model(images)


def work(rank, args, model, loader):
    dist.init_process_group("nccl", rank=rank, world_size=args.gpus)
    model = DistributedDataParallel(model.cuda(rank))
    BODY


def main(args, model, loader):
    torch.manual_seed(args.seed)
    mp.spawn(work, nprocs=args.gpus, args=(args, model, loader))
"""


@pytest.mark.parametrize(
    ("body", "severity"),
    [
        ("validate(loader, model)", "info"),
        ("model(next(loader)).sum().backward()\n    validate(loader, model)", "warning"),
        ("optimizer = make_optimizer(model)\n    validate(loader, model)", "warning"),
        ("model.module.generate(next(loader))\n    validate(loader, model)", "warning"),
        ("run(model, loader)", "warning"),
    ],
)
def test_a_seed_of_workers_that_only_evaluate(
    body: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"train.py": WORKER.replace("BODY", body)}
    assert severities_in("DL407", tmp_path, files, capsys) == [severity]


WRITER = """\
import torch.distributed as dist
from torch.utils.tensorboard import SummaryWriter
from transformers.integrations import TensorBoardCallback

dist.init_process_group("nccl")
"""


@pytest.mark.parametrize(
    ("opened", "severity"),
    [
        ("callbacks = [TensorBoardCallback(SummaryWriter('out'))]", "info"),
        ("callbacks = [TensorBoardCallback(tb_writer=SummaryWriter('out'))]", "info"),
        ("writer = SummaryWriter('out')\ncallbacks = [TensorBoardCallback(writer)]", "info"),
        (
            "writer = SummaryWriter('out')\ncallbacks = [TensorBoardCallback(writer)]\n"
            "writer.add_scalar('loss', 0.0, 1)",
            "warning",
        ),
        ("callbacks = [OwnCallback(SummaryWriter('out'))]", "warning"),
    ],
)
def test_a_writer_that_is_given_to_the_callback_of_transformers(
    opened: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"train.py": f"{WRITER}{opened}\n"}
    assert severities_in("DL704", tmp_path, files, capsys) == [severity]


LOADING = """\
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel


def work(rank, size, path, model):
    HERE
    dist.init_process_group("nccl", rank=rank, world_size=size)
    try:
        state = torch.load(PATH)
    except CAUGHT:
        return None
    model.load_state_dict(state)
    return DistributedDataParallel(model)


if __name__ == "__main__":
    size = torch.cuda.device_count()
    mp.spawn(work, args=(size, "net.pt", torch.nn.Linear(8, 8)), nprocs=size)
"""
MACHINES = 'first = 8 * int(os.environ["SLURM_NODEID"])'
LOCAL = 'os.environ["MASTER_ADDR"] = "localhost"'


@pytest.mark.parametrize(
    ("here", "path", "caught", "severity"),
    [
        (LOCAL, "path", "FileNotFoundError", "info"),
        (LOCAL, "path", "(FileNotFoundError, PermissionError)", "info"),
        (LOCAL, "path", "Exception", "warning"),
        (LOCAL, 'f"{path}.{rank}"', "FileNotFoundError", "warning"),
        (MACHINES, "path", "FileNotFoundError", "warning"),
    ],
)
def test_a_file_that_is_missing_for_all_ranks_of_a_machine(
    here: str,
    path: str,
    caught: str,
    severity: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    number = "first + rank" if here == MACHINES else "rank"
    text = (
        LOADING.replace("HERE", here)
        .replace("rank=rank", f"rank={number}")
        .replace("PATH", path)
        .replace("CAUGHT", caught)
    )
    assert severities_in("DL105", tmp_path, {"train.py": text}, capsys) == [severity]


SEEDED = """\
import numpy as np
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler

dist.init_process_group("nccl")


def start(worker_id):
    np.random.seed(worker_id)


def loaders(data, more):
    first = DataLoader(data, sampler=DistributedSampler(data), worker_init_fn=start)
    return first, DataLoader(more, sampler=DistributedSampler(more), worker_init_fn=start)
"""


def test_one_finding_for_a_seed_that_two_loaders_are_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert findings_in("DL406", tmp_path, {"train.py": SEEDED}, capsys) == [("train.py", 9)]


ACCELERATE = """\
compute_environment: LOCAL_MACHINE
distributed_type: FSDP
fsdp_config:
  fsdp_auto_wrap_policy: SIZE_BASED_WRAP
  {}
num_processes: 8
"""


@pytest.mark.parametrize(
    ("line", "severity"),
    [
        ("fsdp_backward_prefetch_policy: NO_PREFETCH", "info"),
        ("fsdp_backward_prefetch_policy: BACKWARD_PRE", "warning"),
        ("fsdp_use_orig_param: true", "info"),
        ("fsdp_use_orig_param: false", "warning"),
        ("fsdp_use_orig_params: false\n  fsdp_use_orig_param: true", "warning"),
        ("fsdp_layers: true", "warning"),
    ],
)
def test_a_key_that_is_not_read_and_says_what_is_so(
    line: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"fsdp.yaml": ACCELERATE.format(line), "train.py": "import torch.distributed\n"}
    assert severities_in("DL802", tmp_path, files, capsys) == [severity]
