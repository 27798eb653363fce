"""Ranks that part where nobody waits: a test that provokes a hang, MPI's collectives in a process of its own world."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import findings_in

PROVOKED = """\
import time
import torch.distributed as dist


def one_comes(x):
    dist.barrier()
    if dist.get_rank() == 0:
        dist.all_reduce(x)
    else:
        time.sleep(3600)


{caller}
"""

EXPECTED = """
def worker(x):
    try:
        one_comes(x)
    except TimeoutError as stopped:
        print(stopped)
    else:
        assert False, "nothing was stopped"
"""


@pytest.mark.parametrize(
    ("caller", "found"),
    [
        # InternEvo c628a8c tests/test_utils/test_timeout.py:36
        (EXPECTED, False),
        ("def worker(x):\n    with pytest.raises(RuntimeError):\n        one_comes(x)", False),
        ("def worker(x):\n    one_comes(x)", True),
        # who only goes on where it takes too long does not want it to
        (EXPECTED.replace("assert False, ", "print(x), "), True),
    ],
)
def test_a_test_may_want_a_hang(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caller: str, found: bool
) -> None:
    files = {"hang.py": PROVOKED.format(caller=caller)}
    assert findings_in("DL101", tmp_path, files, capsys) == ([("hang.py", 8)] if found else [])


OVER_MPI = """\
import os
import torch
import torch.distributed as dist
from mpi4py import MPI


def start():
    {number}
    torch.cuda.set_device({gpu})
    dist.init_process_group("nccl", init_method="env://")


def load(path):
    start()
    if dist.get_rank() == 0:
        MPI.COMM_WORLD.bcast(torch.load(path))
    dist.barrier()
"""


@pytest.mark.parametrize(
    ("number", "gpu", "script", "found"),
    [
        # MDT 7d26c21 masked_diffusion/dist_util.py:110
        ("pass", "int(os.environ['LOCAL_RANK'])", "torchrun load.py", False),
        (
            "os.environ['RANK'] = str(MPI.COMM_WORLD.rank)",
            "int(os.environ['LOCAL_RANK'])",
            "",
            True,
        ),
        ("pass", "int(os.environ['LOCAL_RANK'])", "mpirun -n 8 python load.py", True),
        ("pass", "MPI.COMM_WORLD.rank % 8", "", True),
    ],
)
def test_mpi_has_one_process_where_torch_starts_them(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    number: str,
    gpu: str,
    script: str,
    found: bool,
) -> None:
    files = {"load.py": OVER_MPI.format(number=number, gpu=gpu), "run.sh": script + "\n"}
    assert findings_in("DL101", tmp_path, files, capsys) == ([("load.py", 16)] if found else [])
