"""accelerate's configuration: valid, and made for this hardware."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from distlint.hardware.doctor.check import Check, Result, error, ok, skipped, told, warning
from distlint.hardware.doctor.machine import ConfigFile, Machine, Unknown
from distlint.hardware.gpus import visible_gpus
from distlint.hardware.visible_devices import read_visible_devices
from distlint.knowledge.configuration import keys
from distlint.launch.accelerate import basics, lower, started

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
        problems = [told(file.path, defect) for defect in basics(file.values)]
        distributed = file.values.get("distributed_type")
        yield from problems or [
            ok(f"{file.path}: {distributed}, {file.values.get('num_processes', 1)} processes")
        ]


def on_this_hardware(machine: Machine) -> Iterator[Result]:
    """What the configuration starts, on the hardware that is there."""
    file = _file(machine)
    values = machine.accelerate
    distributed = values.get("distributed_type")
    total = values.get("num_processes", 1)
    valid = keys.is_one_of(distributed, keys.DISTRIBUTED_TYPES)
    valid = valid and isinstance(total, int) and total > 0
    if isinstance(file, Unknown) or not values or not valid:
        yield skipped("no valid configuration")
        return
    found = list(_against_hardware(machine, file.path, values, str(distributed)))
    yield from found or [ok(f"{file.path} goes with this machine")]


def _against_hardware(
    machine: Machine, path: str, values: Mapping[str, Any], distributed: str
) -> Iterator[Result]:
    processes, ids = machine.processes or 1, values.get("gpu_ids")
    there = machine.gpu_count
    if isinstance(ids, str) and ids not in ("all", "") and not isinstance(machine.gpus, Unknown):
        there = len(visible_gpus(machine.gpus, ids))
    alone = [told(path, defect) for defect in started(values)]
    yield from alone
    if (
        not alone
        and distributed in keys.ON_CUDA
        and processes > there
        and not isinstance(machine.gpus, Unknown)
    ):
        kind = "none is" if there == 0 else f"{there} {'is' if there == 1 else 'are'}"
        yield error(
            f"{path} starts {processes} processes on GPUs; {kind} visible",
            "each process believes it is the main one and trains alone, without a word."
            if there == 0
            else f"rank {there} shares GPU 0 with rank 0 (accelerate takes local rank % {there}).",
            f"num_processes: {there}" if there else _WRITE_ONE,
        )
    yield from _gpu_ids(machine, path, ids, distributed, processes)
    oldest = min((gpu.compute for gpu in machine.visible if gpu.compute > (0, 0)), default=None)
    precision = lower(values.get("mixed_precision"))
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


def _gpu_ids(
    machine: Machine, path: str, ids: object, distributed: str, processes: int
) -> Iterator[Result]:
    """gpu_ids, which accelerate launch puts into CUDA_VISIBLE_DEVICES."""
    if ids is None or ids in ("all", ""):
        return
    if not isinstance(ids, str):
        text = ",".join(map(str, ids)) if isinstance(ids, list) else ids
        yield error(
            f"{path}: gpu_ids is {ids!r}, not text",
            "accelerate splits it as text and fails.",
            f"quote it: gpu_ids: '{text}'",
        )
        return
    read = read_visible_devices(ids)
    devices = read.devices or ()
    if read.doubled or read.malformed:
        yield error(
            f"{path}: gpu_ids is {ids!r}",
            "CUDA hides every GPU when one is named twice."
            if read.doubled
            else "CUDA stops at the first element that is no GPU's number.",
            "name each GPU once, by number, separated by commas: gpu_ids: '0,1'",
        )
        return
    if distributed == "MULTI_GPU" and "," not in ids and machine.machines == 1:
        yield error(
            f"{path}: gpu_ids is {ids} with MULTI_GPU",
            "accelerate launch refuses fewer than two GPUs.",
            "gpu_ids: all, or name as many as num_processes.",
        )
    elif distributed in keys.ON_CUDA and len(devices) < processes:
        yield error(
            f"{path}: gpu_ids names {len(devices)} GPUs for {processes} processes",
            f"rank {len(devices)} shares a GPU with rank 0.",
            "name as many GPUs as processes.",
        )
    if isinstance(machine.gpus, tuple) and machine.gpus:
        there = visible_gpus(machine.gpus, ids)
        if len(there) < len(devices):
            yield error(
                f"{path}: gpu_ids is {ids} and names {devices[len(there)]}; "
                f"{len(machine.gpus)} GPUs are installed",
                "CUDA stops at the first GPU that does not exist: "
                f"{len(there)} of {len(devices)} are visible, and ranks double up on them.",
                "name GPUs that nvidia-smi lists, or gpu_ids: all.",
            )
    if "CUDA_VISIBLE_DEVICES" in machine.environ:
        yield warning(
            f"{path}: gpu_ids is {ids}, and CUDA_VISIBLE_DEVICES="
            f"{machine.environ['CUDA_VISIBLE_DEVICES']} is set",
            "accelerate launch overwrites the variable with gpu_ids: other GPUs than you (or "
            "your scheduler) chose.",
            "gpu_ids: all",
        )


def _file(machine: Machine) -> ConfigFile | Unknown:
    return machine.config if isinstance(machine.config, Unknown) else machine.config.accelerate


CHECKS = (
    Check("accelerate-config", "accelerate", configuration),
    Check("config-on-this-machine", "accelerate", on_this_hardware),
)
