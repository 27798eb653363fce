"""The configuration for each strategy: the values that accelerate's own questions lead to.

Values and their order of questions: accelerate 1.15.0, commands/config/cluster.py
(get_cluster_input); what is left out of the file: config_args.py, BaseConfig.to_dict drops None
and empty mappings. tests/hardware/test_config.py writes the same through accelerate's classes.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from distlint.hardware.accelerate_config.yaml_text import Value, document


class Strategy(enum.Enum):
    """How the processes share the work."""

    DDP = "ddp"
    FSDP = "fsdp"
    ZERO2 = "zero2"
    ZERO3 = "zero3"
    CPU = "cpu"


class Offload(enum.Enum):
    """What goes to the host's memory between its uses."""

    NONE = "none"
    OPTIMIZER = "optimizer"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Machines:
    """The machines of a job: how many, which one the file is for, where rank 0 listens."""

    count: int = 1
    rank: int = 0
    ip: str | None = None
    port: int = 29500


@dataclass(frozen=True, slots=True)
class Choice:
    """What the file is to say.

    Attributes:
        strategy: how the processes share the work.
        processes: number of processes, on all machines together.
        mixed_precision: no, fp16 or bf16.
        reason: why this number of processes and this precision: comments of the file.
        precision_reason: the same for the precision.
        machines: on which they run.
        offload: what goes to the host's memory.
        wrap: the classes of the model's blocks, for FSDP; empty takes the model's own list.
        accumulation: batches for each step of the optimizer.
    """

    strategy: Strategy
    processes: int
    mixed_precision: str
    reason: str
    precision_reason: str
    machines: Machines = Machines()
    offload: Offload = Offload.NONE
    wrap: tuple[str, ...] = ()
    accumulation: int = 1


def values_of(choice: Choice) -> dict[str, Value]:
    """The mapping that accelerate's ClusterConfig.to_dict() gives for this choice."""
    values: dict[str, Value] = {
        "compute_environment": "LOCAL_MACHINE",
        "debug": False,
        "distributed_type": _distributed_type(choice),
        "downcast_bf16": "no",
        "enable_cpu_affinity": False,
        "machine_rank": choice.machines.rank,
        "main_training_function": "main",
        "mixed_precision": choice.mixed_precision,
        "num_machines": choice.machines.count,
        "num_processes": choice.processes,
        "rdzv_backend": "static",
        "same_network": True,
        "tpu_env": [],
        "tpu_use_cluster": False,
        "tpu_use_sudo": False,
        "use_cpu": choice.strategy is Strategy.CPU,
    }
    if choice.machines.count > 1:
        values["main_process_ip"] = choice.machines.ip
        values["main_process_port"] = choice.machines.port
    if choice.strategy is Strategy.DDP:
        values["gpu_ids"] = "all"
    if choice.strategy is Strategy.FSDP:
        fsdp: dict[str, Value] = {
            "fsdp_activation_checkpointing": False,
            "fsdp_auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
            "fsdp_cpu_ram_efficient_loading": True,
            "fsdp_offload_params": choice.offload is Offload.ALL,
            "fsdp_reshard_after_forward": True,
            "fsdp_state_dict_type": "SHARDED_STATE_DICT",
            "fsdp_version": 2,
        }
        if choice.wrap:
            fsdp["fsdp_transformer_layer_cls_to_wrap"] = ",".join(choice.wrap)
        values["fsdp_config"] = fsdp
    if choice.strategy in (Strategy.ZERO2, Strategy.ZERO3):
        deepspeed: dict[str, Value] = {
            "gradient_accumulation_steps": choice.accumulation,
            "offload_optimizer_device": "none" if choice.offload is Offload.NONE else "cpu",
            "offload_param_device": "cpu" if choice.offload is Offload.ALL else "none",
            "zero3_init_flag": choice.strategy is Strategy.ZERO3,
            "zero_stage": 3 if choice.strategy is Strategy.ZERO3 else 2,
        }
        if choice.strategy is Strategy.ZERO3:
            deepspeed["zero3_save_16bit_model"] = True
        if choice.machines.count > 1:
            # Each machine starts its own processes; the others go over ssh and need a hostfile.
            deepspeed["deepspeed_multinode_launcher"] = "standard"
        values["deepspeed_config"] = deepspeed
    return values


def text_of(choice: Choice) -> str:
    """The configuration file, with comments that say why."""
    return document(values_of(choice), _comments(choice), _head(choice))


def _distributed_type(choice: Choice) -> str:
    match choice.strategy:
        case Strategy.FSDP:
            return "FSDP"
        case Strategy.ZERO2 | Strategy.ZERO3:
            return "DEEPSPEED"
        # accelerate's questions refuse MULTI_GPU with one process (get_cluster_input).
        case Strategy.DDP:
            return "MULTI_GPU" if choice.processes > 1 else "NO"
        case Strategy.CPU:
            return "MULTI_CPU" if choice.processes > 1 else "NO"


