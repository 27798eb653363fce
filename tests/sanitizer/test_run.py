"""`distlint run` on real processes: what it reports, what it keeps silent about, how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

INIT = """\
import torch, torch.distributed as dist
from datetime import timedelta
dist.init_process_group("gloo", timeout=timedelta(seconds=90))
r = dist.get_rank()
"""
FIRST = INIT.count("\n") + 1
"""The line of a script at which its body starts."""


def _script(folder: Path, body: str) -> Path:
    path = folder / "train.py"
    path.write_text(INIT + textwrap.dedent(body))
    return path


def _distlint(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "distlint", *arguments]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=240, check=False
    )


def _run(folder: Path, body: str, *options: str, nproc: int = 2) -> tuple[int, dict[str, Any]]:
    script = _script(folder, body)
    own = ["-n", str(nproc), "--stall-timeout", "3", "--json", *options]
    done = _distlint(folder, "run", *own, str(script))
    assert done.stdout, done.stderr
    assert "Dynamo does not know" not in done.stderr
    return done.returncode, json.loads(done.stdout)


def _places(report: dict[str, Any]) -> list[tuple[str, int] | None]:
    """What each rank does at the divergence: the collective, and the line counted from the body."""
    return [
        (rank["operation"]["name"], rank["operation"]["stack"][0]["line"] - FIRST)
        if rank["operation"]
        else None
        for rank in report["ranks"]
    ]


def test_collective_of_one_rank_beside_the_buckets_of_ddp(tmp_path: Path) -> None:
    body = """\
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4))
    for step in range(3):
        loss = model(torch.ones(2, 4)).sum()
        if r == 0 and step == 1:
            dist.all_reduce(loss.detach())
        loss.backward()
    """
    status, report = _run(tmp_path, body)
    assert (status, report["divergence"]["kind"]) == (3, "mismatch")
    assert _places(report) == [("all_reduce", 4), ("all_reduce", 5)]


SKIPPED = """\
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4))
for step in range(6):
    loss = model(torch.ones(2, 4)).sum()
    with torch.no_grad():
        if r == 0: model(torch.ones(2, 4))
    if (step, r) in SKIP:
        continue
    loss.backward()
dist.destroy_process_group()
"""


@pytest.mark.long
def test_the_sample_of_the_page(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/commands/run.md").read_text()
    script = page.partition("says nothing for ten minutes.\n\n```python\n")[2]
    script = script.partition("```\n")[0]
    (tmp_path / "train.py").write_text(script)
    session = page.partition(f"{script}```\n```\n$ ")[2].partition("$ echo")[0]
    command, _, report = session.split("\n", 2)
    done = _distlint(tmp_path, *command.split()[1:])
    assert done.returncode == 3 and report in done.stderr


@pytest.mark.parametrize(
    "skip",
    [
        pytest.param("[(2, 1)]", id="hangs", marks=pytest.mark.long),
        pytest.param("[(2, 1), (4, 0)]", id="is silent"),
    ],
)
def test_a_skipped_backward_is_named_where_it_is_skipped(skip: str, tmp_path: Path) -> None:
    """The gradients of one step are added to those of the next, until the end at least."""
    status, report = _run(tmp_path, SKIPPED.replace("SKIP", skip))
    assert (status, report["divergence"]["kind"]) == (3, "mismatch")
    assert report["divergence"]["differences"] == [
        "the forward pass whose gradients are reduced: number 3 on rank 0; number 4 on rank 1"
    ]
    assert _run(tmp_path, SKIPPED.replace("SKIP", "[(2, 0), (2, 1)]"))[0] == 0


REPLICAS = """\
from torch.distributed.optim import ZeroRedundancyOptimizer
module = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
model = torch.nn.parallel.DistributedDataParallel(module)
sharded = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4))
optimizers = [torch.optim.AdamW(model.parameters(), lr=0.1),
    ZeroRedundancyOptimizer(sharded.parameters(), torch.optim.Adam, lr=0.1)]
