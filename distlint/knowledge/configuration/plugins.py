"""The table of what code says to accelerate's plugins and to transformers' TrainingArguments about FSDP and DeepSpeed.

Read in accelerate 1.15.0, utils/dataclasses.py (FullyShardedDataParallelPlugin, DeepSpeedPlugin: the fields and
`__post_init__`) and in transformers 5.23.0, training_args.py (`_process_fsdp_args`, `_apply_legacy_fsdp_to_config`).
tests/rules/test_plugin_arguments.py gives the calls to the installed ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

TRANSFORMERS_VERSION: Final = "5.23.0"

FSDP_KEYS: Final[Mapping[str, str]] = {
    "fsdp_version": "fsdp_version",
    "sharding_strategy": "fsdp_sharding_strategy",
    "reshard_after_forward": "fsdp_reshard_after_forward",
    "auto_wrap_policy": "fsdp_auto_wrap_policy",
    "state_dict_type": "fsdp_state_dict_type",
    "backward_prefetch": "fsdp_backward_prefetch",
}
"""Arguments of FullyShardedDataParallelPlugin whose text is read as that of the key in accelerate's YAML is."""

DEEPSPEED_KEYS: Final = ("zero_stage", "offload_optimizer_device", "offload_param_device")
"""Arguments of DeepSpeedPlugin whose values go to DeepSpeed as those of the keys in accelerate's YAML do."""

FSDP2_WARNS: Final = ("use_orig_params", "sync_module_states", "backward_prefetch")
"""accelerate 1.15.0, `__post_init__`, `_fsdp2_warnings`: what is not None is set to None, with a warning."""

OBJECTS: Final[Mapping[str, Mapping[str, int]]] = {
    # validate_mixed_precision_policy
    "mixed_precision_policy": {"MixedPrecision": 1, "MixedPrecisionPolicy": 2},
    # validate_cpu_offload
    "cpu_offload": {"CPUOffload": 1, "CPUOffloadPolicy": 2, "OffloadPolicy": 2},
}
"""The classes of torch.distributed.fsdp that an argument may be an object of, and the version that takes it."""

IN_JSON: Final[Mapping[str, tuple[str, ...]]] = {
    "gradient_accumulation_steps": ("gradient_accumulation_steps",),
    "gradient_clipping": ("gradient_clipping",),
    "zero_stage": ("zero_optimization", "stage"),
    "offload_optimizer_device": ("zero_optimization", "offload_optimizer", "device"),
    "offload_param_device": ("zero_optimization", "offload_param", "device"),
    "offload_param_nvme_path": ("zero_optimization", "offload_param", "nvme_path"),
    "offload_optimizer_nvme_path": ("zero_optimization", "offload_optimizer", "nvme_path"),
    "zero3_save_16bit_model": (
        "zero_optimization",
        "stage3_gather_16bit_weights_on_model_save",
    ),
}
"""accelerate 1.15.0, DeepSpeedPlugin, `plugin_to_config_mapping`: read where the configuration says "auto"."""

TRAINER_ONLY_1: Final = (
    "use_orig_params",
    "sync_module_states",
    "backward_prefetch",
    "forward_prefetch",
)
"""transformers 5.23.0, `_process_fsdp_args`: keys of fsdp_config that are handed on under version 1 alone.

Earlier ones (4.x) hand them on as environment variables, which accelerate's plugin drops under version 2.
"""

TRAINER_KEYS: Final = frozenset(
    {
        "version",
        "reshard_after_forward",
        "cpu_offload",
        "activation_checkpointing",
        "cpu_ram_efficient_loading",
        "state_dict_type",
        "auto_wrap_policy",
        "transformer_layer_cls_to_wrap",
        "min_num_params",
        "limit_all_gathers",
        "xla",
        "xla_fsdp_v2",
        "xla_fsdp_settings",
        "xla_fsdp_grad_ckpt",
        *TRAINER_ONLY_1,
    }
)
"""transformers 5.23.0, `_process_fsdp_args`: the keys of fsdp_config, with or without `fsdp_` before them."""

ASKS_FOR_NOTHING: Final = (False, "FULL_SHARD", "full_shard", "none", "no", "")
"""Values of keys that nobody reads, and that say what is so without them: `"fsdp_offload_params": False`."""

TRAINER_READS_ALWAYS: Final = frozenset({"limit_all_gathers", "activation_checkpointing"})
"""transformers 4.x, trainer.py: read of fsdp_config where accelerate launch alone asks for FSDP."""

OPTIONS: Final = frozenset(
    {"full_shard", "shard_grad_op", "no_shard", "hybrid_shard", "hybrid_shard_zero2"}
    | {"offload", "auto_wrap"}
)
"""transformers 5.23.0, trainer_utils.py, FSDPOption: the words of `fsdp="…"`."""

OPTIONS_ONLY_1: Final = frozenset({"no_shard", "hybrid_shard", "hybrid_shard_zero2"})
"""transformers 5.23.0, `_apply_legacy_fsdp_to_config`: refused under version 2."""
