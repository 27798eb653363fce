"""How much CPU time a cold `distlint check` costs beside `ruff check --select F`, in one run.

    python bench/check_speed.py path/to/unpacked/transformers-5.23.0

Both programs run without their caches, in turns, on the same files, distlint once as one process and once as
two (`-j 2`); the numbers are user plus system CPU seconds of the child processes, the least of the rounds, the wall
seconds beside them, and how many of these there are for each CPU second of one process: with two cores to itself,
`-j 2` has less than 1. Then distlint runs with its cache: on files that
did not change, all and one by name, and after one file has changed: a function is written at the end of each of
some files of a copy, one after the other, spread over the tree. What a change costs depends on the file, so
that the least, the middle and the most of them are printed; `--change FILE` names the files instead. A script
that starts the code gets a comment, too, where there is one. The files are read once before, so that no program
pays for the disk, and distlint runs from byte code, as an installed package does, even where the environment keeps
Python from writing any.
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

from distlint.launch.kinds import is_relevant, kind_of


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


def show(name: str, cost: Cost, base: Cost, alone: Cost | None = None) -> None:
    """One line of the table; `alone` is what the same costs as one process."""
    ratio = f"{cost.cpu / base.cpu:5.2f}x"
    shared = f"{cost.wall / alone.cpu:10.2f}" if alone is not None else ""
    print(f"{name:<34}{cost.cpu:8.2f} s{cost.wall:9.2f} s{cost.memory:9.0f} MiB  {ratio}{shared}")


CHANGE = '\n\ndef changed(value):\n    print(f"changed: {value}")\n    return value\n'
"""What is written at the end of a file."""


def spread(files: Sequence[Path], count: int) -> list[Path]:
    """So many of `files`, as far from each other as they can be."""
    ordered = sorted(files)
    count = min(count, len(ordered))
    return [ordered[(2 * n + 1) * len(ordered) // (2 * count)] for n in range(count)]


def launch_files(directory: Path) -> list[Path]:
    """The shell scripts and YAML files that say how the code is started."""
    found = []
    for path in sorted(p for p in directory.rglob("*") if p.suffix in (".sh", ".yaml", ".yml")):
        kind = kind_of(str(path))
        if kind is not None and path.is_file() and is_relevant(kind, path.read_bytes()):
            found.append(path)
    return found


def incremental(
    directory: Path, changed: Sequence[Path], rounds: int, environment: Mapping[str, str]
) -> dict[str, Cost]:
    """What checks with a cache cost: of all and of one file, untouched, and after each of `changed` has changed."""
    distlint = [sys.executable, "-m", "distlint"]
    with tempfile.TemporaryDirectory() as home:
        copy, cache = str(Path(home, "copy")), ["--cache-dir", str(Path(home, "cache"))]
        shutil.copytree(directory, copy, symlinks=True)
        time.sleep(2.1)  # what has just been written is not known by its stamp

        def cost(*command: str) -> Cost:
            return measure([*distlint, *command, *cache], copy, environment)

        cost("check", ".")
        found = {"distlint check, untouched": least([cost("check", ".") for _ in range(rounds)])}
        if changed:
            name = str(changed[0])
            cost("check", name)
            again = [cost("check", name) for _ in range(rounds)]
            found["distlint check FILE, untouched"] = least(again)
            again = [cost("fix", name) for _ in range(rounds)]
            found["distlint fix FILE, untouched"] = least(again)
        costs = []
        for path in changed:
            with Path(copy, path).open("a", encoding="utf-8") as file:
                file.write(CHANGE)
            costs.append(cost("check", "."))
        costs.sort(key=lambda each: each.cpu)
        for name, at in (("least", 0), ("middle", len(costs) // 2), ("most", -1)):
            if costs:
                found[f"one file of {len(costs)} changed, {name}"] = costs[at]
        for path in launch_files(Path(copy))[:1]:
            with path.open("a", encoding="utf-8") as file:
                file.write("\n# changed\n")
            found["one script changed"] = cost("check", ".")
    return found


def main() -> int:
    """Measure, print the table; the exit code says whether a limit was kept."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("directory", type=Path, help="a tree of Python files")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--changes", type=int, default=7, help="how many files to change")
    parser.add_argument("--change", type=Path, action="append", help="a file to change instead")
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
        "distlint check -j 1, cold": [*distlint, "--no-cache", "-j", "1"],
        "distlint check -j 2, cold": [*distlint, "--no-cache", "-j", "2"],
    }
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    with tempfile.TemporaryDirectory() as byte_code:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": byte_code}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for _ in range(options.rounds + 1):  # the first one writes the byte code
            for name, command in commands.items():
                costs[name].append(measure(command, directory, environment))
        base = least(costs["ruff check --select F"])
        cold = least(costs["distlint check -j 1, cold"])

        changed = options.change or spread(files, options.changes)
        below = [p.relative_to(options.directory) if p in files else p for p in changed]
        cached = incremental(options.directory, below, options.rounds, environment)

    print(f"{'':<34}{'CPU':>10}{'wall':>11}{'memory':>13}  of ruff's CPU  wall of -j 1's CPU")
    show("ruff check --select F", base, base)
    for name in ("distlint check -j 1, cold", "distlint check -j 2, cold"):
        show(name, least(costs[name]), base, cold)
    for name, cost in cached.items():
        show(name, cost, base)
    if options.limit is not None and cold.cpu > options.limit * base.cpu:
        print(f"\nabove the limit of {options.limit}x", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
