"""The plan's bytes against what torch and DeepSpeed really keep, on two gloo processes."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from distlint.hardware.memory.activations import Shape
from distlint.hardware.memory.plan import Request, Usage, usage_of
from distlint.hardware.memory.strategies import STRATEGIES, Precision

pytest.importorskip("torch")

_SCRIPT = Path(__file__).parent / "measure_states.py"
_RANKS = 2
_LIMIT_S = 180


def _measured(strategy: str, precision: str) -> dict[str, int]:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc-per-node", str(_RANKS), str(_SCRIPT), strategy, precision]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=_LIMIT_S,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    assert done.returncode == 0 and lines, done.stderr[-2000:]
    answer: dict[str, int] = json.loads(lines[-1])
    return answer


def _planned(strategy: str, precision: str, parameters: int) -> Usage:
    row = next(s for s in STRATEGIES if s.key == strategy)
    shape = Shape(layers=8, hidden=64, heads=1, vocabulary=0, block_parameters=64 * 64)
    request = Request(parameters, shape, _RANKS, 1 << 30, Precision(precision))
    return usage_of(row, request)


@pytest.mark.parametrize(
    ("strategy", "precision"),
    [
        ("ddp", "fp32"),
        ("ddp", "bf16"),
        ("ddp-bucket-view", "mixed"),
        ("fsdp", "mixed"),
        ("fsdp", "bf16"),
    ],
)
def test_torch_keeps_what_the_plan_says(strategy: str, precision: str) -> None:
    measured = _measured(strategy, precision)
    planned = _planned(strategy, precision, measured["parameters"])
    assert measured["weights"] == planned.weights
    assert measured["gradients"] == planned.gradients
    assert measured["optimizer"] == planned.optimizer
    assert measured["buckets"] == planned.buckets


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("deepspeed") is None, reason="needs deepspeed (pip install deepspeed)"
)
@pytest.mark.parametrize(
    ("strategy", "precision"),
    [
        ("zero1", "mixed"),
        ("zero1", "fp32"),
        ("zero2", "mixed"),
        ("zero2", "fp32"),
        ("zero3", "mixed"),
        ("zero3", "fp32"),
    ],
)
def test_deepspeed_keeps_what_the_plan_says(strategy: str, precision: str) -> None:
    """All tensors alive, less the plan's states, are one or two reduce buckets and no more."""
    measured = _measured(strategy, precision)
    planned = _planned(strategy, precision, measured["parameters"])
    states = planned.weights + planned.gradients + planned.optimizer
    bucket = 64 * 64 * Precision(precision).compute_bytes
    assert measured["all"] - states in (bucket, 2 * bucket)
