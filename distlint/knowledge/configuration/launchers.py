"""The launchers: what a command line must name to start one, and which of its options take no value.

Read in torch 2.13.0 (distributed/run.py, distributed/launch.py), accelerate 1.15.0 (commands/launch.py,
launch_command_parser) and deepspeed 0.19.8 (launcher/runner.py). tests/launch/test_launch_commands.py compares the
first two with what is installed. Options are compared with `_` for `-`, as the first two take both. Options that are gone
by then are those of accelerate 0.5.1 to 1.10.1, torch 1.8 and EleutherAI's DeeperSpeed 65d9f99.
"""

from __future__ import annotations

import enum
import itertools

from distlint.records import dataclass


class Launcher(enum.Enum):
    """What starts the processes."""

    TORCHRUN = "torchrun"
    TORCH_LAUNCH = "torch.distributed.launch"
    ACCELERATE = "accelerate launch"
    DEEPSPEED = "deepspeed"


OF_TORCH = frozenset({Launcher.TORCHRUN, Launcher.TORCH_LAUNCH})


@dataclass(frozen=True, slots=True)
class Row:
    """A launcher.

    Attributes:
        launcher: which one.
        program: the name of its command, and the words that must follow; empty where it has none.
        module: the module that `python -m` starts.
        flags: the options without a value.
        others: those of any version that take one, or none any more.
        processes: the option that says how many processes it starts, on each machine or (accelerate) in all.
        machines: the option that says how many machines there are.
        hyphens: whether it takes `-` for `_` in names.
    """

    launcher: Launcher
    program: tuple[str, ...]
    module: str
    flags: frozenset[str]
    others: frozenset[str]
    processes: tuple[str, ...]
    machines: str
    hyphens: bool = True


_TORCHRUN_FLAGS = frozenset(
    {"standalone", "m", "module", "no_python", "run_path", "virtual_local_rank", "h", "help"}
)

_TORCHRUN_VALUES = """
    duplicate_stderr_filters duplicate_stdout_filters event_log_handler local_addr
    local_ranks_filter log_dir logdir logs_specs master_addr master_port max_restarts
    monitor_interval nnodes node_rank nproc_per_node numa_binding r rdzv_backend rdzv_conf
    rdzv_endpoint rdzv_id redirects role shutdown_timeout signals_to_handle start_method t tee
"""
_ACCELERATE_VALUES = """
    aws_access_key_id aws_secret_access_key config_file deepspeed_config_file
    deepspeed_exclusion_filter deepspeed_fields_from_accelerate_config deepspeed_hostfile
    deepspeed_inclusion_filter deepspeed_moe_layer_cls_names deepspeed_multinode_launcher
    dynamo_backend dynamo_mode env fp8_amax_compute_algo fp8_amax_history_len fp8_backend
    fp8_enable_fsdp_float8_all_gather fp8_format fp8_interval fp8_margin fp8_opt_level
    fp8_override_linear_precision fp8_pad_inner_dim fsdp_activation_checkpointing
    fsdp_activation_checkpointing_offload fsdp_auto_wrap_policy fsdp_backward_prefetch
    fsdp_backward_prefetch_policy fsdp_cpu_ram_efficient_loading fsdp_forward_prefetch
    fsdp_min_num_params fsdp_offload_params fsdp_reshard_after_forward fsdp_sharding_strategy
    fsdp_state_dict_type fsdp_sync_module_states fsdp_transformer_layer_cls_to_wrap
    fsdp_use_orig_params fsdp_version gpu_ids gradient_accumulation_steps gradient_clipping
    log_dir machine_rank main_process_ip main_process_port main_training_function max_restarts
    megatron_lm_attention_backend megatron_lm_attention_dropout
    megatron_lm_attention_softmax_in_fp32 megatron_lm_calculate_per_token_loss
    megatron_lm_context_parallel_size megatron_lm_decoder_last_pipeline_num_layers
    megatron_lm_eod_mask_loss megatron_lm_expert_model_parallel_size
    megatron_lm_expert_tensor_parallel_size megatron_lm_gradient_clipping
    megatron_lm_hidden_dropout megatron_lm_no_load_optim megatron_lm_no_save_optim
    megatron_lm_num_micro_batches megatron_lm_optimizer_cpu_offload
    megatron_lm_overlap_cpu_optimizer_d2h_h2d megatron_lm_pp_degree
    megatron_lm_recompute_activations megatron_lm_recompute_granularity
    megatron_lm_recompute_method megatron_lm_recompute_num_layers
    megatron_lm_sequence_parallelism megatron_lm_tp_degree megatron_lm_use_custom_fsdp
    megatron_lm_use_distributed_optimizer megatron_lm_use_precision_aware_optimizer
    megatron_lm_use_rotary_position_embeddings min_num_params mixed_precision monitor_interval
    mpirun_ccl mpirun_hostfile num_cpu_threads_per_process num_machines num_processes
    offload_optimizer_device offload_optimizer_nvme_path offload_param_device
    offload_param_nvme_path offload_params parallelism_config_cp_backend
    parallelism_config_cp_comm_strategy parallelism_config_cp_size
    parallelism_config_dp_replicate_size parallelism_config_dp_shard_size
    parallelism_config_sp_attn_implementation parallelism_config_sp_backend
    parallelism_config_sp_seq_length parallelism_config_sp_seq_length_is_variable
    parallelism_config_sp_size parallelism_config_tp_size rdzv_backend rdzv_conf role
    sharding_strategy t tee tp_size transformer_layer_cls_to_wrap vm zero3_init_flag
    zero3_save_16bit_model zero_stage ipex mps use_tp use_ipex
"""
_DEEPSPEED_VALUES = """
    H hostfile i include e exclude num_nodes num_gpus num_accelerators master_port master_addr
    node_rank launcher launcher_args enable_each_rank_log autotuning bind_core_list ssh_port
    venv_script log_level min_elastic_nodes max_elastic_nodes comment account
"""

