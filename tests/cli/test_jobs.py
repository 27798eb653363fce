"""`distlint check -j N`: processes share the work, and nothing else changes."""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from distlint.parallel import shared
from tests.cli.conftest import Program
from tests.cli.test_everyday_input import WORKING, plugin
from tests.cli.test_monorepo import write

TRAIN = """import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

from {package}.saving import save


def main():
    rank = int(os.environ["RANK"])
    dist.init_process_group("nccl")
    model = DDP(torch.nn.Linear(8, 8).cuda())
    if rank == 0:
        dist.barrier()
    save(model, rank)
    print(model.weight, wrong, risky, advised)  # distlint: ignore[HOUSE002]


if __name__ == "__main__":
    main()
"""
SAVING = """import torch


def save(model, rank):
    torch.save(model.state_dict(), "model.pt")
    return wrong
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Groups of files that no import joins, files of no group, and two files of settings."""
    files = {
        "pyproject.toml": "[tool.distlint]\npreview = true\n"
        "[tool.distlint.per-file-ignores]\n'one/*' = ['DL201']\n",
        "three/pyproject.toml": "[tool.distlint]\nignore = ['DL301']\n",
        "large.py": "wrong, risky\n" * 400,
        "alone.py": "advised, novel\n",
        "failing.py": "crash_me\n",
        "broken.py": "import torch.distributed\ndef f(:\n",
        "launch.sh": "torchrun --nproc_per_node 2 -m one.train\npython -m two.train\n",
    }
    for package in ("one", "two", "three"):
        files[f"{package}/__init__.py"] = ""
        files[f"{package}/train.py"] = TRAIN.format(package=package)
        files[f"{package}/saving.py"] = SAVING
    write(tmp_path, files)
    return tmp_path


FORKS = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
"""Of the tests whose own process forks: Python 3.12 warns where it has several threads."""


@pytest.mark.parametrize(
    "options",
    [
        ("--output-format", "json", "--select", "ALL"),
        ("--output-format", "text", "--verbose"),
        ("--statistics", "--preview"),
        ("one", "--output-format", "concise"),
    ],
)
@FORKS
@pytest.mark.usefixtures("project")
def test_every_number_of_processes_prints_the_same(
    distlint: Program, options: tuple[str, ...]
) -> None:
    alone = distlint("check", "-j", "1", "--no-cache", *options)
    assert alone.code == (1 if options[0] == "one" else 2), alone.err
    assert ("DL301" if options[0] == "one" else "HOUSE001") in alone.out
    for number in ("2", "9"):
        assert distlint("check", "-j", number, "--no-cache", *options) == alone
    assert distlint("check", "--no-cache", *options) == alone


@FORKS
def test_what_several_processes_found_is_kept(
    distlint: Program, project: Path, tmp_path: Path
) -> None:
    """The cache does not tell who wrote it, and a launch that a rule asked for is part of its keys."""
    (project / "failing.py").unlink()
    options = ("--output-format", "json", "--preview")
    caches = {number: ("--cache-dir", str(tmp_path / f"cache{number}")) for number in "13"}
    first = {n: distlint("check", "-j", n, *options, *cache) for n, cache in caches.items()}
    again = {n: distlint("check", "-j", "1", *options, *cache) for n, cache in caches.items()}
    assert first["1"] == first["3"] == again["1"] == again["3"]
    (project / "launch.sh").write_text("python -m one.train\n")
    (project / "alone.py").write_text("wrong\n")
    fresh = distlint("check", "--no-cache", *options)
    assert distlint("check", "-j", "3", *options, *caches["3"]) == fresh
    assert distlint("check", "-j", "1", *options, *caches["3"]) == fresh


KILLED = """import os, signal
    if os.getpid() != FIRST:
        os.kill(os.getpid(), signal.SIGKILL)
    yield from ()
import os
FIRST = os.getpid()"""


