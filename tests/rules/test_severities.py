"""How grave a finding is, by what the program around it does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from distlint.cli import main

MODE = """
import torch
import torch.distributed as dist


def score(model, batch):
    was = model.training
    model.eval()
    result = model(batch)
    model.train(was)
    return result


class Trainer:
    def train_step(self, batch):
        FIRST
        loss = self.model(batch).mean()
        loss.backward()
        dist.all_reduce(loss)

    def run(self, batches):
        for batch in batches:
            try:
                self.train_step(batch)
                score(self.model, batch)
            except RuntimeError:
                torch.cuda.empty_cache()
"""

STOP = """
import argparse
import pdb

import torch.distributed as dist

args = argparse.ArgumentParser().parse_args()
dist.init_process_group("nccl")
dist.barrier()
if TEST:
    pdb.set_trace()
dist.barrier()
"""


def severities(folder: Path, text: str, code: str) -> list[str]:
    (folder / "train.py").write_text(text)
    arguments = ["check", "--no-cache", "--select", code, "--output-format", "json", str(folder)]
    found = json.loads(CliRunner().invoke(main, arguments).stdout)["findings"]
    return [row["severity"] for row in found]


@pytest.mark.parametrize(
    ("first", "severity"),
    [("self.model.train()", "info"), ("self.optimizer.zero_grad()", "warning")],
)
def test_a_mode_that_each_step_sets_anew(tmp_path: Path, first: str, severity: str) -> None:
    assert severities(tmp_path, MODE.replace("FIRST", first), "DL202") == [severity]


@pytest.mark.parametrize(
    ("test", "severity"), [("args.stop", "warning"), ("dist.is_initialized()", "error")]
)
def test_a_breakpoint_that_a_flag_asks_for(tmp_path: Path, test: str, severity: str) -> None:
    assert severities(tmp_path, STOP.replace("TEST", test), "DL701") == [severity]
