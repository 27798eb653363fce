"""What stands at the top of a script that spawns its ranks: each of them imports it, and runs it again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import findings_in, offers_in

SCRIPT = """
import argparse
import os
import shutil
from datetime import datetime

import matplotlib.pyplot as plt
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import wandb

args = argparse.ArgumentParser().parse_args()
HERE


def main_worker(index, args):
    dist.init_process_group("nccl", rank=index)
    train(index)


def main():
    STARTED


if __name__ == "__main__":
    BELOW
    main()
"""
SPAWN = "mp.spawn(main_worker, nprocs=4, args=(args,))"
TOP = [
    ("DL301", 'torch.save(torch.zeros(2), "check.pt")'),
    ("DL301", 'torch.save(torch.rand(2), "noise.pt")'),
    ("DL303", 'shutil.rmtree("out")'),
    ("DL304", 'os.makedirs(f"runs/{datetime.now():%H%M%S}", exist_ok=True)'),
    ("DL704", 'wandb.init(project="sam")'),
]


def script(here: str = "", below: str = "pass", started: str = SPAWN) -> dict[str, str]:
    text = SCRIPT.replace("HERE", here).replace("BELOW", below).replace("STARTED", started)
    return {"train.py": text}


@pytest.mark.parametrize(("code", "line"), TOP)
def test_the_top_of_a_script_runs_in_each_spawned_process(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], code: str, line: str
) -> None:
    assert findings_in(code, tmp_path, script(line), capsys) == [("train.py", 14)]


@pytest.mark.parametrize(("code", "line"), TOP)
def test_the_block_of_the_script_runs_in_the_parent_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], code: str, line: str
) -> None:
    assert findings_in(code, tmp_path, script(below=line), capsys) == []


def test_what_is_asked_there_before_it_is_made_the_parent_has_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = 'if not os.path.exists("out"): os.makedirs("out")'
    assert findings_in("DL305", tmp_path, script(made), capsys) == []


@pytest.mark.parametrize(
    "started",
    [
        "torch.multiprocessing.spawn(main_worker, nprocs=4, args=(args,))",
        "mp.start_processes(main_worker, nprocs=4, args=(args,))",
    ],
)
def test_however_the_ranks_are_spawned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], started: str
) -> None:
    code, line = TOP[1]
    assert findings_in(code, tmp_path, script(line, started=started), capsys) == [("train.py", 14)]


@pytest.mark.parametrize(
    "started",
    [
        'mp.start_processes(main_worker, start_method="fork")',
        "mp.Process(target=main_worker).start()",
        "pass",
    ],
)
@pytest.mark.parametrize(("code", "line"), [TOP[1], TOP[4]])
def test_without_a_spawn_nothing_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], code: str, line: str, started: str
) -> None:
    assert findings_in(code, tmp_path, script(line, started=started), capsys) == []


@pytest.mark.parametrize(("code", "line"), [TOP[0], TOP[1], TOP[2], TOP[4]])
def test_nothing_that_asks_for_the_rank_is_written_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], code: str, line: str
) -> None:
    offers = offers_in(code, tmp_path, script(line), capsys)
    assert [applicability for _, _, applicability in offers] == ["display"]