def test_what_a_killed_child_leaves_is_done_again(
    in_process: Program, project: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (project / "failing.py").unlink()
    env = plugin(tmp_path_factory.mktemp("site"), WORKING.format(body=KILLED))
    options = ("check", "--no-cache", "--output-format", "json")
    alone = in_process(*options, "-j", "1", env=env)
    assert alone.code == 1
    assert in_process(*options, "-j", "3", env=env) == alone


@pytest.mark.parametrize("instead", ["raise OSError(11, 'no more processes')", "del os.fork"])
@pytest.mark.usefixtures("project")
def test_where_nothing_can_be_forked_one_process_does_all(
    in_process: Program, instead: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    text = WORKING.format(body="yield from ()")
    alone = in_process(
        "check", "--no-cache", env=plugin(tmp_path_factory.mktemp("site"), f"{text}")
    )
    change = instead if instead.startswith("del") else f"def fork(): {instead}\nos.fork = fork"
    env = plugin(tmp_path_factory.mktemp("site"), f"{text}\nimport os\n{change}\n")
    assert in_process("check", "-j", "4", "--no-cache", env=env) == alone


@pytest.mark.usefixtures("project")
def test_a_fix_forks_nothing(in_process: Program, tmp_path_factory: pytest.TempPathFactory) -> None:
    text = WORKING.format(body="yield from ()") + "\nimport os\nos.fork = lambda: os._exit(77)\n"
    env = plugin(tmp_path_factory.mktemp("site"), text)
    assert in_process("fix", "--diff", "--no-cache", env=env).code == 1
    assert in_process("check", "-j", "2", "--no-cache", env=env).code == 77


WAITING = """import os, pathlib, time
    pathlib.Path(os.environ["PIDS"], str(os.getpid())).touch()
    time.sleep(60)
    yield from ()"""


def test_an_interrupt_ends_all_children(
    project: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    # None of so many groups is more than the share of one process: each has one to wait in.
    write(project, {f"{name}/train.py": TRAIN.format(package=name) for name in ("four", "five")})
    pids = tmp_path_factory.mktemp("pids")
    env = plugin(tmp_path_factory.mktemp("site"), WORKING.format(body=WAITING))
    command = [sys.executable, "-m", "distlint", "check", "--no-cache", "-j", "3"]
    running = subprocess.Popen(
        command,
        cwd=project,
        env={**os.environ, **env, "PIDS": str(pids)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    deadline = time.monotonic() + 60
    while len(list(pids.iterdir())) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=30)
    assert (running.returncode, out, err) == (130, b"", b"Error: interrupted\n")
    seen = [int(path.name) for path in pids.iterdir()]
    assert len(seen) == 3
    for pid in seen:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_a_number_of_processes_is_one_at_least(in_process: Program) -> None:
    assert in_process("check", "-j", "0").code == 2


def square(number: int) -> tuple[int, int]:
    return number * number, os.getpid()


@FORKS
class TestShared:
    """The results are in the order of the tasks, whoever does them."""

    def test_all_are_done(self) -> None:
        tasks = [functools.partial(square, number) for number in range(600)]
        found = shared(tasks, 3, own=[599, 7])
        assert [value for value, _ in found] == [n * n for n in range(600)]
        assert {found[599][1], found[7][1]} == {os.getpid()}
        assert len({process for _, process in found}) <= 3

    def test_what_cannot_be_pickled_is_done_here(self) -> None:
        here = os.getpid()
        work: list[Callable[[], Callable[[], int]]] = [
            lambda: lambda: 1,
            lambda: lambda: 2,
            lambda: lambda: 3,
        ]
        found = shared(work, 3)
        assert [each() for each in found] == [1, 2, 3]
        assert os.getpid() == here

    def test_what_fails_is_raised_and_no_child_is_left(self) -> None:
        def fails() -> int:
            raise ValueError("no")

        with pytest.raises(ValueError, match="no"):
            shared([fails, lambda: time.sleep(60), lambda: time.sleep(60)], 3, own=[0])
        with contextlib.suppress(ChildProcessError):
            assert os.waitpid(-1, os.WNOHANG) == (0, 0)
