"""DL404 where a sampler of a rank's part is replaced: a file that has one is silent in all else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from distlint.cli import main

HEAD = """\
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler, RandomSampler
from torch.utils.data import SequentialSampler

"""

REPLACED = {
    "chosen by the launch": """\
def loader(data, local_rank):
    if local_rank == -1:
        sampler = SequentialSampler(data)
    else:
        sampler = DistributedSampler(data)
    print(len(data))
    sampler = SequentialSampler(data)  # here
    return DataLoader(data, sampler=sampler)
""",
    "one after the other": """\
def loader(data):
    sampler = DistributedSampler(data, shuffle=True)
    sampler = RandomSampler(data)  # here
    return DataLoader(data, sampler=sampler)
""",
    "at the top level of a script": """\
data = range(8)
sampler = DistributedSampler(data)
sampler = RandomSampler(data)  # here
loader = DataLoader(data, sampler=sampler)
""",
    "inside another block": """\
def loader(data, evaluate):
    if evaluate:
        sampler = DistributedSampler(data)
        sampler = SequentialSampler(data)  # here
        return DataLoader(data, sampler=sampler)
""",
}

USED = {
    "the other arm": """\
def loader(data, distributed):
    if distributed:
        sampler = DistributedSampler(data)
    else:
        sampler = RandomSampler(data)
    return DataLoader(data, sampler=sampler)
""",
    "a default, replaced by the part": """\
def loader(data, distributed):
    sampler = RandomSampler(data)
    if distributed:
        sampler = DistributedSampler(data)
    return DataLoader(data, sampler=sampler)
""",
    "used before the name is taken again": """\
def loaders(data, other):
    sampler = DistributedSampler(data)
    first = DataLoader(data, sampler=sampler)
    sampler = SequentialSampler(other)
    return first, DataLoader(other, sampler=sampler)
""",
    "used in the branch": """\
def loaders(data, other, distributed):
    first = None
    if distributed:
        sampler = DistributedSampler(data)
        first = DataLoader(data, sampler=sampler)
    sampler = SequentialSampler(other)
    return first, DataLoader(other, sampler=sampler)
""",
    "around it": """\
def loader(data):
    sampler = DistributedSampler(data)
    sampler = BatchSampler(sampler, 8, drop_last=True)
    return DataLoader(data, batch_sampler=sampler)
""",
    "under a condition of its own": """\
def loader(data, whole):
    sampler = DistributedSampler(data)
    if whole:
        sampler = SequentialSampler(data)
    return DataLoader(data, sampler=sampler)
""",
    "a part of another data set": """\
def loader(data, other):
    sampler = DistributedSampler(data)
    sampler = DistributedSampler(other)
    return DataLoader(other, sampler=sampler)
""",
}


def _lines(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> list[int]:
    path = tmp_path / "train.py"
    path.write_text(HEAD + text)
    with pytest.raises(SystemExit) as end:
        main(["check", "--no-cache", "--select", "DL404", "--output-format", "json", str(path)])
    assert end.value.code in (0, 1, None)
    return [finding["line"] for finding in json.loads(capsys.readouterr().out)["findings"]]


@pytest.mark.parametrize("text", REPLACED.values(), ids=REPLACED)
def test_replaced(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    line = next(n for n, s in enumerate((HEAD + text).splitlines(), 1) if s.endswith("# here"))
    assert _lines(tmp_path, text, capsys) == [line]


@pytest.mark.parametrize("text", USED.values(), ids=USED)
def test_used(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert _lines(tmp_path, text, capsys) == []
