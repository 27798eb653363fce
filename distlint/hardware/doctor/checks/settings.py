"""Variables of NCCL, gloo and torch.distributed that contradict each other or name nothing.

Sources. NCCL: the user guide, "Environment Variables" (2.23). torch 2.13.0:
distributed/c10d/ProcessGroupNCCL.hpp (in the installed headers), which says of each TORCH_NCCL_*
variable what must be set together with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from distlint.hardware.doctor.check import Check, Result, Status, ok
from distlint.hardware.doctor.machine import Machine, Unknown

Environ = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A row: variables, when they contradict, and what comes of it.

    Attributes:
        names: the variables, shown with their values where they are set.
        when: whether this environment has the contradiction.
        status: error where the job fails or hangs, else warning.
        why, do: as in Result.
        source: where the behaviour was read.
    """

    names: tuple[str, ...]
    when: Callable[[Environ], bool]
    status: Status
    why: str
    do: str
    source: str


def _on(environ: Environ, name: str) -> bool:
    return environ.get(name, "").strip().lower() in ("1", "true", "yes", "y", "on")


def _off(environ: Environ, name: str) -> bool:
    return environ.get(name, "").strip().lower() in ("0", "false", "no", "n", "off")


_HPP = "torch 2.13.0 ProcessGroupNCCL.hpp"
_NCCL = "NCCL user guide, Environment Variables"

# NCCL 2.30.7 src/graph/topo.cc: topoPathTypeStr
_LEVELS = ("LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS")


def _has_unknown_level(name: str, environ: Environ) -> bool:
    text = environ.get(name, "LOC")
    return text not in (*_LEVELS, "NET") and not text.strip().isdecimal()


