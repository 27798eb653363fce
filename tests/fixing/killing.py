"""Kills `distlint fix --apply` at random moments: each file is then the old one or the new one.

    python tests/fixing/killing.py 200

Half of the moments lie anywhere in a run, half in the time in which files are written. The runs are forked off
one interpreter with distlint in it, so that the moments lie in the run and not in what it loads.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from distlint import __main__
from distlint.proving import launch
from distlint.proving.warm import WarmInterpreter
from distlint.rule import load_rules

FILES = 12
LIMIT = 120.0
OLD = (
    "import torch\nimport torch.distributed as dist\n\n\ndef finish(state, path):\n"
    "    dist.barrier()\n    torch.save(state, path)\n"
) + "".join(f"# line {number} of a file that takes a moment to write\n" for number in range(300))


@dataclass(frozen=True)
class Ending:
    """How one killed run left the files: how many are old, how many new, and what is neither."""

    old: int
    new: int
    broken: tuple[str, ...]


def write_project(folder: Path) -> None:
    """Files with one finding each, which `distlint fix` repairs."""
    for number in range(FILES):
        (folder / f"train{number:02}.py").write_text(OLD)


def loaded() -> WarmInterpreter:
    """An interpreter that has loaded all that `distlint fix` loads."""
    modules = [*(rule.module for rule in load_rules().values()), "distlint.fixing.engine"]
    return WarmInterpreter(modules, os.environ)


def start(interpreter: WarmInterpreter, folder: Path) -> launch.Process:
    """`distlint fix --apply` in a folder."""
    command = [sys.executable, str(__main__.__file__)]
    command += ["fix", "--apply", "-q", "--no-cache", "."]
    return interpreter.start(command, 0, os.environ, folder, Path(os.devnull)).process


def fixed(interpreter: WarmInterpreter, folder: Path) -> tuple[dict[str, bytes], float]:
    """The files after a run that nobody kills, and how long it took."""
    began = time.monotonic()
    start(interpreter, folder).wait(timeout=LIMIT)
    files = {path.name: path.read_bytes() for path in sorted(folder.glob("*.py"))}
    return files, time.monotonic() - began


def killed(
    interpreter: WarmInterpreter,
    folder: Path,
    new: dict[str, bytes],
    pause: float,
    *,
    writing: bool,
) -> Ending:
    """A run that is killed after `pause` seconds, counted from the first write where `writing`."""
    first = folder / min(new)
    run = start(interpreter, folder)
    if writing:
        end = time.monotonic() + LIMIT
        while first.read_bytes() != new[first.name] and run.poll() is None:
            if time.monotonic() > end:
                break
            time.sleep(0.0005)
    time.sleep(pause)
    if run.poll() is None:
        os.kill(run.pid, signal.SIGKILL)
    run.wait(timeout=LIMIT)
    contents = {path.name: path.read_bytes() for path in folder.glob("*.py")}
    old = sum(data == OLD.encode() for data in contents.values())
    done = sum(contents[name] == data for name, data in new.items() if name in contents)
    broken = [name for name, data in contents.items() if data not in (OLD.encode(), new[name])]
    return Ending(old, done, (*broken, *sorted(new.keys() - contents.keys())))


def endings(moments: int, seed: int = 0) -> list[Ending]:
    """What `moments` killed runs leave behind."""
    chance = random.Random(seed)
    found = []
    with tempfile.TemporaryDirectory(prefix="distlint-killed-") as name, loaded() as interpreter:
        whole = Path(name) / "whole"
        whole.mkdir()
        write_project(whole)
        new, seconds = fixed(interpreter, whole)
        for number in range(moments):
            folder = Path(name) / "killed"
            folder.mkdir()
            write_project(folder)
            writing = number % 2 == 0
            pause = chance.uniform(0, 0.1 if writing else seconds)
            found.append(killed(interpreter, folder, new, pause, writing=writing))
            shutil.rmtree(folder)
    return found


def main() -> int:
    """Kill as often as the command line says; 1 where a file is neither old nor new."""
    found = endings(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
    between = sum(1 for each in found if each.old and each.new)
    broken = [name for each in found for name in each.broken]
    print(
        f"{len(found)} runs killed, {between} of them between two files, {len(broken)} files broken"
    )
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
