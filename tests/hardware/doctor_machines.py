"""Machines that are not here, as values: what the probes would have seen on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from distlint.hardware.doctor.check import Status
from distlint.hardware.doctor.checks import CHECKS
from distlint.hardware.doctor.machine import (
    AllReduce,
    ConfigFacts,
    ConfigFile,
    HostFacts,
    Machine,
    NetworkFacts,
    Options,
    Package,
    SharedMemory,
    TorchFacts,
)
from distlint.hardware.gpus import Gpu

GIB = 1 << 30


def gpu(index: int, compute: tuple[int, int] = (9, 0), driver: str = "580.65.06") -> Gpu:
    return Gpu(index, f"GPU-{index}{index}", "NVIDIA H100", 80 * GIB, compute, driver)


TORCH = TorchFacts(
    version="2.13.0+cu128",
    cuda_build="12.8",
    hip_build=None,
    cuda_available=True,
    cuda_error="",
    device_count=2,
    architectures=("sm_80", "sm_90"),
    gloo=True,
    nccl="2.27.3",
)
HOST = HostFacts(
    cores=16,
    cpu_quota=None,
    memory=256 * GIB,
    open_files=65536,
    locked_memory=None,
    processes=None,
    shared_memory=SharedMemory("/dev/shm", 128 * GIB, 128 * GIB),
    interfaces=("lo", "eth0"),
    launcher=None,
    infiniband=False,
)
NETWORK = NetworkFacts(("10.0.0.1",), "", None, "", True, 29500, "")


def machine(**changes: Any) -> Machine:
    """Two H100s on which all is well, but for `changes`."""
    values: dict[str, Any] = {
        "options": Options(),
        "environ": {},
        "gpus": (gpu(0), gpu(1)),
        "torch": TORCH,
        "gloo": AllReduce(2, 0.1),
        "nccl": AllReduce(2, 1.0),
        "host": HOST,
        "network": NETWORK,
        "config": ConfigFacts(ConfigFile("default", "default place", missing=True), None),
        "packages": (Package("torch", "2.13.0+cu128", ()),),
    }
    return Machine(**(values | changes))


def with_config(values: Mapping[str, Any], deepspeed: Any = None, **changes: Any) -> Machine:
    file = ConfigFile("a.yaml", "--config-file", values)
    ds = None if deepspeed is None else ConfigFile("ds.json", "deepspeed_config_file", deepspeed)
    return machine(config=ConfigFacts(file, ds), **changes)


def said(on: Machine, name: str) -> list[tuple[str, str]]:
    check = next(check for check in CHECKS if check.name == name)
    results = list(check.judge(on))
    for result in results:
        bad = result.status in (Status.WARNING, Status.ERROR)
        assert bool(result.why) == bool(result.do) == bad
    return [(result.status.value, result.saw) for result in results]


def statuses(on: Machine, name: str) -> set[str]:
    return {status for status, _ in said(on, name)}
