"""distlint config: what accelerate's own classes would write, read back by accelerate's loader."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from distlint.cli.config import config
from distlint.hardware.accelerate_config.choose import (
    ChoiceError,
    choose,
    open_strategies,
    warnings_about,
)
from distlint.hardware.accelerate_config.documents import (
    Choice,
    Machines,
    Offload,
    Strategy,
    text_of,
    values_of,
)
from distlint.hardware.accelerate_config.yaml_text import document, scalar
from distlint.hardware.gpus import Gpu
from distlint.knowledge.configuration import keys

accelerate = pytest.importorskip("accelerate")
yaml = pytest.importorskip("yaml")


def gpu(index: int, compute: tuple[int, int] = (8, 0)) -> Gpu:
    return Gpu(index, f"GPU-{index}", "A100", 80 << 30, compute, "580.1")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(config, list(arguments))


def as_accelerate_writes(choice: Choice) -> dict[str, Any]:
    """What accelerate 1.15.0's get_cluster_input builds for the answers that this choice is."""
    from accelerate.commands.config.config_args import ClusterConfig

    single = choice.processes == 1
    distributed = {
        Strategy.DDP: "NO" if single else "MULTI_GPU",
        Strategy.CPU: "NO" if single else "MULTI_CPU",
        Strategy.FSDP: "FSDP",
        Strategy.ZERO2: "DEEPSPEED",
        Strategy.ZERO3: "DEEPSPEED",
    }[choice.strategy]
    deepspeed: dict[str, Any] = {}
    fsdp: dict[str, Any] = {}
    if distributed == "DEEPSPEED":
        stage = 2 if choice.strategy is Strategy.ZERO2 else 3
        deepspeed = {
            "zero_stage": stage,
            "offload_optimizer_device": "none" if choice.offload is Offload.NONE else "cpu",
            "offload_param_device": "cpu" if choice.offload is Offload.ALL else "none",
            "gradient_accumulation_steps": choice.accumulation,
            "zero3_init_flag": stage == 3,
        }
        if choice.machines.count > 1:
            deepspeed["deepspeed_multinode_launcher"] = "standard"
        if stage == 3:
            deepspeed["zero3_save_16bit_model"] = True
    if distributed == "FSDP":
        fsdp = {
            "fsdp_version": 2,
            "fsdp_reshard_after_forward": True,
            "fsdp_offload_params": choice.offload is Offload.ALL,
            "fsdp_auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
            "fsdp_state_dict_type": "SHARDED_STATE_DICT",
            "fsdp_cpu_ram_efficient_loading": True,
            "fsdp_activation_checkpointing": False,
        }
        if choice.wrap:
            fsdp["fsdp_transformer_layer_cls_to_wrap"] = ",".join(choice.wrap)
    written: dict[str, Any] = ClusterConfig(
        compute_environment="LOCAL_MACHINE",
        distributed_type=distributed,
        num_processes=choice.processes,
        gpu_ids="all" if choice.strategy is Strategy.DDP else None,
        mixed_precision=choice.mixed_precision,
        downcast_bf16="no",  # what the questions leave there
        machine_rank=choice.machines.rank,
        num_machines=choice.machines.count,
        main_process_ip=choice.machines.ip if choice.machines.count > 1 else None,
        main_process_port=choice.machines.port if choice.machines.count > 1 else None,
        main_training_function="main",
        fp8_config=None,
        deepspeed_config=deepspeed,
        fsdp_config=fsdp,
        parallelism_config={},
        megatron_lm_config={},
        mpirun_config={},
        use_cpu=choice.strategy is Strategy.CPU,
        rdzv_backend="static",
        same_network=True,
        commands=None,
        command_file=None,
        tpu_env=[],
        tpu_name=None,
        tpu_vm=None,
        tpu_zone=None,
        tpu_use_sudo=False,
        tpu_use_cluster=False,
        dynamo_config={},
        debug=False,
        enable_cpu_affinity=False,
    ).to_dict()
    return written


