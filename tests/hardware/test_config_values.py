"""The values of accelerate's configuration: what the doctor refuses, accelerate refuses, too.

Each row of the table is tried on the installed accelerate's own classes, with the environment that
its launcher makes from the value.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from typing import Any

import pytest

from distlint.hardware.doctor.check import Status
from distlint.hardware.doctor.checks import CHECKS
from distlint.hardware.doctor.machine import ConfigFacts, ConfigFile, Machine, Options
from distlint.knowledge.configuration import keys
from distlint.knowledge.configuration.values import (
    BACKWARD_PREFETCHES,
    DYNAMO_BACKENDS,
    OFFLOAD_DEVICES,
    SETTINGS,
    OneOf,
    Setting,
    refused_values,
)


def said(values: Mapping[str, Any]) -> list[tuple[Status, str]]:
    file = ConfigFile("a.yaml", "--config-file", values)
    check = next(check for check in CHECKS if check.name == "config-sections")
    machine = Machine(Options(), {}, config=ConfigFacts(file, None))
    return [(result.status, result.saw) for result in check.judge(machine)]


def config(distributed: str, **sections: Any) -> dict[str, Any]:
    return {"distributed_type": distributed, "num_processes": 4, **sections}


FSDP1 = {"fsdp_auto_wrap_policy": "TRANSFORMER_BASED_WRAP"}
FSDP2 = {**FSDP1, "fsdp_version": 2}


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (config("FSDP", fsdp_config={**FSDP1, "fsdp_sharding_strategy": 0}), "strategy is 0"),
        (config("FSDP", fsdp_config={**FSDP1, "sharding_strategy": "FULL"}), "strategy is 'FULL'"),
        (config("FSDP", fsdp_config={**FSDP2, "fsdp_offload_params": "ture"}), "'ture'"),
        (config("FSDP", fsdp_config={**FSDP1, "fsdp_backward_prefetch": "PRE"}), "'PRE'"),
        (config("FSDP", fsdp_config={**FSDP2, "fsdp_state_dict_type": 2}), "state_dict_type is 2"),
        (config("FSDP", fsdp_config={**FSDP1, "fsdp_sync_module_states": False}), "loading is on"),
        (config("FSDP", fsdp_config={**FSDP2, "fsdp_sync_module_states": False}), "loading is on"),
        (
            config("FSDP", fsdp_config={**FSDP2, "activation_checkpointing_offload": True}),
            "activation_checkpointing_offload without",
        ),
        (
            config("FSDP", fsdp_config={**FSDP2, "fsdp_transformer_layer_cls_to_wrap": ["A", "B"]}),
            "cls_to_wrap is ['A', 'B']",
        ),
        (config("MULTI_GPU", dynamo_config={"dynamo_backend": "INDUKTOR"}), "'INDUKTOR'"),
        (config("MULTI_GPU", dynamo_config={"mode": "fast"}), "dynamo_mode is 'fast'"),
        (config("MULTI_GPU", dynamo_backend="INDUKTOR"), "dynamo_backend is 'INDUKTOR'"),
        (config("MULTI_GPU", main_process_port="29500"), "main_process_port is '29500'"),
        (config("MULTI_GPU", main_process_port=70000), "main_process_port is 70000"),
        (config("DEEPSPEED", deepspeed_config={"zero_stage": 5}), "zero_stage is 5"),
        (config("DEEPSPEED", deepspeed_config={"offload_param_device": "gpu"}), "'gpu'"),
        (
            config(
                "DEEPSPEED", deepspeed_config={"zero_stage": 0, "offload_optimizer_device": "cpu"}
            ),
            "offload of the optimizer with ZeRO stage 0",
        ),
        (
            config("DEEPSPEED", deepspeed_config={"zero_stage": 3, "offload_param_device": "nvme"}),
            "nvme without offload_param_nvme_path",
        ),
        (
            config("DEEPSPEED", deepspeed_config={"gradient_accumulation_steps": 0}),
            "gradient_accumulation_steps is 0",
        ),
        (config("DEEPSPEED", num_machines=2, deepspeed_config={"zero_stage": 2}), "hostfile"),
    ],
)
def test_values_that_fail_when_the_job_starts(values: dict[str, Any], words: str) -> None:
    assert any(status is Status.ERROR and words in saw for status, saw in said(values)), said(
        values
    )


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (
            config("DEEPSPEED", deepspeed_config={"zero_stage": 2, "offload_param_device": "cpu"}),
            "offload of parameters with ZeRO stage 2",
        ),
        (config("DEEPSPEED", deepspeed_config={"offload_param_device": "cpu"}), "ZeRO stage 2"),
        (
            config("MULTI_GPU", mixed_precision="fp8", fp8_config={"amax_history_length": 16}),
            "fp8_amax_history_length (did you mean fp8_amax_history_len?)",
        ),
        (
            config("FSDP", fsdp_config=FSDP2, parallelism_config={"dp_shard_size": 4}),
            "dp_shard_size (did you mean parallelism_config_dp_shard_size?)",
        ),
        (config("MULTI_GPU", dynamo_config={"dynamo_backnd": "EAGER"}), "dynamo_backend?"),
        (config("MEGATRON_LM", megatron_lm_config={"megatron_lm_tp": 2}), "megatron_lm_tp"),
        (config("DEEPSPEED", dynamo_config={"backend": "EAGER"}), "dynamo_config with"),
        (
            config("FSDP", fsdp_config={**FSDP2, "fsdp_sharding_strategy": "SHARD_GRAD_OP"}),
            "fsdp_sharding_strategy SHARD_GRAD_OP with fsdp_version 2",
        ),
        (
            config(
                "FSDP",
                fsdp_config={"fsdp_auto_wrap_policy": "SIZE_BASED_WRAP", "fsdp_min_num_params": 0},
            ),
            "fsdp_min_num_params is 0",
        ),
    ],
)
def test_what_is_written_and_not_read(values: dict[str, Any], words: str) -> None:
    found = said(values)
    assert any(status is Status.WARNING and words in saw for status, saw in found), found


@pytest.mark.parametrize(
    ("kind", "fsdp", "sizes", "words"),
    [
        ("FSDP", FSDP2, {"dp_shard": 2}, "dp_shard 2 = 2, num_processes is 4"),
        ("FSDP", FSDP2, {"dp_shard": 2, "tp": 4}, "dp_shard 2 x tp 4 = 8"),
        ("FSDP", FSDP2, {"tp": 4}, "no dp_shard_size"),
        ("FSDP", FSDP2, {"dp_shard": 0}, "dp_shard_size is 0"),
        ("FSDP", FSDP2, {"cp": 2, "sp": 2}, "cp 2 x sp 2"),
        ("FSDP", FSDP1, {"dp_shard": 4}, "with fsdp_version 1"),
        ("FSDP", FSDP2, {"dp_replicate": 2, "tp": 2}, "dp_replicate 2 x tp 2"),
        ("MULTI_GPU", {}, {"tp": 2}, "tp 2 = 2, num_processes is 4"),
        ("MULTI_GPU", {}, {"cp": 4}, "cp_size with distributed_type MULTI_GPU"),
    ],
)
def test_parallel_sizes_that_do_not_go_together(
    kind: str, fsdp: dict[str, Any], sizes: dict[str, int], words: str
) -> None:
    section = {f"parallelism_config_{name}_size": size for name, size in sizes.items()}
    found = said(config(kind, fsdp_config=fsdp, parallelism_config=section))
    assert any(status is Status.ERROR and words in saw for status, saw in found), found


@pytest.mark.parametrize(
    "values",
    [
        config("FSDP", fsdp_config={**FSDP2, "fsdp_version": "2", "offload_params": "yes"}),
        config("FSDP", fsdp_config={**FSDP1, "fsdp_sharding_strategy": 1}),
        config("FSDP", fsdp_config={**FSDP2, "fsdp_sharding_strategy": "FULL_SHARD"}),
        config("FSDP", fsdp_config={**FSDP1, "fsdp_sharding_strategy": "shard_grad_op"}),
        config(
            "FSDP",
            fsdp_config=FSDP2,
            parallelism_config={
                "parallelism_config_dp_shard_size": 2,
                "parallelism_config_tp_size": 2,
            },
        ),
        config("MULTI_GPU", parallelism_config={"parallelism_config_tp_size": 4}),
        config("MULTI_GPU", dynamo_config={"dynamo_backend": "inductor"}, main_process_port=0),
        config(
            "DEEPSPEED",
            deepspeed_config={
                "zero_stage": 3,
                "offload_param_device": "cpu",
                "gradient_accumulation_steps": "auto",
                "gradient_clipping": 1.0,
            },
        ),
    ],
)
def test_values_that_are_right(values: dict[str, Any]) -> None:
    assert [status for status, _ in said(values)] == [Status.OK], said(values)


# What each kind of value is made into for the ranks: the variable, by the key of the section.
def _variable(row: Setting) -> str:
    match row.section:
        case "fsdp_config":
            return row.key.upper()
        case "parallelism_config":
            return row.key.upper()
        case _:
            return f"ACCELERATE_{row.key.upper()}"


def _refuses(row: Setting, value: object, patch: pytest.MonkeyPatch) -> bool:
    """Whether accelerate's own class fails on the value."""
    from accelerate import ParallelismConfig
    from accelerate.utils import FullyShardedDataParallelPlugin, TorchDynamoPlugin

    # On a machine without GPUs the first plugin cannot synchronise.
    patch.setenv("FSDP_SYNC_MODULE_STATES", "false")
    for key, needed in row.only.items():
        patch.setenv(key.upper(), str(needed))
    patch.setenv(_variable(row), str(value))
    reader: type[Any] = {
        "fsdp_config": FullyShardedDataParallelPlugin,
        "dynamo_config": TorchDynamoPlugin,
        "parallelism_config": ParallelismConfig,
    }[row.section]
    try:
        reader()
    except (ValueError, KeyError):
        return True
    except RuntimeError as no_device:
        # The value was read: without an accelerator there is nowhere to send the weights.
        assert "no available devices" in str(no_device)
    return False


