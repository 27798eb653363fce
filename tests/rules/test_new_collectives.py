"""A fix that makes a collective is offered where all ranks come at once in every context, and else only shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import offers_in

HELPER = """\
import os

import torch
import torch.distributed as dist


def fetch():
    if not os.path.exists("weights.pt"):
        torch.save({}, "weights.pt")
    return torch.load("weights.pt", map_location="cpu")


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = fetch()


def prepare():
    dist.init_process_group("gloo")
    dist.barrier()
    return fetch()
"""

HEAD = """\
import threading
import time

import torch
import torch.distributed as dist
from accelerate import Accelerator

from helper import Net, fetch


def on_first_device():
    return torch.cuda.current_device() == 0


"""

APART = {
    # T2I-Adapter c408b05 train_sketch.py:465
    "a hook of what rank 0 saves": """\
def main(model):
    accelerator = Accelerator()
    model = accelerator.prepare(model)

    def keep(models, weights, folder):
        fetch()

    accelerator.register_save_state_pre_hook(keep)
    accelerator.save_state("first")
    if accelerator.is_main_process:
        accelerator.save_state("out")
""",
    "an answer to a failure": """\
def main():
    dist.init_process_group("gloo")
    dist.barrier()
    try:
        weights = torch.load("own.pt", map_location="cpu")
    except FileNotFoundError:
        weights = fetch()
    return weights
""",
    # HumanBench f3fd3b3 PATH/core/data/datasets/images/parsing_dataset.py:529
    "a branch that ends in an error": """\
def main(client):
    dist.init_process_group("gloo")
    dist.barrier()
    lines = client.Get("lines.txt")
    if not lines:
        fetch()
        raise OSError("no lines")
    return lines
""",
    "a turnstile in the caller": """\
def main():
    dist.init_process_group("gloo")
    if dist.get_rank() != 0:
        dist.barrier()
    weights = fetch()
    if dist.get_rank() == 0:
        dist.barrier()
    return weights
""",
    "a turnstile around a constructor": """\
def main():
    dist.init_process_group("gloo")
    if dist.get_rank() != 0:
        dist.barrier()
    net = Net()
    if dist.get_rank() == 0:
        dist.barrier()
    return net
""",
    "a turnstile by a test of the project": """\
def make():
    return Net()


def main():
    dist.init_process_group("gloo")
    if dist.is_initialized() and not on_first_device():
        dist.barrier()
    net = make()
    if dist.is_initialized() and on_first_device():
        dist.barrier()
    return net
""",
    "a first section two calls above": """\
def make():
    return Net()


def main():
    accelerator = Accelerator()
    with accelerator.main_process_first():
        net = make()
    return accelerator.prepare(net)
""",
    "one caller of two in a section": """\
def train():
    dist.barrier()
    return fetch()


def main():
    accelerator = Accelerator()
    weights = train()
    with accelerator.main_process_first():
        more = fetch()
    return weights, more
""",
    "rank 0 alone in one caller": """\
def train():
    dist.barrier()
    return fetch()


def report():
    if dist.get_rank() == 0:
        print(fetch())


def main():
    dist.init_process_group("gloo")
    train()
    report()
""",
    "a loop that a measured score ends": """\
def main(folders, model, patience, evaluate):
    dist.init_process_group("gloo")
    worse, best = 0, 1e9
    for folder in folders:
        weights = fetch()
        score = evaluate(model, weights)
        if score < best:
            best, worse = score, 0
        else:
            worse += 1
        if all([count > patience for count in [worse]]):
            break
    dist.barrier()
""",
    "a loop that a measured score ends by return": """\
def main(folders, model, evaluate):
    dist.init_process_group("gloo")
    dist.barrier()
    while True:
        weights = fetch()
        if evaluate(model, weights) > 0.9:
            return model
""",
    "a comprehension over this rank's part": """\
def main(folders):
    dist.init_process_group("gloo")
    dist.barrier()
    return [fetch() for folder in folders[dist.get_rank() :: dist.get_world_size()]]
""",
    "a loader's worker": """\
class Data(torch.utils.data.Dataset):
    def __getitem__(self, index):
        return fetch()


