"""`distlint run --compare`: the same script on one rank and on several."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

SCRIPT = """\
import sys
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

case = sys.argv[1]
dist.init_process_group("gloo")
rank, ranks = dist.get_rank(), dist.get_world_size()
torch.manual_seed(ranks if case == "seed" else 0)
data = TensorDataset(torch.arange(48.0).reshape(24, 2) / 48)
model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 1))
if case == "norm":
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
if case != "unwrapped":
    model = DistributedDataParallel(model)
shuffled = case == "epoch"
sampler = DistributedSampler(data, shuffle=shuffled) if ranks > 1 else None
workers = 1 if case == "right" else 0
loader = DataLoader(data, 8 // ranks, sampler=sampler, shuffle=shuffled and ranks == 1, num_workers=workers)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for (batch,) in loader:
        loss = model(batch).square().mean() * (ranks if case == "sum" else 1)
        loss.backward()
        if case != "steps" or rank == 0 or epoch == 0:
            optimizer.step()
        optimizer.zero_grad()
for _ in loader:
    pass
dist.destroy_process_group()
"""
LOADER = SCRIPT.splitlines().index("    for (batch,) in loader:") + 1
STEP = SCRIPT.splitlines().index("            optimizer.step()") + 1
# Two runs of a script each; CI has one case of each kind.
SLOW, LONG = pytest.mark.slow, pytest.mark.long


def _compare(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "train.py").write_text(SCRIPT)
    command = [sys.executable, "-m", "distlint", "run", *arguments]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )


def _told(remarks: list[dict[str, Any]]) -> list[tuple[str, int, str]]:
    return [(r["what"], r["stack"][0]["line"], r["message"]) for r in remarks]


@pytest.mark.parametrize(
    ("case", "what", "line", "says"),
    [
        pytest.param(
            "seed",
            "parameters",
            STEP,
            "before the first step of optimizer 1, they differ",
            marks=LONG,
        ),
        pytest.param(
            "unwrapped",
            "parameters",
            STEP,
            "after step 1 of optimizer 1, 0.bias, 0.weight",
            marks=SLOW,
        ),
        pytest.param("epoch", "samples", LOADER, "call `sampler.set_epoch(epoch)`", marks=SLOW),
        pytest.param(
            "sum",
            "parameters",
            STEP,
            "part from the other run, though the batches are the same",
            marks=LONG,
        ),
        pytest.param(
            "steps",
            "steps",
            STEP,
            "optimizer 1 makes 6 steps on rank 0, 3 steps on rank 1",
            marks=SLOW,
        ),
    ],
)
def test_where_a_script_parts(case: str, what: str, line: int, says: str, tmp_path: Path) -> None:
    done = _compare(tmp_path, "--json", "--compare", "1,2", "train.py", case)
    report = json.loads(done.stdout)
    assert (done.returncode, report["outcome"]) == (3, "parted"), done.stderr
    told = _told(report["parted"])
    assert (what, line) == told[0][:2] and says in told[0][2]


def test_the_sample_of_the_page(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/commands/run.md").read_text()
    script = page.partition("takes the whole data set:\n\n```python\n")[2].partition("```\n")[0]
    (tmp_path / "whole.py").write_text(script)
    command, output = page.partition(script + "```\n```\n$ ")[2].partition("```")[0].split("\n", 1)
    done = _compare(tmp_path, *command.split()[2:])
    assert done.returncode == 3 and output in done.stderr


def test_a_script_that_does_the_same(tmp_path: Path) -> None:
    done = _compare(tmp_path, "--compare", "1,2", "train.py", "right")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "distlint run: 1 rank and 2 ranks do the same, as far as compared",
        "  alike: optimizer 1 makes as many steps on each rank (6 on 1 rank, 6 on each of 2)",
        f"  alike: samples at train.py:{LOADER} are shared out",
        "  alike: the parameters of optimizer 1 are equal on all ranks after each step",
        "  alike: the parameters of optimizer 1 are those of the other run after each step",
    ]


@SLOW
def test_what_a_norm_makes_of_half_a_batch_is_a_note(tmp_path: Path) -> None:
    done = _compare(tmp_path, "--json", "--compare", "1,2", "train.py", "norm")
    report = json.loads(done.stdout)
    assert (done.returncode, report["parted"]) == (0, []), done.stderr
    notes = _told(report["notes"])
    assert [note[0] for note in notes] == ["buffers", "parameters"]
    assert "as BatchNorm1d may have it" in notes[1][2]


def test_a_run_that_diverges_or_fails_is_told_as_ever(tmp_path: Path) -> None:
    (tmp_path / "fail.py").write_text(
        "import os\nif os.environ['RANK'] == '1': raise ValueError('x')\n"
    )
    done = _compare(tmp_path, "--compare", "1,2", "fail.py")
    assert done.returncode == 1
    assert "rank 1 failed by itself: ValueError: x" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--compare", "2,1", "train.py"], "two numbers of ranks, the smaller one first"),
        (["--compare", "two", "train.py"], "two numbers of ranks, the smaller one first"),
        (["--compare", "1,2"], "Missing argument 'SCRIPT'"),
        (["--compare", "1,2", "-n", "2", "train.py"], "leave out -n and --launcher"),
        (["--compare", "1,2", "--read", "."], "leave out the script, -n and --compare"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], says: str, tmp_path: Path) -> None:
    done = _compare(tmp_path, *arguments)
    assert done.returncode == 2
    assert says in " ".join(done.stderr.split()) and "Traceback" not in done.stderr
