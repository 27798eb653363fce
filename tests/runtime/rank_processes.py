"""Starts N processes that run one function each as a rank, with a hard limit of time.

`run` starts this file as a script, once for each rank, with the launcher's variables set. The
script imports the function (``module:name``, from this folder), initialises the group unless told
not to, calls the function and leaves what it returned, or its traceback, in a file.

Only processes that `run` started are ever killed, by their own handle.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
# After one rank has ended with an error, the others get this long to end by themselves.
GRACE = 8.0


@dataclass(frozen=True)
class Outcome:
    """How one rank ended.

    code: exit status; None where it was killed at the limit of time.
    result: what the function returned, through JSON.
    error: the traceback of what it raised; empty where it returned.
    output: stdout and stderr.
    """

    rank: int
    code: int | None
    result: Any
    error: str
    output: str


def run(
    function: str,
    world_size: int,
    *arguments: Any,
    init: bool = True,
    limit: float = 120.0,
    env: dict[str, str] | None = None,
    group_timeout: float = 60.0,
    prefix: tuple[str, ...] = (),
    terminal: int | None = None,
) -> list[Outcome]:
    """Runs ``module:name`` with `arguments` on `world_size` ranks; see the module's docstring.

    Args:
        init: initialise a gloo group first. Without it the launcher's variables are not set
            either, unless `env` holds them.
        limit: seconds until every rank that still runs is killed.
        env: variables to add.
        group_timeout: seconds, the timeout of the group's collectives.
        prefix: a command to run the script under, in place of the interpreter; then it is started
            once and starts the ranks itself.
        terminal: a file descriptor for rank 0 to read from and write to; the others have none.
    """
    with tempfile.TemporaryDirectory() as folder:
        started = [
            _start(
                function,
                rank,
                world_size,
                arguments,
                init,
                env or {},
                group_timeout,
                folder,
                terminal if rank == 0 else None,
            )
            for rank in range(world_size)
            if not prefix
        ]
        if prefix:
            started = [_start_with(prefix, function, world_size, arguments, env or {}, folder)]
        codes = _wait(started, limit)
        if prefix:
            codes = codes * world_size
        return [_outcome(Path(folder), rank, code) for rank, code in enumerate(codes)]


def environment(env: dict[str, str]) -> dict[str, str]:
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name not in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
    }
    return {**inherited, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", **env}


def _start(
    function: str,
    rank: int,
    world_size: int,
    arguments: tuple[Any, ...],
    init: bool,
    env: dict[str, str],
    group_timeout: float,
    folder: str,
    terminal: int | None,
) -> subprocess.Popen[bytes]:
    variables = environment(env)
    if init:
        port_file = Path(folder) / "port"
        if not port_file.exists():
            port_file.write_text(str(free_port()))
        variables |= {
            "RANK": str(rank),
            "LOCAL_RANK": str(rank),
            "WORLD_SIZE": str(world_size),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": port_file.read_text(),
            "RANK_PROCESSES_TIMEOUT": str(group_timeout),
        }
    variables["RANK_PROCESSES_RANK"] = str(rank)
    with (Path(folder) / f"{rank}.log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, __file__, function, folder, json.dumps(arguments)],
            env=variables,
            stdin=subprocess.DEVNULL if terminal is None else terminal,
            stdout=log if terminal is None else terminal,
            stderr=subprocess.STDOUT,
        )


def _start_with(
    prefix: tuple[str, ...],
    function: str,
    world_size: int,
    arguments: tuple[Any, ...],
    env: dict[str, str],
    folder: str,
) -> subprocess.Popen[bytes]:
    with (Path(folder) / "0.log").open("wb") as log:
        return subprocess.Popen(
            [*prefix, __file__, function, folder, json.dumps(arguments)],
            env=environment(env),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )


def _wait(started: list[subprocess.Popen[bytes]], limit: float) -> list[int | None]:
    deadline = time.monotonic() + limit
    shortened = False
    killed: set[int] = set()
    while any(process.poll() is None for process in started):
        if not shortened and any(process.poll() not in (None, 0) for process in started):
            deadline, shortened = min(deadline, time.monotonic() + GRACE), True
        if time.monotonic() > deadline:
            for process in started:
                if process.poll() is None:
                    killed.add(process.pid)
                    process.kill()
                    process.wait()
        time.sleep(0.02)
    return [None if process.pid in killed else process.returncode for process in started]


def _outcome(folder: Path, rank: int, code: int | None) -> Outcome:
    result: dict[str, Any] = {}
    # A rank that was killed left no file, or half of one.
    with contextlib.suppress(OSError, ValueError):
        result = json.loads((folder / f"{rank}.json").read_text())
    log = folder / f"{rank}.log"
    return Outcome(
        rank=rank,
        code=code,
        result=result.get("result"),
        error=result.get("error", ""),
        output=log.read_text(errors="replace") if log.exists() else "",
    )


def free_port() -> int:
    """A port of this machine that nobody listens on at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _main(function: str, folder: str, arguments: str) -> None:
    rank = os.environ.get("RANK_PROCESSES_RANK") or os.environ.get("RANK", "0")
    report = Path(folder) / f"{rank}.json"
    sys.path.insert(0, str(HERE))
    if timeout := os.environ.get("RANK_PROCESSES_TIMEOUT"):
        from datetime import timedelta

        import torch.distributed as dist

        # The timeout is that of the group's collectives; to meet, ranks may take as long as they load torch.
        world_size = int(os.environ["WORLD_SIZE"])
        store = dist.TCPStore(  # type: ignore[attr-defined]
            os.environ["MASTER_ADDR"],
            int(os.environ["MASTER_PORT"]),
            world_size,
            is_master=int(rank) == 0,
            timeout=timedelta(seconds=60),
        )
        dist.init_process_group(
            "gloo",
            store=store,
            rank=int(rank),
            world_size=world_size,
            timeout=timedelta(seconds=float(timeout)),
        )
    module, _, name = function.partition(":")
    try:
        result = getattr(importlib.import_module(module), name)(*json.loads(arguments))
        report.write_text(json.dumps({"result": result}))
    except BaseException:
        report.write_text(json.dumps({"error": traceback.format_exc()}))
        raise


if __name__ == "__main__":
    _main(*sys.argv[1:])
