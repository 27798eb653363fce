"""DeepSpeed configurations in code, and arguments of plugins."""

import json

import accelerate
import deepspeed
import pytest
import torch
from accelerate import FullyShardedDataParallelPlugin
from colliding import FarConfig, fit_with
from torch.distributed.fsdp import MixedPrecision, MixedPrecisionPolicy, ShardingStrategy
from transformers import TrainingArguments
from trl import SFTConfig


def unknown_key_of_a_section(model):
    config = {
        "train_micro_batch_size_per_gpu": 4,
        "zero_optimization": {
            "stage": 3,
            "stage3_prefetch_buckets": 1000,  # expect: DL802
        },
    }
    return deepspeed.initialize(model=model, config=config)


def offload_that_the_stage_has_not(model):
    config = {
        "train_batch_size": 8,
        "zero_optimization": {"stage": 2, "offload_param": {"device": "cpu"}},  # expect: DL802
    }
    return deepspeed.initialize(model=model, config=config)


def two_precisions(model):
    config = {
        "train_batch_size": 8,
        "fp16": {"enabled": True},
        "bf16": {"enabled": True},  # expect: DL802
        "zero_optimization": {"stage": 2},
    }
    return deepspeed.initialize(model=model, config=config)


def unknown_section(model):
    config = {
        "train_batch_size": 8,
        "transformer_engine": {"enabled": True},  # expect: DL802
        "zero_optimization": {"stage": 2},
    }
    return deepspeed.initialize(model=model, config=config)


def section_of_another_engine(model, engine):
    config = {
        "train_batch_size": 8,
        "msamp": {"enabled": True, "opt_level": "O2"},
        "zero_optimization": {"stage": 2},
    }
    return engine.initialize(model=model, config_params=config)


def right(model, stage, sections):
    config = {
        "train_micro_batch_size_per_gpu": 4,
        "fp16": {"enabled": stage == 2},
        "bf16": {"enabled": stage != 2},
        "zero_optimization": {"stage": stage, "offload_param": {"device": "cpu"}, **sections},
    }
    return deepspeed.initialize(model=model, config=config)


def spread(model, sections):
    config = {
        "train_batch_size": 8,
        "zero_optimization": {"offload_param": {"device": "cpu"}, **sections},
    }
    return deepspeed.initialize(model=model, config=config)


def spread_everywhere(model, base, precision):
    config = {
        **base,
        "fp16": {**precision},
        "zero_optimization": {"stage": 2},
        "steps_per_print": 9,
    }
    return deepspeed.initialize(model=model, config=config)


def computed(model, names):
    config = {"zero_optimization": {name: True for name in names}, "train_batch_size": 8}
    return deepspeed.initialize(model=model, config=config)


def of_another_program(run):
    return run({"zero_optimization": {"levels": 3}, "model": "gpt", "data": "c4", "steps": 3})


def unknown_key(model):
    config = {
        "train_batch_size": 8,
        "monitor": {"enabled": True},  # expect: DL802
        "zero_optimization": {"stage": 2},
    }
    return deepspeed.initialize(model=model, config=config)


def unknown_key_of_transformers(folder):
    arguments = TrainingArguments(folder)
    arguments.deepspeed = {
        "train_batch_size": 8,
        "monitor": {"enabled": True},  # expect: DL802
        "zero_optimization": {"stage": 2},
    }
    return arguments


def unknown_key_that_is_written_down(model, folder):
    config = {
        "train_batch_size": 8,
        "monitor": {"enabled": True},  # expect: DL802
        "zero_optimization": {"stage": 2},
    }
    with open(folder / "used.json", "w") as file:
        json.dump(config, file)
    return deepspeed.initialize(model=model, config=config)


def key_of_another_library(size):
    config = FarConfig.from_pretrained(size)
    config.ds_config = {
        "train_batch_size": 8,
        "monitor": {"enabled": True},
        "zero_optimization": {"stage": 2},
    }
    return config


