"""What a script's calls never come to is information: below `if seed is not None: return`, where a seed is handed over."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.in_this_process import distlint

SEEDS = """
import random

import torch
import torch.distributed as dist

def agreed_seed(seed=None):
    if seed is not None:
        return seed
    drawn = torch.tensor(random.randint(0, 9999), device="cuda")
    if dist.get_rank() == 0:
        dist.broadcast(drawn, src=0)
    return drawn.item()
"""
SCRIPT = """
import os

import torch
import torch.distributed as dist
from seeds import agreed_seed

def main(settings, args):
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    torch.manual_seed(agreed_seed(GIVEN))

if __name__ == "__main__":
    main(read(), parse())
"""


@pytest.mark.parametrize(
    ("given", "severity"),
    [
        pytest.param("make(settings)", "info", id="made"),
        pytest.param("settings.get('seed')", "error", id="a key that may be missing"),
        pytest.param("getattr(settings, 'seed', None)", "error", id="an attribute that may be"),
        pytest.param("args.seed", "error", id="an option that may be left out"),
        pytest.param("None", "error", id="none"),
    ],
)
def test_a_line_below_the_test_of_what_is_handed_over(
    tmp_path: Path, given: str, severity: str
) -> None:
    (tmp_path / "seeds.py").write_text(SEEDS)
    (tmp_path / "train.py").write_text(SCRIPT.replace("GIVEN", given))
    arguments = ["check", "--no-cache", "--select", "DL101", "--output-format", "json", "."]
    document = json.loads(distlint(arguments, tmp_path).stdout)
    assert [finding["severity"] for finding in document["findings"]] == [severity]
