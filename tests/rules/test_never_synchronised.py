"""DL621 asks the whole program: one file that may keep the replicas equal is enough to say nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import findings_in

_TRAINS = """\
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler

from parts import prepare, reduce_tensor


def train(data):
    dist.init_process_group("nccl")
    model = prepare(torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        print(reduce_tensor(loss))
    dist.barrier()
"""

_REDUCES = """\
import torch.distributed as dist


def reduce_tensor(tensor):
    dist.all_reduce(tensor)
    return tensor / dist.get_world_size()


"""


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        ("def prepare(model):\n    return model.cuda()\n", [("train.py", 14)]),
        (
            "def prepare(model):\n    for p in model.parameters():\n"
            "        p.register_hook(dist.all_reduce)\n    return model\n",
            [],
        ),
        (
            "from torch.nn.parallel import DistributedDataParallel as Shared\n\n\n"
            "def prepare(model):\n    return Shared(model)\n",
            [],
        ),
        (
            "def prepare(model):\n    def hook():\n        for p in model.parameters():\n"
            "            dist.all_reduce(p.grad)\n    model.hook = hook\n    return model\n",
            [],
        ),
    ],
    ids=["nothing synchronises", "hooks", "wrapped elsewhere", "gradients sent by hand"],
)
def test_what_synchronises_may_stand_in_another_file(
    parts: str,
    found: list[tuple[str, int]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    files = {"train.py": _TRAINS, "parts.py": _REDUCES + parts}
    assert findings_in("DL621", tmp_path, files, capsys) == found


def test_a_script_that_no_import_joins_says_nothing_of_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {
        "train.py": _TRAINS,
        "parts.py": _REDUCES + "def prepare(model):\n    return model\n",
        "other.py": "from accelerate import Accelerator\n\naccelerator = Accelerator()\n",
    }
    assert findings_in("DL621", tmp_path, files, capsys) == [("train.py", 14)]
