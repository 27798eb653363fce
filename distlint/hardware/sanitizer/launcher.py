"""A launcher of the user's own (torchrun, accelerate, deepspeed), and the ranks that it starts.

Each Python process below it runs `startup/sitecustomize.py` first; a rank then connects to a socket here, and
tells and answers over it what a rank of our own does over its pipes. Where the ranks are on several machines,
they are watched as with DISTLINT_RUN instead (`job_rank`), and here is only the launcher.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from distlint.hardware.sanitizer import startup
from distlint.hardware.sanitizer.events import Stack
from distlint.hardware.sanitizer.ranks import Child, Plan, attached
from distlint.proving import launch

MODULES = {
    "torchrun": "torch.distributed.run",
    "accelerate": "accelerate.commands.launch",
    "deepspeed": "deepspeed.launcher.runner",
}
"""What `python -m` runs for each launcher."""
_GREETING = 10.0
"""Seconds that a process which has connected has to say which rank it is."""
_LAST_WORDS = 40.0
"""Seconds that a launcher has after a rank has failed: torchrun takes 30 to end the others."""


class Launcher:
    """The process of the launcher, and the socket at which its ranks come in."""

    lost = False

    def __init__(self, name: str, plan: Plan, options: str) -> None:
        """Starts it; `options` are those of `run` for ranks on several machines.

        Raises OSError where that fails.
        """
        self.expected = 1
        """How many ranks the job has, as far as known."""
        self._folder = tempfile.TemporaryDirectory(prefix="distlint-run-")
        self._shared: dict[Stack, Stack] = {}
        here = Path(self._folder.name)
        self.door = socket.socket(socket.AF_UNIX)
        self.door.bind(str(here / "ranks"))
        self.door.listen(256)
        # What an outer launcher left would make the launcher itself a rank; the rest is its own to read.
        env = {k: v for k, v in os.environ.items() if k not in launch.RANK_VARIABLES}
        env["PYTHONPATH"] = startup.in_front(env)
        env[startup.SOCKET] = str(here / "ranks")
        env[startup.VARIABLE] = options or "1"
        if plan.replicas:
            env[startup.REPLICAS] = "1"
        printed = sys.stderr if plan.output_to_stderr else sys.stdout
        self._process = launch.start(
            [sys.executable, "-m", MODULES[name], *plan.command],
            0,
            env,
            Path.cwd(),
            output=(printed.fileno(), sys.stderr.fileno()),
        )

    @property
    def ended(self) -> bool:
        """Whether the launcher has ended by itself."""
        return self._process.process.poll() is not None

    def accept(self, known: set[int]) -> Child | None:
        """The rank that has just connected; None for one of `known`, which is not compared again.

        A launcher that restarts ranks starts their sequences anew: only the first try is supervised.
        """
        connection, _ = self.door.accept()
        connection.settimeout(_GREETING)
        with connection:
            try:
                said = json.loads(connection.makefile("rb", buffering=0).readline())
            except (OSError, ValueError):
                return None
            if said["rank"] in known:
                return None
            self.expected = said["ranks"]
            pipe = os.dup(connection.fileno())
        return attached(said, pipe, self._shared)

    def wait(self) -> None:
        """Give the launcher the time to end the other ranks and to say why."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.process.wait(_LAST_WORDS)

    def end(self) -> int | None:
        """End the launcher if it still runs; its own exit status, None where it had to be ended.

        At once: on SIGTERM torchrun would end its ranks with a traceback of its own.
        """
        status = self._process.process.poll()
        launch.end([self._process])
        self.door.close()
        self._folder.cleanup()
        return status
