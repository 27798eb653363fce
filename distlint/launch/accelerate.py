"""accelerate's configuration against itself: keys, values, sections, and what goes together."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from distlint.knowledge.configuration import keys
from distlint.knowledge.configuration.values import (
    fsdp_version,
    full_key,
    refused_values,
    section_of,
)
from distlint.launch.defects import Defect, mended, mild, severe
from distlint.launch.spelling import named, nearest


def sections(
    values: Mapping[str, Any], is_older: Callable[[tuple[int, ...]], bool] = lambda _: False
) -> Iterator[Defect]:
    """The sections against distributed_type, and what is in them.

    `is_older` says whether the accelerate that reads them is older than a version.
    """
    yield from _read_at_all(values, is_older)
    yield from _values(values)
    yield from _fsdp(values)
    yield from _parallelism(values)
    yield from _deepspeed(values)


def basics(values: Mapping[str, Any]) -> Iterator[Defect]:
    """The top level of the file, as far as no hardware is asked."""
    yield from top_level(values)
    yield from numbers(values)
    yield from several_machines(values)


def top_level(values: Mapping[str, Any]) -> Iterator[Defect]:
    """The keys of the top level: known, with values that accelerate takes."""
    unknown = sorted(str(key) for key in values if key not in keys.CLUSTER_KEYS)
    if unknown:
        yield severe(
            (unknown[0],),
            f"unknown {named(unknown, keys.CLUSTER_KEYS)}",
            f"accelerate {keys.ACCELERATE_VERSION} refuses a configuration with unknown keys.",
            "correct or remove them (a newer accelerate may know them).",
        )
    distributed = values.get("distributed_type")
    if distributed is None:
        yield severe(
            (),
            "has no distributed_type",
            "accelerate launch raises ValueError before it starts anything.",
            "distributed_type: MULTI_GPU, FSDP, DEEPSPEED or 'NO'.",
        )
    elif distributed is False:
        wants_one = values.get("num_processes", 1) == 1
        yield (mended if wants_one else mild)(
            ("distributed_type",),
            "distributed_type: NO is the boolean false in YAML",
            "accelerate finds no type that matches it and starts one process, by luck.",
            "quote it: distributed_type: 'NO'",
        )
    elif not keys.is_one_of(distributed, keys.DISTRIBUTED_TYPES):
        yield severe(
            ("distributed_type",),
            f"distributed_type is {distributed!r}",
            "accelerate fails on the value.",
            f"one of {', '.join(sorted(keys.DISTRIBUTED_TYPES))}.",
        )
    precision = values.get("mixed_precision")
    if precision is False:
        if distributed not in ("TPU", "XLA"):  # prepare_tpu asks whether it is "bf16"
            yield severe(
                ("mixed_precision",),
                "mixed_precision: no is the boolean false in YAML",
                "accelerate calls .lower() on it and fails.",
                "quote it: mixed_precision: 'no'",
            )
    elif precision is not None and not keys.is_one_of(lower(precision), keys.MIXED_PRECISIONS):
        yield severe(
            ("mixed_precision",),
            f"mixed_precision is {precision!r}",
            "accelerate launch raises ValueError.",
            "one of 'no', fp16, bf16, fp8.",
        )


def numbers(values: Mapping[str, Any]) -> Iterator[Defect]:
    """How many processes on how many machines, by the file alone."""
    processes, machines = values.get("num_processes", -1), values.get("num_machines", 1)
    given = {"num_processes": processes, "num_machines": machines}
    unknown = [n for n, v in given.items() if not isinstance(v, int) or isinstance(v, bool)]
    for name in unknown:
        if given[name] is None:
            # The command line fills in a null: huggingface/smollm a041759
            # vision/experiments/evaluation/vloom/common/accelerate_config.yaml:11.
            yield mild(
                (name,),
                f"{name} is null",
                f"accelerate launch fails unless --{name} is given.",
                f"{name}: 1 or more, or --{name} in every launch.",
            )
        else:
            yield severe(
                (name,),
                f"{name} is {given[name]!r}",
                "accelerate needs a number.",
                f"{name}: 1 or more.",
            )
    if unknown:
        return
    if processes == -1 and ("num_processes" in values or values.get("distributed_type") != "NO"):
        yield mild(
            (),
            "has no num_processes",
            "accelerate launch stops unless --num_processes is given.",
            "add num_processes.",
        )
    elif processes < 1 and keys.is_one_of(values.get("distributed_type"), keys.STARTS_SEVERAL):
        yield severe(
            ("num_processes",),
            f"num_processes is {processes}",
            "torchrun, which accelerate launch calls, fails on it (AssertionError).",
            "num_processes: 1 or more; it counts all machines.",
        )
    elif machines > 1 and processes % machines:
        yield severe(
            ("num_processes",),
            f"{processes} processes on {machines} machines",
            f"accelerate starts {processes // machines} on each and drops the rest: the ranks "
            f"wait for {processes} and never start.",
            "make num_processes a multiple of num_machines: it counts all machines.",
        )


def several_machines(values: Mapping[str, Any]) -> Iterator[Defect]:
    """How machines find each other; the command line may say it instead of the file."""
    machines = values.get("num_machines", 1)
    if not isinstance(machines, int) or machines <= 1:
        return
    rank = values.get("machine_rank", 0)
    if isinstance(rank, bool) or not isinstance(rank, int) or not 0 <= rank < machines:
        yield severe(
            ("machine_rank",),
            f"machine_rank {rank} of {machines} machines",
            "the rendezvous waits for a machine that does not exist.",
            f"machine_rank: 0 to {machines - 1}, another on each machine.",
        )
    if not values.get("main_process_ip"):
        yield severe(
            ("num_machines",),
            f"{machines} machines and no main_process_ip",
            "the machines cannot find rank 0.",
            "main_process_ip: the address of the machine of rank 0; and main_process_port.",
        )
    elif str(values["main_process_ip"]) in ("localhost", "127.0.0.1", "::1"):
        yield severe(
            ("main_process_ip",),
            f"main_process_ip is {values['main_process_ip']} for {machines} machines",
            "each machine looks for rank 0 at itself.",
            "main_process_ip: the address at which the other machines reach rank 0's.",
        )
    if values.get("main_process_port") == 0:
        # utils/launch.py, prepare_multi_gpu_env: 0 takes a free port, another on each machine.
        yield severe(
            ("main_process_port",),
            f"main_process_port is 0 for {machines} machines",
            "each machine takes a free port of its own and they never meet.",
            "main_process_port: 29500, or another that is free on rank 0's machine.",
        )


def _read_at_all(
    values: Mapping[str, Any], is_older: Callable[[tuple[int, ...]], bool]
) -> Iterator[Defect]:
    distributed = values.get("distributed_type")
    for section in keys.SECTIONS:
        inner = values.get(section.key)
        unread = inner and not keys.is_one_of(distributed, section.types)
        if unread and not _asks_for_nothing(section.key, inner):
            yield mild(
                (section.key,),
                f"{section.key} with distributed_type {distributed}",
                "the section is not read: what it asks for does not happen.",
                f"{_types(section.types)}, or remove the section.",
            )
        if inner is not None and not isinstance(inner, dict):
            yield severe(
                (section.key,),
                f"{section.key} is {inner!r}",
                "it must be a mapping.",
                "indent its keys.",
            )
            continue
        full = [full_key(section.key, key) for key in inner or {}]
        unknown = sorted(
            key
            for key in full
            if key not in section.keys
            # DMD2 8d8fa55 pins accelerate 0.23.0, whose `accelerate config` wrote this name.
            and not (
                (renamed := keys.RENAMED.get((section.key, key))) is not None
                and is_older(renamed[1])
            )
        )
        if unknown:
            changes_nothing = all(_is_default(section.key, inner or {}, key) for key in unknown)
            yield (mended if changes_nothing else mild)(
                (section.key, unknown[0]),
                f"{section.key} has unknown {named(unknown, section.keys)}",
                "accelerate takes unknown keys of a section and never reads them.",
                "correct or remove them.",
            )
    if values.get("fp8_config") and values.get("mixed_precision") != "fp8":
        yield mild(
            ("fp8_config",),
            f"fp8_config with mixed_precision {values.get('mixed_precision')!r}",
            "fp8 is not switched on.",
            "mixed_precision: fp8, or remove the section.",
        )


def _is_default(section: str, inner: Mapping[str, Any], key: str) -> bool:
    """Whether a key that is not read has the value that the one which is meant has without it.

    SEED 93b3cf4 MultiModalLLM/configs/accelerate/fsdp_2_fp16_single_machine.yaml:28: `fsdp_backward_prefetch_policy: NO_PREFETCH`.
    vk_embedder_25 467a1ab configs/accelerate/default_config.yaml:12: `offload_param: false`, where `offload_param_device` is none.
    """
    given = next((value for short, value in inner.items() if full_key(section, short) == key), None)
    if section == "deepspeed_config" and key.startswith("offload_"):
        longer = [each for each in keys.OFFLOADS if each.startswith(key)]
        return given in (False, None, "none") and bool(longer) and inner.keys().isdisjoint(longer)
    meant = nearest(key, keys.FSDP_DEFAULTS) if section == "fsdp_config" else None
    if keys.FSDP_UNREAD.get(key) == str(given).lower():
        return True
    return (
        meant is not None and meant not in inner and str(given).lower() == keys.FSDP_DEFAULTS[meant]
    )


def _asks_for_nothing(key: str, inner: object) -> bool:
    """Whether a section says what is so without it: FSDP that neither shards nor offloads."""
    if key != "fsdp_config" or not isinstance(inner, dict):
        return False
    strategy = inner.get("fsdp_sharding_strategy")
    return strategy in ("NO_SHARD", 3) and not inner.get("fsdp_offload_params")


def _types(types: frozenset[str]) -> str:
    if len(types) < 3:
        return f"distributed_type: {' or '.join(sorted(types))}"
    return f"another distributed_type than {', '.join(sorted(keys.DISTRIBUTED_TYPES - types))}"


def _values(values: Mapping[str, Any]) -> Iterator[Defect]:
    read = keys.sections_read(values.get("distributed_type"))
    for row, value in refused_values(values, read):
        yield severe(
            (row.section, row.key) if row.section else (row.key,),
            f"{row.key} is {value!r}",
            row.why,
            f"{row.key}: {row.kind.words()}.",
        )
    # BaseConfig.process_config turns the old top-level name into dynamo_config.
    if (old := values.get("dynamo_backend")) is not None:
        for row, value in refused_values({"dynamo_config": {"backend": old}}, read):
            yield severe(
                ("dynamo_backend",), f"dynamo_backend is {value!r}", row.why, f"{row.kind.words()}."
            )


def _fsdp(values: Mapping[str, Any]) -> Iterator[Defect]:
    """The section of FSDP by its version (utils/dataclasses.py, FullyShardedDataParallelPlugin)."""
    if values.get("distributed_type") != "FSDP":
        return
    fsdp = section_of(values, "fsdp_config")
    version = fsdp_version(values)
    reshard = fsdp.get("fsdp_reshard_after_forward")
    # Found by running it: `accelerate config` asks for fsdp_reshard_after_forward under version 1
    # too, but launch.py always sets FSDP_SHARDING_STRATEGY (FULL_SHARD by default), and the plugin
    # looks at RESHARD_AFTER_FORWARD only where no sharding strategy is set.
    strategy = fsdp.get("fsdp_sharding_strategy", "FULL_SHARD")
    if version == 1 and reshard is not None and reshard not in (strategy, True):
        yield mild(
            ("fsdp_config", "fsdp_reshard_after_forward"),
            f"fsdp_reshard_after_forward is {_plain(reshard)} with fsdp_version 1",
            f"accelerate launch does not read it there: the strategy is {strategy}.",
            f"fsdp_sharding_strategy: {_strategy(reshard)}, or fsdp_version: 2",
        )
    if version == 2:
        yield from _dropped_by_version_2(fsdp)
    yield from _wrapping(fsdp, version)
    yield from _loading(fsdp)
    if _true(fsdp.get("fsdp_activation_checkpointing_offload")) and (
        version == 1 or not _true(fsdp.get("fsdp_activation_checkpointing"))
    ):
        yield severe(
            ("fsdp_config", "fsdp_activation_checkpointing_offload"),
            "fsdp_activation_checkpointing_offload without fsdp_version 2 and "
            "fsdp_activation_checkpointing",
            "accelerate raises ValueError on every rank.",
            "fsdp_version: 2 and fsdp_activation_checkpointing: true, or remove it.",
        )


def _dropped_by_version_2(fsdp: Mapping[str, Any]) -> Iterator[Defect]:
    old = [key for key in keys.FSDP1_ONLY if key in fsdp]
    if old:
        yield mild(
            ("fsdp_config", old[0]),
            f"{', '.join(old)} with fsdp_version 2",
            "accelerate drops them with a warning: FSDP2 has no such setting.",
            "remove them.",
        )
    # utils/launch.py hands it on, the plugin reads it under version 1 only.
    strategy = str(fsdp.get("fsdp_sharding_strategy", "FULL_SHARD")).upper()
    if strategy not in ("FULL_SHARD", "1") and "fsdp_reshard_after_forward" not in fsdp:
        yield mild(
            ("fsdp_config", "fsdp_sharding_strategy"),
            f"fsdp_sharding_strategy {strategy} with fsdp_version 2",
            "it is not read there: the weights are freed after each forward (FULL_SHARD).",
            "fsdp_reshard_after_forward: true for FULL_SHARD, false for SHARD_GRAD_OP.",
        )
    if _true(fsdp.get("fsdp_forward_prefetch", "false")):
        yield mild(
            ("fsdp_config", "fsdp_forward_prefetch"),
            "fsdp_forward_prefetch with fsdp_version 2",
            "FSDP2 has no such setting in accelerate.",
            "remove it.",
        )


def _wrapping(fsdp: Mapping[str, Any], version: int) -> Iterator[Defect]:
    policy = fsdp.get("fsdp_auto_wrap_policy")
    if policy is None or str(policy).upper() == "NO_WRAP":
        yield mild(
            ("fsdp_config",),
            "no fsdp_auto_wrap_policy",
            "the model is one FSDP unit: all of it is gathered at once, which saves no memory "
            "in forward and backward.",
            "fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP",
        )
    elif (
        version == 1
        and isinstance(least := fsdp.get("fsdp_min_num_params"), int)
        and least <= 0
        and str(policy).upper() == "SIZE_BASED_WRAP"
    ):
        yield mild(
            ("fsdp_config", "fsdp_min_num_params"),
            f"fsdp_min_num_params is {least} with SIZE_BASED_WRAP",
            "accelerate drops the policy without a word: the model is one FSDP unit.",
            "fsdp_min_num_params: 100000000",
        )
    classes = fsdp.get("fsdp_transformer_layer_cls_to_wrap")
    if classes and str(policy).upper() in ("SIZE_BASED_WRAP", "NO_WRAP", "NONE"):
        yield mild(
            ("fsdp_config", "fsdp_transformer_layer_cls_to_wrap"),
            "fsdp_transformer_layer_cls_to_wrap without TRANSFORMER_BASED_WRAP",
            "the classes are not read.",
            "fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP",
        )
    if classes is not None and not isinstance(classes, str):
        yield severe(
            ("fsdp_config", "fsdp_transformer_layer_cls_to_wrap"),
            f"fsdp_transformer_layer_cls_to_wrap is {classes!r}",
            "accelerate takes its text apart at the commas and finds no such class: ValueError in "
            "prepare() on every rank.",
            f"write {', '.join(map(str, classes)) if isinstance(classes, list) else 'names'} "
            "without brackets: First,Second",
        )


def _loading(fsdp: Mapping[str, Any]) -> Iterator[Defect]:
    # utils/launch.py, prepare_multi_gpu_env: both are "true" where they are not said, and only a
    # false that YAML reads as a boolean is false there; the version is not looked at.
    if (
        fsdp.get("fsdp_sync_module_states") is False
        and fsdp.get("fsdp_cpu_ram_efficient_loading", True) is not False
    ):
        yield severe(
            ("fsdp_config", "fsdp_sync_module_states"),
            "fsdp_sync_module_states: false, and fsdp_cpu_ram_efficient_loading is on",
            "only rank 0 would load the weights and nobody would get them; accelerate launch "
            "raises ValueError.",
            "remove fsdp_sync_module_states, or set fsdp_cpu_ram_efficient_loading: false.",
        )


# parallelism_config.py (accelerate 1.15.0): the dimensions, in the order of the device mesh.
_DIMENSIONS = ("dp_replicate", "dp_shard", "cp", "sp", "tp")


def _parallelism(values: Mapping[str, Any]) -> Iterator[Defect]:
    """The sizes of the device mesh (ParallelismConfig.__post_init__ and _validate_accelerator)."""
    distributed = values.get("distributed_type")
    section = section_of(values, "parallelism_config")
    if not section or "parallelism_config" not in keys.sections_read(distributed):
        return
    sizes = {d: section.get(f"parallelism_config_{d}_size", 1) for d in _DIMENSIONS}
    if not all(isinstance(size, int) and size > 0 for size in sizes.values()):
        return  # said by the table of values
    total, processes = math.prod(sizes.values()), values.get("num_processes")
    product = " x ".join(f"{d} {size}" for d, size in sizes.items() if size > 1) or "all sizes 1"
    sharded = distributed == "FSDP" and fsdp_version(values) == 2
    raises = "accelerate raises ValueError on every rank."
    if sizes["cp"] > 1 and sizes["sp"] > 1:
        yield severe(
            ("parallelism_config",),
            f"parallelism_config has {product}",
            raises,
            "set cp_size or sp_size to 1.",
        )
    elif max(sizes["tp"], sizes["cp"]) > 1 and sizes["dp_replicate"] > 1 == sizes["dp_shard"]:
        yield severe(
            ("parallelism_config",),
            f"parallelism_config has {product}",
            f"tensor and context parallelism need sharded data parallelism: {raises}",
            "set dp_shard_size instead of dp_replicate_size.",
        )
    elif (
        total > 1
        and sizes["sp"] == 1
        and isinstance(processes, int)
        and processes > 0
        and total != processes
    ):
        yield severe(
            ("parallelism_config",),
            f"parallelism_config has {product} = {total}, num_processes is {processes}",
            raises,
            f"make the sizes multiply to {processes}.",
        )
    if distributed == "FSDP" and not sharded and total > 1:
        yield severe(
            ("parallelism_config",),
            "parallelism_config with fsdp_version 1",
            raises,
            "fsdp_version: 2",
        )
    elif sharded and sizes["dp_shard"] == sizes["cp"] == 1:
        yield severe(
            ("parallelism_config",),
            "parallelism_config has no dp_shard_size, and FSDP",
            f"there is no dimension to shard over: {raises}",
            "parallelism_config_dp_shard_size: the number of processes over the other sizes.",
        )
    elif sizes["cp"] > 1 and distributed != "FSDP":
        yield severe(
            ("parallelism_config",),
            f"parallelism_config_cp_size with distributed_type {distributed}",
            f"context parallelism needs FSDP2: {raises}",
            "distributed_type: FSDP with fsdp_version: 2",
        )


def _deepspeed(values: Mapping[str, Any]) -> Iterator[Defect]:
    """The section of DeepSpeed, where it does not name a file (that is deepspeed-json's)."""
    section = section_of(values, "deepspeed_config")
    if values.get("distributed_type") != "DEEPSPEED" or section.get("deepspeed_config_file"):
        return
    stage = str(section.get("zero_stage", 2))  # DeepSpeedPlugin: 2 where it is not said
    keys_of = {part: f"offload_{part}_device" for part in ("param", "optimizer")}
    devices = {part: str(section.get(key, "none")).lower() for part, key in keys_of.items()}
    places = {part: ("deepspeed_config", key) for part, key in keys_of.items()}
    yield from offload(stage, devices, places)
    for part, device in devices.items():
        if device == "nvme" and not section.get(f"offload_{part}_nvme_path"):
            yield severe(
                places[part],
                f"offload_{part}_device is nvme without offload_{part}_nvme_path",
                "DeepSpeed has no place to write to.",
                f"offload_{part}_nvme_path: /local_nvme",
            )
    if section.get("zero3_init_flag") is True and stage != "3":
        yield mended(
            ("deepspeed_config", "zero3_init_flag"),
            f"zero3_init_flag is true with zero_stage {stage}",
            "accelerate switches it off with a warning.",
            "zero3_init_flag: false",
        )
    several = isinstance(machines := values.get("num_machines", 1), int) and machines > 1
    launcher = section.get("deepspeed_multinode_launcher")
    # DeepSpeed's own launcher (pdsh by default) reads the hosts from the file.
    if several and launcher != "standard" and not section.get("deepspeed_hostfile"):
        yield severe(
            ("deepspeed_config",),
            f"{machines} machines and no deepspeed_hostfile",
            f"the launcher ({launcher or 'pdsh'}) finds no hosts and starts this machine only: "
            "the others' ranks are missing.",
            "deepspeed_multinode_launcher: standard, and accelerate launch on each machine; or "
            "name a hostfile.",
        )


def offload(
    stage: str, devices: Mapping[str, str], places: Mapping[str, tuple[str, ...]]
) -> Iterator[Defect]:
    """What is offloaded against the stage that divides it; also of the JSON.

    Stages 1 to 3 divide the optimizer's state, 3 the parameters (deepspeed 0.19.8,
    runtime/engine.py: only these hand the offload sections on).
    """
    if devices.get("param") in ("cpu", "nvme") and stage in ("0", "1", "2"):
        yield mild(
            places["param"],
            f"offload of parameters with ZeRO stage {stage}",
            "only stage 3 divides parameters, so only stage 3 offloads them: no memory is saved.",
            "stage 3, or no offload of parameters.",
        )
    if devices.get("optimizer") in ("cpu", "nvme") and stage == "0":
        yield severe(
            places["optimizer"],
            "offload of the optimizer with ZeRO stage 0",
            "nothing is offloaded without ZeRO.",
            "stage 2.",
        )


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _strategy(reshard: object) -> str:
    return "SHARD_GRAD_OP" if reshard is False else str(reshard)


def _true(value: object) -> bool:
    return str(value).lower() in ("true", "t", "1", "yes", "y", "on")


def lower(value: object) -> object:
    """utils/launch.py: PrecisionType(args.mixed_precision.lower())."""
    return value.lower() if isinstance(value, str) else value


def started(values: Mapping[str, Any]) -> Iterator[Defect]:
    """Whether as many processes start as num_processes says (commands/launch.py)."""
    total, distributed = values.get("num_processes", 1), values.get("distributed_type")
    if not isinstance(total, int):
        return  # said by `numbers`
    if distributed == "MULTI_CPU" and not values.get("mpirun_config") and total > 1:
        yield severe(
            ("num_processes",),
            f"MULTI_CPU with {total} processes and no mpirun_config",
            "accelerate launch starts ONE process with it (launch.py: simple_launcher), which "
            "trains alone on all the data.",
            f"ACCELERATE_USE_CPU=true torchrun --nproc-per-node {total} train.py; or set "
            "mpirun_config.",
        )
    elif distributed == "NO" and total > 1:
        yield severe(
            ("num_processes",),
            f"distributed_type 'NO' with {total} processes",
            "accelerate launch starts one process.",
            "distributed_type: MULTI_GPU, or num_processes: 1 where one is meant",
        )
    elif values.get("use_cpu") is True and keys.is_one_of(distributed, keys.STARTS_SEVERAL):
        # HuatuoGPT-o1 2c8d7fc configs/deepspeed_zero3.yaml:20: who asks for an engine means GPUs, which the ranks get.
        left_over = keys.is_one_of(distributed, keys.ON_CUDA - {"MULTI_GPU"})
        yield (mended if left_over else severe)(
            ("use_cpu",),
            f"use_cpu: true with {distributed}",
            "accelerate starts the processes, and each of them looks for GPUs all the same.",
            "remove use_cpu, or use distributed_type MULTI_CPU.",
        )
