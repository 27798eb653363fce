"""Shuffles of a data set that come before the seed of the Trainer which divides it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import lines_of

SCRIPT = """\
import random

import transformers
from torch.utils.data import Dataset
from transformers import Trainer


class Pairs(Dataset):
    def __init__(self, pairs, seed=0):
        self.pairs = list(pairs)
        {shuffle}

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, index):
        return self.pairs[index]


def train(model, arguments, pairs):
    {first}
    data = Pairs(pairs)
    Trainer(model=model, args=arguments, train_dataset=data).train()
"""


@pytest.mark.parametrize(
    ("shuffle", "first", "lines"),
    [
        ("random.shuffle(self.pairs)", "pass", [11]),
        ("random.shuffle(self.pairs)", "transformers.set_seed(arguments.seed)", []),
        ("random.Random(seed).shuffle(self.pairs)", "pass", []),
        ("self.pairs.sort()", "pass", []),
    ],
)
def test_shuffled_before_the_trainer_seeds(
    shuffle: str,
    first: str,
    lines: list[int],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = SCRIPT.format(shuffle=shuffle, first=first)
    assert lines_of("DL405", tmp_path, text, capsys) == lines


def test_no_trainer_divides_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = SCRIPT.format(shuffle="random.shuffle(self.pairs)", first="pass")
    text = text.replace(
        "Trainer(model=model, args=arguments, train_dataset=data).train()", "model(data)"
    )
    assert lines_of("DL405", tmp_path, text, capsys) == []