for step in range(4):
    with model.no_sync():
        model(torch.rand(2, 4) * (r + 1)).sum().backward()
    loss = (MODEL if step == 2 else model)(torch.rand(2, 4) * (r + 1)).sum()
    (loss + sharded(torch.rand(2, 4)).sum()).backward()
    for optimizer in optimizers:
        optimizer.step()
        optimizer.zero_grad()
dist.destroy_process_group()
"""


@pytest.mark.long
def test_replicas_that_part_without_a_hang(tmp_path: Path) -> None:
    """Around DDP, gradients are not reduced: each rank trains a model of its own from there."""
    status, report = _run(tmp_path, REPLICAS.replace("MODEL", "model"), "--replicas", nproc=3)
    assert (status, report["outcome"]) == (0, "right"), report
    around = REPLICAS.replace("MODEL", "module")
    assert _run(tmp_path, around)[0] == 0, "without --replicas nobody looks"
    status, report = _run(tmp_path, around, "--replicas", nproc=3)
    assert (status, report["divergence"]["kind"]) == (3, "replicas")
    assert report["ranks"][0]["operation"]["call"] == "optimizer step 3 of Sequential number 1"
    assert (
        f"after optimizer step 3 of Sequential number 1 at train.py:{FIRST + 12}"
        in report["headline"]
    )
    assert report["divergence"]["differences"] == [
        "the parameters 0.weight, 1.weight: one value on rank 0; "
        "another value on rank 1; another value on rank 2"
    ]


@pytest.mark.long
def test_replicas_that_one_rank_changes_before_training(tmp_path: Path) -> None:
    body = """\
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4))
    if r == 2:
        torch.nn.init.zeros_(model.module.bias)
    model(torch.ones(2, 4))
    """
    status, report = _run(tmp_path, body, "--replicas", nproc=3)
    assert (status, report["divergence"]["kind"]) == (3, "replicas")
    assert "before the first forward pass of Linear number 1" in report["headline"]
    assert report["divergence"]["differences"] == [
        "the parameters bias: one value on ranks 0, 1; another value on rank 2"
    ]


@pytest.mark.long
def test_ranks_that_join_early_are_no_divergence(tmp_path: Path) -> None:
    body = """\
    from torch.distributed.algorithms.join import Join
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4))
    with Join([model]):
        for step in range(3 + r):
            model(torch.ones(2, 4)).sum().backward()
    compiled = torch.compile(model, backend="eager")
    for step in range(2):
        compiled(torch.ones(2, 4)).sum().backward()
    dist.destroy_process_group()
    """
    status, report = _run(tmp_path, body)
    assert (status, report["outcome"]) == (0, "right"), report


@pytest.mark.long
def test_full_tensor_on_one_rank_of_fsdp2(tmp_path: Path) -> None:
    body = """\
    from torch.distributed.fsdp import fully_shard
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
    fully_shard(model)
    model(torch.ones(2, 4)).sum().backward()
    if r == 0:
        {k: v.full_tensor() for k, v in model.state_dict().items()}
    dist.barrier()
    """
    status, report = _run(tmp_path, body)
    places = _places(report)
    assert status == 3
    assert places[0] is not None and places[0][1] == 5
    assert places[1] == ("barrier", 6)


@pytest.mark.long
def test_gather_of_fsdp1_on_one_rank_in_inference_mode(tmp_path: Path) -> None:
    body = """\
    from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
    cpu = torch.device("cpu")
    model = FSDP(torch.nn.Sequential(FSDP(torch.nn.Linear(4, 4), device_id=cpu)), device_id=cpu)
    with torch.inference_mode():
        model(torch.ones(2, 4))
        if r == 1:
            model(torch.ones(2, 4))
    """
    status, report = _run(tmp_path, body)
    assert (status, report["divergence"]["kind"]) == (3, "missing")
    assert _places(report)[0] is None and report["ranks"][0]["ended"]


MEET = """\
import atexit, os, time
from pathlib import Path
def meet():
    Path(f"{r}.CASE").touch()
    while not all(Path(f"{rank}.CASE").exists() for rank in range(dist.get_world_size())):
        time.sleep(0.05)