CHOICES = [
    Choice(strategy, processes, precision, "why", "why")
    for strategy in Strategy
    for processes in (1, 8)
    for precision in ("no", "bf16")
] + [
    Choice(
        strategy,
        16,
        "bf16",
        "why",
        "why",
        Machines(2, 1, "node0", 29501),
        offload,
        wrap,
        accumulation=4,
    )
    for strategy, offload, wrap in (
        (Strategy.DDP, Offload.NONE, ()),
        (Strategy.FSDP, Offload.ALL, ("LlamaDecoderLayer", "Embed")),
        (Strategy.ZERO2, Offload.OPTIMIZER, ()),
        (Strategy.ZERO3, Offload.ALL, ()),
    )
]


@pytest.mark.parametrize("choice", CHOICES, ids=lambda c: f"{c.strategy.value}-{c.processes}")
def test_the_file_is_what_accelerate_writes(choice: Choice, tmp_path: Path) -> None:
    text = text_of(choice)
    theirs = as_accelerate_writes(choice)
    assert yaml.safe_load(text) == theirs
    bare = [line for line in text.splitlines(keepends=True) if not line.lstrip().startswith("#")]
    assert "".join(bare) == yaml.safe_dump(theirs)


@pytest.mark.parametrize("choice", CHOICES, ids=lambda c: f"{c.strategy.value}-{c.processes}")
def test_accelerates_loader_reads_it_back(choice: Choice, tmp_path: Path) -> None:
    from accelerate.commands.config.config_args import ClusterConfig, load_config_from_file

    file = tmp_path / "accelerate.yaml"
    file.write_text(text_of(choice))
    loaded = load_config_from_file(str(file))
    assert isinstance(loaded, ClusterConfig)
    assert loaded.to_dict() == as_accelerate_writes(choice)


def test_the_tables_are_those_of_the_installed_accelerate() -> None:
    """Keys, types and strategies of the table in keys.py, for accelerate 1.15."""
    if accelerate.__version__ != keys.ACCELERATE_VERSION:
        pytest.skip(f"the table is of accelerate {keys.ACCELERATE_VERSION}")
    from accelerate.commands.config.config_args import ClusterConfig
    from accelerate.commands.launch import launch_command_parser
    from accelerate.utils import DistributedType, constants

    fields = {field.name for field in dataclasses.fields(ClusterConfig)}
    assert fields | {"fp16", "dynamo_backend"} == keys.CLUSTER_KEYS
    assert {kind.value for kind in DistributedType} == keys.DISTRIBUTED_TYPES
    assert tuple(constants.FSDP_SHARDING_STRATEGY) == keys.FSDP_SHARDING_STRATEGIES
    assert tuple(constants.FSDP_AUTO_WRAP_POLICY) == keys.FSDP_WRAP_POLICIES
    assert tuple(constants.FSDP_STATE_DICT_TYPE) == keys.FSDP_STATE_DICTS[1]
    assert tuple(constants.FSDP2_STATE_DICT_TYPE) == keys.FSDP_STATE_DICTS[2]
    arguments = {action.dest for action in launch_command_parser()._actions}
    assert arguments >= keys.DEEPSPEED_KEYS
    assert {name for name in arguments if name.startswith("fsdp_")} == (
        keys.FSDP_KEYS - {"fsdp_ignored_modules"}
    )


def test_visible_gpus_decide() -> None:
    two = (gpu(0), gpu(1))
    assert open_strategies(()) == (Strategy.CPU,)
    assert open_strategies(two[:1]) == (Strategy.DDP,)
    assert open_strategies(two)[0] is Strategy.DDP and Strategy.FSDP in open_strategies(two)
    chosen = choose(Strategy.FSDP, two, None, None)
    assert (chosen.processes, chosen.mixed_precision) == (2, "bf16")
    old = choose(Strategy.DDP, (gpu(0, (7, 0)), gpu(1)), None, None)
    assert old.mixed_precision == "fp16"
    assert values_of(choose(Strategy.DDP, two[:1], None, None))["distributed_type"] == "NO"


