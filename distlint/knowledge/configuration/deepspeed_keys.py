"""The table of DeepSpeed's JSON: the keys that DeepSpeed reads, by section, and bounds of numbers.

Read in deepspeed 0.19.8: runtime/config.py and the modules from which it takes its get_*
functions (top level), runtime/zero/config.py, runtime/zero/offload_config.py and
runtime/precision_config.py (pydantic models with extra="forbid": another key raises).
"""

from __future__ import annotations

from distlint.knowledge.configuration.values import OFFLOAD_DEVICES, Amount, Kind, OneOf, Whole
from distlint.records import dataclass

DEEPSPEED_VERSION = "0.19.8"

TOP_LEVEL = frozenset(
    [
        "train_batch_size",
        "train_micro_batch_size_per_gpu",
        "gradient_accumulation_steps",
        "managed_gradient_accumulation",
        "steps_per_print",
        "dump_state",
        "disable_python_gc",
        "disable_allgather",
        "communication_data_type",
        "seq_parallel_communication_data_type",
        "sequence_parallel_size",
        "prescale_gradients",
        "gradient_predivide_factor",
        "gradient_allreduce_op",
        "gradient_clipping",
        "zero_optimization",
        "activation_checkpointing",
        "comms_logger",
        "tensorboard",
        "wandb",
        "comet",
        "csv_monitor",
        "fp16",
        "bf16",
        "bfloat16",
        "torch_autocast",
        "data_types",
        "optimizer",
        "scheduler",
        "zero_allow_untested_optimizer",
        "zero_force_ds_cpu_optimizer",
        "flops_profiler",
        "wall_clock_breakdown",
        "memory_breakdown",
        "autotuning",
        "use_data_before_expert_parallelism",
        "hybrid_engine",
        "pipeline",
        "data_efficiency",
        "checkpoint",
        "datastates_ckpt",
        "aio",
        "dataloader_drop_last",
        "log_level",
        "weight_quantization",
        "compile",
        "timers",
        "tensor_parallel",
        "expert_parallel",
        "inference",
        "vocabulary_size",
    ]
)

EXTENSIONS = frozenset({"msamp"})
"""What engines on top of DeepSpeed's read: MS-AMP msamp/deepspeed/runtime/constants.py (accelerate 1.15.0
benchmarks/fp8/ms_amp/distrib_deepspeed.py:61)."""

# runtime/config.py, _REMOVED_TOP_LEVEL_CONFIG_KEYS and _REMOVED_ZERO_CONFIG_KEYS: it raises
# DeepSpeedConfigError on them, earlier releases read them.
REMOVED = frozenset(
    [
        "amp",
        "nebula",
        "compression_training",
        "quantize_training",
        "sparse_gradients",
        "eigenvalue",
        "sparse_attention",
        "elasticity",
        "graph_harvesting",
        "curriculum_learning",
        "progressive_layer_drop",
    ]
)
ZERO_REMOVED = frozenset(
    {"mics_shard_size", "mics_hierarchical_params_gather", "zeropp_loco_param"}
)

ZERO = frozenset(
    [
        "stage",
        "contiguous_gradients",
        "reduce_scatter",
        "reduce_bucket_size",
        "use_multi_rank_bucket_allreduce",
        "allgather_partitions",
        "allgather_bucket_size",
        "overlap_comm",
        "compute_grad_norm",
        "load_from_fp32_weights",
        "elastic_checkpoint",
        "offload_param",
        "offload_optimizer",
        "zenflow",
        "sub_group_size",
        "cpu_offload_param",
        "cpu_offload_use_pin_memory",
        "cpu_offload",
        "prefetch_bucket_size",
        "stage3_prefetch_bucket_size",
        "param_persistence_threshold",
        "stage3_param_persistence_threshold",
        "model_persistence_threshold",
        "stage3_model_persistence_threshold",
        "max_live_parameters",
        "stage3_max_live_parameters",
        "max_reuse_distance",
        "stage3_max_reuse_distance",
        "gather_16bit_weights_on_model_save",
        "stage3_gather_16bit_weights_on_model_save",
        "module_granularity_threshold",
        "stage3_module_granularity_threshold",
        "use_all_reduce_for_fetch_params",
        "stage3_use_all_reduce_for_fetch_params",
        "allgather_sequential",
        "stage3_allgather_sequential",
        "stage3_gather_fp16_weights_on_model_save",
        "ignore_unused_parameters",
        "legacy_stage1",
        "round_robin_gradients",
        "parameter_alignment",
        "zero_hpz_partition_size",
        "zero_quantized_weights",
        "zero_quantized_nontrainable_weights",
        "zero_quantized_gradients",
        "memory_efficient_linear",
        "pipeline_loading_checkpoint",
        "override_module_apply",
        "log_trace_cache_warnings",
        "enable_sanity_checks",
        "save_muon_momentum_buffer_in_memory",
        "leaf_module",
    ]
)
OFFLOAD_PARAM = frozenset(
    ["device", "nvme_path", "buffer_count", "buffer_size", "max_in_cpu", "pin_memory"]
)
OFFLOAD_OPTIMIZER = frozenset(
    [
        "device",
        "nvme_path",
        "buffer_count",
        "pin_memory",
        "pipeline_read",
        "pipeline_write",
        "fast_init",
        "ratio",
        "super_offload",
        "cpuadam_cores_perc",
    ]
)
FP16 = frozenset(
    [
        "enabled",
        "auto_cast",
        "loss_scale",
        "initial_scale_power",
        "loss_scale_window",
        "hysteresis",
        "consecutive_hysteresis",
        "min_loss_scale",
        "fp16_master_weights_and_grads",
    ]
)
BF16 = frozenset(
    [
        "enabled",
        "immediate_grad_update",
        "check_grad_overflow",
        "bf16_master_weights_and_grads",
        "bf16_optimizer_states",
    ]
)