"""


@pytest.mark.long
def test_an_abort_after_the_end_of_the_script_is_not_blamed(tmp_path: Path) -> None:
    """Threads of gloo abort a process now and then whose script has ended with its groups open."""
    # A rank that leaves while others still connect to it makes them fail, which is another story.
    body = """\
    pair = dist.new_group([0, 1])
    if r < 2:
        dist.all_reduce(torch.ones(4), group=pair)
    meet()
    if r == 0:
        dist.all_reduce(torch.ones(4), group=pair)
    atexit.register(os.abort)
    """
    first = MEET.replace("CASE", "first") + textwrap.dedent(body)
    status, report = _run(tmp_path, first, nproc=3)
    assert (status, report["divergence"]["kind"]) == (3, "missing")
    assert report["divergence"]["group"]["ranks"] == [0, 1]
    assert _places(report)[0] == ("all_reduce", 11)
    end = "meet()\natexit.register(os.abort)\n"
    script = _script(tmp_path, MEET.replace("CASE", "second") + end)
    done = _distlint(tmp_path, "run", "-n", "2", str(script))
    assert done.returncode == 0, done.stderr
    assert "the script had ended on rank 1 when its process aborted (signal 6)" in done.stderr
    end = end.replace("os.abort", "os._exit, 7")
    script = _script(tmp_path, MEET.replace("CASE", "third") + end)
    done = _distlint(tmp_path, "run", "-n", "2", str(script))
    assert done.returncode == 7, done.stderr
    assert "failed after its script had ended: exit status 7" in done.stderr


def test_lines_of_the_ranks_stay_whole_and_are_kept(tmp_path: Path) -> None:
    body = """\
    import sys
    for number in range(200):
        for part in ("line ", str(number), " of rank ", str(r), "\\n"):
            sys.stdout.write(part)
            sys.stdout.flush()
    sys.stderr.write("10%\\r20%\\rdone\\r\\n")
    sys.stdout.write("no end")
    """
    done = _distlint(tmp_path, "run", "-n", "2", "--log-dir", "logs", str(_script(tmp_path, body)))
    lines = done.stdout.splitlines()
    for rank in range(2):
        own = [line for line in lines if line.startswith(f"[rank {rank}] ")]
        expected = [f"line {number} of rank {rank}" for number in range(200)]
        assert own == [f"[rank {rank}] {line}" for line in [*expected, "no end"]]
        assert f"[rank {rank}] 10%\n[rank {rank}] 20%\n[rank {rank}] done\n" in done.stderr
        kept = (tmp_path / "logs" / f"rank{rank}.log").read_text().splitlines()
        assert [line for line in kept if line.startswith("line")] == expected
    assert len(lines) == 402


@pytest.mark.long
def test_a_reader_that_leaves_does_not_end_the_run(tmp_path: Path) -> None:
    body = "import time\nprint('first')\ntime.sleep(2)\nprint('x' * 100_000)\ndist.barrier()\n"
    script = _script(tmp_path, body + "open(f'{r}.end', 'w')\n")
    command = [sys.executable, "-m", "distlint", "run", "-n", "2", str(script)]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        parent.stdout.close()
        assert parent.wait(120) == 0
    assert all((tmp_path / f"{rank}.end").exists() for rank in range(2))


@pytest.mark.long
def test_swapped_collectives_that_look_alike(tmp_path: Path) -> None:
    body = """\
    loss, norm = torch.ones(1), torch.ones(1)
    if r == 0:
        dist.all_reduce(loss)
    dist.all_reduce(norm)
    if r == 1:
        dist.all_reduce(loss)
    dist.barrier()
    """
    status, report = _run(tmp_path, body)
    # Lines 3 and 6 make one call: three places to the program, two to the eye.
    assert (status, report["divergence"]["kind"]) == (3, "swapped")
    assert _places(report) == [("all_reduce", 2), ("all_reduce", 3)]
    arms = """\
    loss, norm = torch.ones(1), torch.ones(1)
    if r == 0:
        dist.all_reduce(loss)
        dist.all_reduce(norm)
    else:
        dist.all_reduce(norm)
        dist.all_reduce(loss)
    """
    status, report = _run(tmp_path, arms)
    assert (status, report["divergence"]["kind"]) == (3, "swapped")
    assert _places(report) == [("all_reduce", 2), ("all_reduce", 5)]
    swapped = """\
    def loss(): dist.all_reduce(torch.ones(1))
    def norm(): dist.all_reduce(torch.ones(1))
    for one in [loss, norm] if r == 0 else [norm, loss]:
        one()
    """
    status, report = _run(tmp_path, swapped)
    assert (status, report["divergence"]["kind"]) == (3, "swapped")
    assert _places(report) == [("all_reduce", 0), ("all_reduce", 1)]


DIFFERENCES = [
    ("dist.broadcast(x, src=r)", "root: rank 0 on rank 0; rank 1 on rank 1"),
    (
        "dist.all_reduce(x, op=dist.ReduceOp.MAX if r else dist.ReduceOp.SUM)",
        "reduce op: sum on rank 0; max on rank 1",
    ),
    ("dist.all_reduce(x if r else x.t().clone())", "shape: [3, 2] on rank 0; [2, 3] on rank 1"),
    ("dist.all_reduce(x if r else x.double())", "dtype: float64 on rank 0; float32 on rank 1"),
    (
        "dist.all_to_all_single(torch.empty(3), torch.ones(3), [1, 2], [2 - (not r), 1 + (not r)])",
        "splits: rank 0 sends 2 elements to rank 1, which expects 1",
    ),
    (
        "dist.all_to_all([torch.empty(1)] * 2, [torch.ones(1), torch.ones(1 + 2 * (not r))])",
        "splits: rank 0 sends 3 elements to rank 1, which expects 1",
    ),
    (
        "dist.send(x, 0, tag=7) if r else dist.recv(x, 1, tag=3)",
        "tag: 3 on rank 0; 7 on rank 1",
    ),
    (
        "dist.all_reduce(x) if r else dist.broadcast(x, 0)",
        "operation: broadcast on rank 0; all_reduce on rank 1",
    ),
    (
        "dist.all_reduce(x, group=[dist.new_group([0, 1]) for _ in range(2)][r])",
        "group: group 1 on rank 0; group 2 on rank 1",
    ),
]
"""Calls of one line that are not the same on both ranks, and how that is said; the first two run always."""


@pytest.mark.parametrize(
    ("call", "difference"),
    [*DIFFERENCES[:2], *(pytest.param(*row, marks=pytest.mark.long) for row in DIFFERENCES[2:])],
)
def test_what_differs_is_named(call: str, difference: str, tmp_path: Path) -> None:
    status, report = _run(tmp_path, f"x = torch.ones(2, 3)\n{call}\n")
    assert (status, report["divergence"]["differences"]) == (3, [difference])


@pytest.mark.long
def test_many_tensors_of_one_kind_are_counted(tmp_path: Path) -> None:
    body = "dist.all_reduce_coalesced([torch.ones(8)] * 6) if r else dist.barrier()\n"
    status, report = _run(tmp_path, body)
    assert (status, report["ranks"][1]["operation"]["call"]) == (
        3,
        "all_reduce_coalesced(6 x float32[8])",
    )


@pytest.mark.long
def test_object_collectives_and_three_ranks(tmp_path: Path) -> None:
    body = """\
    gathered = [None] * 3
    dist.all_gather_object(gathered, r)
    if r == 2:
        dist.broadcast_object_list([1], src=2)
    dist.barrier()
    """
    status, report = _run(tmp_path, body, nproc=3)
    assert status == 3
    assert _places(report)[2] == ("broadcast", 3)
    assert ("barrier", 4) in _places(report)


@pytest.mark.long
def test_two_groups_in_different_order_stall(tmp_path: Path) -> None:
    body = """\
    one, two = dist.new_group([0, 1]), dist.new_group([0, 1])
    for group in [one, two] if r == 0 else [two, one]:
        dist.all_reduce(torch.ones(2), group=group)
    """
    status, report = _run(tmp_path, body)
    assert (status, report["divergence"]["kind"]) == (3, "missing")
    assert all(rank["ranks"] == [0, 1] for rank in [report["divergence"]["group"]])
    assert report["seconds"] < 80, "found before the timeout of the group"


def test_new_group_on_one_rank(tmp_path: Path) -> None:
    status, report = _run(tmp_path, "if r == 0: dist.new_group([0])\ndist.barrier()\n")
    assert status == 3
    assert _places(report) == [("new_group", 0), ("barrier", 1)]


@pytest.mark.long
def test_two_ranks_that_both_receive(tmp_path: Path) -> None:
    status, report = _run(tmp_path, "dist.recv(torch.ones(4), 1 - r)\n")
    assert (status, report["divergence"]["kind"]) == (3, "missing")
    assert "send and recv do not belong together" in report["headline"]


def test_a_rank_that_dies_gives_its_own_status(tmp_path: Path) -> None:
    status, report = _run(tmp_path, "import sys\nif r == 1: sys.exit(9)\ndist.barrier()\n")
    assert (status, report["outcome"]) == (9, "failed")
    assert report["ranks"][0]["last"]["stack"][0]["line"] == FIRST + 2
    status, report = _run(
        tmp_path, "import os\nif r == 1: os.kill(os.getpid(), 9)\ndist.barrier()\n"
    )
    assert status == 128 + 9


@pytest.mark.long
def test_waiting_for_a_rank_that_sleeps_is_no_stall(tmp_path: Path) -> None:
    body = "import time\nif r == 0: time.sleep(8)\ndist.barrier()\n"
    assert _run(tmp_path, body)[0] == 0
    status, report = _run(tmp_path, body.replace("8", "200"), "--patience", "15")
    assert (status, report["ranks"][0]["stack"][0]["line"]) == (3, FIRST + 1)


SLEEPER = """\
import time
def load():
    while not Path("go").exists():
        time.sleep(0.1)
