"""DL301: what shows that several ranks run a program, and what only looks like it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import findings_in

LIBRARY = """\
def merged_rows(args, source):
    with args.main_process_first(desc="read"):
        rows = source.map(len)
    return rows
"""

SCORES = """\
import json

from transformers import TrainingArguments

from library import merged_rows


def score(source, target):
    args = TrainingArguments(output_dir="unused")
    rows = merged_rows(args, source)
    values = [float(row) for row in rows]
    with open(target, "w") as file:
        json.dump(values, file)


if __name__ == "__main__":
    score(range(3), "scores.json")
"""

CONVERTER = """\
import torch.distributed.checkpoint as dcp


def convert(net, source, target):
    state = net.state_dict()
    dcp.load(state, checkpoint_id=source)
    net.load_state_dict(state)
    net.save_pretrained(target)


if __name__ == "__main__":
    convert(make(), "in", "out")
"""

LAUNCHED = CONVERTER.replace(
    'if __name__ == "__main__":\n',
    'if __name__ == "__main__":\n    dcp.dist.init_process_group("gloo")\n',
)

LOGS = """\
import os

import torch.distributed as dist


def several():
    return {several}


def first():
    return not several() or dist.get_rank() == 0
"""

PROMPTS = """\
import torch.distributed as dist

from logs import first


def write(path, prompt, create=True):
    if not create:
        return path
    with open(path, "w") as file:
        file.write(prompt)
    return path


def main(options):
    path = write(options.path, options.prompt, create={create})
    dist.barrier()
    return path
"""

VIDEO = """\
import imageio
import torch.distributed as dist


def save(path, images, kind="mp4"):
    dist.barrier()
    if kind == "gif":
        imageio.mimsave(path, images, palettesize=256)
    elif kind == "mp4":
        imageio.mimsave(path, images)


def first(images):
    save("a", images)


def second(images):
    save("b", images, {kind})
"""

TURNS = """\
import os

import torch
import torch.distributed as dist


class Context:
    def __init__(self):
        if "RANK" in os.environ:
            self.rank = int(os.environ["RANK"])
        else:
            self.rank = torch.cuda.current_device()
        dist.barrier()

    def save(self, text, path, rank=0):
        if self.rank == rank:
            with open(path, "w") as file:
                file.write(text)
"""

WRITER = """\
import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.tensorboard import SummaryWriter


def train(options, writer=None):
    rank = options.global_rank
    with open(options.folder + "/options.txt", "w") as file:
        file.write(str(options))
    if rank in (-1, 0):
        print(options)
    DistributedDataParallel(torch.nn.Linear(2, 2))


if __name__ == "__main__":
    options = argparse.ArgumentParser().parse_args()
    options.global_rank = int(os.environ["RANK"]) if "RANK" in os.environ else -1
    dist.init_process_group()
    writer = None
    if options.global_rank in (-1, 0):
        writer = SummaryWriter(options.folder)
    train(options, writer)
"""


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"library.py": LIBRARY, "scores.py": SCORES}, []),
        ({"convert.py": CONVERTER}, []),
        ({"convert.py": LAUNCHED}, [("convert.py", 8)]),
    ],
    ids=["a library's section", "a checkpoint read by one process", "by a launched one"],
)
def test_what_works_on_one_process_shows_no_ranks(
    tmp_path: Path,
    files: dict[str, str],
    found: list[tuple[str, int]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert findings_in("DL301", tmp_path, files, capsys) == found


@pytest.mark.parametrize(
    "several",
    [
        "dist.is_initialized()",
        'os.environ.get("WORLD_SIZE") is not None',
        '"WORLD_SIZE" in os.environ',
    ],
)
def test_a_guard_that_is_handed_in(
    several: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs = LOGS.format(several=several)
    guarded = {"logs.py": logs, "prompts.py": PROMPTS.format(create="first()")}
    assert findings_in("DL301", tmp_path, guarded, capsys) == []
    (tmp_path / "all").mkdir()
    by_all = {"logs.py": logs, "prompts.py": PROMPTS.format(create="True")}
    assert findings_in("DL301", tmp_path / "all", by_all, capsys) == [("prompts.py", 9)]


@pytest.mark.parametrize(
    ("kind", "lines"),
    [('"mp4"', [10]), ('"gif"', [8, 10]), ("choose()", [8, 10])],
)
def test_a_branch_for_what_nobody_passes(
    kind: str, lines: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = findings_in("DL301", tmp_path, {"video.py": VIDEO.format(kind=kind)}, capsys)
    assert found == [("video.py", line) for line in lines]


def test_a_rank_that_is_asked_for_is_not_the_own_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert findings_in("DL301", tmp_path, {"turns.py": TURNS}, capsys) == []


def test_what_rank_0_alone_makes_is_handed_on_by_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert findings_in("DL301", tmp_path, {"script.py": WRITER}, capsys) == [("script.py", 12)]
