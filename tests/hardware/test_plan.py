"""distlint plan: Llama-7B to the byte, counts from configs and factories, the table, bad input."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from distlint.cli.plan import plan
from distlint.hardware.memory.activations import Shape, assumed_shape
from distlint.hardware.memory.optimizers import OPTIMIZERS
from distlint.hardware.memory.plan import Request, make_plan, usage_of
from distlint.hardware.memory.strategies import STRATEGIES, Precision
from distlint.hardware.memory.units import GIB, gib, parse_count, parse_memory

LLAMA_7B = 6_738_415_616
# Llama-7B: 32 layers of 4096 with an MLP of 11008; a block is 4h^2 + 3hm + 2h. Outside of the blocks
# are the embedding, the last norm and the head.
LLAMA_BLOCK = 4 * 4096**2 + 3 * 4096 * 11008 + 2 * 4096
LLAMA_HEAD = 32_000 * 4096 + 4096
LLAMA_ROOT = LLAMA_HEAD + 32_000 * 4096
LLAMA_SHAPE = Shape(32, 4096, 32, 32_000, LLAMA_BLOCK, LLAMA_ROOT, LLAMA_HEAD)

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
        # The root unit stays unsharded, and the head's gradient waits for the embedding's.
        (
            "fsdp",
            16 * LLAMA_7B // 8 + 2 * (3 * LLAMA_BLOCK + LLAMA_ROOT + LLAMA_HEAD),
            "14.4",
        ),
        (
            "fsdp-shard-grad-op",
            16 * LLAMA_7B // 8 + 2 * (LLAMA_7B + LLAMA_BLOCK + LLAMA_HEAD),
            "25.7",
        ),
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


@pytest.mark.parametrize(
    ("optimizer", "bytes_per_parameter"),
    [("adam", 8), ("sgd", 0), ("momentum", 4), ("lion", 4), ("adam8bit", 2.03125)],
)
def test_optimizers_by_their_state(optimizer: str, bytes_per_parameter: float) -> None:
    usage = usage_of(STRATEGY["ddp"], request(optimizer=OPTIMIZERS[optimizer]))
    assert usage.optimizer == round(bytes_per_parameter * LLAMA_7B)
    # DeepSpeed's fp32 master of the weights stays, whatever the optimizer is.
    usage = usage_of(STRATEGY["zero1"], request(optimizer=OPTIMIZERS[optimizer], gpus=1))
    assert usage.optimizer == round((4 + bytes_per_parameter) * LLAMA_7B)


def test_hsdp_shards_within_a_group_only() -> None:
    hybrid = usage_of(STRATEGY["hsdp"], request(gpus=32, shard_group=8))
    full = usage_of(STRATEGY["fsdp"], request(gpus=8))
    assert (hybrid.weights, hybrid.gradients, hybrid.optimizer) == (
        full.weights,
        full.gradients,
        full.optimizer,
    )
    assert hybrid.unsharded == full.unsharded
    assert "hsdp" not in {row.strategy.key for row in make_plan(request()).rows}


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
    made = make_plan(request(memory=28 * GIB, sequence=8192, gpus=8))
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
        ("--params", "-7b"),
        ("--params", "nan"),
        ("--params", "inf"),
        ("--params", "9" * 5000),
        ("--params", "999999999999b"),
        ("--params", ""),
        ("--params", "7b", "--memory", "lots"),
        ("--params", "7b", "--memory", "80"),
        ("--params", "7b", "--memory", "80", "--gpus", "8"),
        ("--params", "7b", "--memory", "0GB"),
        ("--params", "7b", "--memory", "1B"),
        ("--params", "7b", "--memory", "-80GB"),
        ("--params", "7b", "--memory", "nanGB"),
        ("--params", "7b", "--memory", "9999999TB"),
        ("--params", "7b", "--reserve", "1"),
        ("--params", "7b", "--gpus", "0"),
        ("--params", "7b", "--gpus", "-8"),
        ("--params", "7b", "--gpus", "1e3"),
        ("--params", "7b", "--gpus", "1" + "0" * 5000),
        ("--params", "7b", "--batch", "0"),
        ("--params", "7b", "--batch", "two"),
        ("--params", "7b", "--seq", "0"),
        ("--params", "7b", "--seq", "99999999999999"),
        ("--params", "7b", "--precision", "fp8"),
        ("--params", "7b", "--optimizer", "magic"),
        ("--params", "7b", "--lora", "0"),
        ("--params", "7b", "--lora-targets", "q_proj"),
        ("--params", "7b", "--lora", "8", "--lora-targets", "q_proj"),
        ("--params", "7b", "--quantize", "3bit"),
        ("--params", "7b", "--quantize", "4bit"),
        ("--params", "7b", "--freeze", "embed"),
        ("--params", "7b", "--tp", "3", "--gpus", "8"),
        ("--params", "7b", "--tp", "8", "--gpus", "8"),
        ("--params", "7b", "--shard-group", "8", "--gpus", "8"),
        ("--params", "7b", "--shard-group", "3", "--gpus", "8"),
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


BAD_CONFIGS = {
    "cut": "{",
    "a list": "[]",
    "no model type": "{}",
    "a number for a name": '{"model_type": 3}',
    "a list for a name": '{"model_type": ["llama"]}',
    "unknown": '{"model_type": "no-such-model"}',
    "nested": '{"a":' * 100_000,
    "many layers": '{"model_type": "llama", "num_hidden_layers": 1000000000}',
    "many digits": '{"model_type": "llama", "hidden_size": 1' + "0" * 400 + "}",
    "negative": '{"model_type": "llama", "num_hidden_layers": -1, "hidden_size": -64}',
    "zero": '{"model_type": "llama", "num_attention_heads": 0}',
    "text": '{"model_type": "llama", "hidden_size": "wide"}',
    "not a number": '{"model_type": "llama", "rms_norm_eps": NaN}',
    "many labels": '{"model_type": "bert", "num_labels": 2000000000}',
    "architectures": '{"model_type": "llama", "architectures": 3}',
    "quantization": '{"model_type": "llama", "quantization_config": 4}',
    "quantized by whom": '{"model_type": "llama", "quantization_config": {"quant_method": "x"}}',
}


@pytest.mark.parametrize("kind", BAD_CONFIGS)
def test_bad_configs_are_one_line(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text(BAD_CONFIGS[kind])
    result = run("--config", str(file), "--gpus", "8", "--memory", "80GB")
    assert result.exit_code == 2, result.output
    assert len(result.output.strip().splitlines()) == 1, result.output
    assert len(result.output) < 600


def test_files_that_are_no_text_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    os.mkfifo(tmp_path / "pipe.json")
    for name in ("bytes.json", "pipe.json", "absent.json", ""):
        result = run("--config", str(tmp_path / name))
        assert result.exit_code == 2
        assert len(result.output.strip().splitlines()) == 1, result.output


def test_a_class_name_is_no_way_to_call_anything(tmp_path: Path) -> None:
    """`pipeline` is a name of transformers, too, and would go to the network."""
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(hidden_size=64, num_hidden_layers=2, vocab_size=99)
    described = config.to_dict() | {"architectures": ["pipeline"], "auto_map": {"AutoModel": "x"}}
    (tmp_path / "config.json").write_text(json.dumps(described))
    record = json.loads(run("--config", str(tmp_path), "--seq", "64", "--json").output)
    assert record["model"]["name"] == "LlamaModel"


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
    assert record["model"]["root_parameters"] == LLAMA_ROOT
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
    assert record["sequence"] == 16  # its learned positions, not 2048


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
    for size in ("7b", "70b", "100t"):
        result = run("--params", size, "--gpus", "8", "--memory", "80GB", "--largest")
        assert "\x1b" not in result.output
        assert max(map(len, result.output.splitlines())) <= columns
        assert all(s.title in result.output for s in STRATEGIES if not s.hybrid)


def test_exit_code_says_whether_something_fits() -> None:
    assert run("--params", "7b", "--gpus", "8", "--memory", "80GB").exit_code == 0
    nothing = run("--params", "70b", "--gpus", "8", "--memory", "80GB")
    assert nothing.exit_code == 1
    assert "Smallest change" in nothing.output
