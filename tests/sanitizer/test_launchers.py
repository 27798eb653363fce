"""`distlint run --launcher`: ranks that torchrun or accelerate starts."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

SCRIPT = """\
import multiprocessing, os, sys, torch, torch.distributed as dist
def worker():
    assert "DISTLINT_RUN" not in os.environ and "sitecustomize" in sys.modules
def main(case):
    os.write(1, f"{case} {dist.get_rank()}\\n".encode())  # one write: both ranks share the pipe
    dist.all_reduce(torch.ones(4))
    if case == "diverge" and dist.get_rank() == 0:
        dist.broadcast(torch.ones(4), 0)
    if case == "fail" and dist.get_rank() == 1:
        raise ValueError("bad batch")
    if case == "die" and dist.get_rank() == 1:
        os._exit(4)
    dist.all_reduce(torch.ones(4))
    dist.destroy_process_group()
if __name__ == "__main__":
    if sys.argv[-1] in ("right", "diverge"):
        assert multiprocessing.get_context("spawn").Process(target=worker).run() is None
        started = multiprocessing.get_context("spawn").Process(target=worker)
        started.start()
        started.join()
        assert started.exitcode == 0
    dist.init_process_group("gloo")
    main(sys.argv[-1])  # deepspeed puts its --local_rank in front
"""
TORCHRUN = ("torchrun", "--", "--nproc-per-node", "2")
ACCELERATE = ("accelerate", "--", "--multi_gpu", "--num_processes", "2")
DEEPSPEED = ("deepspeed", "--", "--num_gpus", "2")
WITHOUT = importlib.util.find_spec("deepspeed") is None


def _run(
    folder: Path, *arguments: str, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    (folder / "train.py").write_text(SCRIPT)
    command = [sys.executable, "-m", "distlint", "run", *arguments]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=240, check=False, env=env
    )


def test_a_sitecustomize_of_the_user_still_runs(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    own = "import os\nopen(f'{os.environ.get(\"RANK\")}.seen', 'w')\n"
    (tmp_path / "own" / "sitecustomize.py").write_text(own)
    before = os.environ.get("PYTHONPATH", "")
    path = os.pathsep.join(filter(None, [str(tmp_path / "own"), before]))
    env = os.environ | {"PYTHONPATH": path}
    done = _run(tmp_path, "--launcher", *TORCHRUN, "train.py", "diverge", env=env)
    assert done.returncode == 3, done.stderr
    assert all((tmp_path / f"{rank}.seen").exists() for rank in range(2))


@pytest.mark.parametrize(
    "launcher",
    [
        pytest.param(TORCHRUN, id="torchrun"),
        pytest.param(ACCELERATE, id="accelerate"),
        pytest.param(
            DEEPSPEED,
            id="deepspeed",
            marks=[pytest.mark.slow, pytest.mark.skipif(WITHOUT, reason="needs DeepSpeed")],
        ),
    ],
)
def test_a_divergence_under_a_launcher(launcher: tuple[str, ...], tmp_path: Path) -> None:
    done = _run(tmp_path, "--json", "--launcher", *launcher, "train.py", "diverge")
    report = json.loads(done.stdout)
    assert (done.returncode, report["outcome"]) == (3, "diverged"), done.stderr
    assert (
        "rank 0 in broadcast(float32[4], root rank 0) at train.py:8; "
        "rank 1 in all_reduce(float32[4]) at train.py:13"
    ) in report["headline"]
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_right_run_and_failures_end_as_the_launcher_does(tmp_path: Path) -> None:
    done = _run(tmp_path, "--launcher", *TORCHRUN, "train.py", "right")
    said = sorted(done.stdout.splitlines())
    assert (done.returncode, said) == (0, ["right 0", "right 1"]), done.stderr
    done = _run(tmp_path, "--launcher", *TORCHRUN, "train.py", "fail")
    assert done.returncode == 1
    assert "rank 1 failed by itself: ValueError: bad batch" in done.stderr
    assert "Root Cause" in done.stderr, "torchrun has its say"
    done = _run(tmp_path, "--launcher", *TORCHRUN, "train.py", "die")
    assert done.returncode == 1
    assert "rank 1 failed by itself: its process ended before its script" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["-n", "2", "--launcher", "torchrun", "train.py"], "are the launcher's"),
        (["--launcher", "mpirun", "train.py"], "'mpirun' is not one of"),
        (["--launcher", "torchrun"], "Missing argument 'SCRIPT'"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], says: str, tmp_path: Path) -> None:
    done = _run(tmp_path, *arguments)
    assert done.returncode == 2
    assert says in done.stderr and "Traceback" not in done.stderr
