"""accelerate's configuration: valid, made for this hardware, its sections going together."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from distlint.hardware.accelerate_config import keys
from distlint.hardware.doctor.check import Check, Result, error, ok, skipped, warning
from distlint.hardware.doctor.machine import ConfigFile, Machine, Unknown

_WRITE_ONE = "distlint config -o accelerate.yaml writes one for this machine."


def configuration(machine: Machine) -> Iterator[Result]:
    """Present, readable, with known keys and values."""
    file = _file(machine)
    if isinstance(file, Unknown):
        yield (
            skipped(file.reason)
            if not file.failed
            else error(
                file.reason,
                "accelerate launch reads the same file and hangs.",
                "look at the mount.",
            )
        )
        return
    if file.missing and file.source == "--config-file":
        yield error(
            f"{file.path}: no such file",
            "accelerate launch --config_file fails on it.",
            "name an existing file; " + _WRITE_ONE,
        )
    elif file.missing:
        yield ok(f"no {file.path}: accelerate launch uses its defaults and its arguments")
    elif file.unread:
        yield skipped(f"{file.path} is there and cannot be read here: {file.unread}")
    elif file.problem:
        yield error(f"{file.path} {file.problem}", "accelerate launch fails on it.", _WRITE_ONE)
    elif "compute_environment" in file.values and (
        file.values["compute_environment"] == "AMAZON_SAGEMAKER"
    ):
        yield skipped(f"{file.path} is for SageMaker, which starts its own machines")
    else:
        problems = list(_values(file.path, file.values))
        distributed = file.values.get("distributed_type")
        yield from problems or [
            ok(f"{file.path}: {distributed}, {file.values.get('num_processes', 1)} processes")
        ]


def _values(path: str, values: Mapping[str, Any]) -> Iterator[Result]:
    unknown = sorted(str(key) for key in values if key not in keys.CLUSTER_KEYS)
    if unknown:
        yield error(
            f"{path}: unknown {_named(unknown, keys.CLUSTER_KEYS)}",
            f"accelerate {keys.ACCELERATE_VERSION} refuses a configuration with unknown keys.",
            "correct or remove them (a newer accelerate may know them).",
        )
    distributed = values.get("distributed_type")
    if distributed is None:
        yield error(
            f"{path} has no distributed_type",
            "accelerate launch raises ValueError before it starts anything.",
            "distributed_type: MULTI_GPU, FSDP, DEEPSPEED or 'NO'.",
        )
    elif distributed is False:
        yield warning(
            f"{path}: distributed_type: NO is the boolean false in YAML",
            "accelerate finds no type that matches it and starts one process, by luck.",
            "quote it: distributed_type: 'NO'",
        )
    elif distributed not in keys.DISTRIBUTED_TYPES:
        yield error(
            f"{path}: distributed_type is {distributed!r}",
            "accelerate fails on the value.",
            f"one of {', '.join(sorted(keys.DISTRIBUTED_TYPES))}.",
        )
    precision = values.get("mixed_precision")
    if precision is False:
        yield error(
            f"{path}: mixed_precision: no is the boolean false in YAML",
            "accelerate calls .lower() on it and fails.",
            "quote it: mixed_precision: 'no'",
        )
    elif precision is not None and precision not in keys.MIXED_PRECISIONS:
        yield error(
            f"{path}: mixed_precision is {precision!r}",
            "accelerate launch raises ValueError.",
            "one of 'no', fp16, bf16, fp8.",
        )
    yield from _numbers(path, values)


def _numbers(path: str, values: Mapping[str, Any]) -> Iterator[Result]:
    processes, machines = values.get("num_processes", -1), values.get("num_machines", 1)
    rank = values.get("machine_rank", 0)
    for name, value in (("num_processes", processes), ("num_machines", machines)):
        if not isinstance(value, int) or isinstance(value, bool):
            yield error(
                f"{path}: {name} is {value!r}", "accelerate needs a number.", f"{name}: 1 or more."
            )
            return
    if processes < 1 and values.get("distributed_type") != "NO":
        yield warning(
            f"{path} has no num_processes",
            "accelerate launch stops unless --num_processes is given.",
            "add num_processes.",
        )
    elif machines > 1 and processes % machines:
        yield error(
            f"{path}: {processes} processes on {machines} machines",
            f"accelerate starts {processes // machines} on each and drops the rest: the ranks "
            f"wait for {processes} and never start.",
            "make num_processes a multiple of num_machines: it counts all machines.",
        )
    if machines > 1 and isinstance(rank, int) and not 0 <= rank < machines:
        yield error(
            f"{path}: machine_rank {rank} of {machines} machines",
            "the rendezvous waits for a machine that does not exist.",
            f"machine_rank: 0 to {machines - 1}, another on each machine.",
        )
    if machines > 1 and not values.get("main_process_ip"):
        yield error(
            f"{path}: {machines} machines and no main_process_ip",
            "the machines cannot find rank 0.",
            "main_process_ip: the address of the machine of rank 0; and main_process_port.",
        )


def on_this_hardware(machine: Machine) -> Iterator[Result]:
    """What the configuration starts, on the hardware that is there."""
    file = _file(machine)
    values = machine.accelerate
    distributed = values.get("distributed_type")
    if isinstance(file, Unknown) or not values or distributed not in keys.DISTRIBUTED_TYPES:
        yield skipped("no valid configuration")
        return
    found = list(_against_hardware(machine, file.path, values, str(distributed)))
    yield from found or [ok(f"{file.path} goes with this machine")]


def _against_hardware(
    machine: Machine, path: str, values: Mapping[str, Any], distributed: str
) -> Iterator[Result]:
    processes, there = machine.processes or 1, machine.gpu_count
    total = values.get("num_processes", 1)
    if distributed == "MULTI_CPU" and not values.get("mpirun_config") and total > 1:
        yield error(
            f"{path}: MULTI_CPU with {total} processes and no mpirun_config",
            "accelerate launch starts ONE process with it (launch.py: simple_launcher), which "
            "trains alone on all the data.",
            f"ACCELERATE_USE_CPU=true torchrun --nproc-per-node {total} train.py; or set "
            "mpirun_config.",
        )
    elif distributed == "NO" and isinstance(total, int) and total > 1:
        yield error(
            f"{path}: distributed_type 'NO' with {total} processes",
            "accelerate launch starts one process.",
            "distributed_type: MULTI_GPU",
        )
    elif values.get("use_cpu") is True and distributed in keys.STARTS_SEVERAL:
        yield error(
            f"{path}: use_cpu: true with {distributed}",
            "accelerate starts the processes, and each of them looks for GPUs all the same.",
            "remove use_cpu, or use distributed_type MULTI_CPU.",
        )
    elif (
        distributed in keys.ON_CUDA and processes > there and not isinstance(machine.gpus, Unknown)
    ):
        kind = "none is" if there == 0 else f"{there} {'is' if there == 1 else 'are'}"
        yield error(
            f"{path} starts {processes} processes on GPUs; {kind} visible",
            "each process believes it is the main one and trains alone, without a word."
            if there == 0
            else f"rank {there} shares GPU 0 with rank 0 (accelerate takes local rank % {there}).",
            f"num_processes: {there}" if there else _WRITE_ONE,
        )
    ids = values.get("gpu_ids")
    if isinstance(ids, int):
        yield error(
            f"{path}: gpu_ids: {ids} is a number in YAML",
            "accelerate splits it as text and fails.",
            f"quote it: gpu_ids: '{ids}'",
        )
    elif isinstance(ids, str) and ids not in ("all", "") and distributed == "MULTI_GPU":
        named = [e for e in ids.split(",") if e.strip()]
        if len(named) < 2 and values.get("num_machines", 1) == 1:
            yield error(
                f"{path}: gpu_ids is {ids} with MULTI_GPU",
                "accelerate launch refuses fewer than two GPUs.",
                "gpu_ids: all, or name as many as num_processes.",
            )
        elif len(named) < processes:
            yield error(
                f"{path}: gpu_ids names {len(named)} GPUs for {processes} processes",
                f"rank {len(named)} shares a GPU with rank 0.",
                "name as many GPUs as processes.",
            )
        if "CUDA_VISIBLE_DEVICES" in machine.environ:
            yield warning(
                f"{path}: gpu_ids is {ids}, and CUDA_VISIBLE_DEVICES="
                f"{machine.environ['CUDA_VISIBLE_DEVICES']} is set",
                "accelerate launch overwrites the variable with gpu_ids: other GPUs than you (or "
                "your scheduler) chose.",
                "gpu_ids: all",
            )
    oldest = min((gpu.compute for gpu in machine.visible if gpu.compute > (0, 0)), default=None)
    precision = values.get("mixed_precision")
    if oldest is not None and precision == "bf16" and oldest < (8, 0):
        yield warning(
            f"{path}: bf16 on a GPU of compute capability {oldest[0]}.{oldest[1]}",
            "bf16 is emulated there: slower than fp32.",
            "mixed_precision: fp16",
        )
    elif oldest is not None and precision == "fp8" and oldest < (8, 9):
        yield error(
            f"{path}: fp8 on a GPU of compute capability {oldest[0]}.{oldest[1]}",
            "accelerate falls back to fp16 with one line in the log.",
            "mixed_precision: bf16",
        )
    elif precision == "fp16" and there == 0:
        yield warning(
            f"{path}: fp16 without a GPU",
            "there is no loss scaling on the CPU, and many operations have no fp16.",
            "mixed_precision: 'no' or bf16",
        )


def sections(machine: Machine) -> Iterator[Result]:
    """The sections against distributed_type, and what is in them."""
    file = _file(machine)
    values = machine.accelerate
    if isinstance(file, Unknown) or not values:
        yield skipped("no configuration")
        return
    found = list(_sections(file.path, values))
    yield from found or [ok(f"{file.path}: sections and distributed_type go together")]


def _sections(path: str, values: Mapping[str, Any]) -> Iterator[Result]:
    distributed = values.get("distributed_type")
    for section in keys.SECTIONS:
        if values.get(section.key) and distributed not in section.types:
            yield warning(
                f"{path}: {section.key} with distributed_type {distributed}",
                "the section is not read: what it asks for does not happen.",
                f"distributed_type: {' or '.join(sorted(section.types))}, or remove the section.",
            )
    for key, known in keys.SECTION_KEYS.items():
        section_values = values.get(key)
        if section_values is not None and not isinstance(section_values, dict):
            yield error(
                f"{path}: {key} is {section_values!r}", "it must be a mapping.", "indent its keys."
            )
        elif isinstance(section_values, dict):
            prefixed = [
                str(k) if key != "fsdp_config" or str(k).startswith("fsdp") else f"fsdp_{k}"
                for k in section_values
            ]
            unknown = sorted(k for k in prefixed if k not in known)
            if unknown:
                yield warning(
                    f"{path}: {key} has unknown {_named(unknown, known)}",
                    "accelerate takes unknown keys of a section and never reads them.",
                    "correct or remove them.",
                )
    if values.get("fp8_config") and values.get("mixed_precision") != "fp8":
        yield warning(
            f"{path}: fp8_config with mixed_precision {values.get('mixed_precision')!r}",
            "fp8 is not switched on.",
            "mixed_precision: fp8, or remove the section.",
        )
    fsdp = values.get("fsdp_config")
    if distributed == "FSDP":
        yield from _fsdp(path, fsdp if isinstance(fsdp, dict) else {}, values)


def _fsdp(path: str, section: Mapping[str, Any], values: Mapping[str, Any]) -> Iterator[Result]:
    """The section of FSDP by its version (utils/dataclasses.py, FullyShardedDataParallelPlugin)."""
    fsdp = {k if str(k).startswith("fsdp") else f"fsdp_{k}": v for k, v in section.items()}
    version = fsdp.get("fsdp_version", 1)
    if version not in (1, 2):
        yield error(f"{path}: fsdp_version is {version!r}", "there are 1 and 2.", "fsdp_version: 2")
        return
    reshard = fsdp.get("fsdp_reshard_after_forward")
    if version == 2 and isinstance(reshard, str) and reshard.lower() not in ("true", "false"):
        yield error(
            f"{path}: fsdp_reshard_after_forward is {reshard!r} with fsdp_version 2",
            "version 2 takes true or false; accelerate raises ValueError on every rank.",
            "true for FULL_SHARD, false for SHARD_GRAD_OP.",
        )
    # Found by running it: `accelerate config` asks for fsdp_reshard_after_forward under version 1
    # too, but launch.py always sets FSDP_SHARDING_STRATEGY (FULL_SHARD by default), and the plugin
    # looks at RESHARD_AFTER_FORWARD only where no sharding strategy is set.
    strategy = fsdp.get("fsdp_sharding_strategy", "FULL_SHARD")
    if version == 1 and reshard is not None and reshard not in (strategy, True):
        yield warning(
            f"{path}: fsdp_reshard_after_forward is {_plain(reshard)} with fsdp_version 1",
            f"accelerate launch does not read it there: the strategy is {strategy}.",
            f"fsdp_sharding_strategy: {_strategy(reshard)}, or fsdp_version: 2",
        )
    if version == 2:
        old = [key for key in keys.FSDP1_ONLY if key in fsdp]
        if old:
            yield warning(
                f"{path}: {', '.join(old)} with fsdp_version 2",
                "accelerate drops them with a warning: FSDP2 has no such setting.",
                "remove them.",
            )
        if str(fsdp.get("fsdp_forward_prefetch", "false")).lower() == "true":
            yield warning(
                f"{path}: fsdp_forward_prefetch with fsdp_version 2",
                "FSDP2 has no such setting in accelerate.",
                "remove it.",
            )
    state_dict = fsdp.get("fsdp_state_dict_type")
    if state_dict is not None and state_dict not in keys.FSDP_STATE_DICTS[version]:
        yield error(
            f"{path}: fsdp_state_dict_type is {state_dict!r} with fsdp_version {version}",
            "saving fails on every rank.",
            f"one of {', '.join(keys.FSDP_STATE_DICTS[version])}.",
        )
    policy = fsdp.get("fsdp_auto_wrap_policy")
    if policy is not None and str(policy).upper() not in keys.FSDP_WRAP_POLICIES:
        yield error(
            f"{path}: fsdp_auto_wrap_policy is {policy!r}",
            "accelerate raises ValueError on every rank.",
            f"one of {', '.join(keys.FSDP_WRAP_POLICIES)}.",
        )
    elif policy is None or str(policy).upper() == "NO_WRAP":
        yield warning(
            f"{path}: no fsdp_auto_wrap_policy",
            "the model is one FSDP unit: all of it is gathered at once, which saves no memory "
            "in forward and backward.",
            "fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP",
        )
    if (
        version == 1
        and _true(fsdp.get("fsdp_cpu_ram_efficient_loading"))
        and "fsdp_sync_module_states" in fsdp
        and not _true(fsdp["fsdp_sync_module_states"])
    ):
        yield error(
            f"{path}: fsdp_cpu_ram_efficient_loading without fsdp_sync_module_states",
            "only rank 0 loads the weights and nobody gets them; accelerate launch refuses it.",
            "fsdp_sync_module_states: true",
        )
    if values.get("parallelism_config") and version == 1:
        yield error(
            f"{path}: parallelism_config with fsdp_version 1",
            "accelerate launch raises ValueError.",
            "fsdp_version: 2",
        )


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _strategy(reshard: object) -> str:
    return "SHARD_GRAD_OP" if reshard is False else str(reshard)


def _true(value: object) -> bool:
    return str(value).lower() in ("true", "1", "yes", "y", "on")


def _file(machine: Machine) -> ConfigFile | Unknown:
    return machine.config if isinstance(machine.config, Unknown) else machine.config.accelerate


def _named(unknown: list[str], known: frozenset[str]) -> str:
    """Unknown keys, each with the known one that it resembles."""
    said = []
    for key in unknown:
        near = difflib.get_close_matches(key, known, n=1, cutoff=0.75)
        said.append(f"{key} (did you mean {near[0]}?)" if near else key)
    return ("key " if len(said) == 1 else "keys ") + ", ".join(said)


CHECKS = (
    Check("accelerate-config", "accelerate", configuration),
    Check("config-on-this-machine", "accelerate", on_this_hardware),
    Check("config-sections", "accelerate", sections),
)
