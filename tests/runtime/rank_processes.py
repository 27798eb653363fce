"""Starts N processes that run one function each as a rank, with a hard limit of time.

`run` starts this file as a script, once for each rank, with the launcher's variables set. The
script imports the function (``module:name``, from this folder), initialises the group unless told
not to, calls the function and leaves what it returned, or its traceback, in a file.

Only processes that `run` started are ever killed, by their own handle, and what they started.
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

from distlint.proving import launch
from distlint.proving.execution import Starter

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
    start: Starter = launch.start,
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
        start: starts a rank that has no terminal: as an interpreter of its own, or forked off one.
    """
    with tempfile.TemporaryDirectory() as folder:
        logs = [Path(folder) / f"{rank}.log" for rank in range(1 if prefix else world_size)]
        own = [__file__, function, folder, json.dumps(arguments)]
        variables = environment(env or {})
        port = str(free_port())
        started = []
        for rank, log in enumerate(logs):
            if prefix:
                started.append(launch.start([*prefix, *own], 0, variables, Path.cwd(), log))
                continue
            if init:
                variables |= {
                    "LOCAL_RANK": str(rank),
                    "RANK": str(rank),
                    "WORLD_SIZE": str(world_size),
                    "MASTER_ADDR": "127.0.0.1",
                    "MASTER_PORT": port,
                    "RANK_PROCESSES_TIMEOUT": str(group_timeout),
                }
            variables["RANK_PROCESSES_RANK"] = str(rank)
            command = [sys.executable, *own]
            if rank == 0 and terminal is not None:
                started.append(_at_terminal(command, variables, terminal))
            else:
                started.append(start(command, rank, variables, Path.cwd(), log))
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


def _at_terminal(
    command: list[str], variables: dict[str, str], terminal: int
) -> launch.RankProcess:
    process = subprocess.Popen(
        command,
        env=variables,
        stdin=terminal,
        stdout=terminal,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    return launch.started(process, 0, None)


def _wait(started: list[launch.RankProcess], limit: float) -> list[int | None]:
    deadline = time.monotonic() + limit
    shortened = False
    try:
        while None in (codes := [one.process.poll() for one in started]):
            if not shortened and any(codes):
                deadline, shortened = min(deadline, time.monotonic() + GRACE), True
            if time.monotonic() > deadline:
                break
            time.sleep(0.02)
    finally:
        launch.end(started)
    return codes


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
