"""Faults: ranks that end, vanish, never come; groups that are unusual, or not there at all."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
import rank_processes
from rank_processes import Outcome

from distlint.proving.warm import WarmInterpreter

pytest.importorskip("torch")


def _results(outcomes: list[Outcome]) -> list[dict[str, Any]]:
    for outcome in outcomes:
        assert outcome.code == 0, f"rank {outcome.rank}: {outcome.error}\n{outcome.output}"
    return [outcome.result for outcome in outcomes]


def test_a_section_may_outlast_the_timeout_of_collectives(interpreter: WarmInterpreter) -> None:
    """With a collective, waiting longer than the group's timeout ends the job."""
    outcomes = rank_processes.run(
        "fault_ranks:longer_than_the_group_timeout",
        2,
        5.0,
        group_timeout=2.0,
        start=interpreter.start,
    )
    for result in _results(outcomes):
        assert (result["kind"], result["total"]) == ("ok", 2.0)
        assert result["seconds"] > 4


def test_main_vanishes_inside_a_section(interpreter: WarmInterpreter) -> None:
    """The others learn of it at once, though nobody told them."""
    gone, *others = rank_processes.run("fault_ranks:main_vanishes", 3, start=interpreter.start)
    assert gone.code == 7
    for other in others:
        assert other.result["kind"] == "MainProcessError", other
        assert "has ended" in other.result["text"]
        assert "fault_ranks.py" in other.result["text"]


def test_main_exits_before_the_others_come(interpreter: WarmInterpreter) -> None:
    """Rank 0 hosts the store and waits with its end until the others have read why it ends."""
    main, other = rank_processes.run(
        "fault_ranks:main_exits_before_others_come", 2, start=interpreter.start
    )
    assert main.code == 1
    assert other.code == 0, other
    # The ranks call from different lines, and the message of who failed still arrives first.
    assert other.result["kind"] in ("MainProcessError", "DesyncError")
    assert "connection" not in other.result["text"]


def test_main_finishes_before_the_others_read(interpreter: WarmInterpreter) -> None:
    """Destroying the group stops the store's server; not before the others have read."""
    outcomes = rank_processes.run(
        "fault_ranks:main_finishes_before_others_read", 3, start=interpreter.start
    )
    for result in _results(outcomes):
        assert result["kind"] == "ok", result


@pytest.mark.slow
def test_a_rank_is_missing(interpreter: WarmInterpreter) -> None:
    """Those that came are told which one did not."""
    main, _, third = rank_processes.run("fault_ranks:rank_is_missing", 3, start=interpreter.start)
    for outcome in (main, third):
        assert outcome.result["kind"] == "RankTimeoutError", outcome
        assert "rank 1 did not arrive within 2 s" in outcome.result["text"]


def test_odd_groups(tmp_path: Path, interpreter: WarmInterpreter) -> None:
    """A file store, a group made again, subgroups, forked children, breakpoints in a batch job."""
    outcomes = rank_processes.run(
        "fault_ranks:odd_groups", 2, str(tmp_path), start=interpreter.start
    )
    first, second = _results(outcomes)
    for stage in ("first", "file store"):
        assert first[stage] == [40, "OSError", True], (stage, first)
        assert second[stage] == [40, "MainProcessError", True], (stage, second)
    assert "forked child" in str(first["child"])
    assert first["half group"] == 1.0
    assert first["breakpoint"] == []
    (warning,) = second["breakpoint"]
    assert "fault_ranks.py" in warning
    assert "no terminal" in warning


def test_two_machines(tmp_path: Path, interpreter: WarmInterpreter) -> None:
    """local=True lets both machines' first ranks go at once; each machine gets its own file."""
    outcomes = rank_processes.run(
        "fault_ranks:two_machines", 2, str(tmp_path), start=interpreter.start
    )
    first, second = _results(outcomes)
    assert [rank["alone"] for rank in (first, second)] == [True, True]
    assert [rank["met"] for rank in (first, second)] == [True, True]
    assert first["loaded"] == second["loaded"] == [True, True]
    assert second["failed"]["kind"] == "OSError"
    assert first["failed"]["kind"] == "RankError"
    assert "rank 1 failed" in first["failed"]["text"]
    assert (first["value"], second["value"]) == (0, 1)
    # Another machine's failure reaches this one, where the same call went well.
    assert [one["kind"] for one in second["full"]] == ["OSError", "OSError"]
    for one in first["full"]:
        assert one["kind"] == "RankError" and "this machine's disk" in one["text"]


def test_world_size_without_a_group(tmp_path: Path, interpreter: WarmInterpreter) -> None:
    """Left-over or early variables: RANK 0 writes, nobody waits, and each says so."""
    for rank in (0, 1):
        (outcome,) = rank_processes.run(
            "fault_ranks:without_group",
            1,
            init=False,
            env={
                "RANK": str(rank),
                "WORLD_SIZE": "2",
                "FAULT_FOLDER": str(tmp_path),
                "TORCHELASTIC_USE_AGENT_STORE": "False",
            },
            start=interpreter.start,
        )
        (result,) = _results([outcome])
        assert result["rank"] == rank
        assert result["wrote"] == (rank == 0)
        assert result["value"] == (3 if rank == 0 else None)
        assert result["agreed"] is True
        assert any("WORLD_SIZE is 2" in text for text in result["warnings"])
        assert result["broadcast"] == ("ok" if rank == 0 else "RuntimeError")
        assert rank == 0 or "init_process_group" in result["messages"]


def test_torchrun_before_the_group_exists() -> None:
    """Where accelerate says "main process of 1" twice, the launcher tells the truth."""
    port = rank_processes.free_port()
    prefix = (sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2")
    first, second = _results(
        rank_processes.run(
            "fault_ranks:under_torchrun",
            2,
            prefix=(*prefix, "--master-addr", "127.0.0.1", "--master-port", str(port)),
            env={"CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": os.environ.get("PYTHONPATH", "")},
        )
    )
    for rank, result in enumerate((first, second)):
        before = result["before"]
        assert before["initialized"] is False
        assert before["rank"] == rank
        assert result["missed"] == ("RankTimeoutError" if rank == 0 else "")
        assert result["again"] == ["ok"] * 6
        assert before["value"] == first["pid"]
        assert (before["any"], before["all"]) == (True, False)
        assert before["failed"] == ("OSError" if rank == 0 else "MainProcessError")
        assert result["initialized"] is True
        # The reason for never asking accelerate who we are: "main process of one", on both ranks.
        assert result["accelerate"] == [1, True]
        assert result["after"][0] == 40
