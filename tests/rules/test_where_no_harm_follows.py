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
        ("def open_it():\n    writer = SummaryWriter('out')\n\nopen_it()", "info"),
        (
            "def open_it():\n    global writer\n    writer = SummaryWriter('out')\n\nopen_it()",
            "warning",
        ),
        (
            "def open_it():\n    writer = SummaryWriter('out')\n    return writer\n\nopen_it()",
            "warning",
        ),
        ("writer = SummaryWriter('out')", "warning"),
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


STOPPING = """\
import json
import sys

import torch
import torch.distributed as dist


def mean(found):
    try:
        return sum(found) / len(found)
    except ZeroDivisionError:
        import pdb

        pdb.set_trace()


def score(batches, rank):
    found = []
    for batch in batches:
        found.append(batch.sum().item())
        print(rank, mean(found))
        IN_LOOP
    return found


def main():
    dist.init_process_group("nccl")
    dist.barrier()
    rank = dist.get_rank()
    found = score(torch.load(sys.argv[1])[rank], rank)
    with open(f"found{rank}.json", "w") as file:
        json.dump(found, file)
    AT_END
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(
    ("in_loop", "at_end", "severity"),
    [
        ("pass", "pass", "info"),
        ("pass", "dist.barrier()", "warning"),
        ("dist.all_reduce(batch)", "pass", "warning"),
    ],
)
def test_a_breakpoint_behind_which_nobody_waits(
    in_loop: str,
    at_end: str,
    severity: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = STOPPING.replace("IN_LOOP", in_loop).replace("AT_END", at_end)
    assert severities_in("DL701", tmp_path, {"score.py": text}, capsys) == [severity]


DRAWING = """\
import torch.distributed as dist
from torch.utils.tensorboard import SummaryWriter


class Training:
    def __init__(self, config):
        dist.init_process_group("nccl")
        self.config = config
        self.curves = SummaryWriter(config["outdir"])

    def train(self, batches):
        for batch in batches:
            self.step(batch)
            if TEST:
                self.look()

    def look(self):
        self.draw()

    def draw(self):
        self.curves.add_scalar("loss", self.loss, self.steps)
"""


@pytest.mark.parametrize(
    ("test", "more", "severity"),
    [
        ('self.config["rank"] == 0', "", "info"),
        ("torch.cuda.current_device() == 0", "", "info"),
        ("torch.cuda.current_device() == self.steps", "", "warning"),
        ("self.steps % 100 == 0", "", "warning"),
        ('self.config["rank"] == 0', "    def end(self):\n        self.look()\n", "warning"),
    ],
)
def test_a_writer_that_rank_0_alone_draws_with(
    test: str,
    more: str,
    severity: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = DRAWING.replace("TEST", test) + more
    assert severities_in("DL704", tmp_path, {"train.py": text}, capsys) == [severity]


OWN_TRAINER = """\
from accelerate import Accelerator


class ChunkTrainer:
    def __init__(self, args):
        self.accelerator = Accelerator()

    def train(self, net, optimizer, loader):
        net, optimizer, loader = self.accelerator.prepare(net, optimizer, loader)
        for batch in loader:
            for chunk in batch.chunk(4):
                loss = net(chunk).mean() / 4
                loss.backward()
            optimizer.step()
"""
STARTED = """\
from own import ChunkTrainer


def main(args):
    batch_size = args.batch_size * args.gradient_accumulation_steps
    args.gradient_accumulation_steps = NUMBER
    ChunkTrainer(args).train(args.net, args.optimizer, args.loader)
"""


@pytest.mark.parametrize(("number", "severity"), [("1", "info"), ("batch_size", "warning")])
def test_a_trainer_that_is_made_where_nothing_is_accumulated(
    number: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"own.py": OWN_TRAINER, "start.py": STARTED.replace("NUMBER", number)}
    assert severities_in("DL605", tmp_path, files, capsys) == [severity]


COPIED = """\
import importlib
import os

import torch.distributed as dist
import transformers

dist.init_process_group("nccl")
dist.barrier()
folder = transformers.__path__[0]
os.system(f"cp COPY {folder}/layers.py")
"""


@pytest.mark.parametrize(
    ("copied", "behind", "severity"),
    [
        ("tools/layers.py", "", "info"),
        ("tools/layers.py", "importlib.reload(transformers)\n", "warning"),
        ("tools/weights.pt", "", "warning"),
    ],
)
def test_a_copy_of_code_that_nobody_imports_again(
    copied: str,
    behind: str,
    severity: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    files = {"train.py": COPIED.replace("COPY", copied) + behind}
    assert severities_in("DL301", tmp_path, files, capsys) == [severity]
