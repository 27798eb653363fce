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


SPLIT = """\
from accelerate import Accelerator
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader


def main(frame, model, optimizer):
    {first}
    accelerator = Accelerator()
    train, test = {split}
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(train))
    for batch in loader:
        accelerator.backward(model(batch).loss)
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("split", "first", "lines"),
    [
        ("train_test_split(frame, test_size=0.2)", "pass", [9]),
        ("frame.train_test_split(test_size=0.2)", "pass", [9]),
        ("train_test_split(frame, random_state=0)", "pass", []),
        ("frame.train_test_split(test_size=0.2, seed=0)", "pass", []),
        ("frame.train_test_split(test_size=0.2)", "set_seed(0)", []),
        ("train_test_split(frame, shuffle=False)", "pass", []),
    ],
)
def test_split_without_a_seed(
    split: str, first: str, lines: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = SPLIT.format(split=split, first=first)
    assert lines_of("DL405", tmp_path, text, capsys) == lines


ROWS = """\
import os
import random

from datasets import load_dataset
from trl import SFTTrainer

world = int(os.environ.get("WORLD_SIZE", "1"))


def main(model, name, size):
    {first}
    rows = load_dataset(name, split="train")
    rows = {split}
    trainer = SFTTrainer(model=model, train_dataset=rows)
    trainer.train()
    {last}


if __name__ == "__main__":
    main(None, "rows", 100)
"""


@pytest.mark.parametrize(
    ("split", "first", "last", "lines"),
    [
        ("rows.shuffle()", "pass", "pass", [13]),
        ("rows.shuffle(seed=None)", "pass", "pass", [13]),
        ('rows.shuffle().map(len)["train"]', "pass", "pass", [13]),
        ("rows.train_test_split(test_size=0.1)", "pass", "pass", [13]),
        ("rows.train_test_split(test_size=0.1, shuffle=True)", "pass", "pass", [13]),
        ("rows.select(random.sample(range(len(rows)), size))", "pass", "pass", [13]),
        ("rows.select(range(size))", "pass", "pass", []),
        ("rows.select(random.Random(0).sample(range(9), size))", "pass", "pass", []),
        ("rows.shuffle(seed=0)", "pass", "pass", []),
        ("rows.shuffle(0)", "pass", "pass", []),
        ("rows.shuffle(buffer_size=size)", "pass", "pass", []),
        ("rows.shuffle()", "set_seed(0)", "pass", []),
        ("rows", "pass", "rows.shuffle()", []),
        ("rows.train_test_split(test_size=0.1, seed=0)", "pass", "pass", []),
        # RWKV-infctx-trainer 70d02c4 RWKV-v5/src/data.py:1405: made for the dictionary that it gives
        ("rows.train_test_split(1, 1)", "pass", 'rows["train"] = 1; rows["test"] = 2', []),
        ("rows.train_test_split(1, 1)", "pass", 'rows["train"] = 1', [13]),
    ],
)
def test_a_trainer_divides_what_nothing_seeded(
    split: str,
    first: str,
    last: str,
    lines: list[int],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = ROWS.format(split=split, first=first, last=last)
    assert lines_of("DL405", tmp_path, text, capsys) == lines


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('world = int(os.environ.get("WORLD_SIZE", "1"))\n', "\n"),  # started on one process
        ("from datasets import load_dataset", "from cards import load_dataset"),
        ("SFTTrainer(model=model", "print(model"),
    ],
)
def test_shuffle_that_nobody_divides(
    old: str, new: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = ROWS.format(split="rows.shuffle()", first="pass", last="pass").replace(old, new)
    assert lines_of("DL405", tmp_path, text, capsys) == []


def test_shuffle_on_one_rank(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = ROWS.format(split="rows.shuffle()", first="pass", last="pass").replace(
        "    rows = rows.shuffle()",
        '    if os.environ.get("LOCAL_RANK") == "0":\n        rows.shuffle().to_json("rows.json")',
    )
    assert lines_of("DL405", tmp_path, text, capsys) == []


PARTED = """\
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, random_split


def parts(data):
    return random_split({arguments})


def main(data, model):
    {first}
    dist.init_process_group()
    train, test = parts(data)
    model = DistributedDataParallel(model)
    for batch in DataLoader(train, sampler=DistributedSampler(train)):
        model(batch).sum().backward()
