"""How much it matters that ranks draw alike: the noise of a step more than the crops of other samples."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import evidence_in, severities_in

SCRIPT = """
import random
import torch
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms


class Pictures(Dataset):
    def __init__(self, files):
        self.files = files
        self.flip = transforms.RandomHorizontalFlip()

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        {draw}


class Veil:
    def __call__(self, picture):
        return picture if random.random() < 0.5 else -picture


class DenoisingLoss:
    def __init__(self, words=()):
        self.words = words
        self.begin()

    def begin(self):
        {start}

    def __call__(self, net, batch):
        {loss}


def train(args, net, optimizer, files):
    torch.manual_seed(args.seed)
    net = DDP(net)
    loss = DenoisingLoss()
    veil = Veil()
    for batch in DataLoader(Pictures(files)):
        loss(net, veil(batch)).backward()
        optimizer.step()
"""
PLAIN = "return self.flip(self.files[index])"
QUIET = "return net(batch).mean()"
NOISY = "return net(batch + torch.randn_like(batch)).mean()"


BEGUN = "self.table = [torch.randn(word.shape[1]) for word in self.words]"


@pytest.mark.parametrize("start", ["self.table = []", BEGUN])
@pytest.mark.parametrize(
    ("draw", "loss", "severity", "shown"),
    [
        (PLAIN, QUIET, "info", "random.random() < 0.5"),
        (PLAIN, NOISY, "warning", "torch.randn_like"),
        ("return random.choice(self.files)", QUIET, "warning", "random.choice"),
        ("return random.choice('ab'), self.files[index]", QUIET, "info", "random.random"),
    ],
)
def test_the_worst_draw_is_shown(
    start: str,
    draw: str,
    loss: str,
    severity: str,
    shown: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = SCRIPT.replace("{start}", start).replace("{draw}", draw).replace("{loss}", loss)
    files = {"train.py": text}
    assert severities_in("DL401", tmp_path, files, capsys) == [severity]
    ((_, line), _) = evidence_in("DL401", tmp_path, files, capsys)[0]
    assert shown in files["train.py"].splitlines()[line - 1]