READ_BY_RANKS = [
    row
    for row in SETTINGS
    if row.section in ("fsdp_config", "dynamo_config", "parallelism_config")
    # The first is torch.compile's to refuse; FSDP_VERSION is read as any number.
    and row.key not in ("dynamo_mode", "fsdp_version", "fsdp_activation_checkpointing_offload")
]


@pytest.mark.parametrize("row", READ_BY_RANKS, ids=lambda row: f"{row.key}{dict(row.only)}")
@pytest.mark.parametrize("value", ["ture", "0", "-1", "9", "1"])
def test_accelerate_refuses_what_the_table_refuses(row: Setting, value: str) -> None:
    if importlib.util.find_spec("accelerate") is None:
        pytest.skip("needs accelerate")
    with pytest.MonkeyPatch.context() as patch:
        assert _refuses(row, value, patch) == (not _takes(row, value)), (row.key, value)


def _takes(row: Setting, value: str) -> bool:
    # In the YAML these are numbers; the environment holds text.
    number = int(value) if value.lstrip("-").isdecimal() else value
    return row.kind.takes(number)


@pytest.mark.parametrize(
    "row", [row for row in READ_BY_RANKS if isinstance(row.kind, OneOf)], ids=lambda row: row.key
)
def test_accelerate_takes_every_name_of_the_table(row: Setting) -> None:
    if importlib.util.find_spec("accelerate") is None:
        pytest.skip("needs accelerate")
    assert isinstance(row.kind, OneOf)
    for name in row.kind.names:
        with pytest.MonkeyPatch.context() as patch:
            assert not _refuses(row, name, patch), name


