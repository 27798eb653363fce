"""What rank 0 alone is given: the other ranks fail where they take an element of None, and write nothing below."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import findings_in

TEXT = """
import json
import torch.distributed as dist


class Base:
    def __init__(self, args, train, test):
        self.args = args
        self.train_loader = train
        self.test_loader = test


class Runner(Base):
    def run(self):
        dist.barrier()
        {taken}
        with open("out.json", "w") as file:
            json.dump(self.answer(loader), file)


class Other(Base):
    def run(self):
        print(self.test_loader)


def main(args):
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    train = load(args)
    test = None
    if {chosen}:
        test = {{"one": load(args)}}
    runner = Runner(args, train, test)
    runner.run()
    Other(args, train, load(args)).run()
"""


@pytest.mark.parametrize(
    ("taken", "chosen", "lines"),
    [
        ('loader = self.test_loader["one"]', "rank == 0", []),
        ('loader = self.test_loader["one"]', "args.tests", [17]),
        ('loader = self.train_loader["one"]', "rank == 0", [17]),
        ("loader = self.test_loader", "rank == 0", [17]),
        ('loader = self.test_loader and self.test_loader["one"]', "rank == 0", [17]),
    ],
)
def test_an_element_of_what_the_others_lack(
    taken: str, chosen: str, lines: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"train.py": TEXT.format(taken=taken, chosen=chosen)}
    assert [line for _, line in findings_in("DL301", tmp_path, files, capsys)] == lines
