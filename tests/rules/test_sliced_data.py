"""Shares that a data set of the program takes itself (DL601, DL104): by a rank that its constructor gets, or asks for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from distlint.cli import main as run
from tests.rules.checked import findings_in, severities_in

DATA = """
import torch
from torch.utils.data import IterableDataset, get_worker_info


class Packed(IterableDataset):
    def __init__(self, files, seed=0, num_processes=1, process_rank=0):
        self._files = files
        self._seed = seed
        self._processes = num_processes
        self._rank = process_rank

    def __iter__(self):
        info = get_worker_info()
        workers = info.num_workers if info is not None else 1
        shards = workers * self._processes
        shard = self._rank * workers + (info.id if info is not None else 0)
        for file in self._files[shard : len(self._files) : shards]:
            yield from torch.load(file)


class Mixed(IterableDataset):
    def __init__(self, parts):
        self._parts = parts

    def __iter__(self):
        for part in self._parts:
            yield from part
"""

MAIN = """
import lightning as L
import torch
from data import Mixed, Packed
from torch.utils.data import DataLoader


def make_loader(fabric, files):
    parts = []
    for each in files:
        part = Packed(
            each,
            seed=3 + fabric.global_rank,
            num_processes=fabric.world_size,
            process_rank=fabric.global_rank,
        )
        parts.append(part)
    return DataLoader(Mixed(parts), batch_size=4)


def main(fabric, model, train_files, val_files):
    train_loader, val_loader = fabric.setup_dataloaders(
        make_loader(fabric, train_files), make_loader(fabric, val_files)
    )
    for batch in train_loader:
        fabric.backward(model(batch).sum())
        val_loss = validate(fabric, model, val_loader)
        fabric.log_dict({"val_loss": val_loss.item()})


@torch.no_grad()
def validate(fabric, model, loader):
    losses = torch.zeros(8)
    for number, batch in enumerate(loader):
        losses[number] = model(batch).item()
    return losses.mean()


def setup():
    main(L.Fabric(devices=2), torch.nn.Linear(1, 1), [], [])
"""

REDUCED = MAIN.replace("return losses.mean()", "return fabric.all_reduce(losses.mean())")
BY_SEED = MAIN.replace(
    "            num_processes=fabric.world_size,\n            process_rank=fabric.global_rank,\n",
    "",
)
NO_RANK = MAIN.replace("process_rank=fabric.global_rank", "process_rank=0")
WHOLE = DATA.replace("[shard : len(self._files) : shards]", "")
WORKERS = DATA.replace("self._rank * workers + ", "")
IN_THE_CONSTRUCTOR = DATA.replace(
    "        self._files = files\n", "        self._files = files[process_rank::num_processes]\n"
).replace("[shard : len(self._files) : shards]", "")
IN_SLICES = DATA.replace(
    "self._files[shard : len(self._files) : shards]",
    "itertools.islice(self._files, shard, None, shards)",
).replace("import torch\n", "import itertools\nimport torch\n", 1)
FROM_AND_EACH = IN_THE_CONSTRUCTOR.replace(
    "[process_rank::num_processes]", "[process_rank:][::num_processes]"
)
NO_DATA_SET = DATA.replace("class Packed(IterableDataset)", "class Packed(object)")

HERE = [("train.py", 28)]


@pytest.mark.parametrize(
    ("main", "data", "expected"),
    [
        pytest.param(MAIN, DATA, HERE, id="share"),
        pytest.param(MAIN, IN_THE_CONSTRUCTOR, HERE, id="sliced in the constructor"),
        pytest.param(MAIN, FROM_AND_EACH, HERE, id="from the rank on, each n-th"),
        pytest.param(MAIN, NO_DATA_SET, HERE, id="a source that is no data set"),
        pytest.param(MAIN, IN_SLICES, HERE, id="islice"),
        pytest.param(REDUCED, DATA, [], id="reduced"),
        pytest.param(BY_SEED, DATA, [], id="only the seed is the rank's"),
        pytest.param(NO_RANK, DATA, [], id="one rank"),
        pytest.param(MAIN, WHOLE, [], id="nothing is sliced"),
        pytest.param(MAIN, WORKERS, [], id="workers share, ranks do not"),
    ],
)
def test_a_rank_s_part_by_the_data_set_s_own_slices(
    main: str,
    data: str,
    expected: list[tuple[str, int]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    files = {"data.py": data, "train.py": main}
    assert findings_in("DL601", tmp_path, files, capsys) == expected


PROGRESS = MAIN.replace(
    "        losses[number] = model(batch).item()\n",
    "        losses[number] = model(batch).item()\n"
    '        fabric.print(f"val loss {losses.mean()}")\n',
).replace("return losses.mean()", "return fabric.all_gather(losses).mean()")


def test_what_a_loop_shows_of_its_progress(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _severities(tmp_path, PROGRESS, capsys) == ["info"]
    kept = PROGRESS.replace("fabric.all_gather(losses).mean()", "None")
    assert _severities(tmp_path, kept, capsys) == ["warning"]


def _severities(tmp_path: Path, main: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    (tmp_path / "data.py").write_text(DATA)
    (tmp_path / "train.py").write_text(main)
    with pytest.raises(SystemExit):
        run(["check", "--no-cache", "--select", "DL601", "--output-format", "json", str(tmp_path)])
    return [found["severity"] for found in json.loads(capsys.readouterr().out)["findings"]]


DEALT = """
import numpy as np
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, SubsetRandomSampler

def loaders(data, validation, size, cached):
    if cached:
        indices = np.arange(dist.get_rank(), len(data), dist.get_world_size())
        sampler = SubsetRandomSampler(indices)
    else:
        sampler = DistributedSampler(data)
    indices = np.arange(dist.get_rank(), len(validation), dist.get_world_size())
    tested = SubsetRandomSampler(indices)
    return DataLoader(data, sampler=sampler, GIVEN), DataLoader(validation, sampler=tested)

def train(model, optimizer, data, validation, size, cached):
    model = DistributedDataParallel(model)
    loader, _ = loaders(data, validation, size, cached)
    for batch in loader:
        optimizer.zero_grad()
        model(batch).backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("batch_size=size", "warning"),
        ("batch_size=size, drop_last=False", "warning"),
        ("batch_size=1, drop_last=True", "warning"),
        ("drop_last=True", "warning"),
        ("batch_size=size, drop_last=True", "info"),
    ],
)
def test_an_element_more_in_whole_batches(
    given: str, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # UniCL 9983bf8 data/build.py:33
    text = DEALT.replace("GIVEN", given)
    found = severities_in("DL104", tmp_path, {"train.py": text}, capsys)
    assert set(found) == {expected}
