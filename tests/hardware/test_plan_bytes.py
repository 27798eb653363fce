"""The plan's bytes against what torch and DeepSpeed really keep, on two gloo processes."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from itertools import chain
from pathlib import Path

import pytest

from distlint.hardware.memory.activations import Shape
from distlint.hardware.memory.optimizers import OPTIMIZERS
from distlint.hardware.memory.plan import Request, Usage, usage_of
from distlint.hardware.memory.strategies import STRATEGIES, Precision
from distlint.proving import warm
from tests.in_this_process import distlint
from tests.once import once
from tests.ranks import run_right

pytest.importorskip("torch")

_SCRIPT = Path(__file__).resolve().parent / "measure_states.py"
_RANKS = 2


# The measurements of a number of ranks take one launch: starting torch costs more than they do.
_LAUNCHES = {
    2: [
        ("states", "ddp", "fp32"),
        ("states", "ddp", "bf16"),
        ("states", "ddp-bucket-view", "mixed"),
        ("states", "fsdp", "mixed"),
        ("states", "fsdp", "bf16"),
        ("unsharded", "fsdp", "mixed"),
        ("unsharded", "fsdp", "fp32"),
        ("unsharded", "fsdp-shard-grad-op", "mixed"),
    ],
    4: [("states", "hsdp", "mixed"), ("states", "hsdp", "bf16")],
}
Measured = Callable[..., dict[str, int]]


@pytest.fixture
def measured(
    tmp_path_factory: pytest.TempPathFactory, interpreter: warm.WarmInterpreter
) -> Measured:
    """What is measured of a strategy, in a launch with what is measured of others."""

    def of(strategy: str, precision: str, what: str = "states", ranks: int = 2) -> dict[str, int]:
        asked = _LAUNCHES[ranks]

        def make() -> list[dict[str, int]]:
            return _measured(interpreter, ranks, tmp_path_factory.mktemp("bytes"), *asked)

        answers = once(tmp_path_factory, f"bytes-{ranks}", make)
        answer: dict[str, int] = answers[asked.index((what, strategy, precision))]
        return answer

    return of


def _measured(
    interpreter: warm.WarmInterpreter, ranks: int, folder: Path, *asked: tuple[str, str, str]
) -> list[dict[str, int]]:
    """What the ranks of one launch measure, in order: what, strategy, precision."""
    said = run_right(interpreter, ranks, [str(_SCRIPT), *chain(*asked)], folder)
    lines = [line for line in said[0].splitlines() if line.startswith("{")]
    assert len(lines) == len(asked), said[0]
    return [json.loads(line) for line in lines]


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
def test_torch_keeps_what_the_plan_says(strategy: str, precision: str, measured: Measured) -> None:
    seen = measured(strategy, precision)
    planned = _planned(strategy, precision, seen["parameters"])
    assert seen["weights"] == planned.weights
    assert seen["gradients"] == planned.gradients
    assert seen["optimizer"] == planned.optimizer
    assert seen["buckets"] == planned.buckets


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["mixed", "bf16"])
def test_hsdp_keeps_what_the_plan_says(precision: str, measured: Measured) -> None:
    """Two groups of two ranks: each rank has half."""
    seen = measured("hsdp", precision, ranks=4)
    shape = Shape(layers=8, hidden=64, heads=1, vocabulary=0, block_parameters=64 * 64)
    whole, kind = seen["parameters"], Precision(precision)
    row = next(s for s in STRATEGIES if s.key == "hsdp")
    planned = usage_of(row, Request(whole, shape, 4, 1 << 30, kind, shard_group=2))
    states = (seen["weights"], seen["gradients"], seen["optimizer"])
    assert states == (planned.weights, planned.gradients, planned.optimizer)


@pytest.mark.slow
def test_tensor_parallel_ranks_keep_what_the_plan_says(
    tmp_path: Path, interpreter: warm.WarmInterpreter
) -> None:
    """A model saved by transformers, and divided by it over two ranks."""
    import transformers

    config = transformers.LlamaConfig(
        hidden_size=64,
        intermediate_size=176,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        vocab_size=500,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(tmp_path)
    asked = ("tensor-parallel", str(tmp_path), "fp32")
    (seen,) = _measured(interpreter, _RANKS, tmp_path, asked)
    command = ["plan", "--config", str(tmp_path), "--json"]
    command += ["--tp", "2", "--gpus", "2", "--memory", "80GB", "--precision", "fp32"]
    done = distlint(command, tmp_path)
    rows = {row["strategy"]: row for row in json.loads(done.stdout)["strategies"]}
    assert seen["weights"] == rows["ddp-bucket-view"]["usage"]["weights"]


@pytest.mark.parametrize(
    ("strategy", "precision"),
    [
        ("fsdp", "mixed"),
        ("fsdp", "fp32"),
        ("fsdp-shard-grad-op", "mixed"),
    ],
)
def test_fsdp_gathers_what_the_plan_says(strategy: str, precision: str, measured: Measured) -> None:
    """The root unit (embedding and head) stays unsharded after forward, its gradients to the end."""
    seen = measured(strategy, precision, "unsharded")
    row = next(s for s in STRATEGIES if s.key == strategy)
    table = 128 * 64
    shape = Shape(8, 64, 1, 128, 64 * 64, root_parameters=2 * table, head_parameters=table)
    whole = 8 * 64 * 64 + 2 * table
    request = Request(whole, shape, _RANKS, 1 << 30, Precision(precision))
    compute = Precision(precision).compute_bytes
    kept = whole if strategy == "fsdp-shard-grad-op" else 2 * table
    assert seen["after_forward"] == compute * kept
    assert seen["in_backward"] == usage_of(row, request).unsharded


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
def test_deepspeed_keeps_what_the_plan_says(
    strategy: str, precision: str, tmp_path: Path, interpreter: warm.WarmInterpreter
) -> None:
    """All tensors alive, less the plan's states, are one or two reduce buckets and no more."""
    (seen,) = _measured(interpreter, _RANKS, tmp_path, ("states", strategy, precision))
    planned = _planned(strategy, precision, seen["parameters"])
    states = planned.weights + planned.gradients + planned.optimizer
    bucket = 64 * 64 * Precision(precision).compute_bytes
    assert seen["all"] - states in (bucket, 2 * bucket)
