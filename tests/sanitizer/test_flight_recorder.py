"""`distlint run --read`: real dumps of torch's flight recorder, made by gloo ranks."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from distlint.proving.launch import free_port, one_machine_environment, rank_environment

pytest.importorskip("torch")

HEAD = """\
import os, sys, torch, torch.distributed as dist
from torch._C._distributed_c10d import _dump_fr_trace
dist.init_process_group("gloo")
r = dist.get_rank()
def dump():
    with open(f"dumps/nccl_trace_rank_{r}", "wb") as file:
        file.write(_dump_fr_trace())
"""
FIRST = HEAD.count("\n") + 1


def _dump(folder: Path, body: str, ranks: int = 2, size: int = 100) -> None:
    """Run a script whose ranks write dumps, and leave."""
    (folder / "dumps").mkdir()
    (folder / "train.py").write_text(HEAD + textwrap.dedent(body))
    base = one_machine_environment(os.environ) | {"TORCH_FR_BUFFER_SIZE": str(size)}
    port = free_port()
    started = [
        subprocess.Popen(
            [sys.executable, str(folder / "train.py")],
            cwd=folder,
            env=rank_environment(base, rank, ranks, port),
        )
        for rank in range(ranks)
    ]
    assert [process.wait(120) for process in started] == [0] * ranks


def _read(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "distlint", "run", "--read", "dumps", *options]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )


def test_ranks_in_different_collectives(tmp_path: Path) -> None:
    body = """\
    def main():
        dist.all_reduce(torch.ones(4))
        if r == 0:
            dist.broadcast(torch.ones(3), 0, async_op=True)
        else:
            dist.all_reduce(torch.ones(3), async_op=True)
    main()
    dump()
    os._exit(0)
    """
    _dump(tmp_path, body)
    done = _read(tmp_path)
    assert (done.returncode, done.stdout) == (3, "")
    assert (
        "the ranks diverge at collective 2 of the default group (ranks 0, 1): "
        f"rank 0 in broadcast(float32[3]) at train.py:{FIRST + 3}; "
        f"rank 1 in all_reduce(float32[3]) at train.py:{FIRST + 5}"
    ) in done.stderr
    assert f"train.py:{FIRST + 3} DL102" in done.stderr


def test_a_rank_that_stays_away_after_the_ring_has_gone_round(tmp_path: Path) -> None:
    """Only the last four entries of each rank are left, and not the same four."""
    body = """\
    for step in range(6):
        dist.all_reduce(torch.ones(4))
    if r != 2:
        dist.all_reduce(torch.ones(2), async_op=True)
    dump()
    os._exit(0)
    """
    _dump(tmp_path, body, ranks=3, size=4)
    done = _read(tmp_path, "--json")
    report = json.loads(done.stdout)
    assert (done.returncode, report["divergence"]["index"]) == (3, 7)
    lines = [r["operation"] and r["operation"]["stack"][0]["line"] for r in report["ranks"]]
    assert lines == [FIRST + 3, FIRST + 3, None]
    assert report["ranks"][2]["last"]["stack"][0]["line"] == FIRST + 1


def test_equal_dumps_and_subgroups_show_no_divergence(tmp_path: Path) -> None:
    body = """\
    pair = dist.new_group([0, 1])
    own = [dist.new_group([0]), dist.new_group([1])][r]
    for group in (pair, own, None):
        dist.all_reduce(torch.ones(4), group=group)
    dist.all_reduce(torch.ones(4), group=own) if r else None
    dist.barrier()
    dump()
    dist.destroy_process_group()
    """
    _dump(tmp_path, body)
    done = _read(tmp_path)
    assert done.returncode == 0, done.stderr
    assert "no divergence in the dumps of ranks 0, 1" in done.stdout


class Touch:
    """A pickle that calls a function when it is loaded."""

    def __reduce__(self) -> tuple[object, ...]:
        return (os.mkdir, ("loaded",))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "not a flight recorder dump"),
        (b"\x80\x04nonsense", "not a flight recorder dump"),
        (pickle.dumps({"version": "2.10"}), "not a flight recorder dump"),
        (pickle.dumps([1, 2]), "not a flight recorder dump"),
        (pickle.dumps(Touch()), "it wants to load posix.mkdir, which no dump holds"),
        (None, "dumps of two ranks or more are needed, and there are 0"),
    ],
)
def test_what_is_no_dump_is_one_line_and_runs_nothing(
    content: bytes | None, says: str, tmp_path: Path
) -> None:
    (tmp_path / "dumps").mkdir()
    if content is not None:
        (tmp_path / "dumps" / "rank_0").write_bytes(content)
    done = _read(tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr and len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "loaded").exists()
