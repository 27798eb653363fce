"""Arguments of plugins and TrainingArguments: what DL802 calls an error, the installed libraries refuse."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from tests.rules.checked import severities

HEAD = """
import torch
from accelerate import DeepSpeedPlugin, FullyShardedDataParallelPlugin
from torch.distributed.fsdp import (
    CPUOffload, CPUOffloadPolicy, MixedPrecision, MixedPrecisionPolicy, ShardingStrategy,
)
from transformers import TrainingArguments
"""

REFUSED = [
    'FullyShardedDataParallelPlugin(fsdp_version=2, sharding_strategy="FULL_SHARD")',
    "FullyShardedDataParallelPlugin(fsdp_version=2, forward_prefetch=False)",
    'FullyShardedDataParallelPlugin(fsdp_version=2, reshard_after_forward="FULL_SHARD")',
    "FullyShardedDataParallelPlugin(\n"
    "    fsdp_version=2, reshard_after_forward=ShardingStrategy.FULL_SHARD\n"
    ")",
    "FullyShardedDataParallelPlugin(fsdp_version=1, reshard_after_forward=True)",
    'FullyShardedDataParallelPlugin(fsdp_version=1, reshard_after_forward="nothing")',
    'FullyShardedDataParallelPlugin(fsdp_version=1, sharding_strategy="full")',
    'FullyShardedDataParallelPlugin(fsdp_version=2, state_dict_type="LOCAL_STATE_DICT")',
    'FullyShardedDataParallelPlugin(fsdp_version=1, state_dict_type="full")',
    'FullyShardedDataParallelPlugin(auto_wrap_policy="transformer")',
    'FullyShardedDataParallelPlugin(backward_prefetch="pre")',
    "FullyShardedDataParallelPlugin(fsdp_version=2, mixed_precision_policy=MixedPrecision())",
    "FullyShardedDataParallelPlugin(fsdp_version=1, mixed_precision_policy=MixedPrecisionPolicy())",
    "FullyShardedDataParallelPlugin(fsdp_version=2, cpu_offload=CPUOffload())",
    "FullyShardedDataParallelPlugin(fsdp_version=1, cpu_offload=CPUOffloadPolicy())",
    "FullyShardedDataParallelPlugin(\n"
    "    activation_checkpointing=False, activation_checkpointing_offload=True\n"
    ")",
    'DeepSpeedPlugin(hf_ds_config={"train_batch_size": 8})',
    'TrainingArguments("/x", fsdp="full-shard")',
    'TrainingArguments("/x", fsdp="FULL_SHARD")',
    'TrainingArguments("/x", fsdp="hybrid_shard", fsdp_config={"version": 2})',
    'TrainingArguments(\n    "/x", fsdp=True, fsdp_config={"version": 2, "reshard_after_forward": "full_shard"}\n)',
    'TrainingArguments("/x", fsdp=True, fsdp_config={"auto_wrap_policy": "transformer_based_wrap"})',
]

TAKEN = [
    "FullyShardedDataParallelPlugin(fsdp_version=2, reshard_after_forward=False)",
    'FullyShardedDataParallelPlugin(fsdp_version=2, state_dict_type="FULL_STATE_DICT")',
    'FullyShardedDataParallelPlugin(fsdp_version=1, sharding_strategy="shard_grad_op")',
    'FullyShardedDataParallelPlugin(auto_wrap_policy="size_based_wrap", min_num_params=1000)',
    "FullyShardedDataParallelPlugin(fsdp_version=2, mixed_precision_policy=MixedPrecisionPolicy())",
    "FullyShardedDataParallelPlugin(fsdp_version=1, cpu_offload=CPUOffload())",
    "FullyShardedDataParallelPlugin(fsdp_version=2, cpu_offload=True)",
    'DeepSpeedPlugin(zero_stage=3, offload_param_device="cpu")',
    'TrainingArguments("/x", fsdp=["shard_grad_op", "offload"], fsdp_config={"version": "2"})',
    'TrainingArguments("/x", fsdp=True, fsdp_config={"version": 2, "reshard_after_forward": "false"})',
]

IGNORED = [
    ("use_orig_params", "True", "info"),
    ("use_orig_params", "False", "warning"),
    ("sync_module_states", "True", "warning"),
    ("backward_prefetch", '"BACKWARD_PRE"', "warning"),
]


def make(call: str) -> object:
    pytest.importorskip("accelerate")
    pytest.importorskip("transformers")
    names: dict[str, object] = {}
    exec(f"{HEAD}\nmade = {call}", names)
    return names["made"]


@pytest.mark.parametrize("call", REFUSED)
def test_an_error_is_one(call: str, tmp_path: Path) -> None:
    assert severities(tmp_path, "DL802", f"{HEAD}\nmade = {call}\n") == ["error"]
    with pytest.raises((ValueError, KeyError)):
        make(call)


@pytest.mark.parametrize("call", TAKEN)
def test_what_is_taken_is_no_finding(call: str, tmp_path: Path) -> None:
    assert severities(tmp_path, "DL802", f"{HEAD}\nmade = {call}\n") == []
    assert make(call) is not None


@pytest.mark.parametrize(("name", "value", "expected"), IGNORED)
def test_what_version_2_drops(
    name: str, value: str, expected: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    call = f"FullyShardedDataParallelPlugin(fsdp_version=2, {name}={value})"
    assert severities(tmp_path, "DL802", f"{HEAD}\nmade = {call}\n") == [expected]
    with caplog.at_level(logging.ERROR):
        assert getattr(make(call), name) is None


def test_fsdp_config_that_is_not_read(tmp_path: Path) -> None:
    call = 'TrainingArguments("/x", fsdp_config={"min_num_params": 2000})'
    assert severities(tmp_path, "DL802", f"{HEAD}\nmade = {call}\n") == ["warning"]
    assert getattr(make(call), "fsdp_plugin_args", "") is None


def test_a_stage_beside_a_configuration(tmp_path: Path) -> None:
    config = '{"train_batch_size": 8, "zero_optimization": {"stage": 2}}'
    call = f"DeepSpeedPlugin(zero_stage=3, hf_ds_config={config})"
    assert severities(tmp_path, "DL802", f"{HEAD}\nmade = {call}\n") == ["warning"]
    assert getattr(make(call), "zero_stage", 0) == 2