from pathlib import Path
if r == 0:
    load()
dist.all_reduce(torch.ones(4))
dist.destroy_process_group()
"""


def test_who_waits_where_is_told_meanwhile_and_on_request(tmp_path: Path) -> None:
    script = _script(tmp_path, SLEEPER)
    command = [sys.executable, "-m", "distlint", "run", "-n", "3", "--notice", "2", str(script)]
    notes = tmp_path / "notes"
    with (
        notes.open("w") as stream,
        subprocess.Popen(command, cwd=tmp_path, stdout=stream, stderr=stream) as parent,
    ):
        waiting = f"ranks 1, 2 wait in all_reduce(float32[4]) at train.py:{FIRST + 7}"
        sleeping = f"rank 0 sleeps or reads at train.py:{FIRST + 3} in load"
        _until(lambda: f"{waiting}; {sleeping}\n" in notes.read_text())
        parent.send_signal(signal.SIGUSR1)
        stacks = f"  ranks 1, 2  wait\n    train.py:{FIRST + 7} in <module>\n"
        _until(lambda: stacks in notes.read_text())
        (tmp_path / "go").touch()
        assert parent.wait(120) == 0


@pytest.mark.long
def test_ctrl_c_shows_the_stacks_of_all_ranks(tmp_path: Path) -> None:
    script = _script(tmp_path, SLEEPER)
    command = [sys.executable, "-m", "distlint", "run", "-n", "2", "--notice", "2", str(script)]
    notes = tmp_path / "notes"
    with (
        notes.open("w") as stream,
        subprocess.Popen(command, cwd=tmp_path, stdout=stream, stderr=stream) as parent,
    ):
        _until(lambda: "rank 0 sleeps or reads at" in notes.read_text())
        parent.send_signal(signal.SIGINT)
        assert parent.wait(60) == 130
    told = notes.read_text()
    assert f"  rank 0  sleeps or reads\n    train.py:{FIRST + 3} in load\n" in told
    assert f"  rank 1  waits\n    train.py:{FIRST + 7} in <module>\n" in told


@pytest.mark.long
@pytest.mark.skipif(not hasattr(signal, "SIGRTMIN"), reason="this system has no such signal")
def test_a_rank_that_holds_the_interpreter_is_seen(tmp_path: Path) -> None:
    """Its threads cannot answer."""
    body = """\
    import re
    def parse():
        re.match("(a+)+$", "a" * 60 + "b")
    if r == 0:
        parse()
    dist.barrier()
    """
    status, report = _run(tmp_path, body, "--patience", "10")
    assert (status, report["divergence"]["kind"]) == (3, "missing")
    assert (
        f"rank 0 computes without letting go of the interpreter at train.py:{FIRST + 2}; "
        f"rank 1 in barrier() at train.py:{FIRST + 5}"
    ) in report["headline"]


@pytest.mark.long
def test_ranks_that_do_the_same_are_told_once(tmp_path: Path) -> None:
    body = """\
    for step in range(3):
        if r != 2 or step != 1:
            dist.all_reduce(torch.ones(1))
    dist.barrier()
    """
    done = _distlint(tmp_path, "run", "-n", "4", str(_script(tmp_path, body)))
    assert done.returncode == 3
    call = f"train.py:{FIRST + 2}"
    assert (
        f": ranks 0, 1, 3 in all_reduce(float32[1]) at {call}; rank 2 in barrier()" in done.stderr
    )
    assert f"\n  ranks 0, 1, 3  all_reduce(float32[1])\n    {call} in <module>\n" in done.stderr
    assert done.stderr.count("all_reduce(float32[1])") == 2


def test_the_headline_names_the_line_of_the_user(tmp_path: Path) -> None:
    """The collective itself stands in an installed package."""
    body = """\
    from accelerate import Accelerator
    accelerator = Accelerator(cpu=True)
    if r == 0:
        accelerator.reduce(torch.ones(2))
    dist.barrier()
    """
    _, report = _run(tmp_path, body)
    assert f"rank 0 in all_reduce(float32[2]) at train.py:{FIRST + 3};" in report["headline"]


@pytest.mark.long
def test_the_right_program_is_left_alone(tmp_path: Path) -> None:
    """Matched arms, rotating roots, workers, subgroups, functional and compiled collectives."""
    body = """\
    import torch.distributed._functional_collectives as functional
    from torch.utils.data import DataLoader
    own = [dist.new_group([0]), dist.new_group([1])][r]
    both = torch.compile(lambda x: functional.all_reduce(x * 2, "sum", dist.group.WORLD) + 1, backend="eager")
    for batch in DataLoader(torch.ones(8, 3), batch_size=2, num_workers=1):
        for root in (0, 1):
            if r == root:
                dist.broadcast(batch, root)
            else:
                dist.broadcast(torch.empty(2, 3), root)
        if r == 0:
            dist.all_reduce(batch, group=own)
            dist.isend(batch, 1).wait()
        else:
            dist.recv(batch)
        assert both(torch.ones(1)).item() == 5
    dist.all_reduce(batch, op=dist.ReduceOp.MAX)
    dist.broadcast(torch.ones(2, 3) if r == 0 else torch.ones(6), 0)
    dist.all_gather_into_tensor(torch.empty(4), torch.ones(2))
    dist.all_to_all_single(torch.empty(2 + r, 2), torch.ones(2 + r, 2), [1, 1 + r], [1, 1 + r])
    gathered = [None, None] if r == 0 else None
    dist.gather_object("x" * (1 + r), gathered)
    dist.destroy_process_group()
    """
    status, report = _run(tmp_path, body)
    assert (status, report["outcome"]) == (0, "right"), report


@pytest.mark.long
def test_the_backend_can_be_replaced(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import torch.distributed as dist\n"
        "dist.init_process_group('nccl')\nassert dist.get_backend() == 'gloo'\ndist.barrier()\n"
    )
    done = _distlint(tmp_path, "run", "-n", "2", "--backend", "gloo", str(script))
    assert done.returncode == 0, done.stderr


@pytest.mark.long
def test_an_abort_while_others_have_gone_on_is_a_divergence(tmp_path: Path) -> None:
    """NCCL's watchdog aborts a rank whose partner did not come."""
    body = "import os, time\nif r == 0: dist.barrier(async_op=True); os.abort()\ntime.sleep(30)\n"
    status, report = _run(tmp_path, body)
    assert (status, report["divergence"]["kind"]) == (3, "missing")
    assert _run(tmp_path, "import os\nif r == 0: os.abort()\n")[0] == 128 + signal.SIGABRT


