"""doctor --config-file --script --model: what the three say together. Nothing of them is run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from doctor_machines import machine, said, statuses, with_config

from distlint.cli.doctor import doctor
from distlint.hardware.doctor.machine import Machine, ModelFacts, Options, ScriptFacts
from distlint.hardware.doctor.probes import model as model_probe
from distlint.hardware.doctor.probes import script as script_probe

FSDP = {
    "distributed_type": "FSDP",
    "num_processes": 4,
    "mixed_precision": "bf16",
    "fsdp_config": {"fsdp_version": 2, "fsdp_auto_wrap_policy": "TRANSFORMER_BASED_WRAP"},
}
ZERO2 = {
    "distributed_type": "DEEPSPEED",
    "num_processes": 4,
    "deepspeed_config": {"zero_stage": 2, "gradient_accumulation_steps": 2},
}
JSON = {
    "distributed_type": "DEEPSPEED",
    "num_processes": 4,
    "deepspeed_config": {"deepspeed_config_file": "ds.json"},
}
LLAMA = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "num_hidden_layers": 3,
}


def script(folder: Path, text: str) -> ScriptFacts:
    # It would end the test if anything ran it.
    (folder / "train.py").write_text("raise SystemExit('this script was run')\n" + text)
    facts = script_probe.look(Options(script=str(folder / "train.py")))
    assert isinstance(facts, ScriptFacts) and not facts.problem
    return facts


def model(folder: Path, **changes: Any) -> ModelFacts:
    (folder / "config.json").write_text(json.dumps({**LLAMA, **changes}))
    facts = model_probe.look(Options(model=str(folder)))
    assert isinstance(facts, ModelFacts) and not facts.problem
    return facts


def the(status: str, on: Machine, check: str) -> str:
    found = [saw for one, saw in said(on, check) if one == status]
    assert len(found) == 1, said(on, check)
    return found[0]


@pytest.mark.parametrize(
    ("values", "deepspeed", "text", "status", "words"),
    [
        (FSDP, None, "DataLoader(data, batch_size=8)", "ok", "8 x 1 step x 4 processes: 32"),
        (
            FSDP,
            None,
            "BATCH = 8\nAccelerator(gradient_accumulation_steps=2)\nDataLoader(data, BATCH)",
            "ok",
            "8 x 2 steps x 4 processes: 64",
        ),
        (ZERO2, None, "DataLoader(data, 8)", "ok", "8 x 2 steps x 4 processes: 64"),
        (
            ZERO2,
            None,
            "accelerate.Accelerator(gradient_accumulation_steps=4)",
            "warn",
            "gradient_accumulation_steps=4), a.yaml: gradient_accumulation_steps is 2",
        ),
        (
            ZERO2,
            None,
            "TrainingArguments(out, gradient_accumulation_steps=4)",
            "error",
            "gradient_accumulation_steps is 2",
        ),
        (
            JSON,
            {"gradient_accumulation_steps": 8},
            "Seq2SeqTrainingArguments(gradient_accumulation_steps=4)",
            "error",
            "ds.json: gradient_accumulation_steps is 8",
        ),
        (
            JSON,
            {"train_micro_batch_size_per_gpu": 2},
            "SFTConfig(per_device_train_batch_size=4)",
            "error",
            "ds.json: train_micro_batch_size_per_gpu is 2",
        ),
        (
            JSON,
            {"train_micro_batch_size_per_gpu": 2},
            "DataLoader(data, batch_size=4)",
            "warn",
            "train_micro_batch_size_per_gpu is 2",
        ),
        (
            JSON,
            {"train_batch_size": 64},
            "DataLoader(data, batch_size=4)",
            "error",
            "x 1 step x 4 processes = 16",
        ),
        (
            JSON,
            {"train_batch_size": 32, "gradient_accumulation_steps": 2},
            "DataLoader(data, batch_size=4)",
            "ok",
            "32 for each step",
        ),
        (
            FSDP,
            None,
            "DataLoaderConfiguration(split_batches=True)\nDataLoader(data, batch_size=6)",
            "error",
            "split_batches and 4 processes",
        ),
        # What comes from outside, or differs from loader to loader, is not guessed.
        (FSDP, None, "DataLoader(data, batch_size=args.batch)", "ok", "no batch size stands"),
        (FSDP, None, "DataLoader(a, 4)\nDataLoader(b, 8)", "ok", "no batch size stands"),
        (FSDP, None, "for n in sizes:\n    DataLoader(a, n)\nn = 4", "ok", "no batch size stands"),
    ],
)
def test_batches(
    tmp_path: Path, values: dict[str, Any], deepspeed: Any, text: str, status: str, words: str
) -> None:
    on = with_config(values, deepspeed, script=script(tmp_path, text))
    assert words in the(status, on, "batches")


@pytest.mark.parametrize(
    ("values", "deepspeed", "text", "status"),
    [
        (FSDP, None, "Accelerator()", "ok"),
        (FSDP, None, "Accelerator(mixed_precision='bf16')", "ok"),
        (FSDP, None, "Accelerator(mixed_precision='fp16')", "warn"),
        (FSDP, None, "TrainingArguments(fp16=True)", "warn"),
        (FSDP, None, "TrainingArguments(fp16=True, bf16=True)", "error"),
        (JSON, {"bf16": {"enabled": True}}, "Accelerator(mixed_precision='fp16')", "error"),
        (JSON, {"bf16": {"enabled": "auto"}}, "Accelerator(mixed_precision='fp16')", "ok"),
    ],
)
def test_precision(
    tmp_path: Path, values: dict[str, Any], deepspeed: Any, text: str, status: str
) -> None:
    on = with_config(values, deepspeed, script=script(tmp_path, text))
    assert statuses(on, "precision") == {status}


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("dist.init_process_group('nccl')", "ok"),
        ("dist.init_process_group('nccl', world_size=4, rank=rank)", "ok"),
        ("dist.init_process_group('nccl', world_size=8, rank=rank)", "error"),
        ("WORLD = 8\ndist.init_process_group('nccl', world_size=WORLD)", "error"),
        ("DistributedSampler(data, num_replicas=2, rank=rank)", "error"),
        ("mp.spawn(main, nprocs=4)", "error"),
        ("notebook_launcher(main, num_processes=4)", "error"),
        ("AutoModel.from_pretrained(name, device_map='auto')", "error"),
        ("AutoModel.from_pretrained(name, device_map='cuda')", "ok"),
        ("Accelerator(cpu=True)", "warn"),
    ],
)
def test_world_size(tmp_path: Path, text: str, status: str) -> None:
    on = with_config(FSDP, script=script(tmp_path, text))
    assert statuses(on, "world-size") == {status}


def wrapping(classes: str | None) -> dict[str, Any]:
    section = {**FSDP["fsdp_config"], "fsdp_transformer_layer_cls_to_wrap": classes}  # type: ignore[dict-item]
    return {**FSDP, "fsdp_config": section}


@pytest.mark.parametrize(
    ("classes", "status", "words"),
    [
        (None, "ok", "llama: blocks LlamaDecoderLayer"),
        ("LlamaDecoderLayer", "ok", "LlamaDecoderLayer"),
        ("LlamaDecoderLayer,Embedding", "ok", "LlamaDecoderLayer"),
        ("LlamaDecoderLayers", "error", "did you mean LlamaDecoderLayer?"),
        ("GPT2Block", "error", "names 'GPT2Block', which llama has not"),
        ("LlamaMLP, LlamaDecoderLayer", "error", "names ' LlamaDecoderLayer'"),
        ("Mine", "ok", "LlamaDecoderLayer"),
    ],
)
def test_blocks_to_wrap(tmp_path: Path, classes: str | None, status: str, words: str) -> None:
    pytest.importorskip("transformers")
    own = script(tmp_path, "class Mine(nn.Module): pass")
    on = with_config(wrapping(classes), model=model(tmp_path), script=own)
    assert words in the(status, on, "blocks-to-wrap")


def test_blocks_of_custom_code_are_read_and_not_run(tmp_path: Path) -> None:
    (tmp_path / "modeling_own.py").write_text(
        "raise SystemExit('this was run')\nclass OwnBlock: pass\n"
        "class OwnModel:\n    _no_split_modules = ['OwnBlock']\n"
    )
    auto_map = {"AutoModel": "modeling_own.OwnModel"}
    own = model(tmp_path, model_type="own", auto_map=auto_map)
    assert own.blocks == ("OwnBlock",)
    assert statuses(with_config(wrapping("OwnBlock"), model=own), "blocks-to-wrap") == {"ok"}
    assert statuses(with_config(wrapping("Other"), model=own), "blocks-to-wrap") == {"error"}
    absent = model(tmp_path, model_type="unheard-of")
    assert statuses(with_config(wrapping("Other"), model=absent), "blocks-to-wrap") == {"skipped"}
    (tmp_path / "modeling_own.py").write_text("class OwnModel: pass\n")
    bare = model(tmp_path, model_type="own", auto_map=auto_map)
    assert statuses(with_config(FSDP, model=bare), "blocks-to-wrap") == {"warn"}


@pytest.mark.parametrize(
    ("section", "status"),
    [
        ({"parallelism_config": {"parallelism_config_tp_size": 2}}, "ok"),
        ({"parallelism_config": {"parallelism_config_tp_size": 4}}, "error"),
        ({"parallelism_config": {"parallelism_config_sp_size": 3}}, "ok"),
        ({"parallelism_config": {"parallelism_config_sp_size": 4}}, "error"),
        ({"megatron_lm_config": {"megatron_lm_pp_degree": 2}}, "error"),
    ],
)
def test_heads_and_layers(tmp_path: Path, section: dict[str, Any], status: str) -> None:
    on = with_config({**FSDP, **section}, model=model(tmp_path))
    assert statuses(on, "divisions") == {status}


def test_what_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("def f(:\n")
    broken = script_probe.look(Options(script=str(tmp_path / "train.py")))
    on = machine(script=broken)
    assert "not Python" in the("error", on, "script-and-model")
    assert statuses(on, "batches") == {"skipped"}
    (tmp_path / "config.json").write_text("{}")
    unknown = model_probe.look(Options(model=str(tmp_path)))
    assert "no model_type" in the("error", machine(model=unknown), "script-and-model")
    (tmp_path / "config.json").unlink()
    absent = model_probe.look(Options(model=str(tmp_path)))
    assert "config.json: No such file" in the("error", machine(model=absent), "script-and-model")
    for option in ("--script", "--model"):
        result = CliRunner().invoke(doctor, [option, str(tmp_path / "absent")])
        assert result.exit_code == 2 and len(result.output.strip().splitlines()) == 1


def test_the_whole_command(tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    pytest.importorskip("transformers")
    script(tmp_path, "Accelerator()\nDataLoader(data, batch_size=8)\n")
    model(tmp_path)
    config = tmp_path / "a.yaml"
    config.write_text(json.dumps(wrapping("LlamaDecoderLayers")))
    arguments = ["--config-file", str(config), "--script", str(tmp_path / "train.py")]
    result = CliRunner().invoke(doctor, [*arguments, "--model", str(tmp_path), "--json"])
    record = json.loads(result.stdout)
    assert result.exit_code == 1
    by_name = {entry["check"]: entry for entry in record["checks"]}
    assert by_name["blocks-to-wrap"]["status"] == "error"
    assert "8 x 1 step x 4 processes: 32" in by_name["batches"]["saw"]
