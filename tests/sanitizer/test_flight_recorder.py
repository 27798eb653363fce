"""`distlint run --read`: real dumps of torch's flight recorder, made by gloo ranks."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import textwrap
from pathlib import Path

import pytest

from distlint.proving.warm import WarmInterpreter
from tests.in_this_process import distlint
from tests.ranks import run_right

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


def _dump(
    interpreter: WarmInterpreter, folder: Path, body: str, ranks: int = 2, size: int = 100
) -> None:
    """Run a script whose ranks write dumps, and leave."""
    (folder / "dumps").mkdir()
    script = folder / "train.py"
    script.write_text(HEAD + textwrap.dedent(body))
    run_right(interpreter, ranks, [str(script)], folder, {"TORCH_FR_BUFFER_SIZE": str(size)})


def _read(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return distlint(["run", "--read", "dumps", *options], folder)


def test_ranks_in_different_collectives(tmp_path: Path, interpreter: WarmInterpreter) -> None:
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
    _dump(interpreter, tmp_path, body)
    done = _read(tmp_path)
    assert (done.returncode, done.stdout) == (3, "")
    assert (
        "the ranks diverge at collective 2 of the default group (ranks 0, 1): "
        f"rank 0 in broadcast(float32[3]) at train.py:{FIRST + 3}; "
        f"rank 1 in all_reduce(float32[3]) at train.py:{FIRST + 5}"
    ) in done.stderr
    assert f"train.py:{FIRST + 3} DL102" in done.stderr


def test_a_rank_that_stays_away_after_the_ring_has_gone_round(
    tmp_path: Path, interpreter: WarmInterpreter
) -> None:
    """Only the last four entries of each rank are left, and not the same four."""
    body = """\
    for step in range(6):
        dist.all_reduce(torch.ones(4))
    if r != 2:
        dist.all_reduce(torch.ones(2), async_op=True)
    dump()
    os._exit(0)
    """
    _dump(interpreter, tmp_path, body, ranks=3, size=4)
    done = _read(tmp_path, "--json")
    report = json.loads(done.stdout)
    assert (done.returncode, report["divergence"]["index"]) == (3, 7)
    lines = [r["operation"] and r["operation"]["stack"][0]["line"] for r in report["ranks"]]
    assert lines == [FIRST + 3, FIRST + 3, None]
    assert report["ranks"][2]["last"]["stack"][0]["line"] == FIRST + 1


@pytest.mark.slow
def test_equal_dumps_and_subgroups_show_no_divergence(
    tmp_path: Path, interpreter: WarmInterpreter
) -> None:
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
    _dump(interpreter, tmp_path, body)
    done = _read(tmp_path)
    assert done.returncode == 0, done.stderr
    assert "no divergence in the dumps of ranks 0, 1" in done.stdout


def _nccl(
    folder: Path, rank: int, calls: list[tuple[str, int, list[int], str, int]], **config: str
) -> None:
    """Write a dump in the form of ProcessGroupNCCL's watchdog (version 2.10 of the format).

    Of each call: NCCL's name, its number in the group, the shape, the state, the line.
    """
    entries = [
        {
            "frames": [
                {"name": "all_reduce", "filename": "/x/site-packages/torch/d.py", "line": 1},
                {"name": "step", "filename": str(folder / "train.py"), "line": line},
            ],
            "record_id": index,
            "pg_id": 0,
            "process_group": ("0", "default_pg"),
            "collective_seq_id": number,
            "p2p_seq_id": int("->" in name or "<-" in name),
            "op_id": index + 1,
            "profiling_name": f"nccl:{name}",
            "time_created_ns": 1_000 * index + rank,
            "input_sizes": [shape],
            "input_dtypes": ["BFloat16"],
            "output_sizes": [shape],
            "output_dtypes": ["BFloat16"],
            "state": state,
            "time_discovered_started_ns": None if state == "scheduled" else 5,
            "time_discovered_completed_ns": 6 if state == "completed" else None,
            "retired": state == "completed",
            "timeout_ms": 600_000,
            "is_p2p": "->" in name or "<-" in name,
        }
        for index, (name, number, shape, state, line) in enumerate(calls)
    ]
    members = {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}
    dump = {
        "version": "2.10",
        "pg_config": {"0": members | config},
        "pg_status": {"0": {"last_enqueued_collective": 3, "last_completed_collective": 2}},
        "nccl_version": "2.27.5",
        "comm_lib_version": "2.27.5",
        "entries": entries,
    }
    (folder / "dumps").mkdir(exist_ok=True)
    (folder / "train.py").write_text("pass\n" * 20)
    (folder / "dumps" / f"nccl_trace_rank_{rank}").write_bytes(pickle.dumps(dump, protocol=2))


def test_a_dump_of_nccl_with_messages_between_two_ranks(tmp_path: Path) -> None:
    """Sends and receives count for themselves; the collectives beside them are compared."""
    same: list[tuple[str, int, list[int], str, int]] = [
        ("all_gather_into_tensor_coalesced", 1, [8], "completed", 3),
        ("all_gather_into_tensor_coalesced", 1, [4], "completed", 3),
        ("all_reduce_barrier", 2, [1], "completed", 4),
    ]
    _nccl(
        tmp_path,
        0,
        [*same, ("send 0->1", 2, [4], "completed", 5), ("all_reduce", 3, [4], "started", 6)],
    )
    _nccl(
        tmp_path,
        1,
        [*same, ("recv 1<-0", 2, [4], "completed", 7), ("all_reduce", 3, [2], "started", 8)],
    )
    done = _read(tmp_path)
    assert done.returncode == 3
    assert (
        "of the default group (ranks 0, 1): rank 0 in all_reduce(bfloat16[4]) at train.py:6; "
        "rank 1 in all_reduce(bfloat16[2]) at train.py:8"
    ) in done.stderr
    assert "They differ in number of elements: 4 on rank 0; 2 on rank 1" in done.stderr


@pytest.mark.parametrize("ranks", ["[0, 1]", "[]"], ids=["members are noted", "none are"])
def test_a_rank_of_nccl_that_a_barrier_waits_for(ranks: str, tmp_path: Path) -> None:
    first = ("_broadcast_oop", 1, [4], "completed", 3)
    _nccl(tmp_path, 0, [first, ("all_reduce_barrier", 2, [1], "scheduled", 4)], ranks=ranks)
    _nccl(tmp_path, 1, [first], ranks=ranks)
    done = _read(tmp_path)
    assert done.returncode == 3
    assert (
        "at collective 2 of the default group (ranks 0, 1): rank 0 in barrier() at train.py:4; rank 1"
        in done.stderr
    )


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