_MODELS = (0, 7)
"""deepspeed 0.7.0 runtime/zero/config.py, runtime/zero/offload_config.py: pydantic models since then (pull request 2004),
with `extra = "forbid"` in runtime/config_utils.py from the first."""
_MODELS_OF_PRECISION = (0, 17, 1)
"""deepspeed 0.17.1 runtime/precision_config.py (pull request 6976); 0.17.0 runtime/config.py reads key by key."""


@dataclass(frozen=True, slots=True)
class Strict:
    """A row: a section whose model refuses other keys, since a version, and what older ones read there beside them."""

    path: tuple[str, ...]
    keys: frozenset[str]
    since: tuple[int, ...]
    before: frozenset[str] = frozenset()


STRICT: tuple[Strict, ...] = (
    Strict(
        ("zero_optimization",),
        ZERO | ZERO_REMOVED,
        _MODELS,
        # deepspeed 0.6.7 runtime/zero/constants.py; 0.3.16 runtime/zero/config.py
        frozenset({"allgather_size", "cpu_offload_params", "find_unused_parameters"}),
    ),
    Strict(("zero_optimization", "offload_param"), OFFLOAD_PARAM, _MODELS),
    Strict(("zero_optimization", "offload_optimizer"), OFFLOAD_OPTIMIZER, _MODELS),
    Strict(("fp16",), FP16, _MODELS_OF_PRECISION),
    Strict(("bf16",), BF16, _MODELS_OF_PRECISION),
    Strict(("bfloat16",), BF16, _MODELS_OF_PRECISION),
)


@dataclass(frozen=True, slots=True)
class Bound:
    """A row: what a value of the JSON may be. "auto" is filled in by accelerate or transformers."""

    path: tuple[str, ...]
    kind: Kind


_ZERO = "zero_optimization"
BOUNDS: tuple[Bound, ...] = (
    Bound((_ZERO, "stage"), Whole(0, 3, floats=True)),
    Bound((_ZERO, "offload_param", "device"), OneOf(OFFLOAD_DEVICES)),
    Bound((_ZERO, "offload_optimizer", "device"), OneOf(OFFLOAD_DEVICES)),
    Bound((_ZERO, "offload_param", "buffer_count"), Whole(0, floats=True)),
    Bound((_ZERO, "offload_optimizer", "buffer_count"), Whole(0, floats=True)),
    Bound((_ZERO, "reduce_bucket_size"), Amount(zero=False)),
    *(
        Bound((_ZERO, name), Amount())
        for name in (
            "allgather_bucket_size",
            "sub_group_size",
            "stage3_prefetch_bucket_size",
            "stage3_param_persistence_threshold",
            "stage3_max_live_parameters",
            "stage3_max_reuse_distance",
        )
    ),
    Bound(("train_batch_size",), Whole(1, floats=True)),
    Bound(("train_micro_batch_size_per_gpu",), Whole(1, floats=True)),
    Bound(("gradient_accumulation_steps",), Whole(1, floats=True)),
    Bound(("gradient_clipping",), Amount()),
    Bound(("fp16", "loss_scale"), Amount()),
)

# transformers 5.23.0 integrations/deepspeed.py, trainer_config_process and trainer_config_finalize: what is
# given both in TrainingArguments and in the JSON must be the same.
TRAINER_VALUES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("per_device_train_batch_size", ("train_micro_batch_size_per_gpu",)),
    ("gradient_accumulation_steps", ("gradient_accumulation_steps",)),
    ("max_grad_norm", ("gradient_clipping",)),
    ("learning_rate", ("optimizer", "params", "lr")),
    ("adam_epsilon", ("optimizer", "params", "eps")),
    ("weight_decay", ("optimizer", "params", "weight_decay")),
    ("learning_rate", ("scheduler", "params", "warmup_max_lr")),
)

SCHEDULES: dict[str, frozenset[str]] = {
    "WarmupLR": frozenset({"constant", "constant_with_warmup"}),
    "WarmupDecayLR": frozenset({"linear", "polynomial"}),
    "WarmupCosineLR": frozenset({"cosine"}),
}
"""DeepSpeed's schedulers (0.19.8 runtime/lr_schedules.py), and what transformers calls the same (5.23.0 optimization.py)."""

TRAINER_SCHEDULES = frozenset(
    {
        "linear", "cosine", "cosine_with_restarts", "polynomial", "constant", "constant_with_warmup",
        "inverse_sqrt", "reduce_lr_on_plateau", "cosine_with_min_lr", "warmup_stable_decay",
    }
)  # fmt: skip
"""Values of `--lr_scheduler_type` (transformers 5.23.0 trainer_utils.py: `SchedulerType`)."""
