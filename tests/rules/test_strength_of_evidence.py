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


LEFT_OVER = """\
import argparse

import torch
import rows{more}

options = argparse.ArgumentParser().parse_args()


def report(scores):
    if options.local_rank in (-1, 0):
        print(scores)
    with open("scores.txt", "w") as file:
        file.write(str(scores))


if __name__ == "__main__":
    report(rows.read(torch.nn.Linear(2, 2){place}))
"""

ROWS = """\
from torch.utils.data import DistributedSampler


{decorator}def divided(data):
    return DistributedSampler(data)


def read(model):
    return model({read})
"""

ONE_TRAINER = """\
import os

{before}from transformers import AutoModelForCausalLM, Trainer, TrainerCallback


class Notes(TrainerCallback):
    def on_evaluate(self, args, state, control, **kwargs):
        with open("notes.txt", "w") as file:
            file.write(str(state.epoch))


model = AutoModelForCausalLM.from_pretrained("some/model"{how})
{behind}trainer = Trainer(model=model, callbacks=[Notes()])
trainer.train()
model.save_pretrained("out")
"""

FLAG = """\
import torch
import torch.distributed as dist


class Net(torch.nn.Module):
    def save(self, path, is_main_process{default}):
        if is_main_process:
            print(path)
        torch.save(self.state_dict(), path)
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


@pytest.mark.parametrize(
    ("more", "place", "read", "decorator", "found"),
    [
        ("", "", "range(4)", "", []),
        ("", ".to('cuda')", "range(4)", "", []),
        ("", "", "divided(range(4))", "", [("script.py", 12)]),
        ("", "", "range(4)", "@reader\n", [("script.py", 12)]),
        ("", ".cuda(options.local_rank)", "range(4)", "", [("script.py", 12)]),
        (", torch.distributed as dist", "", "range(4)", "", [("script.py", 12)]),
    ],
    ids=["left over", "one device", "divided data", "in a table", "a device each", "a group"],
)
def test_an_option_for_the_rank_that_nothing_is_done_with(
    more: str,
    place: str,
    read: str,
    decorator: str,
    found: list[tuple[str, int]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    files = {
        "script.py": LEFT_OVER.format(more=more, place=place),
        "rows.py": ROWS.format(read=read, decorator=decorator),
    }
    assert findings_in("DL301", tmp_path, files, capsys) == found


@pytest.mark.parametrize(
    ("before", "how", "behind", "lines"),
    [
        ("", "", "", [8, 15]),
        ('os.environ["CUDA_VISIBLE_DEVICES"] = "0"\n', "", "", []),
        ('os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"\n', "", "", [9, 16]),
        ('# os.environ["CUDA_VISIBLE_DEVICES"] = "0"\n', "", "", [9, 16]),
        ("", ', device_map="auto"', "", []),
        ("", "", "model.parallelize()\n", []),
        ("", "", 'model.parallelize()\nprint(os.environ.get("LOCAL_RANK"))\n', [8, 17]),
    ],
    ids=[
        "any launch",
        "one GPU",
        "two GPUs",
        "a comment",
        "on all devices",
        "in parts",
        "launched",
    ],
)
def test_a_trainer_of_one_process(
    before: str,
    how: str,
    behind: str,
    lines: list[int],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    files = {"tune.py": ONE_TRAINER.format(before=before, how=how, behind=behind)}
    found = findings_in("DL301", tmp_path, files, capsys)
    assert found == [("tune.py", line) for line in lines]


@pytest.mark.parametrize(("default", "lines"), [("=True", []), ("=None", [9]), ("", [9])])
def test_a_flag_that_says_main_of_everybody(
    default: str, lines: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = findings_in("DL301", tmp_path, {"net.py": FLAG.format(default=default)}, capsys)
    assert found == [("net.py", line) for line in lines]


ARMS = """
import torch
import torch.distributed as dist


def keep(args, state):
    dist.barrier()
    if args.kind == "one":
        torch.save(state, "one.pt")
    elif {between}:
        torch.save(state, "other.pt")
    elif args.kind == "one":
        torch.save(state, "again.pt")
"""


@pytest.mark.parametrize(
    ("between", "lines"),
    [("args.kind == 'two'", [9, 11]), ("choose(args)", [9, 11])],
)
def test_an_arm_that_asks_again(
    between: str, lines: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = findings_in("DL301", tmp_path, {"arms.py": ARMS.format(between=between)}, capsys)
    assert found == [("arms.py", line) for line in lines]


def test_an_arm_that_asks_again_after_a_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = ARMS.format(between="args.kind == 'two'").replace(
        '    elif args.kind == "one":', '    args = change(args)\n    if args.kind == "one":'
    )
    found = findings_in("DL301", tmp_path, {"arms.py": text}, capsys)
    assert [line for _, line in found] == [9, 11, 14]


COMMANDS = """
import torch
import torch.distributed as dist


def worker(rank, args, world, state):
    if world > 1:
        dist.init_process_group("nccl", rank=rank, world_size=world)
    if args.command == "train":
        torch.save(state, "train.pt")
    elif args.command == "export":
        torch.save(state, "export.pt")


def main(args, state):
    world = torch.cuda.device_count()
    if {alone}:
        worker(0, args, 1, state)
    else:
        torch.multiprocessing.spawn(worker, args=(args, world, state), nprocs=world)
"""


@pytest.mark.parametrize(
    ("alone", "lines"),
    [
        ("args.command == 'export' or world <= 1", [10]),
        ("args.command == 'other' or world <= 1", [10, 12]),
        ("args.command == 'export' and world <= 1", [10, 12]),
        ("world <= 1", [10, 12]),
    ],
)
def test_a_command_that_one_process_carries_out(
    alone: str, lines: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = findings_in("DL301", tmp_path, {"main.py": COMMANDS.format(alone=alone)}, capsys)
    assert [line for _, line in found] == lines