LAUNCHERS: tuple[Row, ...] = (
    Row(
        Launcher.TORCHRUN,
        ("torchrun",),
        "torch.distributed.run",
        _TORCHRUN_FLAGS,
        frozenset(_TORCHRUN_VALUES.split()),
        ("nproc_per_node",),
        "nnodes",
    ),
    Row(
        Launcher.TORCH_LAUNCH,
        (),
        "torch.distributed.launch",
        _TORCHRUN_FLAGS | {"use_env"},
        frozenset(_TORCHRUN_VALUES.split()),
        ("nproc_per_node",),
        "nnodes",
    ),
    Row(
        Launcher.ACCELERATE,
        ("accelerate", "launch"),
        "accelerate.commands.launch",
        frozenset(
            {
                "h",
                "help",
                "quiet",
                "q",
                "cpu",
                "multi_gpu",
                "tpu",
                "enable_cpu_affinity",
                "dynamo_use_fullgraph",
                "dynamo_use_dynamic",
                "dynamo_use_regional_compilation",
                "use_deepspeed",
                "use_fsdp",
                "use_parallelism_config",
                "use_megatron_lm",
                "use_mps_device",
                "use_xpu",
                "same_network",
                "m",
                "module",
                "no_python",
                "tpu_cluster",
                "no_tpu_cluster",
                "tpu_use_sudo",
                "downcast_bf16",
                "fp8_use_autocast_during_eval",
                "debug",
                "fp16",
                "cpu_bind",
            }
        ),
        frozenset(_ACCELERATE_VALUES.split()),
        ("num_processes",),
        "num_machines",
    ),
    Row(
        Launcher.DEEPSPEED,
        ("deepspeed",),
        "deepspeed.launcher.runner",
        frozenset(
            {
                "module",
                "no_python",
                "no_local_rank",
                "no_ssh",
                "no_ssh_check",
                "force_multi",
                "save_pid",
                "bind_cores_to_rank",
                "elastic_training",
                "quiet",
                "q",
                "h",
                "help",
            }
        ),
        frozenset(_DEEPSPEED_VALUES.split()),
        ("num_gpus", "num_accelerators"),
        "num_nodes",
        hyphens=False,
    ),
)

EXCLUSIVE: dict[Launcher, tuple[frozenset[str], ...]] = {
    # accelerate 1.15.0 commands/launch.py `_validate_launch_command`; "cpu" and "tpu" are older than the others.
    Launcher.ACCELERATE: tuple(
        frozenset(pair)
        for pair in itertools.combinations(
            ("multi_gpu", "cpu", "tpu", "use_deepspeed", "use_fsdp"), 2
        )
    ),
    # deepspeed 0.19.8 launcher/runner.py `main`, `parse_resource_filter`
    Launcher.DEEPSPEED: tuple(
        frozenset(pair)
        for pair in (
            *itertools.product(
                ("num_gpus", "num_accelerators", "num_nodes"), ("i", "include", "e", "exclude")
            ),
            *itertools.product(("i", "include"), ("e", "exclude")),
        )
    ),
}
"""The pairs of options with which a launcher raises a `ValueError`."""


