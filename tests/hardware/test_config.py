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
from distlint.hardware.accelerate_config import keys
from distlint.hardware.accelerate_config.choose import ChoiceError, choose, open_strategies
from distlint.hardware.accelerate_config.documents import Choice, Strategy, text_of, values_of
from distlint.hardware.accelerate_config.yaml_text import document, scalar
from distlint.hardware.gpus import Gpu

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
            "offload_optimizer_device": "none",
            "offload_param_device": "none",
            "gradient_accumulation_steps": 1,
            "zero3_init_flag": stage == 3,
        }
        if stage == 3:
            deepspeed["zero3_save_16bit_model"] = True
    if distributed == "FSDP":
        fsdp = {
            "fsdp_version": 2,
            "fsdp_reshard_after_forward": True,
            "fsdp_offload_params": False,
            "fsdp_auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
            "fsdp_state_dict_type": "SHARDED_STATE_DICT",
            "fsdp_cpu_ram_efficient_loading": True,
            "fsdp_activation_checkpointing": False,
        }
    written: dict[str, Any] = ClusterConfig(
        compute_environment="LOCAL_MACHINE",
        distributed_type=distributed,
        num_processes=choice.processes,
        gpu_ids="all" if choice.strategy is Strategy.DDP else None,
        mixed_precision=choice.mixed_precision,
        downcast_bf16="no",  # what the questions leave there
        machine_rank=0,
        num_machines=1,
        main_process_ip=None,
        main_process_port=None,
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