CONTRADICTIONS: tuple[Contradiction, ...] = (
    Contradiction(
        ("NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL"),
        lambda e: _on(e, "NCCL_P2P_DISABLE") and e.get("NCCL_P2P_LEVEL", "LOC") not in ("LOC", "0"),
        Status.WARNING,
        "the level has no effect: peer access between GPUs is off.",
        "unset one of them.",
        f"{_NCCL}: NCCL_P2P_DISABLE, NCCL_P2P_LEVEL",
    ),
    *(
        Contradiction(
            (name,),
            partial(_has_unknown_level, name),
            Status.WARNING,
            f"NCCL reads a level that it does not know as 0, LOC: {what} is off.",
            f"one of {', '.join(_LEVELS)}, in capitals.",
            "NCCL 2.30.7 src/graph/paths.cc: ncclGetLevel",
        )
        for name, what in (
            ("NCCL_P2P_LEVEL", "peer access between GPUs"),
            ("NCCL_NET_GDR_LEVEL", "the network cards' access to GPU memory"),
        )
    ),
    Contradiction(
        ("NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE"),
        lambda e: _on(e, "NCCL_P2P_DISABLE") and _on(e, "NCCL_SHM_DISABLE"),
        Status.WARNING,
        "GPUs of one machine talk through network sockets: many times slower.",
        "leave one of the two ways open.",
        f"{_NCCL}: NCCL_SHM_DISABLE",
    ),
    Contradiction(
        ("NCCL_IB_DISABLE", "NCCL_IB_HCA"),
        lambda e: _on(e, "NCCL_IB_DISABLE") and bool(e.get("NCCL_IB_HCA")),
        Status.WARNING,
        "the chosen InfiniBand card is not used: traffic goes over TCP.",
        "unset NCCL_IB_DISABLE to use the card.",
        f"{_NCCL}: NCCL_IB_DISABLE",
    ),
    Contradiction(
        ("NCCL_IB_DISABLE", "NCCL_NET"),
        lambda e: _on(e, "NCCL_IB_DISABLE") and e.get("NCCL_NET", "").upper() == "IB",
        Status.ERROR,
        "NCCL is told to use InfiniBand only, and not to use it: initialisation fails.",
        "unset one of them.",
        f"{_NCCL}: NCCL_NET",
    ),
    Contradiction(
        ("NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE"),
        lambda e: "NCCL_DEBUG" not in e and ("NCCL_DEBUG_SUBSYS" in e or "NCCL_DEBUG_FILE" in e),
        Status.WARNING,
        "NCCL writes nothing unless NCCL_DEBUG is set.",
        "NCCL_DEBUG=INFO, or unset the others.",
        f"{_NCCL}: NCCL_DEBUG_SUBSYS",
    ),
    Contradiction(
        ("NCCL_DEBUG",),
        lambda e: (
            "NCCL_DEBUG" in e
            and e["NCCL_DEBUG"].upper() not in ("NONE", "VERSION", "WARN", "INFO", "ABORT", "TRACE")
        ),
        Status.WARNING,
        "NCCL does not know this level and writes nothing.",
        "VERSION, WARN, INFO or TRACE.",
        "NCCL 2.30.7 src/debug.cc: ncclDebugInit",
    ),
    Contradiction(
        ("TORCH_NCCL_BLOCKING_WAIT", "NCCL_BLOCKING_WAIT"),
        lambda e: _differ(e, "TORCH_NCCL_BLOCKING_WAIT", "NCCL_BLOCKING_WAIT"),
        Status.WARNING,
        "they are two names of one setting; torch takes the first that is set.",
        "unset NCCL_BLOCKING_WAIT, the old name.",
        f"{_HPP}: TORCH_NCCL_BLOCKING_WAIT",
    ),
    Contradiction(
        ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "NCCL_ASYNC_ERROR_HANDLING"),
        lambda e: _differ(e, "TORCH_NCCL_ASYNC_ERROR_HANDLING", "NCCL_ASYNC_ERROR_HANDLING"),
        Status.WARNING,
        "they are two names of one setting; torch takes the first that is set.",
        "unset NCCL_ASYNC_ERROR_HANDLING, the old name.",
        f"{_HPP}: TORCH_NCCL_ASYNC_ERROR_HANDLING",
    ),
    Contradiction(
        ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "TORCH_NCCL_BLOCKING_WAIT"),
        lambda e: (
            e.get("TORCH_NCCL_ASYNC_ERROR_HANDLING") == "0"
            and not _on(e, "TORCH_NCCL_BLOCKING_WAIT")
        ),
        Status.WARNING,
        "nothing ends a collective that hangs: the timeout needs one of the two.",
        "unset TORCH_NCCL_ASYNC_ERROR_HANDLING.",
        "torch 2.13.0 distributed/constants.py: default_pg_timeout",
    ),
    Contradiction(
        ("TORCH_NCCL_DESYNC_DEBUG", "TORCH_NCCL_ASYNC_ERROR_HANDLING"),
        lambda e: (
            _on(e, "TORCH_NCCL_DESYNC_DEBUG") and e.get("TORCH_NCCL_ASYNC_ERROR_HANDLING") == "0"
        ),
        Status.WARNING,
        "the report on ranks that diverged is written by the error handling that is switched off.",
        "unset TORCH_NCCL_ASYNC_ERROR_HANDLING.",
        f"{_HPP}: TORCH_NCCL_DESYNC_DEBUG",
    ),
    Contradiction(
        ("TORCH_NCCL_DUMP_ON_TIMEOUT", "TORCH_NCCL_ENABLE_MONITORING"),
        lambda e: _on(e, "TORCH_NCCL_DUMP_ON_TIMEOUT") and _off(e, "TORCH_NCCL_ENABLE_MONITORING"),
        Status.WARNING,
        "no dump is written: the monitoring thread that writes it is switched off.",
        "unset TORCH_NCCL_ENABLE_MONITORING.",
        f"{_HPP}: TORCH_NCCL_DUMP_ON_TIMEOUT",
    ),
    Contradiction(
        ("TORCH_NCCL_DUMP_ON_TIMEOUT", "TORCH_NCCL_TRACE_BUFFER_SIZE"),
        lambda e: (
            _on(e, "TORCH_NCCL_DUMP_ON_TIMEOUT") and e.get("TORCH_NCCL_TRACE_BUFFER_SIZE") == "0"
        ),
        Status.WARNING,
        "no dump is written: the flight recorder has no room for a single event.",
        "TORCH_NCCL_TRACE_BUFFER_SIZE=2000",
        f"{_HPP}: TORCH_NCCL_DUMP_ON_TIMEOUT",
    ),
    Contradiction(
        ("TORCH_DISTRIBUTED_DEBUG",),
        lambda e: (
            "TORCH_DISTRIBUTED_DEBUG" in e
            and e["TORCH_DISTRIBUTED_DEBUG"].upper() not in ("OFF", "INFO", "DETAIL")
        ),
        Status.ERROR,
        "import torch.distributed raises on every rank.",
        "OFF, INFO or DETAIL.",
        "torch 2.13.0: seen; its message names the three values",
    ),
    Contradiction(
        ("CUDA_LAUNCH_BLOCKING",),
        lambda e: _on(e, "CUDA_LAUNCH_BLOCKING"),
        Status.WARNING,
        "every kernel waits for the one before: nothing overlaps, collectives neither.",
        "set it only to find the line of a CUDA error.",
        "CUDA C++ Programming Guide, Asynchronous Execution: for debugging only",
    ),
)


