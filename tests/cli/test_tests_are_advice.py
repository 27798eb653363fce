"""What is found in files that pytest collects, and in folders of tests, is advice, but for ranks that wait for each other."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from distlint.cli import main

WRITES = """
import torch
import torch.distributed as dist

def save(state):
    dist.init_process_group("gloo")
    torch.save(state, "state.pt")
"""
HANGS = """
import torch.distributed as dist
import torch.multiprocessing as mp

def meet(rank):
    if dist.get_rank() == 0:
        dist.barrier()

def test_meet():
    mp.spawn(meet, nprocs=2)
"""
PROGRAM = """
import argparse

if __name__ == "__main__":
    save(vars(argparse.ArgumentParser().parse_args()))
"""


@pytest.mark.parametrize(
    ("name", "more", "found"),
    [
        # FAN ee1b7df segmentation/tools/test_city_c.py evaluates a model
        ("tools/test_model.py", PROGRAM, True),
        ("tools/test_model.py", PROGRAM + "\ndef test_save():\n    save({})\n", False),
        ("tools/test_model.py", PROGRAM + "\nclass TestSave:\n    pass\n", False),
        ("tests/test_model.py", PROGRAM, False),
        ("tools/test_model.py", "", False),
    ],
)
def test_a_program_that_tests_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, more: str, found: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text(WRITES + more)
    result = CliRunner().invoke(main, ["check", "--output-format", "concise", name])
    assert ("DL301" in result.output) is found


@pytest.mark.parametrize(
    ("name", "options", "codes"),
    [
        ("train.py", (), {"DL301"}),
        ("test_train.py", (), set()),
        ("train_test.py", (), set()),
        ("conftest.py", (), set()),
        ("latest.py", (), {"DL301"}),
        # nanotron 2411b02 tests/helpers/context.py: what tests share
        ("tests/helpers/context.py", (), set()),
        ("test/run.py", (), set()),
        ("contests/run.py", (), {"DL301"}),
        ("test_train.py", ("--select", "DL301"), {"DL301"}),
    ],
)
def test_a_write_of_all_ranks(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    options: tuple[str, ...],
    codes: set[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text(WRITES)
    result = CliRunner().invoke(main, ["check", "--output-format", "concise", *options, name])
    assert {code for code in ("DL301", "DL101") if code in result.output} == codes


def test_a_checkout_below_a_folder_of_tests_is_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "tests" / "project"
    project.mkdir(parents=True)
    (project / "distlint.toml").write_text("")
    (project / "train.py").write_text(WRITES)
    for folder, name in ((project, "train.py"), (tmp_path, "tests/project/train.py")):
        monkeypatch.chdir(folder)
        result = CliRunner().invoke(main, ["check", "--output-format", "concise", name])
        assert "DL301" in result.output


def test_a_deadlock_in_a_test_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "test_meet.py").write_text(HANGS)
    result = CliRunner().invoke(main, ["check", "--output-format", "concise", "test_meet.py"])
    assert result.exit_code == 1
    assert "error DL101" in result.output