@dataclass(frozen=True, slots=True)
class Counted:
    """A row: how programs that start their own processes are told of several machines, and where these meet.

    `beside` is an option without which the number is one of processes.
    """

    machines: str
    address: str
    beside: str = ""


COUNTED: tuple[Counted, ...] = (
    # facebookresearch/SlowFast slowfast/utils/parser.py, slowfast/utils/multiprocessing.py: world_size = num_proc * num_shards
    Counted("num_shards", "init_method"),
    # facebookresearch/detectron2 detectron2/engine/defaults.py and launch.py
    Counted("num_machines", "dist_url"),
    # pytorch/examples imagenet/main.py: "number of nodes for distributed training"
    Counted("world_size", "dist_url", "multiprocessing_distributed"),
)
"""Of programs that spawn: options with `_` for `-`."""

STARTS_BY_FILE: frozenset[tuple[str, str]] = frozenset(
    {
        # llamafactory 0.9.3 cli.py `main` starts torchrun on all GPUs, hparams/parser.py `read_args` reads the file
        ("llamafactory-cli", "train"),
        ("lmf", "train"),
    }
)
"""Commands that start a process for each GPU, and read all they are told from the file that stands behind their names."""

PORTS = frozenset({"master_port", "main_process_port"})
"""The options that name the port of the rendezvous."""

PORT_VARIABLES = frozenset({"MASTER_PORT"})

DDP_BYTES = 16
"""What DDP keeps for each parameter with Adam: hardware/memory/strategies.py and optimizers.py, which are checked
against real bytes; tests/launch/test_launch_commands.py compares."""


_OF_TORCHRUN = frozenset(
    {"GROUP_RANK", "GROUP_WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "RANK", "WORLD_SIZE"}
)

SET_BY: dict[Launcher, frozenset[str]] = {
    # torch 2.13.0 distributed/elastic/agent/server/local_elastic_agent.py; distributed/launch.py runs the same.
    Launcher.TORCHRUN: _OF_TORCHRUN,
    Launcher.TORCH_LAUNCH: _OF_TORCHRUN,
    # accelerate 1.15.0 commands/launch.py hands several processes to torchrun, DeepSpeed on several machines to its own.
    Launcher.ACCELERATE: _OF_TORCHRUN,
    # deepspeed 0.19.8 launcher/launch.py
    Launcher.DEEPSPEED: frozenset(
        {"CROSS_RANK", "CROSS_SIZE", "LOCAL_RANK", "LOCAL_SIZE", "RANK", "WORLD_SIZE"}
    ),
}
"""The variables about ranks and sizes that each launcher sets for the processes that it starts."""

OF_LIGHTNING: frozenset[str] = frozenset(
    {"MASTER_ADDR", "MASTER_PORT", "NODE_RANK", "LOCAL_RANK", "WORLD_SIZE"}
)
"""What `fit` sets for the processes that it starts: pytorch-lightning 2.6.6 lightning_fabric/plugins/environments/lightning.py,
lightning_fabric/strategies/launchers/subprocess_script.py."""

TORCHRUN_NAMES: dict[str, str] = {
    "LOCAL_SIZE": "LOCAL_WORLD_SIZE",
    "NPROC_PER_NODE": "LOCAL_WORLD_SIZE",
    "NGPUS_PER_NODE": "LOCAL_WORLD_SIZE",
    "GPUS_PER_NODE": "LOCAL_WORLD_SIZE",
    "N_GPU_NODE": "LOCAL_WORLD_SIZE",
    "NODE_RANK": "GROUP_RANK",
    "NODE_ID": "GROUP_RANK",
    "NNODES": "GROUP_WORLD_SIZE",
    "N_NODES": "GROUP_WORLD_SIZE",
    "NUM_NODES": "GROUP_WORLD_SIZE",
    "NODES": "GROUP_WORLD_SIZE",
}
"""Names under which programs look for what torchrun calls otherwise: of other launchers, clusters and scripts."""

NUMBERS = frozenset(
    {
        "machine_rank",
        "main_process_port",
        "master_port",
        "nnodes",
        "node_rank",
        "nproc_per_node",
        "num_gpus",
        "num_machines",
        "num_nodes",
        "num_processes",
    }
)
"""The options that end a launcher where they are given no number."""