"""


@pytest.mark.parametrize(
    ("arguments", "first", "lines"),
    [
        ("data, [0.9, 0.1]", "pass", [8]),
        ("data, [0.9, 0.1], generator=torch.Generator()", "pass", []),
        ("data, [0.9, 0.1]", "torch.manual_seed(0)", []),
    ],
)
def test_split_by_a_generator_that_nothing_seeds(
    arguments: str,
    first: str,
    lines: list[int],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = PARTED.format(arguments=arguments, first=first)
    assert lines_of("DL405", tmp_path, text, capsys) == lines


def test_split_of_one_process(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = PARTED.format(arguments="data, [0.9, 0.1]", first="pass")
    text = text.replace("    dist.init_process_group()\n", "")
    text = text.replace("DistributedDataParallel(model)", "model.cuda()")
    text = text.replace(", sampler=DistributedSampler(train)", "")
    assert lines_of("DL405", tmp_path, text, capsys) == []


BY_HAND = """\
import random

import numpy as np
import torch
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Frames(Dataset):
    def __init__(self, frames, seed=0):
        self.frames = list(frames)
        self.colours = ["red", "blue"]
        {shuffle}

    def __getitem__(self, index):
        return self.frames[index], self.colours[0]


def train(model, frames, seed):
    torch.manual_seed(seed)
    {first}
    model = DistributedDataParallel(model)
    data = Frames(frames)
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        model(batch).sum().backward()
"""


@pytest.mark.parametrize(
    ("shuffle", "first", "lines"),
    [
        ("random.shuffle(self.frames)", "pass", [13]),
        ("np.random.shuffle(self.frames)", "random.seed(seed)", [13]),
        ("random.shuffle(self.frames)", "random.seed(seed)", []),
        ("np.random.shuffle(self.frames)", "np.random.seed(seed)", []),
        ("random.shuffle(self.frames)", "seed_everything(seed)", []),
        ("random.Random(seed).shuffle(self.frames)", "pass", []),
        ("random.shuffle(self.colours)", "pass", []),
    ],
)
def test_shuffled_by_a_generator_that_nothing_seeds(
    shuffle: str,
    first: str,
    lines: list[int],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = BY_HAND.format(shuffle=shuffle, first=first)
    assert lines_of("DL405", tmp_path, text, capsys) == lines


ORDERED = """\
import os
import random

import numpy as np
import torch
from transformers import Trainer

world = int(os.environ.get("WORLD_SIZE", "1"))


def make(rows):
    {first}
    count = int(len(rows) * 0.98)
    {order}
    {parts}
    return kept_rows, other_rows


def main(model, rows):
    kept, held = make(rows)
    trainer = Trainer(model=model, train_dataset=kept, eval_dataset=held)
    trainer.train()


if __name__ == "__main__":
    main(None, list(range(100)))
"""
PARTS = "train_at, test_at = order[:count], order[count:]; kept_rows, other_rows = [rows[i] for i in train_at], []"


@pytest.mark.parametrize(
    ("order", "parts", "first", "lines"),
    [
        ("order = np.random.permutation(len(rows))", PARTS, "pass", [14]),
        ("order = torch.randperm(len(rows)).tolist()", PARTS, "pass", [14]),
        ("order = rows; random.shuffle(order)", PARTS, "pass", [14]),
        (
            "np.random.shuffle(rows)",
            "kept_rows = train_rows = rows[:count]; other_rows = eval_rows = rows[count:]",
            "pass",
            [14],
        ),
        ("order = np.random.permutation(len(rows))", PARTS, "np.random.seed(0)", []),
        ("order = np.random.RandomState(0).permutation(len(rows))", PARTS, "pass", []),
        ("order = torch.randperm(9, generator=torch.Generator())", PARTS, "pass", []),
        ("order = np.arange(len(rows))", PARTS, "pass", []),
        (
            "order = np.random.permutation(len(rows))",
            "kept_rows = other_rows = rows[order[0]]",
            "pass",
            [],
        ),
        (
            "order = np.random.permutation(len(rows))",
            "first, second = order[:count], order[count:]; kept_rows = other_rows = rows",
            "pass",
            [],
        ),
    ],
)
def test_parts_of_an_order_that_nothing_seeded(
    order: str,
    parts: str,
    first: str,
    lines: list[int],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = ORDERED.format(order=order, parts=parts, first=first)
    assert lines_of("DL405", tmp_path, text, capsys) == lines


def test_order_drawn_by_one_rank(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = ORDERED.format(
        order='if os.environ.get("LOCAL_RANK") == "0": random.shuffle(rows)',
        parts="kept_rows = train = rows[:count]; other_rows = test = rows[count:]",
        first="pass",
    )
    assert lines_of("DL405", tmp_path, text, capsys) == []
