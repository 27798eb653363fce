"""Ranks that are forked off an interpreter with torch in it: a second less for each, two where it wraps a model.

Importing torch and accelerate costs more than most proofs do behind it, and so does what torch imports by itself
when the first wrapper or optimizer is made. A forked rank is not all that `python SCRIPT` is: it has the salt of
its parent's hashes, and what a library reads from the environment at import is read already. So what a forked
rank does is only evidence where the same proof went wrong in forked ranks before it was fixed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from multiprocessing import Pipe
from pathlib import Path

from distlint.proving import launch, warm_main

_WARM_UP = 120.0
_IMPORTED = (
    *("accelerate", "torch.distributed", "torch._dynamo", "torch.distributed.checkpoint"),
    *("torch.distributed.fsdp", "torch.distributed.tensor"),
)
"""What ranks of proofs import, or torch for them when they make a wrapper or an optimizer."""


class ForkedProcess:
    """A process of a `WarmInterpreter`, to be asked as `subprocess.Popen` is."""

    def __init__(self, parent: WarmInterpreter, pid: int) -> None:
        self.pid = pid
        self._parent = parent
        self._released = False

    def poll(self) -> int | None:
        """The exit status, minus the signal's number where one ended it; None while it runs."""
        return self._parent.status(self.pid, 0.0)

    def wait(self, timeout: float | None = None) -> int:
        """The exit status, once there is one. Raises subprocess.TimeoutExpired after `timeout` seconds."""
        status = self._parent.status(self.pid, timeout)
        if status is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0.0)
        if not self._released:
            self._released = True
            self._parent.release(self.pid)
        return status


class WarmInterpreter:
    """An interpreter that has imported `modules` and forks ranks; a context manager that ends it.

    For one thread. POSIX only.
    """

    def __init__(self, modules: Sequence[str], env: Mapping[str, str]) -> None:
        """Start it with the variables `env`, which the imports see; it warms up meanwhile."""
        self._connection, theirs = Pipe()
        self._ended: dict[int, int] = {}
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, str(warm_main.__file__), str(theirs.fileno()), *modules],
                env=dict(env),
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                pass_fds=(theirs.fileno(),),
            )

    def __enter__(self) -> WarmInterpreter:
        return self

    def __exit__(self, *exception: object) -> None:
        self._connection.close()
        self._process.kill()
        self._process.wait()

    def start(
        self,
        command: Sequence[str],
        rank: int,
        env: Mapping[str, str],
        cwd: Path,
        output: Path | tuple[int, int],
    ) -> launch.RankProcess:
        """`launch.start` for `[sys.executable, FILE, …]` with an output file; others get their own.

        Raises OSError where the interpreter has ended.
        """
        if command[0] != sys.executable or command[1].startswith("-") or isinstance(output, tuple):
            return launch.start(command, rank, env, cwd, output)
        env = launch.known_starter(env)
        asked = {"argv": command[1:], "env": env, "cwd": str(cwd), "output": str(output)}
        self._connection.send(("fork", asked))
        pid = None
        while pid is None:
            if not self._connection.poll(_WARM_UP):
                raise OSError("the interpreter that forks ranks does not answer")
            pid = self._heard()
        return launch.started(ForkedProcess(self, pid), rank, output)

    def status(self, pid: int, timeout: float | None) -> int | None:
        """The exit status of one of its processes, waiting `timeout` seconds (None: for ever)."""
        until = None if timeout is None else time.monotonic() + timeout
        while pid not in self._ended:
            left = None if until is None else max(until - time.monotonic(), 0.0)
            if not self._connection.poll(left):
                break
            self._heard()
        return self._ended.get(pid)

    def release(self, pid: int) -> None:
        """Let the process id of one that has ended be used again."""
        self._connection.send(("release", pid))

    def _heard(self) -> int | None:
        """Take the next thing it says: the process id it forked, or None where one has ended.

        Raises OSError where the interpreter has ended.
        """
        try:
            kind, pid, *status = self._connection.recv()
        except EOFError as error:
            raise OSError("the interpreter that forks ranks has ended") from error
        if kind == "forked":
            return int(pid)
        self._ended[pid] = status[0]
        return None


def interpreter(modules: Sequence[str] = _IMPORTED) -> WarmInterpreter:
    """A `WarmInterpreter` for proofs."""
    return WarmInterpreter(modules, launch.proof_environment(os.environ))