def _differ(environ: Environ, first: str, second: str) -> bool:
    return first in environ and second in environ and environ[first] != environ[second]


def contradictions(machine: Machine) -> Iterator[Result]:
    """Rows of the table that this environment has, and interfaces that do not exist."""
    environ = machine.environ
    found = [
        Result(row.status, _shown(environ, row.names), row.why, row.do)
        for row in CONTRADICTIONS
        if row.when(environ)
    ]
    if not isinstance(machine.host, Unknown) and machine.host.interfaces:
        found += _interfaces(environ, machine.host.interfaces)
        found += _loopback(machine, machine.host.interfaces)
    known = [
        name
        for name in environ
        if name.startswith(("NCCL_", "GLOO_", "TORCH_NCCL_", "TORCH_DISTRIBUTED_"))
    ]
    yield from found or [
        ok(f"{len(known)} set, none contradicts another" if known else "none is set")
    ]


def _shown(environ: Environ, names: tuple[str, ...]) -> str:
    return " ".join(f"{name}={environ[name]}" for name in names if name in environ)


def _interfaces(environ: Environ, there: tuple[str, ...]) -> Iterator[Result]:
    """NCCL takes prefixes ("eth"), exact names ("=eth0") and exclusions ("^docker"); gloo takes
    exact names separated by commas."""
    nccl = environ.get("NCCL_SOCKET_IFNAME", "")
    names = nccl.removeprefix("^").removeprefix("=")
    exact = nccl.startswith(("=", "^="))
    wanted = [name for name in names.split(",") if name]
    if wanted and not nccl.startswith("^") and not _matched(names, exact, there):
        yield _no_interface("NCCL_SOCKET_IFNAME", nccl, there, "NCCL finds no interface")
    gloo = environ.get("GLOO_SOCKET_IFNAME", "")
    absent = [name for name in gloo.split(",") if name and name not in there]
    if absent:
        yield _no_interface("GLOO_SOCKET_IFNAME", gloo, there, "gloo finds no such interface")


def _matched(names: str, exact: bool, there: tuple[str, ...]) -> list[str]:
    wanted = [name for name in names.split(",") if name]
    return [
        name for name in there if any(name == w if exact else name.startswith(w) for w in wanted)
    ]


def _loopback(machine: Machine, there: tuple[str, ...]) -> Iterator[Result]:
    """A library that is told to use loopback only, in a job of several machines."""
    network = machine.network
    elsewhere = not isinstance(network, Unknown) and not network.master_is_here
    several = elsewhere or machine.machines > 1
    for variable, library in (("NCCL_SOCKET_IFNAME", "NCCL"), ("GLOO_SOCKET_IFNAME", "gloo")):
        text = machine.environ.get(variable, "")
        if text.startswith("^"):
            continue
        exact = library == "gloo" or text.startswith("=")
        if _matched(text.removeprefix("="), exact, there) != ["lo"]:
            continue
        if several:
            master = machine.environ.get("MASTER_ADDR") or machine.accelerate.get("main_process_ip")
            yield Result(
                Status.ERROR,
                f"{variable}={text}, and rank 0 is at {master or 'another machine'}",
                f"{library} listens on loopback only: the ranks of the machines never reach each "
                "other and wait until their timeout.",
                f"name the interface that leads to the other machines, or unset {variable}.",
            )
        elif library == "NCCL":
            yield Result(
                Status.WARNING,
                f"{variable}={text}",
                "NCCL listens on loopback only: other machines cannot reach it.",
                "unset it for jobs on several machines.",
            )


def _no_interface(variable: str, value: str, there: tuple[str, ...], what: str) -> Result:
    return Result(
        Status.ERROR,
        f"{variable}={value}; there are {', '.join(there)}",
        f"{what} and init_process_group fails on this machine.",
        f"name one of them, or unset {variable}.",
    )


CHECKS = (Check("communication-settings", "communication", contradictions),)