def main():
    dist.init_process_group("gloo")
    fetch()
    dist.barrier()
    return torch.utils.data.DataLoader(Data(), num_workers=4)
""",
    "a thread": """\
def main():
    dist.init_process_group("gloo")
    fetch()
    dist.barrier()
    threading.Thread(target=fetch).start()
""",
    "a condition of one rank": """\
def main(limit):
    dist.init_process_group("gloo")
    dist.barrier()
    if time.monotonic() > limit:
        fetch()
    fetch()
""",
    "a generator": """\
def batches(folders):
    for folder in folders:
        yield fetch()


def main(folders):
    dist.init_process_group("gloo")
    dist.barrier()
    for batch in batches(folders):
        print(batch)
""",
}

TOGETHER = {
    "a hook of what all ranks save": """\
def main(model):
    accelerator = Accelerator()
    model = accelerator.prepare(model)

    def keep(models, weights, folder):
        fetch()

    accelerator.register_save_state_pre_hook(keep)
    accelerator.wait_for_everyone()
    accelerator.save_state("out")
""",
    "one call": """\
def main():
    dist.init_process_group("gloo")
    dist.barrier()
    return fetch()
""",
    "a constructor two calls below": """\
def make():
    return Net()


def main():
    dist.init_process_group("gloo")
    dist.barrier()
    return make()
""",
    "after a turnstile": """\
def main():
    dist.init_process_group("gloo")
    if dist.get_rank() != 0:
        dist.barrier()
    print("first")
    if dist.get_rank() == 0:
        dist.barrier()
    return fetch()
""",
    "between two barriers of all ranks": """\
def main(world_size):
    dist.init_process_group("gloo")
    if world_size > 1:
        dist.barrier()
    weights = fetch()
    if world_size > 1:
        dist.barrier()
    return weights
""",
    "a loop with a number of turns": """\
def main(folders, most):
    dist.init_process_group("gloo")
    dist.barrier()
    step = 0
    for folder in folders:
        step += 1
        fetch()
        if step >= most:
            break
""",
    "a loop in step by a collective": """\
def main(folders, model, evaluate):
    dist.init_process_group("gloo")
    for folder in folders:
        score = evaluate(model, fetch())
        dist.all_reduce(score)
        if score > 0.9:
            break
""",
    "an iterator elsewhere": """\
class Data(torch.utils.data.Dataset):
    def __getitem__(self, index):
        return index


def main():
    dist.init_process_group("gloo")
    dist.barrier()
    weights = fetch()
    return Data(), weights
""",
}


def _offered(text: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    files = {"helper.py": HELPER, "train.py": HEAD + text}
    return [safety for _, _, safety in offers_in("DL305", folder, files, capsys)]


@pytest.mark.parametrize("shape", APART)
def test_a_new_collective_is_only_shown(
    shape: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _offered(APART[shape], tmp_path, capsys) == ["display"]


@pytest.mark.parametrize("shape", TOGETHER)
def test_a_new_collective_is_offered(
    shape: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (offered,) = _offered(TOGETHER[shape], tmp_path, capsys)
    assert offered in ("safe", "unsafe")


FAILS = """\
import torch
import torch.distributed as dist


def reduced(counts):
    try:
        open("settings.json").close()
    except OSError:
        return counts
{behind}
    return counts


def main(loader):
    dist.init_process_group("gloo")
    for batch in loader:
        counts = reduced(torch.zeros(3))
        if batch.sum().item() > 3:
            break
    dist.all_reduce(counts)
"""


@pytest.mark.parametrize(
    ("behind", "offered"),
    [
        # The code meets in each turn itself: what hangs with the new collective hangs without.
        ("    dist.all_reduce(counts)", ["unsafe"]),
        ("    if dist.is_initialized():\n        dist.all_reduce(counts)", ["display"]),
        (
            "    if counts.sum() > 1:\n        return counts\n    dist.all_reduce(counts)",
            ["display"],
        ),
    ],
)
def test_a_collective_in_front_of_one_needs_no_more_than_that(
    behind: str, offered: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"train.py": FAILS.format(behind=behind)}
    found = [safety for _, _, safety in offers_in("DL105", tmp_path, files, capsys)]
    assert found == offered