def test_the_tables_are_those_of_the_installed_accelerate() -> None:
    accelerate = pytest.importorskip("accelerate")
    if accelerate.__version__ != keys.ACCELERATE_VERSION:
        pytest.skip(f"the table is of accelerate {keys.ACCELERATE_VERSION}")
    from accelerate.commands.launch import launch_command_parser
    from accelerate.utils import DynamoBackend, constants

    assert tuple(backend.value for backend in DynamoBackend) == DYNAMO_BACKENDS
    assert tuple(constants.FSDP_BACKWARD_PREFETCH) == BACKWARD_PREFETCHES
    assert OFFLOAD_DEVICES == ("none", "cpu", "nvme")
    arguments = {action.dest for action in launch_command_parser()._actions}
    for prefix, known in (
        ("dynamo_", keys.DYNAMO_KEYS),
        ("fp8_", keys.FP8_KEYS),
        ("parallelism_config_", keys.PARALLELISM_KEYS),
        ("megatron_lm_", keys.MEGATRON_KEYS),
        ("mpirun_", keys.MPIRUN_KEYS),
    ):
        assert {name for name in arguments if name.startswith(prefix)} == known


def test_a_section_that_is_not_read_cannot_fail() -> None:
    values = config("MULTI_GPU", fsdp_config={"fsdp_sharding_strategy": 0})
    assert refused_values(values, keys.sections_read("MULTI_GPU")) == []
