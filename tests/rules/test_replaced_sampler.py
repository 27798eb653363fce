"""DL404 where a sampler of a rank's part is replaced or left out: a file that has one is silent in all else."""

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

LEFT_OUT = {
    "chosen in one expression": """\
def loader(data, local_rank):
    sampler = RandomSampler(data) if local_rank == -1 else DistributedSampler(data)
    return DataLoader(data, batch_size=8, shuffle=True)  # here
""",
    "nothing reads it": """\
def loader(data):
    sampler = DistributedSampler(data, shuffle=False)
    return DataLoader(data, batch_size=8, shuffle=True)  # here
""",
    "told the epoch all the same": """\
def train(model, data, epochs):
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=8)  # here
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for batch in loader:
            model(batch)
    print(len(sampler))
""",
    "where several run": """\
def loader(data, distributed):
    if distributed:
        sampler = DistributedSampler(data)
    else:
        sampler = None
    loader = DataLoader(data, shuffle=True)  # here
    return loader
""",
}

USED = {
    "chosen in one expression, of other data": """\
def loader(data, other, local_rank):
    sampler = RandomSampler(data) if local_rank == -1 else DistributedSampler(data)
    return DataLoader(data, sampler=sampler), DataLoader(other, shuffle=True)
""",
    "prepared": """\
def loader(data, accelerator):
    sampler = DistributedSampler(data)
    loader = DataLoader(data, shuffle=True)
    return accelerator.prepare(loader)
""",
    "handed to a trainer": """\
def fit(data, trainer):
    sampler = DistributedSampler(data)
    loader = DataLoader(data, shuffle=True)
    trainer.fit(train_loader=loader)
""",
    "over another data set": """\
def loader(data, other):
    sampler = DistributedSampler(data)
    return DataLoader(other, shuffle=True)
""",
    "handed back": """\
def loader(data):
    sampler = DistributedSampler(data)
    loader = DataLoader(data, shuffle=True)
    return loader, sampler
""",
    "drawn from by hand": """\
def loader(data):
    sampler = DistributedSampler(data)
    part = [data[n] for n in sampler]
    loader = DataLoader(data)
    return part, loader
""",
    "read in a function inside": """\
def loader(data):
    sampler = DistributedSampler(data)
    loader = DataLoader(data)

    def own():
        return list(sampler)

    return loader, own
""",
    "on one rank": """\
def loader(data, rank):
    sampler = DistributedSampler(data)
    if rank == 0:
        loader = DataLoader(data)
        return loader
    return DataLoader(data, sampler=sampler)
""",
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


@pytest.mark.parametrize("text", (REPLACED | LEFT_OUT).values(), ids=REPLACED | LEFT_OUT)
def test_replaced_or_left_out(
    tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    line = next(n for n, s in enumerate((HEAD + text).splitlines(), 1) if s.endswith("# here"))
    assert _lines(tmp_path, text, capsys) == [line]


@pytest.mark.parametrize("text", USED.values(), ids=USED)
def test_used(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert _lines(tmp_path, text, capsys) == []
