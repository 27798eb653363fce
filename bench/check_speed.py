"""How much CPU time a cold `distlint check` costs beside `ruff check --select F`, in one run.

    python bench/check_speed.py path/to/unpacked/transformers-5.23.0

Both programs run without their caches, in turns, on the same files; the numbers are user plus system
CPU seconds of the child processes, the least of the rounds. A warm run of distlint and the peak memory
of each are printed too. The files are read once before, so that no program pays for the disk, and distlint
runs from byte code, as an installed package does, even where the environment keeps Python from writing any.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Cost:
    """What one run of a program cost: CPU and wall seconds, peak resident memory in MiB."""

    cpu: float
    wall: float
    memory: float


def measure(command: Sequence[str], directory: str, environment: Mapping[str, str]) -> Cost:
    """Run `command` in `directory` and say what it cost. Raises RuntimeError where it could not do its work."""
    start = time.monotonic()
    child = subprocess.Popen(
        command,
        cwd=directory,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert child.stderr is not None
    errors = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 1):
        raise RuntimeError(f"{' '.join(command)} ended with {child.returncode}: {errors.decode()}")
    scale = 2**20 if sys.platform == "darwin" else 2**10
    wall = time.monotonic() - start
    return Cost(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / scale)


def least(costs: Sequence[Cost]) -> Cost:
    """The cheapest of several runs: the others were disturbed."""
    return Cost(*(min(getattr(cost, name) for cost in costs) for name in ("cpu", "wall", "memory")))


def show(name: str, cost: Cost, base: Cost) -> None:
    """One line of the table."""
    ratio = f"{cost.cpu / base.cpu:5.2f}x"
    print(f"{name:<34}{cost.cpu:8.2f} s{cost.wall:9.2f} s{cost.memory:9.0f} MiB  {ratio}")


def main() -> int:
    """Measure, print the table; the exit code says whether a limit was kept."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("directory", type=Path, help="a tree of Python files")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float, help="exit 1 where the ratio is above this")
    options = parser.parse_args()
    directory = str(options.directory)
    files = list(options.directory.rglob("*.py"))
    size = sum(len(path.read_bytes()) for path in files)
    print(f"{directory}: {len(files):,} files, {size / 2**20:.1f} MiB\n")

    ruff = shutil.which("ruff") or str(Path(sys.executable).with_name("ruff"))
    distlint = [sys.executable, "-m", "distlint", "check", "."]
    commands = {
        "ruff check --select F": [
            ruff,
            "check",
            "--isolated",
            "--no-cache",
            "--select",
            "F",
            ".",
        ],
        "distlint check, cold": [*distlint, "--no-cache"],
    }
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    with tempfile.TemporaryDirectory() as byte_code:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": byte_code}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for _ in range(options.rounds + 1):  # the first one writes the byte code
            for name, command in commands.items():
                costs[name].append(measure(command, directory, environment))
        base = least(costs["ruff check --select F"])
        cold = least(costs["distlint check, cold"])

        with tempfile.TemporaryDirectory() as cache:
            kept = [*distlint, "--cache-dir", cache]
            measure(kept, directory, environment)
            warm = least([measure(kept, directory, environment) for _ in range(options.rounds)])

    print(f"{'':<34}{'CPU':>10}{'wall':>11}{'memory':>13}  of ruff's CPU")
    show("ruff check --select F", base, base)
    show("distlint check, cold", cold, base)
    show("distlint check, warm", warm, base)
    if options.limit is not None and cold.cpu > options.limit * base.cpu:
        print(f"\nabove the limit of {options.limit}x", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