def test_two_gpus_asked_for_and_one_there_is_a_clear_error() -> None:
    with pytest.raises(ChoiceError, match="2 GPUs are asked for and 1 is visible"):
        choose(Strategy.DDP, (gpu(0),), 2, None)
    assert choose(Strategy.DDP, (), 2, None, other_machine=True).processes == 2


@settings(deadline=None)
@given(
    st.dictionaries(
        st.text(min_size=1, max_size=8),
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False)
        | st.text(max_size=9),
        max_size=4,
    )
)
def test_any_simple_mapping_reads_back_equal(values: dict[str, Any]) -> None:
    assert (yaml.safe_load(document(values, {}, "head")) or {}) == values


@pytest.mark.parametrize(
    "text",
    ["no", "NO", "off", "1", "1e3", "1:30", "", " a", "a: b", "#", "0x1f", "=", "~", "-", "é"],
)
def test_text_that_yaml_would_take_for_something_else(text: str) -> None:
    assert yaml.safe_load(scalar(text)) == text


def test_nothing_is_overwritten_without_force(tmp_path: Path) -> None:
    file = tmp_path / "accelerate.yaml"
    arguments = ("--strategy", "fsdp", "--num-processes", "8", "--other-machine", "-o", str(file))
    assert run(*arguments).exit_code == 0
    file.write_text("mine")
    refused = run(*arguments)
    assert refused.exit_code == 2
    assert "--force" in refused.output
    assert file.read_text() == "mine"
    assert run(*arguments, "--force").exit_code == 0
    assert yaml.safe_load(file.read_text())["num_processes"] == 8
    assert [path.name for path in tmp_path.iterdir()] == ["accelerate.yaml"]


def test_without_gpus_and_without_a_terminal_it_asks_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))  # no nvidia-smi
    result = run()
    assert result.exit_code == 0
    written = yaml.safe_load(result.output)
    assert (written["distributed_type"], written["use_cpu"]) == ("NO", True)
    refused = run("--strategy", "ddp")
    assert refused.exit_code == 2
    assert "none is visible" in refused.output
    assert len(refused.output.strip().splitlines()) == 1


@pytest.mark.parametrize("number", ["0", "-1", "many", "1.5"])
def test_a_bad_number_of_processes_is_one_line(number: str) -> None:
    result = run("--num-processes", number)
    assert result.exit_code == 2
    assert len(result.output.strip().splitlines()) == 1


def test_several_cpu_processes_come_with_the_way_to_start_them() -> None:
    result = run("--strategy", "cpu", "--num-processes", "4", "--other-machine")
    assert result.exit_code == 0
    assert "torchrun --nproc-per-node 4" in result.output
    assert "starts ONE process" in result.output


@pytest.mark.parametrize(
    ("gpus", "precision", "words"),
    [
        ((gpu(0, (7, 0)),), "bf16", "is emulated"),
        ((gpu(0, (7, 0)),), None, None),
        ((gpu(0),), "bf16", None),
        ((gpu(0), Gpu(1, "GPU-1", "A100", 40 << 30, (8, 0), "580.1")), None, "40.0 to 80.0 GiB"),
        ((gpu(0), Gpu(1, "GPU-1", "H100", 80 << 30, (9, 0), "580.1")), None, "A100, H100"),
    ],
)
def test_what_runs_and_worse_than_it_could(
    gpus: tuple[Gpu, ...], precision: str | None, words: str | None
) -> None:
    said = warnings_about(choose(Strategy.DDP, gpus, None, precision), gpus)
    assert (said == []) if words is None else (len(said) == 1 and words in said[0]), said


