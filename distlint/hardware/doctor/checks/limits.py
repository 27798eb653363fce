"""The host's limits: shared memory, ulimits, threads against cores."""

from __future__ import annotations

from collections.abc import Iterator

from distlint.hardware.doctor.check import Check, Result, error, ok, skipped, warning
from distlint.hardware.doctor.machine import Machine, Unknown

_MIB = 1 << 20
_GIB = 1 << 30

# Docker's default for --shm-size is 64 MiB. NCCL's shared-memory transport takes some 10 MiB for
# each pair of GPUs and channel; DataLoader workers pass every batch through it.
_SHM_ERROR = 64 * _MIB
_SHM_WARNING = _GIB

# DataLoader workers hold a descriptor for each tensor in flight (torch 2.13.0
# multiprocessing/__init__.py: file_descriptor is Linux's default sharing strategy), and each pair
# of ranks holds sockets. 1024 is the usual soft limit.
_FILES_WARNING = 4096
_PROCESSES_PER_RANK = 256


def shared_memory(machine: Machine) -> Iterator[Result]:
    """Is /dev/shm there and large enough for NCCL and DataLoader workers."""
    if isinstance(machine.host, Unknown):
        yield skipped(machine.host.reason)
        return
    shm = machine.host.shared_memory
    path = machine.options.shm_path
    if shm is None:
        yield warning(
            f"there is no {path}",
            "NCCL's shared-memory transport and DataLoader workers need it on Linux.",
            "mount a tmpfs there; with Docker: --shm-size=8g or --ipc=host.",
        )
        return
    saw = f"{path} has {_amount(shm.free)} free of {_amount(shm.size)}"
    do = (
        "with Docker: --shm-size=8g or --ipc=host; in Kubernetes: an emptyDir of medium Memory "
        "on /dev/shm; else mount -o remount,size=8G /dev/shm."
    )
    if shm.free < _SHM_ERROR or shm.size <= _SHM_ERROR:
        yield error(
            saw,
            "NCCL fails with 'unhandled system error' or DataLoader workers die with 'Bus error'.",
            do,
        )
    elif shm.free < _SHM_WARNING:
        yield warning(saw, "a few DataLoader workers with large batches fill it: Bus error.", do)
    else:
        yield ok(saw)


def ulimits(machine: Machine) -> Iterator[Result]:
    """Soft limits that end a job in the middle."""
    host = machine.host
    if isinstance(host, Unknown):
        yield skipped(host.reason)
        return
    problems = []
    if host.open_files is not None and host.open_files < _FILES_WARNING:
        problems.append(
            warning(
                f"ulimit -n is {host.open_files}",
                "DataLoader workers hold a descriptor for each tensor on its way: 'Too many open "
                "files' after hours.",
                "ulimit -n 65536 before the launcher, or LimitNOFILE in its unit.",
            )
        )
    if host.infiniband and host.locked_memory is not None and host.locked_memory < _GIB:
        problems.append(
            error(
                f"ulimit -l is {_amount(host.locked_memory)} and there is InfiniBand",
                "NCCL cannot register its buffers with the card: ibv_reg_mr fails.",
                "ulimit -l unlimited; with Docker: --ulimit memlock=-1.",
            )
        )
    needed = _PROCESSES_PER_RANK * (machine.processes or machine.gpu_count or 1)
    if host.processes is not None and host.processes < needed:
        problems.append(
            warning(
                f"ulimit -u is {host.processes}",
                "every thread counts (OpenMP, NCCL, DataLoader workers): 'Resource temporarily "
                "unavailable' when a pool starts.",
                f"ulimit -u {max(needed, 65536)}",
            )
        )
    yield from problems or [
        ok(
            f"open files {_limit(host.open_files)}, processes {_limit(host.processes)}, "
            f"locked memory {_locked(host.locked_memory)}"
        )
    ]


def threads(machine: Machine) -> Iterator[Result]:
    """OMP_NUM_THREADS times the processes against the cores."""
    host = machine.host
    if isinstance(host, Unknown):
        yield skipped(host.reason)
        return
    cores = host.cores
    if host.cpu_quota is not None:
        cores = min(cores, max(1, int(host.cpu_quota)))
    processes = machine.processes or machine.gpu_count or 1
    text = machine.environ.get("OMP_NUM_THREADS")
    if text is None:
        # torchrun sets 1 for each worker where it is unset and there are several
        # (torch 2.13.0 distributed/run.py); accelerate too (utils/launch.py).
        yield ok(f"OMP_NUM_THREADS is not set (launchers set 1), {cores} cores")
        return
    first = text.split(",")[0].strip()
    if not first.isdecimal() or int(first) < 1:
        yield error(
            f"OMP_NUM_THREADS={text}",
            "OpenMP ignores it and takes all cores in every process; accelerate fails on it.",
            f"set it to a number: {max(1, cores // processes)} for {processes} processes.",
        )
        return
    saw = (
        f"OMP_NUM_THREADS={first} x {processes} process{'es' * (processes != 1)}, "
        f"{cores} core{'s' * (cores != 1)}"
    )
    if int(first) * processes <= cores:
        yield ok(saw)
    elif int(first) == 1:
        yield warning(
            saw,
            "there are more processes than cores: they take turns, and every rank waits for the "
            "slowest.",
            f"start {cores} process{'es' * (cores != 1)}, or give the job {processes} cores "
            "(--cpus-per-task, a container's CPU limit).",
        )
    else:
        yield warning(
            saw,
            "more threads than cores: they take turns, and every rank waits for the slowest.",
            f"OMP_NUM_THREADS={max(1, cores // processes)}",
        )


def _amount(size: int) -> str:
    if size >= _GIB:
        return f"{size / _GIB:.1f} GiB"
    return f"{size / _MIB:.1f} MiB"


def _limit(value: int | None) -> str:
    return "unlimited" if value is None else str(value)


def _locked(value: int | None) -> str:
    return "unlimited" if value is None else _amount(value)


CHECKS = (
    Check("shared-memory", "host", shared_memory),
    Check("ulimits", "host", ulimits),
    Check("threads", "host", threads),
)
