"""The launchers: what a command line must name to start one, and which of its options take no value.

Read in torch 2.13.0 (distributed/run.py, distributed/launch.py), accelerate 1.15.0 (commands/launch.py,
launch_command_parser) and deepspeed 0.19.8 (launcher/runner.py). tests/launch/test_launch_commands.py compares the
first two with what is installed. Options are compared with `_` for `-`, as all three take both.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Launcher(enum.Enum):
    """What starts the processes."""

    TORCHRUN = "torchrun"
    TORCH_LAUNCH = "torch.distributed.launch"
    ACCELERATE = "accelerate launch"
    DEEPSPEED = "deepspeed"


@dataclass(frozen=True, slots=True)
class Row:
    """A launcher.

    Attributes:
        launcher: which one.
        program: the name of its command, and the words that must follow; empty where it has none.
        module: the module that `python -m` starts.
        flags: the options without a value.
        processes: the option that says how many processes it starts, on each machine or (accelerate) in all.
        machines: the option that says how many machines there are.
    """

    launcher: Launcher
    program: tuple[str, ...]
    module: str
    flags: frozenset[str]
    processes: tuple[str, ...]
    machines: str


_TORCHRUN_FLAGS = frozenset(
    {"standalone", "m", "module", "no_python", "run_path", "virtual_local_rank", "h", "help"}
)

LAUNCHERS: tuple[Row, ...] = (
    Row(
        Launcher.TORCHRUN,
        ("torchrun",),
        "torch.distributed.run",
        _TORCHRUN_FLAGS,
        ("nproc_per_node",),
        "nnodes",
    ),
    Row(
        Launcher.TORCH_LAUNCH,
        (),
        "torch.distributed.launch",
        _TORCHRUN_FLAGS | {"use_env"},
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
                "quiet",
                "q",
                "h",
                "help",
            }
        ),
        ("num_gpus", "num_accelerators"),
        "num_nodes",
    ),
)


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
}
"""Names under which programs look for what torchrun calls otherwise: of other launchers, clusters and scripts."""
