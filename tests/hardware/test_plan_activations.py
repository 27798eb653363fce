"""The plan's activations against what autograd really saves, on small models on the CPU."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner

from distlint.cli.plan import plan

pytest.importorskip("transformers")

from distlint.hardware.memory.activations import Compute
from distlint.hardware.memory.errors import ModelSizeError
from distlint.hardware.memory.model_size import (
    size_from_config,
    size_from_count,
)
from distlint.hardware.memory.sizes import Adaptation

_BENCH = Path(__file__).parents[2] / "bench" / "plan_calibration.py"


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    spec = importlib.util.spec_from_file_location("plan_calibration", _BENCH)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def cases() -> Iterator[Any]:
    """Each architecture with each attention, with and without checkpointing; the quick ones run by default."""
    names = (
        "LlamaForCausalLM",
        "GPT2LMHeadModel",
        "MixtralForCausalLM",
        "T5ForConditionalGeneration",
        "ViTForImageClassification",
        "BertForMaskedLM",
        "LlavaForConditionalGeneration",
    )
    for name, attention, checkpointing in product(names, ("sdpa", "eager"), (False, True)):
        quick = name in names[:2] and not checkpointing
        marks = () if quick and attention == "sdpa" else pytest.mark.long
        yield pytest.param(name, attention, checkpointing, marks=marks)


@pytest.mark.parametrize(("name", "attention", "checkpointing"), [*cases()])
def test_saved_bytes_within_a_fifth(
    bench: ModuleType, name: str, attention: str, checkpointing: bool
) -> None:
    architecture = next(a for a in bench.ARCHITECTURES if a.name == name)
    case = bench.Case(architecture, attention, Compute.FP32, checkpointing)
    assert bench.planned(case).saved == pytest.approx(bench.measured(case).saved, rel=0.2)


def _llama(folder: Path, **changes: Any) -> Path:
    import transformers

    sizes: dict[str, Any] = {
        "hidden_size": 512,
        "intermediate_size": 1376,
        "num_hidden_layers": 6,
        "num_attention_heads": 4,
        "num_key_value_heads": 4,
        "vocab_size": 32_000,
        "architectures": ["LlamaForCausalLM"],
    }
    config = transformers.LlamaConfig(**(sizes | changes))
    folder.mkdir(parents=True, exist_ok=True)
    config.save_pretrained(folder)
    return folder


def test_the_formula_for_a_count_is_that_of_a_llama(tmp_path: Path) -> None:
    """--params 7b and the configuration of Llama 7B say the same, to a tenth."""
    folder = _llama(
        tmp_path,
        hidden_size=4096,
        intermediate_size=11_008,
        num_hidden_layers=32,
        num_attention_heads=32,
        num_key_value_heads=32,
    )
    real = size_from_config(folder, Adaptation())
    guessed = size_from_count(real.parameters, Adaptation())
    for compute in (Compute.AUTOCAST, Compute.BF16):
        for checkpointing in (False, True):
            way: dict[str, Any] = {"checkpointing": checkpointing, "batch": 1, "sequence": 2048}
            kept, guess = (s.activations.kept(compute, **way) for s in (real, guessed))
            assert guess.saved == pytest.approx(kept.saved, rel=0.1)
            assert guess.peak == pytest.approx(kept.peak, rel=0.25)


def test_batches_are_reckoned_as_they_run(tmp_path: Path) -> None:
    """Batch 8 follows from 2 and 3; a tracer that may not reckon says the same."""
    folder = _llama(tmp_path)
    size = size_from_config(folder, Adaptation())
    way: dict[str, Any] = {"checkpointing": False, "sequence": 128}
    eight = size.activations.kept(Compute.BF16, batch=8, **way)
    assert eight.saved == size.activations._measure(Compute.BF16, False, 8, 128).saved  # type: ignore[attr-defined]


def test_adapters_keep_less_than_the_weights(tmp_path: Path) -> None:
    folder = _llama(tmp_path, vocab_size=1000)
    way: dict[str, Any] = {"checkpointing": False, "batch": 2, "sequence": 128}
    whole = size_from_config(folder, Adaptation())
    adapted = size_from_config(folder, Adaptation(lora=8))
    # Two adapters a layer, each of two matrices of 512 x 8.
    assert adapted.units.total.trained == 6 * 2 * 2 * 512 * 8
    assert adapted.units.total.frozen == whole.parameters
    both = [s.activations.kept(Compute.BF16, **way).saved for s in (whole, adapted)]
    assert both[1] < 0.8 * both[0]


def test_quantization_of_a_config_is_read(tmp_path: Path) -> None:
    quantized = {"quant_method": "bitsandbytes", "load_in_4bit": True}
    folder = _llama(tmp_path, quantization_config=quantized)
    with pytest.raises(ModelSizeError, match="give --lora"):
        size_from_config(folder, Adaptation())
    size = size_from_config(folder, Adaptation(lora=8))
    linear = 6 * (4 * 512 * 512 + 3 * 512 * 1376)
    assert size.units.total.quantized == linear
    assert size.units.total.quantized_bytes == linear * 9 // 16  # 4 bits, and fp32 for 64 weights
    assert size.units.total.frozen == size.parameters - linear
    assert size_from_config(folder, Adaptation(quantize="none")).units.total.quantized == 0


def test_frozen_parts_have_no_states(tmp_path: Path) -> None:
    folder = _llama(tmp_path)
    size = size_from_config(folder, Adaptation(freeze=("model.embed_tokens", "lm_head")))
    assert size.units.total.frozen == 2 * 32_000 * 512
    assert size.units.root.frozen == 2 * 32_000 * 512
    with pytest.raises(ModelSizeError, match="no parameter or module"):
        size_from_config(folder, Adaptation(freeze=("vision",)))
    with pytest.raises(ModelSizeError, match="left to train"):
        size_from_config(folder, Adaptation(freeze=("*",)))


def test_tensor_parallelism_divides_what_transformers_divides(tmp_path: Path) -> None:
    folder = _llama(tmp_path)
    whole = size_from_config(folder, Adaptation())
    part = size_from_config(folder, Adaptation(tensor_parallel=4))
    norms = 6 * 2 * 512 + 512
    assert part.units.total.trained == (whole.parameters - norms) // 4 + norms
    way: dict[str, Any] = {"checkpointing": False, "batch": 2, "sequence": 128}
    both = [s.activations.kept(Compute.BF16, **way).saved for s in (whole, part)]
    assert both[0] / 4 < both[1] < both[0]
    with pytest.raises(ModelSizeError, match="does not divide num_attention_heads"):
        size_from_config(folder, Adaptation(tensor_parallel=3))


@pytest.mark.parametrize("memory", ["24GB", "40GB", "80GB"])
def test_the_largest_that_fits_does_and_one_more_does_not(memory: str) -> None:
    options = ["--params", "3b", "--gpus", "8", "--memory", memory, "--json"]
    record = json.loads(CliRunner().invoke(plan, [*options, "--seq", "256", "--largest"]).output)
    largest = record["largest"]

    def fits(batch: int, sequence: int) -> bool:
        sized = [*options, "--batch", str(batch), "--seq", str(sequence)]
        rows = json.loads(CliRunner().invoke(plan, sized).output)["strategies"]
        return bool(next(r["fits"] for r in rows if r["strategy"] == largest["strategy"]))

    assert largest["batch"] > 1
    assert fits(largest["batch"], 256) and not fits(largest["batch"] + 1, 256)
    assert fits(1, largest["sequence"]) and not fits(1, largest["sequence"] + 128)


def test_learned_positions_end_the_length(tmp_path: Path) -> None:
    import transformers

    sizes: dict[str, Any] = {"n_embd": 32, "n_layer": 2, "n_head": 2, "vocab_size": 100}
    transformers.GPT2Config(architectures=["GPT2LMHeadModel"], **sizes).save_pretrained(tmp_path)
    result = CliRunner().invoke(plan, ["--config", str(tmp_path), "--seq", "1025"])
    assert result.exit_code == 2
    assert "1024 learned positions" in result.output


def test_an_image_model_takes_no_tokens(tmp_path: Path) -> None:
    import transformers

    config = transformers.ViTConfig(
        hidden_size=64, num_hidden_layers=2, num_attention_heads=2, intermediate_size=128
    )
    config.architectures = ["ViTForImageClassification"]
    config.save_pretrained(tmp_path)
    shown = CliRunner().invoke(plan, ["--config", str(tmp_path), "--gpus", "1", "--largest"])
    assert "batch 1 × 224 x 224 pixels" in shown.output
    asked = CliRunner().invoke(plan, ["--config", str(tmp_path), "--seq", "64"])
    assert asked.exit_code == 2 and "takes no tokens" in asked.output
