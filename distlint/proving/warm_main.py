"""Forks ranks off an interpreter that has imported what they all need: `warm.py` says why.

Started by its file name (`python warm_main.py DESCRIPTOR MODULE …`), with nothing imported from distlint.
DESCRIPTOR is one of a pair of connections. What is asked and told:

    ("fork", {"argv": […], "env": {…}, "cwd": "…", "output": "…"})  ->  ("forked", PID)
    ("release", PID)                                                 ->  nothing
    (a process has ended)                                            ->  ("ended", PID, STATUS)

A process that has ended stays a zombie until it is given back, so that its session's id stays its own.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
import types
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

_LOOK = 0.05


def _become(asked: dict[str, Any]) -> None:
    """Make the forked process what one is that was started with these arguments."""
    os.setsid()
    output = os.open(asked["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    for descriptor in (1, 2):
        os.dup2(output, descriptor)
    os.close(output)
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["env"])
    sys.argv = asked["argv"]
    # Python seeds `random` anew in a forked process; NumPy does not.
    if "numpy" in sys.modules:
        importlib.import_module("numpy.random").seed()


def _ended(running: set[int]) -> dict[int, int]:
    """Exit statuses of those that have ended, by process id; they stay zombies."""
    found = {}
    for pid in sorted(running):
        end = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if end is not None:
            killed = end.si_code != os.CLD_EXITED
            found[pid] = -end.si_status if killed else end.si_status
    return found


def _serve(connection: Connection[Any, Any]) -> bool:
    """Answer until nobody asks; True in a forked process, which then has to run its program."""
    running: set[int] = set()
    with connection:
        while True:
            for pid, status in _ended(running).items():
                running.discard(pid)
                connection.send(("ended", pid, status))
            if not connection.poll(_LOOK if running else None):
                continue
            try:
                kind, asked = connection.recv()
            except EOFError:
                return False
            if kind == "release":
                os.waitpid(asked, 0)
                continue
            ready, told = os.pipe()
            pid = os.fork()
            if not pid:
                os.close(ready)
                _become(asked)
                os.close(told)
                return True
            # Only then is there a session that can be ended.
            os.close(told)
            os.read(ready, 1)
            os.close(ready)
            running.add(pid)
            connection.send(("forked", pid))


def _run(program: str) -> None:
    """Run a file as `__main__`, which stays that until the process ends, as under `python FILE`.

    `runpy` drops it before: with it go process groups of gloo whose threads wait for the interpreter's lock, held
    meanwhile by whoever waits for those threads (torch 2.13.0; now and then, until the time limit).
    """
    module = types.ModuleType("__main__")
    module.__file__ = program
    sys.modules["__main__"] = module
    exec(compile(Path(program).read_bytes(), program, "exec"), module.__dict__)


def main() -> None:
    """Import the modules, then fork what is asked for."""
    connection: Connection[Any, Any] = Connection(int(sys.argv[1]))
    for name in sys.argv[2:]:
        importlib.import_module(name)
    # A rank that ends would look for cycles among all of them: half a second, and a copy of each page.
    gc.freeze()
    if _serve(connection):
        _run(sys.argv[0])


if __name__ == "__main__":
    main()