def section_that_is_handed_on(size):
    config = FarConfig(size)
    config.ds_config = {
        "train_batch_size": 8,
        "zero_optimization": {"stage": 3, "prefetch": 1000},  # expect: DL802
    }
    return config


def key_of_another_trainer(model):
    settings = {
        "train_batch_size": 8,
        "monitor": {"enabled": True},
        "zero_optimization": {"stage": 2},
    }
    return fit_with(model, engine=settings)


def key_that_the_program_reads(model):
    config = {
        "train_batch_size": 8,
        "seen_by": "team",
        "zero_optimization": {"stage": 2},
    }
    who = config.pop("seen_by")
    return deepspeed.initialize(model=model, config=config), who


def flat_parameters_of_version_2():
    return FullyShardedDataParallelPlugin(
        fsdp_version=2,
        use_orig_params=True,  # expect: DL802
        auto_wrap_policy="TRANSFORMER_BASED_WRAP",
    )


def strategy_of_version_1():
    return accelerate.utils.FullyShardedDataParallelPlugin(
        fsdp_version=2,
        sharding_strategy=ShardingStrategy.SHARD_GRAD_OP,  # expect: DL802
    )


def switch_of_version_2():
    return FullyShardedDataParallelPlugin(
        fsdp_version=1,
        reshard_after_forward=False,  # expect: DL802
    )


def strategy_for_a_switch():
    return FullyShardedDataParallelPlugin(
        fsdp_version=2,
        reshard_after_forward="FULL_SHARD",  # expect: DL802
    )


def prefetch_that_version_2_refuses():
    return FullyShardedDataParallelPlugin(fsdp_version=2, forward_prefetch=False)  # expect: DL802


def precision_of_the_other_version():
    return FullyShardedDataParallelPlugin(
        fsdp_version=2,
        mixed_precision_policy=MixedPrecision(param_dtype=torch.bfloat16),  # expect: DL802
    )


def policy_that_nobody_knows():
    return FullyShardedDataParallelPlugin(auto_wrap_policy="transformer")  # expect: DL802


def activations_kept_and_offloaded():
    return FullyShardedDataParallelPlugin(
        activation_checkpointing=False,
        activation_checkpointing_offload=True,  # expect: DL802
    )


def parameters_that_are_not_divided():
    return accelerate.DeepSpeedPlugin(zero_stage=2, offload_param_device="cpu")  # expect: DL802


def stage_beside_a_dict():
    return accelerate.DeepSpeedPlugin(
        zero_stage=3,  # expect: DL802
        hf_ds_config={"train_batch_size": 8, "zero_optimization": {"stage": 2}},
    )


def dict_without_zero():
    return accelerate.DeepSpeedPlugin(hf_ds_config={"train_batch_size": 8})  # expect: DL802


def setting_of_version_1_in_a_dict(folder):
    return TrainingArguments(
        folder,
        fsdp="full_shard auto_wrap",
        fsdp_config={"version": 2, "fsdp_use_orig_params": True},  # expect: DL802
    )


def key_that_transformers_does_not_read(folder):
    settings = {"sharding_strategy": "SHARD_GRAD_OP"}  # expect: DL802
    return SFTConfig(folder, fsdp=True, fsdp_config=settings)


def strategy_of_version_1_alone(folder):
    return TrainingArguments(
        folder,
        fsdp="hybrid_shard",  # expect: DL802
        fsdp_config={"version": 2},
    )


def settings_without_fsdp(folder):
    return TrainingArguments(folder, fsdp_config={"min_num_params": 2000})  # expect: DL802


def two_engines(folder):
    return TrainingArguments(folder, fsdp="full_shard", deepspeed="zero.json")  # expect: DL802


def plugin_of_version_2():
    return FullyShardedDataParallelPlugin(
        fsdp_version=2,
        reshard_after_forward=True,
        use_orig_params=None,
        backward_prefetch="NO_PREFETCH",
        state_dict_type="SHARDED_STATE_DICT",
        mixed_precision_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16),
        activation_checkpointing=True,
        activation_checkpointing_offload=True,
    )


