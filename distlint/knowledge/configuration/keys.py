"""The table of accelerate's configuration: keys, allowed values, and which section goes with what.

Read in accelerate 1.15.0: commands/config/config_args.py (ClusterConfig), commands/launch.py
(launch_command_parser: the keys that a section may hold become its arguments), utils/constants.py,
utils/dataclasses.py (DistributedType, PrecisionType). tests/hardware/test_config.py compares this
table with the installed accelerate.
"""

from __future__ import annotations

from distlint.records import dataclass

ACCELERATE_VERSION = "1.15.0"

# config_args.py, BaseConfig and ClusterConfig; the last two are old names that process_config
# converts.
CLUSTER_KEYS = frozenset(
    [
        "compute_environment",
        "distributed_type",
        "mixed_precision",
        "use_cpu",
        "debug",
        "num_processes",
        "machine_rank",
        "num_machines",
        "gpu_ids",
        "main_process_ip",
        "main_process_port",
        "rdzv_backend",
        "same_network",
        "main_training_function",
        "enable_cpu_affinity",
        "fp8_config",
        "deepspeed_config",
        "fsdp_config",
        "parallelism_config",
        "megatron_lm_config",
        "mpirun_config",
        "downcast_bf16",
        "tpu_name",
        "tpu_zone",
        "tpu_use_cluster",
        "tpu_use_sudo",
        "command_file",
        "commands",
        "tpu_vm",
        "tpu_env",
        "dynamo_config",
        "fp16",
        "dynamo_backend",
    ]
)

OF_LAUNCHER = CLUSTER_KEYS - {
    "mixed_precision", "fp16", "fp8_config", "num_processes", "num_machines", "gpu_ids", "dynamo_config", "dynamo_backend",
    "command_file", "commands",
}  # fmt: skip
"""What accelerate's launcher alone is told, and a file that goes on to DeepSpeed says in vain without a loss: LongLLaVA
f349366 scripts/zero3.json:16 keeps `same_network` and `use_cpu`."""

# utils/dataclasses.py, DistributedType
DISTRIBUTED_TYPES = frozenset(
    [
        "NO",
        "MULTI_CPU",
        "MULTI_GPU",
        "MULTI_NPU",
        "MULTI_MLU",
        "MULTI_SDAA",
        "MULTI_MUSA",
        "MULTI_XPU",
        "DEEPSPEED",
        "FSDP",
        "XLA",
        "MEGATRON_LM",
        "MULTI_HPU",
        "MULTI_NEURON",
    ]
)

# launch.py, _validate_launch_command and launch_command: what starts several processes.
STARTS_SEVERAL = DISTRIBUTED_TYPES - {"NO", "MULTI_CPU"}
ON_CUDA = frozenset({"MULTI_GPU", "FSDP", "DEEPSPEED", "MEGATRON_LM"})

MIXED_PRECISIONS = frozenset({"no", "fp16", "bf16", "fp8"})

# launch.py, launch_command_parser. A key of a section that is no argument is set and never read.
FSDP_KEYS = frozenset(
    [
        "fsdp_version",
        "fsdp_offload_params",
        "fsdp_min_num_params",
        "fsdp_sharding_strategy",
        "fsdp_reshard_after_forward",
        "fsdp_auto_wrap_policy",
        "fsdp_transformer_layer_cls_to_wrap",
        "fsdp_backward_prefetch",
        "fsdp_state_dict_type",
        "fsdp_forward_prefetch",
        "fsdp_use_orig_params",
        "fsdp_cpu_ram_efficient_loading",
        "fsdp_sync_module_states",
        "fsdp_activation_checkpointing",
        "fsdp_activation_checkpointing_offload",
        "fsdp_ignored_modules",
    ]
)
DEEPSPEED_KEYS = frozenset(
    [
        "deepspeed_config_file",
        "zero_stage",
        "offload_optimizer_device",
        "offload_param_device",
        "offload_optimizer_nvme_path",
        "offload_param_nvme_path",
        "gradient_accumulation_steps",
        "gradient_clipping",
        "zero3_init_flag",
        "zero3_save_16bit_model",
        "deepspeed_hostfile",
        "deepspeed_exclusion_filter",
        "deepspeed_inclusion_filter",
        "deepspeed_multinode_launcher",
        "deepspeed_moe_layer_cls_names",
    ]
)
DYNAMO_KEYS = frozenset(
    f"dynamo_{name}"
    for name in ("backend", "mode", "use_fullgraph", "use_dynamic", "use_regional_compilation")
)
FP8_KEYS = frozenset(
    f"fp8_{name}"
    for name in (
        "backend",
        "use_autocast_during_eval",
        "margin",
        "interval",
        "format",
        "amax_history_len",
        "amax_compute_algo",
        "override_linear_precision",
        "opt_level",
        "enable_fsdp_float8_all_gather",
        "pad_inner_dim",
    )
)
PARALLELISM_KEYS = frozenset(
    f"parallelism_config_{name}"
    for name in (
        "dp_replicate_size",
        "dp_shard_size",
        "tp_size",
        "cp_size",
        "cp_backend",
        "cp_comm_strategy",
        "sp_size",
        "sp_backend",
        "sp_seq_length",
        "sp_seq_length_is_variable",
        "sp_attn_implementation",
    )
)
MEGATRON_KEYS = frozenset(
    f"megatron_lm_{name}"
    for name in (
        "tp_degree",
        "use_custom_fsdp",
        "no_load_optim",
        "eod_mask_loss",
        "overlap_cpu_optimizer_d2h_h2d",
        "no_save_optim",
        "optimizer_cpu_offload",
        "use_precision_aware_optimizer",
        "decoder_last_pipeline_num_layers",
        "pp_degree",
        "num_micro_batches",
        "sequence_parallelism",
        "recompute_activations",
        "use_distributed_optimizer",
        "gradient_clipping",
        "recompute_granularity",
        "recompute_method",
        "recompute_num_layers",
        "attention_backend",
        "expert_model_parallel_size",
        "context_parallel_size",
        "attention_dropout",
        "hidden_dropout",
        "attention_softmax_in_fp32",
        "expert_tensor_parallel_size",
        "calculate_per_token_loss",
        "use_rotary_position_embeddings",
    )
)
MPIRUN_KEYS = frozenset({"mpirun_hostfile"})