def _head(choice: Choice) -> str:
    if choice.strategy is Strategy.CPU and choice.processes > 1:
        return (
            "accelerate launch starts ONE process with a MULTI_CPU configuration unless it runs\n"
            "mpirun (accelerate 1.15.0, commands/launch.py: simple_launcher). For "
            f"{choice.processes} processes:\n"
            f"  ACCELERATE_USE_CPU=true torchrun --nproc-per-node {choice.processes} train.py"
        )
    start = "accelerate launch --config_file THIS_FILE train.py"
    if choice.accumulation > 1 and choice.strategy not in (Strategy.ZERO2, Strategy.ZERO3):
        # The file has no place for it outside DeepSpeed (accelerator.py: Accelerator.__init__).
        start = f"ACCELERATE_GRADIENT_ACCUMULATION_STEPS={choice.accumulation} {start}"
    if choice.machines.count > 1:
        return f"Start on every machine, with its own --machine_rank:\n  {start}"
    return f"Start with: {start}"


def _comments(choice: Choice) -> dict[str, str]:
    comments = {
        "num_processes": choice.reason,
        "mixed_precision": choice.precision_reason,
        "downcast_bf16": "For TPUs only.",
        "debug": "true checks the shapes of every collective first: slow, and finds a hang's cause.",
        "machine_rank": "With more machines: 0 here, 1 on the next; and main_process_ip, _port.",
    }
    if choice.machines.count > 1:
        comments["machine_rank"] = "Another on each machine: 0 where rank 0 runs."
        comments["main_process_ip"] = "Where the other machines reach rank 0's."
    match choice.strategy:
        case Strategy.DDP if choice.processes > 1:
            comments["distributed_type"] = (
                "DDP: every GPU holds the whole model, gradients are averaged."
            )
        case Strategy.DDP:
            comments["distributed_type"] = "One GPU: nothing to distribute."
        case Strategy.CPU if choice.processes > 1:
            comments["use_cpu"] = "Without it accelerate looks for GPUs in every process."
        case Strategy.CPU:
            comments["distributed_type"] = "One process on the CPU."
        case Strategy.FSDP:
            comments["distributed_type"] = (
                "FSDP: weights, gradients and optimizer state are divided among the GPUs."
            )
            comments |= {
                "fsdp_config.fsdp_version": (
                    "2 shards each parameter by itself (fully_shard); accelerate assumes 1 without it."
                ),
                "fsdp_config.fsdp_reshard_after_forward": (
                    "true frees a block's weights after its forward (FULL_SHARD); false keeps them\n"
                    "until backward (SHARD_GRAD_OP): 2 more bytes a parameter, fewer gathers."
                ),
                "fsdp_config.fsdp_auto_wrap_policy": (
                    "Wraps the blocks in the model's _no_split_modules. For a model that has none:\n"
                    "fsdp_transformer_layer_cls_to_wrap: NameOfTheBlock"
                ),
                "fsdp_config.fsdp_state_dict_type": (
                    "Every rank saves its shard: fast, and no rank needs memory for all of it."
                ),
                "fsdp_config.fsdp_cpu_ram_efficient_loading": (
                    "Only rank 0 reads the checkpoint, the others receive it (transformers models)."
                ),
                "fsdp_config.fsdp_offload_params": (
                    "true moves weights, gradients and optimizer to the host: it fits, and is slow."
                ),
                "fsdp_config.fsdp_activation_checkpointing": (
                    "true recomputes activations block by block: less memory, more compute."
                ),
            }
        case Strategy.ZERO2 | Strategy.ZERO3:
            stage = 3 if choice.strategy is Strategy.ZERO3 else 2
            comments["distributed_type"] = (
                "DeepSpeed ZeRO-3: weights, gradients and optimizer state are divided."
                if stage == 3
                else "DeepSpeed ZeRO-2: gradients and optimizer state are divided, weights are whole."
            )
            comments |= {
                "deepspeed_config.gradient_accumulation_steps": (
                    "Must be what the script passes to Accelerator."
                ),
                "deepspeed_config.offload_optimizer_device": (
                    "cpu steps the optimizer on the host: 12 bytes a parameter less on the GPUs."
                ),
                "deepspeed_config.zero3_init_flag": (
                    "Builds a transformers model sharded from the start (deepspeed.zero.Init)."
                    if stage == 3
                    else "For ZeRO-3 only."
                ),
            }
            if stage == 3:
                comments["deepspeed_config.zero3_save_16bit_model"] = (
                    "Without it save_pretrained finds empty weights: they are gathered on saving."
                )
    return comments