def fake_gpus(folder: Path, *rows: str) -> None:
    lines = "".join(f"echo '{row}'\n" for row in rows)
    (folder / "nvidia-smi").write_text("#!/bin/sh\n" + lines)
    (folder / "nvidia-smi").chmod(0o755)


def test_bf16_on_a_v100_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_gpus(tmp_path, "0, GPU-a, Tesla V100, 16384, 7.0, 535.1")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    result = run("--mixed-precision", "bf16")
    assert result.exit_code == 0
    assert "Warning: bf16 on Tesla V100 (compute capability 7.0) is emulated" in result.stderr
    assert yaml.safe_load(result.stdout)["mixed_precision"] == "bf16"


def test_unequal_memory_and_a_lost_gpu_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_gpus(
        tmp_path,
        "0, GPU-a, NVIDIA A100, 81920, 8.0, 550.1",
        "1, GPU-b, NVIDIA A10, 24576, 8.6, 550.1",
        "2, GPU-c, [GPU is lost], [GPU is lost], [GPU is lost], 550.1",
    )
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    result = run("--strategy", "ddp")
    assert result.exit_code == 0
    assert "24.0 to 80.0 GiB" in result.stderr and "has lost a GPU" in result.stderr
    assert yaml.safe_load(result.stdout)["num_processes"] == 2


OTHER = ("--num-processes", "16", "--other-machine")
TWO = ("--num-machines", "2", "--main-process-ip", "node0", "--machine-rank", "1")


def test_several_machines_with_offload_and_blocks() -> None:
    result = run("--strategy", "fsdp", *OTHER, *TWO, "--offload", "all", "--wrap", "Block, Embed")
    assert result.exit_code == 0, result.output
    written = yaml.safe_load(result.stdout)
    assert (written["num_machines"], written["machine_rank"]) == (2, 1)
    assert (written["main_process_ip"], written["main_process_port"]) == ("node0", 29500)
    fsdp = written["fsdp_config"]
    assert fsdp["fsdp_offload_params"] is True
    assert fsdp["fsdp_transformer_layer_cls_to_wrap"] == "Block,Embed"
    assert "on every machine" in result.stdout


def test_accumulation_is_in_the_file_or_said() -> None:
    zero = run("--strategy", "zero2", *OTHER, "--accumulate", "4", "--offload", "optimizer")
    section = yaml.safe_load(zero.stdout)["deepspeed_config"]
    assert section["gradient_accumulation_steps"] == 4
    assert (section["offload_optimizer_device"], section["offload_param_device"]) == ("cpu", "none")
    ddp = run("--strategy", "ddp", *OTHER, "--accumulate", "4")
    assert "ACCELERATE_GRADIENT_ACCUMULATION_STEPS=4" in ddp.stdout
    assert "ACCELERATE_GRADIENT_ACCUMULATION_STEPS=4" in ddp.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--strategy", "ddp", *OTHER, "--num-machines", "2"), "needs --main-process-ip"),
        (("--strategy", "ddp", *OTHER, *TWO[:4], "--machine-rank", "2"), "it is 0 to 1"),
        (
            ("--strategy", "ddp", "--num-processes", "3", "--other-machine", *TWO),
            "must be a multiple",
        ),
        (("--strategy", "cpu", *OTHER, *TWO), "no file for several machines"),
        (("--strategy", "ddp", *OTHER, "--wrap", "Block"), "--wrap is FSDP's"),
        (("--strategy", "fsdp", *OTHER, "--wrap", "model.layers"), "no class name"),
        (("--strategy", "ddp", *OTHER, "--offload", "all"), "divides nothing"),
        (("--strategy", "fsdp", *OTHER, "--offload", "optimizer"), "use --offload all"),
        (("--strategy", "zero2", *OTHER, "--offload", "all"), "--strategy zero3"),
    ],
)
def test_wishes_that_cannot_be_had_are_one_line(arguments: tuple[str, ...], words: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert words in result.output and len(result.output.strip().splitlines()) == 1