def plugin_of_version_1():
    return FullyShardedDataParallelPlugin(
        fsdp_version=1,
        sharding_strategy="hybrid_shard",
        use_orig_params=True,
        sync_module_states=True,
        backward_prefetch="BACKWARD_PRE",
    )


def version_by_the_launch():
    return FullyShardedDataParallelPlugin(use_orig_params=True, reshard_after_forward=False)


def version_that_is_computed(version, chosen):
    return FullyShardedDataParallelPlugin(
        fsdp_version=version, use_orig_params=True, sharding_strategy=chosen
    )


def settings_that_may_be_spread(others):
    return FullyShardedDataParallelPlugin(fsdp_version=2, sharding_strategy="FULL_SHARD", **others)


def wanted_to_go_wrong():
    with pytest.raises(ValueError):
        FullyShardedDataParallelPlugin(fsdp_version=2, forward_prefetch=True)


def plugin_of_another_library():
    return FarConfig.FullyShardedDataParallelPlugin(fsdp_version=2, use_orig_params=True)


def stage_that_is_left_to_the_plugin():
    return accelerate.DeepSpeedPlugin(
        zero_stage=3,
        offload_param_device="cpu",
        hf_ds_config={"train_batch_size": 8, "zero_optimization": {"stage": "auto"}},
    )


def stage_that_is_not_said():
    return accelerate.DeepSpeedPlugin(offload_param_device="cpu", zero3_init_flag=True)


def dict_by_the_default_version(folder):
    return TrainingArguments(
        folder,
        fsdp="full_shard auto_wrap",
        fsdp_config={"use_orig_params": True, "fsdp_transformer_layer_cls_to_wrap": ["Block"]},
    )


def dict_of_version_2(folder):
    return TrainingArguments(
        folder,
        fsdp=True,
        fsdp_config={"fsdp_version": 2, "reshard_after_forward": False, "cpu_offload": True},
    )


def dict_that_is_filled(folder, version):
    settings = {"use_orig_params": True, "version": 2}
    settings["version"] = version
    return TrainingArguments(folder, fsdp="full_shard", fsdp_config=settings)


def fsdp_by_argument(folder, options):
    return TrainingArguments(folder, fsdp=options, fsdp_config={"min_num_params": 2000})


def key_of_the_program(folder):
    arguments = TrainingArguments(folder, fsdp=True, fsdp_config={"wrap_embeddings": True})
    return arguments, arguments.fsdp_config.pop("wrap_embeddings")


def version_of_others(folder, others):
    return TrainingArguments(folder, fsdp_config={"min_num_params": 2000}, **others)


def settings_that_ask_for_nothing(folder):
    arguments = TrainingArguments(
        folder,
        fsdp="full_shard",
        fsdp_config={"version": 2, "fsdp_offload_params": False, "forward_prefetch": False},
    )
    return arguments, FullyShardedDataParallelPlugin(fsdp_version=2, sync_module_states=False)


def weights_of_rank_0_in_version_2():
    return FullyShardedDataParallelPlugin(fsdp_version=2, sync_module_states=True)  # expect: DL802


def offload_by_the_option(folder):
    return TrainingArguments(
        folder,
        fsdp="shard_grad_op offload",
        fsdp_config={"fsdp_offload_params": True, "sharding_strategy": "SHARD_GRAD_OP"},
    )


def switches_as_text(folder):
    return TrainingArguments(
        folder,
        fsdp="full_shard auto_wrap",
        fsdp_config=dict(version=2, forward_prefetch="false", reshard_after_forward="true"),
    )


def settings_in_a_dict_call(folder):
    return SFTConfig(
        folder,
        fsdp="full_shard",
        fsdp_config=dict(
            offload_params=True,  # expect: DL802
            min_num_params=2000,
        ),
    )


def settings_by_accelerate_launch(folder):
    return TrainingArguments(folder, fsdp_config={"activation_checkpointing": True})


def settings_that_may_come_from_outside(folder, settings, small):
    if small:
        settings = {"version": 2, "backward_prefetch": "backward_pre"}
    return TrainingArguments(folder, fsdp="full_shard", fsdp_config=settings)
