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
from distlint.hardware.memory.optimizers import OPTIMIZERS
from distlint.hardware.memory.plan import Request, Usage, usage_of
from distlint.hardware.memory.strategies import STRATEGIES, Precision

pytest.importorskip("torch")

_SCRIPT = Path(__file__).parent / "measure_states.py"
_RANKS = 2
_LIMIT_S = 180


def _measured(strategy: str, precision: str, what: str = "states") -> dict[str, int]:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc-per-node", str(_RANKS), str(_SCRIPT), what, strategy, precision]
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
        pytest.param("ddp", "bf16", marks=pytest.mark.slow),
        pytest.param("ddp-bucket-view", "mixed", marks=pytest.mark.slow),
        ("fsdp", "mixed"),
        pytest.param("fsdp", "bf16", marks=pytest.mark.slow),
    ],
)
def test_torch_keeps_what_the_plan_says(strategy: str, precision: str) -> None:
    measured = _measured(strategy, precision)
    planned = _planned(strategy, precision, measured["parameters"])
    assert measured["weights"] == planned.weights
    assert measured["gradients"] == planned.gradients
    assert measured["optimizer"] == planned.optimizer
    assert measured["buckets"] == planned.buckets


@pytest.mark.parametrize(
    ("strategy", "precision"),
    [
        ("fsdp", "mixed"),
        pytest.param("fsdp", "fp32", marks=pytest.mark.slow),
        pytest.param("fsdp-shard-grad-op", "mixed", marks=pytest.mark.slow),
    ],
)
def test_fsdp_gathers_what_the_plan_says(strategy: str, precision: str) -> None:
    """The root unit (embedding and head) stays unsharded after forward, its gradients to the end."""
    measured = _measured(strategy, precision, "unsharded")
    row = next(s for s in STRATEGIES if s.key == strategy)
    table = 128 * 64
    shape = Shape(8, 64, 1, 128, 64 * 64, root_parameters=2 * table, head_parameters=table)
    whole = 8 * 64 * 64 + 2 * table
    request = Request(whole, shape, _RANKS, 1 << 30, Precision(precision))
    compute = Precision(precision).compute_bytes
    kept = whole if strategy == "fsdp-shard-grad-op" else 2 * table
    assert measured["after_forward"] == compute * kept
    assert measured["in_backward"] == usage_of(row, request).unsharded


@pytest.mark.parametrize(("optimizer", "exact"), [("momentum", True), ("sgd", True)])
def test_optimizers_keep_what_the_plan_says(optimizer: str, exact: bool) -> None:
    import torch

    layer = torch.nn.Linear(64, 64, bias=False)
    momentum = 0.9 if optimizer == "momentum" else 0.0
    made = torch.optim.SGD(layer.parameters(), lr=0.1, momentum=momentum)
    layer(torch.ones(1, 64)).sum().backward()
    made.step()
    kept = sum(
        value.untyped_storage().nbytes()
        for state in made.state.values()
        for value in state.values()
        if isinstance(value, torch.Tensor)
    )
    assert OPTIMIZERS[optimizer].exact is exact
    assert kept == OPTIMIZERS[optimizer].per_parameter(4) * 64 * 64


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
