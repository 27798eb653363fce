"""Starting N processes with torchrun's variables on this machine, and ending them for certain."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from distlint.proving.rank_main import STARTED_BY

# Below Linux's range of ephemeral ports (32768–60999), so that no outgoing connection takes the
# port between the moment it is found free and the moment rank 0 listens on it.
_FIRST_PORT, _LAST_PORT = 20_000, 32_000
_LOOPBACK = {"linux": "lo", "darwin": "lo0"}

RANK_VARIABLES = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE")
"""What tells a process that it is a rank."""


class Process(Protocol):
    """What is asked of a process: `subprocess.Popen` answers it, and a process that was forked."""

    pid: int

    def poll(self) -> int | None: ...

    def wait(self, timeout: float | None = None) -> int: ...


@dataclass(frozen=True, slots=True)
class RankProcess:
    """One started process and the file that receives its standard output and error."""

    rank: int
    process: Process
    output: Path | None


# Started and not yet ended, for whoever has to leave early: ranks run in sessions of their own and
# hear no Ctrl-C.
_live: dict[int, RankProcess] = {}


def free_port() -> int:
    """A TCP port of this machine that nothing listens on."""
    for port in random.SystemRandom().sample(range(_FIRST_PORT, _LAST_PORT), 200):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise OSError(f"no free TCP port among 200 tried between {_FIRST_PORT} and {_LAST_PORT}")


def one_machine_environment(base: Mapping[str, str]) -> dict[str, str]:
    """`base` without the variables of an outer launcher, with what ranks on one machine want.

    Leftover launcher variables would make the ranks join somebody else's group. Threads as torchrun
    sets them (one, unless OMP_NUM_THREADS says otherwise). gloo over loopback, so that a host name
    that does not resolve cannot break the run.
    """
    launcher = (*RANK_VARIABLES, "MASTER_ADDR", "MASTER_PORT")
    prefixes = (
        "GROUP_",
        "ROLE_",
        "TORCHELASTIC_",
        "ACCELERATE_",
        "FSDP_",
        "OMPI_COMM_WORLD_",
        "PMI_",
    )
    env = {k: v for k, v in base.items() if k not in launcher and not k.startswith(prefixes)}
    env.setdefault("OMP_NUM_THREADS", "1")
    if sys.platform in _LOOPBACK:
        env.setdefault("GLOO_SOCKET_IFNAME", _LOOPBACK[sys.platform])
    return env


def proof_environment(base: Mapping[str, str]) -> dict[str, str]:
    """`one_machine_environment` of a proof, which needs nothing from the network and must not wait for it."""
    offline = {"HF_HUB_OFFLINE": "1", "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    return one_machine_environment(base) | offline


def rank_environment(base: Mapping[str, str], rank: int, ranks: int, port: int) -> dict[str, str]:
    """`base` with the variables that torchrun sets for one rank of a single node."""
    return {
        **base,
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(ranks),
        "LOCAL_WORLD_SIZE": str(ranks),
        "GROUP_RANK": "0",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
    }


def known_starter(env: Mapping[str, str]) -> dict[str, str]:
    """`env` of a rank that this process has started, which ends itself where this one ended before."""
    return {**env, STARTED_BY: str(os.getpid())}


def start(
    command: Sequence[str],
    rank: int,
    env: Mapping[str, str],
    cwd: Path,
    output: Path | tuple[int, int],
    pass_fds: Sequence[int] = (),
) -> RankProcess:
    """Start one process in a session of its own, so that `end` reaches its children too.

    `output` receives standard output and error: a file (made anew), or a descriptor for each.
    `pass_fds` are descriptors that the process inherits.
    """
    with contextlib.ExitStack() as stack:
        streams: tuple[BinaryIO | int, int]
        if isinstance(output, Path):
            streams = stack.enter_context(output.open("wb")), subprocess.STDOUT
        else:
            streams = output
        process = subprocess.Popen(
            list(command),
            env=known_starter(env),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=streams[0],
            stderr=streams[1],
            start_new_session=True,
            pass_fds=tuple(pass_fds),
        )
    return started(process, rank, output if isinstance(output, Path) else None)


def started(process: Process, rank: int, output: Path | None) -> RankProcess:
    """`process` as a rank that `end_all` knows of until `end` has ended it."""
    one = RankProcess(rank, process, output)
    _live[process.pid] = one
    return one


def end(processes: Sequence[RankProcess], grace: float = 0.0) -> None:
    """End the processes and all that they started; returns when they are gone.

    With `grace` seconds above zero they get SIGTERM first and SIGKILL after. Nothing runs on while another is
    killed: a rank would see its partner leave, and say so.
    """
    alive = [one.process for one in processes if one.process.poll() is None]
    if grace > 0:
        for process in alive:
            _signal_session(process, signal.SIGTERM)
        for process in alive:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(grace)
    # Also where the rank itself is gone: what it started may live on in its session.
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for one in processes:
            _signal_session(one.process, number)
    for one in processes:
        one.process.wait()
        _live.pop(one.process.pid, None)


def end_all() -> None:
    """End every process that `start` started and nobody has ended, from whatever thread."""
    end(list(_live.values()))


def _signal_session(process: Process, number: signal.Signals) -> None:
    # The session's id stays ours until the leader is waited for and its last member is gone.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
