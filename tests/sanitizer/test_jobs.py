"""Jobs that something else starts, with DISTLINT_RUN set: watched through the job's own store."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from distlint.proving.launch import free_port, rank_environment

pytest.importorskip("torch")

SCRIPT = """\
import os, sys, torch, torch.distributed as dist
dist.init_process_group("gloo")
rank, ranks = dist.get_rank(), dist.get_world_size()
assert os.environ.get("DISTLINT_RUN", "0") == "0"
if sys.argv[1] == "shape":
    dist.all_reduce(torch.ones(8 if rank == 0 else 4))
if sys.argv[1] == "missing" and rank == ranks - 1:
    dist.broadcast(torch.ones(4), 0)
dist.all_reduce(torch.ones(4))
print(f"end {rank}", flush=True)
dist.destroy_process_group()
"""


def _environment(folder: Path, *options: str) -> dict[str, str]:
    """What a shell has after evaluating what `--environment` prints."""
    (folder / "train.py").write_text(SCRIPT)
    command = (
        f'eval "$({sys.executable} -m distlint run --environment {" ".join(options)})"; env -0'
    )
    env = {k: v for k, v in os.environ.items() if k != "DISTLINT_RUN"}
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=True, env=env)
    return dict(line.split("=", 1) for line in done.stdout.decode().split("\0") if line)


def _start(folder: Path, env: dict[str, str], *command: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *command],
        cwd=folder,
        env=env,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def _both(folder: Path, env: dict[str, str], case: str) -> list[tuple[int, str, str]]:
    """Two ranks as srun or mpirun would start them, with nothing between: status, output, errors."""
    port = free_port()
    ranks = [
        _start(folder, rank_environment(env, rank, 2, port), "train.py", case) for rank in (0, 1)
    ]
    try:
        said = [rank.communicate(timeout=240) for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
    return [(rank.returncode, *both) for rank, both in zip(ranks, said, strict=True)]


def test_ranks_that_nobody_of_ours_has_started(tmp_path: Path) -> None:
    env = _environment(tmp_path, "--stall-timeout", "3")
    zero, one = _both(tmp_path, env, "missing")
    assert (
        "the ranks diverge at collective 1 of the default group (ranks 0, 1): rank 0 in "
        "all_reduce(float32[4]) at train.py:9; rank 1 in broadcast(float32[4], root rank 0) at train.py:8"
    ) in zero[2]
    assert "train.py:8 DL101" in zero[2]
    assert "end" not in zero[1] + one[1]


LATE = """\
import time
from distlint.hardware.sanitizer import job_store
told = job_store.RankSide.tell
job_store.RankSide.tell = lambda side, lines: (time.sleep(0.3), told(side, lines))[1]
"""


@pytest.mark.slow
def test_rank_0_that_gloo_aborts_is_reported_all_the_same(tmp_path: Path) -> None:
    """The job's store goes with it, and rank 1 aborts as soon as it is in the collective."""
    env = _environment(tmp_path)
    (tmp_path / "train.py").write_text(LATE + SCRIPT)
    zero, _ = _both(tmp_path, env, "shape")
    assert "They differ in number of elements: 8 on rank 0; 4 on rank 1." in zero[2]


@pytest.mark.slow
def test_the_program_goes_on_where_it_cannot_be_watched(tmp_path: Path) -> None:
    env = _environment(tmp_path)
    for value, said in (("--patient 3", "No such option"), ("0", "")):
        ended = _both(tmp_path, env | {"DISTLINT_RUN": value}, "right")
        assert [(status, out) for status, out, _ in ended] == [(0, "end 0\n"), (0, "end 1\n")]
        assert said in ended[0][2] and "watches" not in ended[0][2]


@pytest.mark.slow
@pytest.mark.parametrize("by", ["variable", "launcher"])
def test_two_agents_of_torchrun(by: str, tmp_path: Path) -> None:
    env = _environment(tmp_path, "--stall-timeout", "3")
    port = str(free_port())
    if by == "variable":
        start = ["-m", "torch.distributed.run"]
    else:
        env.pop("DISTLINT_RUN")
        start = ["-m", "distlint", "run", "--stall-timeout", "3", "--launcher", "torchrun", "--"]
    agents = [
        _start(
            tmp_path,
            env,
            *start,
            *("--nnodes", "2", "--node-rank", node, "--nproc-per-node", "2"),
            *("--master-addr", "127.0.0.1", "--master-port", port, "train.py", "missing"),
        )
        for node in "01"
    ]
    first, second = (agent.communicate(timeout=240)[1] for agent in agents)
    assert "ranks 0-2 in all_reduce(float32[4]) at train.py:9; rank 3 in broadcast" in first
    assert "distlint run: the ranks diverge" not in second, "said once"
    assert all(agent.returncode for agent in agents)