def is_one_of(value: object, names: frozenset[str]) -> bool:
    """Whether a value, of whatever type it came out of the file, is one of these names."""
    return isinstance(value, str) and value in names


@dataclass(frozen=True, slots=True)
class Section:
    """A section, its keys, and the distributed types under which they are read.

    `types` follows launch_command and utils/launch.py: a DeepSpeed job gets no dynamo_config
    (prepare_deepspeed_cmd_env), and a job of one process no parallelism_config
    (prepare_simple_launcher_cmd_env).
    """

    key: str
    keys: frozenset[str]
    types: frozenset[str]


SECTIONS = (
    Section("fsdp_config", FSDP_KEYS, frozenset({"FSDP"})),
    Section("deepspeed_config", DEEPSPEED_KEYS, frozenset({"DEEPSPEED"})),
    Section("megatron_lm_config", MEGATRON_KEYS, frozenset({"MEGATRON_LM"})),
    Section("parallelism_config", PARALLELISM_KEYS, STARTS_SEVERAL - {"XLA"}),
    Section("mpirun_config", MPIRUN_KEYS, frozenset({"MULTI_CPU"})),
    Section("dynamo_config", DYNAMO_KEYS, DISTRIBUTED_TYPES - {"DEEPSPEED", "XLA"}),
    Section("fp8_config", FP8_KEYS, DISTRIBUTED_TYPES),
)


def sections_read(distributed: object) -> frozenset[str]:
    """The sections that are read under this distributed_type."""
    return frozenset(s.key for s in SECTIONS if is_one_of(distributed, s.types))


FSDP_SHARDING_STRATEGIES = (
    "FULL_SHARD",
    "SHARD_GRAD_OP",
    "NO_SHARD",
    "HYBRID_SHARD",
    "HYBRID_SHARD_ZERO2",
)
FSDP_WRAP_POLICIES = ("TRANSFORMER_BASED_WRAP", "SIZE_BASED_WRAP", "NO_WRAP")
FSDP_STATE_DICTS = {
    1: ("FULL_STATE_DICT", "LOCAL_STATE_DICT", "SHARDED_STATE_DICT"),
    2: ("SHARDED_STATE_DICT", "FULL_STATE_DICT"),
}

RENAMED: dict[tuple[str, str], tuple[str, tuple[int, ...]]] = {
    ("fsdp_config", "fsdp_backward_prefetch_policy"): ("fsdp_backward_prefetch", (1, 0)),
}
"""Keys of sections that had another name, and the version since when the old one is not read (accelerate 0.34.2 and
1.0.1, commands/launch.py)."""

FSDP_DEFAULTS: dict[str, str] = {
    "fsdp_version": "1",
    "fsdp_sharding_strategy": "full_shard",
    "fsdp_reshard_after_forward": "true",
    "fsdp_backward_prefetch": "no_prefetch",
    "fsdp_offload_params": "false",
    "fsdp_forward_prefetch": "false",
    "fsdp_use_orig_params": "true",
    "fsdp_sync_module_states": "true",
    "fsdp_cpu_ram_efficient_loading": "true",
    "fsdp_activation_checkpointing": "false",
    "fsdp_activation_checkpointing_offload": "false",
}
"""What a key is where the file does not name it, in small letters (commands/launch.py; without `fsdp_backward_prefetch`
nothing is fetched ahead: utils/dataclasses.py)."""

FSDP_UNREAD: dict[str, str] = {"fsdp": "full_shard", "fsdp_limit_all_gathers": "true"}
"""What is so whether a key that nobody reads says it or not, in small letters (utils/dataclasses.py,
`FullyShardedDataParallelPlugin`: LLaDOU 97ff0cc configs/accelerate/fsdp.yaml:5)."""

OFFLOADS = ("offload_optimizer_device", "offload_param_device")
"""Keys of DeepSpeed's section that are "none" where the file does not name them (commands/launch.py)."""

# utils/dataclasses.py, FullyShardedDataParallelPlugin.__post_init__: dropped with a warning.
FSDP1_ONLY = ("fsdp_backward_prefetch", "fsdp_use_orig_params", "fsdp_sync_module_states")

# utils/dataclasses.py, DeepSpeedPlugin._deepspeed_config_checks: refused beside
# deepspeed_config_file. The plugin compares with names without their prefix.
IGNORED_WITH_DEEPSPEED_FILE = (
    "gradient_accumulation_steps",
    "gradient_clipping",
    "zero_stage",
    "offload_optimizer_device",
    "offload_param_device",
    "offload_param_nvme_path",
    "offload_optimizer_nvme_path",
    "zero3_save_16bit_model",
    "mixed_precision",
)
