"""distlint plan: Llama-7B to the byte, counts from configs and factories, the table, bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from distlint.cli.plan import plan
from distlint.hardware.memory.activations import Shape, activation_bytes, assumed_shape
from distlint.hardware.memory.plan import Request, make_plan, usage_of
from distlint.hardware.memory.strategies import STRATEGIES, Precision
from distlint.hardware.memory.units import GIB, gib, parse_count, parse_memory

LLAMA_7B = 6_738_415_616
# Llama-7B: 32 layers of 4096 with an MLP of 11008; a block is 4h^2 + 3hm + 2h.
LLAMA_SHAPE = Shape(32, 4096, 32, 32_000, 4 * 4096**2 + 3 * 4096 * 11008 + 2 * 4096)

STRATEGY = {strategy.key: strategy for strategy in STRATEGIES}


def request(**changes: object) -> Request:
    values: dict[str, object] = {
        "parameters": LLAMA_7B,
        "shape": LLAMA_SHAPE,
        "gpus": 8,
        "memory": 80 * GIB,
    }
    return Request(**(values | changes))  # type: ignore[arg-type]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(plan, list(arguments))


@pytest.mark.parametrize(
    ("strategy", "exact", "shown"),
    [
        ("ddp", 20 * LLAMA_7B, "125.5"),
        ("ddp-bucket-view", 16 * LLAMA_7B, "100.4"),
        ("zero1", 4 * LLAMA_7B + 12 * LLAMA_7B // 8, "34.5"),
        ("zero2", 2 * LLAMA_7B + 14 * LLAMA_7B // 8, "23.5"),
        ("fsdp", 16 * LLAMA_7B // 8 + 3 * 2 * 202_383_360, "13.7"),
        ("fsdp-shard-grad-op", 16 * LLAMA_7B // 8 + 2 * LLAMA_7B, "25.1"),
        ("zero3", 16 * LLAMA_7B // 8 + 2 * 2 * 202_383_360, "13.3"),
    ],
)
def test_llama_7b_on_eight_gpus_to_the_byte(strategy: str, exact: int, shown: str) -> None:
    usage = usage_of(STRATEGY[strategy], request())
    assert usage.states == exact
    assert gib(usage.states) == shown


@pytest.mark.parametrize(
    ("precision", "per_parameter"),
    [(Precision.FP32, 16), (Precision.MIXED, 16), (Precision.BF16, 8)],
)
def test_ddp_per_parameter_by_precision(precision: Precision, per_parameter: int) -> None:
    usage = usage_of(STRATEGY["ddp-bucket-view"], request(precision=precision))
    assert usage.states == per_parameter * LLAMA_7B


@pytest.mark.parametrize("gpus", [1, 2, 3, 7, 8, 64])
def test_shards_of_all_gpus_hold_the_whole(gpus: int) -> None:
    usage = usage_of(STRATEGY["zero3"], request(gpus=gpus))
    kept = usage.weights + usage.gradients + usage.optimizer
    assert 16 * LLAMA_7B <= kept * gpus < 16 * LLAMA_7B + 16 * gpus


def test_offload_moves_states_to_the_host() -> None:
    fsdp = usage_of(STRATEGY["fsdp"], request(offload=True))
    assert fsdp.weights == fsdp.gradients == fsdp.optimizer == 0
    assert fsdp.host == 16 * LLAMA_7B
    zero2 = usage_of(STRATEGY["zero2"], request(offload=True))
    assert zero2.weights == 2 * LLAMA_7B and zero2.host == 16 * LLAMA_7B
    # deepspeed 0.19.8 stage3.py, estimate_zero3_model_states_mem_needs: 18 bytes a parameter
    assert usage_of(STRATEGY["zero3"], request(offload=True)).host == 18 * LLAMA_7B
    ddp = usage_of(STRATEGY["ddp"], request(offload=True))
    assert ddp == usage_of(STRATEGY["ddp"], request())


def test_activations_are_equation_1_of_the_paper() -> None:
    """GPT-3 175B in table 3 of the paper: s=2048, b=1, h=12288, a=96, L=96."""
    gpt3 = Shape(layers=96, hidden=12288, heads=96, vocabulary=0, block_parameters=1)
    whole = activation_bytes(
        gpt3, batch=1, sequence=2048, precision=Precision.MIXED, checkpointing=False,
        eager_attention=True,
    )  # fmt: skip
    assert whole == 96 * 2048 * 12288 * (34 + 5 * 96 * 2048 // 12288)
    recomputed = activation_bytes(
        gpt3, batch=1, sequence=2048, precision=Precision.MIXED, checkpointing=True
    )
    assert recomputed == 2048 * 12288 * (2 * 96 + 34)


@settings(deadline=None)
@given(
    st.integers(10**6, 10**12),
    st.integers(1, 512),
    st.booleans(),
    st.booleans(),
    st.sampled_from(list(Precision)),
)
def test_every_part_is_counted_once_and_more_gpus_never_cost_more(
    parameters: int, gpus: int, offload: bool, checkpointing: bool, precision: Precision
) -> None:
    for strategy in STRATEGIES:
        common = {
            "parameters": parameters,
            "shape": assumed_shape(parameters),
            "offload": offload,
            "checkpointing": checkpointing,
            "precision": precision,
        }
        small = usage_of(strategy, request(gpus=gpus, **common))
        large = usage_of(strategy, request(gpus=2 * gpus, **common))
        assert small.total == small.states + small.estimated
        # One GPU has no buckets of DDP.
        assert gpus == 1 or large.total <= small.total


@pytest.mark.parametrize("parameters", [10**9, 7 * 10**9, 70 * 10**9, 400 * 10**9])
@pytest.mark.parametrize("memory", [16, 24, 80])
def test_the_change_that_is_offered_makes_it_fit(parameters: int, memory: int) -> None:
    made = make_plan(
        request(
            parameters=parameters,
            shape=assumed_shape(parameters),
            memory=memory * GIB,
            batch=4,
        )
    )
    for row in made.rows:
        assert row.fits == (row.usage.total <= memory * GIB)
        if row.change is not None:
            assert not row.fits
            after = usage_of(row.strategy, row.change.request)
            assert after == row.change.usage
            assert after.total <= memory * GIB
    if made.fitting is None and made.change is not None:
        assert made.change.usage.total <= memory * GIB


def test_no_smaller_single_change_was_passed_over() -> None:
    """A model that checkpointing alone makes fit is not offered offload or more GPUs."""
    made = make_plan(request(memory=24 * GIB, sequence=8192, gpus=8))
    assert made.fitting is None
    assert made.change is not None
    assert made.change.request.checkpointing
    assert not made.change.request.offload
    assert made.change.request.gpus == 8


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("7b", 7 * 10**9),
        ("1.3B", 1_300_000_000),
        ("350m", 350 * 10**6),
        ("6_738_415_616", LLAMA_7B),
    ],
)
def test_counts_as_people_write_them(text: str, count: int) -> None:
    assert parse_count(text) == count


@pytest.mark.parametrize(
    ("text", "amount"), [("80GB", 80 * GIB), ("79.5GiB", int(79.5 * GIB)), ("512mb", GIB // 2)]
)
def test_memory_as_on_the_label(text: str, amount: int) -> None:
    assert parse_memory(text) == amount


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--params", "7x"),
        ("--params", "0"),
        ("--params", "7b", "--memory", "lots"),
        ("--params", "7b", "--model", "a:b"),
        ("--config", "no/such/folder"),
        ("--model", "nocolon"),
        ("--model", "no_such_module:f"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(arguments: tuple[str, ...]) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert len(result.output.strip().splitlines()) == 1
    assert result.output.startswith("Error: ")


def test_bad_configs_are_one_line(tmp_path: Path) -> None:
    for text in ("{", "[]", "{}", '{"model_type": "no-such-model"}'):
        file = tmp_path / "config.json"
        file.write_text(text)
        result = run("--config", str(file))
        assert result.exit_code == 2, text
        assert len(result.output.strip().splitlines()) == 1, result.output


def test_a_config_is_counted_on_the_meta_device(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(architectures=["LlamaForCausalLM"])  # the 7B
    config.save_pretrained(tmp_path)
    result = run("--config", str(tmp_path), "--gpus", "8", "--memory", "80GB", "--json")
    record = json.loads(result.output)
    assert record["model"]["parameters"] == LLAMA_7B
    assert record["model"]["block_parameters"] == LLAMA_SHAPE.block_parameters
    assert record["model"]["layers"] == 32
    assert not record["model"]["shape_assumed"]
    states = {row["strategy"]: row["usage"]["states"] for row in record["strategies"]}
    assert states["ddp"] == 20 * LLAMA_7B
    assert states["zero3"] == 2 * LLAMA_7B + 4 * LLAMA_SHAPE.block_parameters


def test_tied_weights_count_once(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    sizes = {"n_embd": 32, "n_layer": 2, "n_head": 2, "vocab_size": 100, "n_positions": 16}
    config = transformers.GPT2Config(architectures=["GPT2LMHeadModel"], **sizes)
    config.save_pretrained(tmp_path)
    real = sum(p.numel() for p in transformers.GPT2LMHeadModel(config).parameters())
    record = json.loads(run("--config", str(tmp_path), "--gpus", "2", "--json").output)
    assert record["model"]["parameters"] == real


def test_a_factory_is_called_on_meta(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    (tmp_path / "my_model_for_plan.py").write_text(
        "from torch import nn\n"
        "def build():\n"
        "    return nn.Sequential(nn.ModuleList(nn.Linear(10**5, 10**5) for _ in range(3)))\n"
        "def wrong():\n    return 3\n"
        "def fails():\n    raise RuntimeError('two\\nlines')\n"
    )
    monkeypatch.chdir(tmp_path)
    record = json.loads(run("--model", "my_model_for_plan:build", "--json").output)
    assert record["model"]["parameters"] == 3 * (10**10 + 10**5)
    assert record["model"]["block_parameters"] == 10**10 + 10**5
    for name, said in (("wrong", "returned int"), ("fails", "two"), ("absent", "no absent")):
        result = run("--model", f"my_model_for_plan:{name}")
        assert result.exit_code == 2
        assert said in result.output
        assert len(result.output.strip().splitlines()) == 1


@pytest.mark.parametrize("columns", [64, 80, 100, 140, 200])
def test_the_table_keeps_within_the_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    for size in ("7b", "70b", "2000b"):
        result = run("--params", size, "--gpus", "8", "--memory", "80GB")
        assert "\x1b" not in result.output
        assert max(map(len, result.output.splitlines())) <= columns
        assert all(strategy.title in result.output for strategy in STRATEGIES)


def test_exit_code_says_whether_something_fits() -> None:
    assert run("--params", "7b", "--gpus", "8", "--memory", "80GB").exit_code == 0
    nothing = run("--params", "70b", "--gpus", "8", "--memory", "80GB")
    assert nothing.exit_code == 1
    assert "Smallest change" in nothing.output
