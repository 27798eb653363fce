"""Functions that nothing calls: what is found in them is information."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import severities_in

TRAIN = """
import logging
import torch.distributed
{finder}
from keeping import start

if __name__ == "__main__":
    logging.basicConfig(level=getattr(logging, start.__name__))
    start("out", logging.root)
"""

KEEPING = """
import os
import torch
import torch.distributed as dist

def start(folder, state):
    dist.init_process_group("nccl")
    {call}

def keep(folder, state):
    dist.barrier()
    path = os.path.join(folder, "all.pt")
    if not os.path.exists(path):
        torch.save(state, path)
"""


@pytest.mark.parametrize(
    ("finder", "call", "severity"),
    [
        ("", "dist.barrier()", "info"),
        ("", "keep(folder, state)", "warning"),
        ("import importlib", "dist.barrier()", "warning"),
        ("import importlib", "# keep(folder, state)", "info"),
        ("import importlib", "# keep(folder, state)\n    table = {'keep': keep}", "warning"),
        ("import keeping", "getattr(keeping, folder)()", "warning"),
        ("from fire import Fire", "Fire()", "warning"),
        ("", "print('campfire')", "info"),
    ],
)
def test_a_function_that_nothing_calls(
    finder: str, call: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {
        "train.py": TRAIN.format(finder=finder),
        "keeping.py": KEEPING.format(call=call),
    }
    if "keeping" in finder or "Fire" in finder:
        files["train.py"] += f"    {call}\n"
        files["keeping.py"] = KEEPING.format(call="dist.barrier()")
    assert severities_in("DL305", tmp_path, files, capsys) == [severity]
