"""Findings that hold in some launches only, weighed by the launches that the project holds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from distlint.cli import main

SAVING = """
from accelerate import Accelerator


def train(model, loader, path):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, loader)
    for batch in loader:
        accelerator.backward(model(batch).mean())
        if accelerator.is_main_process:
            accelerator.save_state(path)
"""
STARTING = (
    "from accelerate import Accelerator\n\nfrom saving import train\n\nAccelerator().print(train)\n"
)


@pytest.mark.parametrize(
    ("launch", "distributed", "severity"),
    [
        ("accelerate launch --config_file=./a.yaml train.py", "MULTI_GPU", "info"),
        ("accelerate launch --config_file a.yaml train.py", "FSDP", "warning"),
        ("accelerate launch --config_file a.yaml --use_fsdp train.py", "MULTI_GPU", "warning"),
        ("accelerate launch --config_file $CONFIG train.py", "MULTI_GPU", "warning"),
        ("accelerate launch --multi_gpu train.py", "FSDP", "info"),
        ("accelerate launch --config_file=./a.yaml other.py", "MULTI_GPU", "warning"),
        ("accelerate launch train.py", "MULTI_GPU", "warning"),
    ],
)
def test_a_launch_that_keeps_the_model_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, launch: str, distributed: str, severity: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "saving.py").write_text(SAVING)
    (tmp_path / "train.py").write_text(STARTING)
    (tmp_path / "run.sh").write_text(f"{launch} --epochs 3\n")
    (tmp_path / "a.yaml").write_text(f"distributed_type: {distributed}\nnum_processes: 8\n")
    arguments = ["check", "--no-cache", "--select", "DL106", "--output-format", "json"]
    found = json.loads(CliRunner().invoke(main, arguments).stdout)
    assert [row["severity"] for row in found["findings"]] == [severity]
