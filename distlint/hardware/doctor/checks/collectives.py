"""Communication that was tried: backends, an all_reduce over gloo and over NCCL."""

from __future__ import annotations

from collections.abc import Iterator

from distlint.hardware.doctor.check import Check, Result, error, ok, skipped, warning
from distlint.hardware.doctor.machine import AllReduce, Machine, Unknown


def backends(machine: Machine) -> Iterator[Result]:
    """Which backends this build of torch has, against the GPUs that are there."""
    facts = machine.torch
    if isinstance(facts, Unknown):
        yield skipped(facts.reason)
        return
    there = ["gloo"] * facts.gloo + ([f"NCCL {facts.nccl}"] if facts.nccl else [])
    if not there:
        yield error(
            f"torch {facts.version} has neither gloo nor NCCL",
            "no process group can be made.",
            "install a build with torch.distributed (USE_DISTRIBUTED=1).",
        )
    elif machine.gpu_count and not facts.nccl:
        yield error(
            f"torch {facts.version} has {' and '.join(there)}; {machine.gpu_count} GPUs visible",
            "without NCCL gradients go through the host, and FSDP does not run.",
            "install a CUDA build for Linux: https://pytorch.org/get-started/locally",
        )
    elif not facts.gloo:
        yield warning(
            f"torch {facts.version} has {' and '.join(there)}, not gloo",
            "object collectives of CPU tensors and FSDP's CPU offload need gloo.",
            "install an official build of torch.",
        )
    else:
        yield ok(f"torch {facts.version} has {' and '.join(there)}")


def over_gloo(machine: Machine) -> Iterator[Result]:
    """Two processes add their ranks over gloo."""
    yield _judged(
        machine.gloo,
        "gloo",
        "every collective of CPU tensors fails or hangs the same way.",
        "look at GLOO_SOCKET_IFNAME, at /etc/hosts (the machine's own name) and at the firewall "
        "on loopback.",
    )


def over_nccl(machine: Machine) -> Iterator[Result]:
    """Every visible GPU adds its rank over NCCL."""
    yield _judged(
        machine.nccl,
        "NCCL",
        "training hangs or fails in its first collective.",
        "run again with NCCL_DEBUG=INFO; try NCCL_P2P_DISABLE=1 (IOMMU, ACS), then "
        "NCCL_SHM_DISABLE=1 (small /dev/shm), then NCCL_IB_DISABLE=1.",
    )


def _judged(seen: AllReduce | Unknown, backend: str, why: str, do: str) -> Result:
    if isinstance(seen, Unknown):
        return error(seen.reason, why, do) if seen.failed else skipped(seen.reason)
    what = f"all_reduce of {seen.world_size} processes over {backend}"
    if seen.failure:
        return error(f"{what} failed: {seen.failure}", why, do)
    return ok(f"{what} in {seen.seconds:.2f} s")


CHECKS = (
    Check("backends", "communication", backends),
    Check("gloo-all-reduce", "communication", over_gloo),
    Check("nccl-all-reduce", "communication", over_nccl),
)
