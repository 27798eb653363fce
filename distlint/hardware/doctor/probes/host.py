"""The host: cores, memory, limits, shared memory, interfaces, and the launcher above us."""

from __future__ import annotations

import os
import re
import socket
from pathlib import Path

from distlint.hardware.doctor.machine import HostFacts, Options, SharedMemory

# Programs that start the ranks of a job and set their variables. A worker of one of them has
# RANK and WORLD_SIZE by right.
_LAUNCHERS = re.compile(
    r"\b(torchrun|torch\.distributed\.(?:run|launch)|accelerate(?:-launch| launch)|deepspeed|"
    r"mpirun|mpiexec|srun|slurmstepd|horovodrun|colossalai|ray::)"
)


def look(options: Options) -> HostFacts:
    """Everything about the host; nothing here needs torch."""
    soft = _soft_limits()
    return HostFacts(
        cores=_cores(),
        cpu_quota=_cpu_quota(),
        memory=_memory(),
        open_files=soft.get("NOFILE"),
        locked_memory=soft.get("MEMLOCK"),
        processes=soft.get("NPROC"),
        shared_memory=shared_memory(options.shm_path),
        interfaces=_interfaces(),
        launcher=_launcher(),
        infiniband=Path("/sys/class/infiniband").is_dir()
        and any(Path("/sys/class/infiniband").iterdir()),
    )


def shared_memory(path: str) -> SharedMemory | None:
    """Size and free bytes of the file system mounted at `path`; None where there is none."""
    try:
        found = os.statvfs(path)
    except OSError:
        return None
    return SharedMemory(path, found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _cpu_quota() -> float | None:
    """The container's CPU limit (cgroup v2, else v1), in cores."""
    quota = _words("/sys/fs/cgroup/cpu.max")
    if len(quota) == 2 and quota[0].isdigit():
        return int(quota[0]) / int(quota[1])
    v1 = _words("/sys/fs/cgroup/cpu/cpu.cfs_quota_us") + _words(
        "/sys/fs/cgroup/cpu/cpu.cfs_period_us"
    )
    if len(v1) == 2 and v1[0].isdigit():
        return int(v1[0]) / int(v1[1])
    return None


def _memory() -> int:
    installed = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for file in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        words = _words(file)
        if words and words[0].isdigit():
            return min(installed, int(words[0]))
    return installed


def _words(file: str) -> list[str]:
    try:
        return Path(file).read_text(encoding="ascii").split()
    except OSError:
        return []


def _soft_limits() -> dict[str, int | None]:
    """Soft limits by name; None is unlimited."""
    try:
        import resource
    except ImportError:  # Windows has none
        return {}
    limits: dict[str, int | None] = {}
    for name in ("NOFILE", "MEMLOCK", "NPROC"):
        number = getattr(resource, f"RLIMIT_{name}", None)
        if number is not None:
            soft = resource.getrlimit(number)[0]
            limits[name] = None if soft == resource.RLIM_INFINITY else soft
    return limits


def _interfaces() -> tuple[str, ...]:
    try:
        return tuple(name for _, name in socket.if_nameindex())
    except (AttributeError, OSError):
        return ()


def _launcher() -> str | None:
    """The nearest launcher among this process's ancestors (Linux: /proc)."""
    pid = os.getppid()
    while pid > 1:
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
            stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return None
        program = " ".join(command.split()[:4])
        if match := _LAUNCHERS.search(program):
            return match[1]
        pid = int(stat.rpartition(")")[2].split()[1])
    return None