HF_TRAINING = """\
from torch.distributed.fsdp import fully_shard
from transformers import LlamaConfig, LlamaForCausalLM
for sharded in (False, True):
    model = LlamaForCausalLM(LlamaConfig(vocab_size=64, hidden_size=16, intermediate_size=32,
        num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=2))
    if sharded:
        for layer in model.model.layers:
            fully_shard(layer)
        fully_shard(model)
    else:
        model = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(50):
        tokens = torch.randint(0, 64, (2, 8))
        model(input_ids=tokens, labels=tokens).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
dist.destroy_process_group()
"""


@pytest.mark.long
def test_fifty_steps_of_a_correct_training_with_ddp_and_with_fsdp2(tmp_path: Path) -> None:
    status, report = _run(tmp_path, HF_TRAINING)
    assert (status, report["outcome"]) == (0, "right"), report
    assert all(rank["operations"] >= 300 for rank in report["ranks"])


@pytest.mark.long
def test_arguments_reach_the_script_and_text_goes_to_stderr(tmp_path: Path) -> None:
    script = _script(tmp_path, "import sys\nprint(sys.argv[1:], r)\nif r: dist.barrier()\n")
    done = _distlint(tmp_path, "run", "-n", "2", str(script), "--lr", "1")
    assert done.returncode == 3
    assert sorted(done.stdout.splitlines()) == [
        "[rank 0] ['--lr', '1'] 0",
        "[rank 1] ['--lr', '1'] 1",
    ]
    assert f"rank 1 in barrier() at train.py:{FIRST + 2}" in done.stderr
    assert "rank 0 has ended" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_rank_is_left_behind(number: signal.Signals, tmp_path: Path) -> None:
    if number is signal.SIGKILL and sys.platform != "linux":
        pytest.skip("only Linux ends children with their parent")
    script = _script(
        tmp_path,
        "import os, time\nfrom pathlib import Path\n"
        "Path(f'{r}.pid').write_text(str(os.getpid()))\ntime.sleep(300)\n",
    )
    command = [sys.executable, "-m", "distlint", "run", "-n", "2", str(script)]
    parent = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL)
    notes = [tmp_path / "0.pid", tmp_path / "1.pid"]
    _until(lambda: all(note.exists() and note.read_text() for note in notes))
    pids = [int(note.read_text()) for note in notes]
    parent.send_signal(number)
    status = parent.wait(60)
    assert status == {signal.SIGINT: 130, signal.SIGTERM: 143}.get(number, -number)
    _until(lambda: not any(_alive(pid) for pid in pids))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["-n", "2", "missing.py"], "missing.py: no such file"),
        (["-n", "0", "missing.py"], "0 is not in the range"),
        (["missing.py"], "Missing option '-n'"),
        (["-n", "2", "-m", "missing.train"], "missing.train: no such module here"),
        (["-n", "2", "-m", "./train.py"], "./train.py: no such module here"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], says: str, tmp_path: Path) -> None:
    done = _distlint(tmp_path, "run", *arguments)
    assert done.returncode == 2
    assert says in done.stderr and "Traceback" not in done.stderr


def _until(condition: Any, seconds: float = 90.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.05)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return not Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].startswith(" Z")
    except (ProcessLookupError, FileNotFoundError):
        return False


def test_a_module_of_the_working_directory(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "train.py").write_text("print(__name__, __package__)\n")
    done = _distlint(tmp_path, "run", "-n", "1", "-m", "package.train")
    assert (done.returncode, done.stdout) == (0, "[rank 0] __main__ package\n")
