"""Which write a finding about a resume names: that of the file which is loaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import evidence_in, severities_in

SCRIPT = """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def main(net, optimizer, folder):
    dist.init_process_group()
    model = DDP(net)
    path = os.path.join(folder, {loaded})
    start = 0
    if os.path.exists(path):
        state = torch.load(path)
        optimizer.load_state_dict(state["optimizer"])
        start = state["epoch"]
    for epoch in range(start, 10):
        train(model, optimizer)
        if dist.get_rank() == 0:
            torch.save(net.state_dict(), f"{{folder}}/weights.pt")
            last = "last.pt"
            torch.save({{"optimizer": optimizer.state_dict(), "epoch": epoch}}, os.path.join(folder, last))
"""


@pytest.mark.parametrize(
    ("loaded", "line"), [('"last.pt"', 22), ("f'last.pt'", 22), ('"weights.pt"', 20), ("name", 20)]
)
def test_the_write_of_what_is_loaded(
    loaded: str, line: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"train.py": SCRIPT.format(loaded=loaded)}
    ((_, written),) = evidence_in("DL309", tmp_path, files, capsys)
    assert written == ("rank 0 alone writes", line)


KEEPING = """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

{helper}

def keep(state, path):
    torch.save(state, path)


def main(args, net, optimizer, folder):
    dist.init_process_group()
    model = DDP(net)
    is_main = {main}
    path = os.path.join(folder, "last.pt")
    start = 0
    if {asked}:
        state = torch.load(path)
        optimizer.load_state_dict(state["optimizer"])
        start = state["epoch"]
    for epoch in range(start, 10):
        train(model, optimizer)
        {made}
        if is_main:
            keep({{"optimizer": optimizer.state_dict(), "epoch": epoch}}, path)
"""

RANK_0 = "args.rank == 0"
FILE = "os.path.exists(path)"


@pytest.mark.parametrize(
    ("main", "asked", "made", "found"),
    [
        (RANK_0, FILE, "", ["warning"]),
        ("not args.many or (args.many and args.rank % gpus_per_node == 0)", FILE, "", []),
        ("args.rank % args.every == 0", FILE, "", ["warning"]),
    ],
)
def test_what_the_first_rank_of_each_machine_writes(
    main: str,
    asked: str,
    made: str,
    found: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = KEEPING.format(main=main, asked=asked, made=made, helper="")
    assert severities_in("DL309", tmp_path, {"train.py": text}, capsys) == found


FOLDER = """
import os
import torch
import torch.distributed as dist


def keep(model, optimizer, step, out):
    folder = os.path.join(out, str(step))
    {made}
    dist.barrier()
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), os.path.join(folder, "last.pt"))


def resume(args, model, optimizer):
    if os.path.exists({asked}):
        state = torch.load(os.path.join(args.begin, "last.pt"))
        optimizer.load_state_dict(state["optimizer"])
    dist.barrier()
"""


@pytest.mark.parametrize(
    ("made", "asked", "found"),
    [
        ("os.makedirs(folder, exist_ok=True)", "args.begin", []),
        ("prepare(folder)", "args.begin", ["warning"]),
        ("os.makedirs(folder, exist_ok=True)", 'os.path.join(args.begin, "last.pt")', ["warning"]),
    ],
)
def test_a_folder_that_all_ranks_make(
    made: str, asked: str, found: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = FOLDER.format(made=made, asked=asked)
    assert severities_in("DL309", tmp_path, {"train.py": text}, capsys) == found


HOME = """
import os
import signal
import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def main(args):
    if "SLURM_JOB_ID" in os.environ:
        signal.signal(signal.SIGUSR1, stop)
    {address}
    mp.spawn(work, (args,), torch.cuda.device_count())


def work(index, args):
    args.rank += index
    dist.init_process_group("nccl", init_method=args.dist_url, rank=args.rank, world_size=args.size)
    model = torch.nn.parallel.DistributedDataParallel(make())
    start = 0
    if os.path.exists(args.path):
        state = torch.load(args.path)
        model.load_state_dict(state["model"])
        start = state["epoch"]
    for epoch in range(start, 10):
        if args.rank == 0:
            torch.save({{"model": model.state_dict(), "epoch": epoch}}, args.path)
"""


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ('args.dist_url = f"tcp://localhost:{port()}"', []),
        ('args.dist_url = f"tcp://{host()}:29500"', ["warning"]),
        ('args.dist_url = args.dist_url or "tcp://localhost:29500"', ["warning"]),
    ],
)
def test_processes_that_meet_at_home(
    address: str, found: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"train.py": HOME.format(address=address)}
    assert severities_in("DL309", tmp_path, files, capsys) == found


FABRIC = """
import os
from lightning.fabric import Fabric
from lightning.fabric.strategies import FSDPStrategy


def main(args, model, optimizer):
    fabric = Fabric(strategy={strategy})
    fabric.launch()
    state = {{"model": model, "optimizer": optimizer, "step": 0}}
    if os.path.exists(args.path):
        fabric.load(args.path, state)
    for step in range(state["step"], 10):
        fabric.save(args.path, state)
"""


@pytest.mark.parametrize(
    ("strategy", "found"),
    [
        ("'ddp'", ["warning"]),
        ("FSDPStrategy(cpu_offload=True)", []),
        ("FSDPStrategy(state_dict_type='full')", ["warning"]),
    ],
)
def test_shards_of_each_rank(
    strategy: str, found: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = FABRIC.format(strategy=strategy)
    if "FSDPStrategy" not in strategy:
        text = text.replace("from lightning.fabric.strategies import FSDPStrategy\n", "")
    assert severities_in("DL309", tmp_path, {"train.py": text}, capsys) == found


LISTED = """
import torch
import torch.distributed as dist

def exists(value):
    return {answer}

def load(path, folder, optimizer):
    dist.barrier()
    if not exists(path):
        path = str(sorted(folder.glob("last_*"))[-1])
    state = torch.load(path)
    optimizer.load_state_dict(state["optimizer"])
    if dist.get_rank() == 0:
        torch.save(state, folder / "last_0")
"""


def test_a_helper_that_asks_no_disk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = LISTED.format(answer="value is not None")
    assert severities_in("DL309", tmp_path, {"train.py": text}, capsys) == []


BY_ACCELERATE = """
import os
from accelerate import Accelerator


def main(model, folder, steps):
    accelerator = Accelerator()
    model = accelerator.prepare(model)
    start = 0
    names = [name for name in os.listdir(folder) if name.startswith("checkpoint")]
    if names:
        accelerator.load_state(os.path.join(folder, names[-1]))
        start = int(names[-1].split("-")[1])
    for step in range(start, steps):
        train(model)
        {condition}accelerator.save_state(os.path.join(folder, f"checkpoint-{{step}}"))
        if accelerator.is_main_process:
            accelerator.unwrap_model(model).save_pretrained(folder)
            torch.save(model.state_dict(), os.path.join(folder, "weights.pt"))


main(read(), "out", 10)
"""


@pytest.mark.parametrize(("condition", "found"), [("", 0), ("if accelerator.is_main_process: ", 1)])
def test_a_folder_that_every_rank_makes_by_save_state(
    condition: str, found: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """hallo 8fd7c57 hallo/utils/util.py:805."""
    script = "import torch" + BY_ACCELERATE.format(condition=condition)
    assert len(evidence_in("DL309", tmp_path, {"train.py": script}, capsys)) == found
