"""Samplers over epochs (DL403) across files: which loop is a sampler's, and what tells it the epoch."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import findings_in, lines_of

DATA = """
from torch.utils.data import DataLoader, DistributedSampler


def build_loaders(train_set, val_set):
    sampler_train = DistributedSampler(train_set, shuffle=True)
    sampler_val = DistributedSampler(val_set, shuffle=False)
    return DataLoader(train_set, sampler=sampler_train), DataLoader(val_set, sampler=sampler_val)


def build_samplers(datasets, shuffles):
    samplers = []
    for dataset, shuffle in zip(datasets, shuffles):
        samplers.append(DistributedSampler(dataset, shuffle=shuffle))
    return samplers
"""

TOLD = """
from data import build_loaders


def main(train_set, val_set, epochs):
    train_loader, val_loader = build_loaders(train_set, val_set)
    for epoch in range(epochs):
        train_loader.sampler.set_epoch(epoch)
        train_one_epoch(train_loader)


def train_one_epoch(loader):
    for batch in loader:
        batch.sum().backward()
"""

UNTOLD = TOLD.replace("        train_loader.sampler.set_epoch(epoch)\n", "")

LISTS = """
from data import build_samplers
from torch.utils.data import DataLoader


def main(train_set, val_set, epochs):
    samplers = build_samplers([train_set, val_set], [True, False])
    loader = DataLoader(train_set, sampler=samplers[0])
    for epoch in range(epochs):
        train_one_epoch(loader)


def train_one_epoch(loader):
    for batch in loader:
        batch.sum().backward()
"""

PLAIN = """
from data import build_loaders
from torch.utils.data import DataLoader


def main(train_set, val_set, epochs):
    train_loader, val_loader = build_loaders(train_set, val_set)
    for epoch in range(epochs):
        train_loader.sampler.set_epoch(epoch)
        train_one_epoch(train_loader)
    probes = DataLoader(val_set, shuffle=True)
    for epoch in range(epochs):
        train_one_epoch(probes)


def train_one_epoch(loader):
    for batch in loader:
        batch.sum().backward()
"""

OWN_SAMPLER = """
import torch
from torch.utils.data import DataLoader, Sampler


class ShardSampler(Sampler):
    def __init__(self, data, rank, size, shuffle=True):
        self.data, self.rank, self.size, self.shuffle, self.epoch = data, rank, size, shuffle, 0

    def __iter__(self):
        generator = torch.Generator()
        generator.manual_seed(self.epoch)
        order = torch.randperm(len(self.data), generator=generator).tolist()
        return iter(order[self.rank :: self.size])

    def set_epoch(self, epoch):
        self.epoch = epoch


class Strategy:
    def loader(self, data, shuffle=True):
        sampler = ShardSampler(data, torch.distributed.get_rank(), 8, shuffle=shuffle)
        return DataLoader(data, sampler=sampler)
"""

STRATEGIES = """
from strategy import Strategy


def get_strategy(args):
    return Strategy()
"""

OWN_TRAINER = """
import torch.distributed as dist


class Trainer:
    def __init__(self, loader, epochs):
        self.loader = loader
        self.epochs = epochs

    def fit(self):
        for epoch in range(self.epochs):
            {tell}
            for batch in self.loader:
                batch.sum().backward()
            if dist.get_rank() == 0:
                print(epoch)
"""

OWN_SCRIPT = """
from strategies import get_strategy
from trainer import Trainer


def main(args, data):
    strategy = get_strategy(args)
    trainer = Trainer(strategy.loader(data), args.epochs)
    trainer.fit()
"""


def test_a_loop_that_another_scripts_loop_does_not_speak_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"data.py": DATA, "told.py": TOLD, "untold.py": UNTOLD}
    assert findings_in("DL403", tmp_path, files, capsys) == [("untold.py", 7)]


def test_a_sampler_that_nobody_tells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {"data.py": DATA, "untold.py": UNTOLD}
    assert findings_in("DL403", tmp_path, files, capsys) == [("data.py", 6)]


def test_a_sampler_that_every_loop_tells(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"data.py": DATA, "told.py": TOLD, "plain.py": PLAIN}
    assert findings_in("DL403", tmp_path, files, capsys) == []


def test_a_flag_that_comes_in_a_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {"data.py": DATA, "lists.py": LISTS}
    assert findings_in("DL403", tmp_path, files, capsys) == [("data.py", 14)]
    files["lists.py"] = LISTS.replace("[True, False]", "[False, False]")
    assert findings_in("DL403", tmp_path, files, capsys) == []


def test_a_sampler_of_the_project_behind_a_factory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {
        "strategy.py": OWN_SAMPLER,
        "strategies.py": STRATEGIES,
        "trainer.py": OWN_TRAINER.format(tell="pass"),
        "script.py": OWN_SCRIPT,
    }
    assert findings_in("DL403", tmp_path, files, capsys) == [("strategy.py", 22)]
    files["trainer.py"] = OWN_TRAINER.format(tell="self.loader.sampler.set_epoch(epoch)")
    assert findings_in("DL403", tmp_path, files, capsys) == []


BUCKETS = """
import torch
from torch.utils.data import DataLoader, DistributedSampler


class Buckets(DistributedSampler):
    def __iter__(self):
        generator = torch.Generator()
        generator.manual_seed(self.epoch)
        yield from torch.randperm(len(self.dataset), generator=generator).tolist()


def create_train_val_loaders(train_set, val_set):
    sampler = Buckets(train_set)
    return DataLoader(train_set, batch_sampler=sampler), DataLoader(val_set)


def main(train_set, val_set, epochs):
    loader, _ = create_train_val_loaders(train_set, val_set)
    for epoch in range(epochs):
        {tell}
        batches = iter(loader)
        batch = next(batches, None)
        while batch is not None:
            batch.sum().backward()
            batch = next(batches, None)
"""


def test_a_subclass_of_the_sampler_and_a_loop_without_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"script.py": BUCKETS.format(tell="pass")}
    assert findings_in("DL403", tmp_path, files, capsys) == [("script.py", 14)]
    files["script.py"] = BUCKETS.format(tell="loader.batch_sampler.set_epoch(epoch)")
    assert findings_in("DL403", tmp_path, files, capsys) == []


ENDLESS = """\
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler


def rounds(loader{more}):
    {head}
        {tell}
        for batch in loader:
            yield batch


def train(model, data):
    dist.init_process_group()
    sampler = DistributedSampler(data)
    batches = rounds(DataLoader(data, sampler=sampler){given})
    for _ in range(1000):
        model(next(batches)).sum().backward()
"""


@pytest.mark.parametrize(
    ("more", "head", "tell", "given", "lines"),
    [
        ("", "while True:", "pass", "", [14]),
        (", sampler", "while True:", "sampler.set_epoch(len(loader))", ", sampler", []),
        ("", "if len(loader):", "pass", "", []),
    ],
)
def test_rounds_without_an_end(
    more: str,
    head: str,
    tell: str,
    given: str,
    lines: list[int],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = ENDLESS.format(more=more, head=head, tell=tell, given=given)
    assert lines_of("DL403", tmp_path, text, capsys) == lines
