"""Plants faults in a copy of the package, one at a time, and counts those that the tests notice.

    python tests/planted/planting.py [FILE …]     # a table, of all faults or of those in files named so

Each fault runs the quick tests of its part, until the first that fails. Before that all of them have to
pass in the copy as it is. mutmut and cosmic-ray change every operator of a file and run one command on
each change: hours here, mostly for changes that mean nothing. A list made by hand asks what is known to
matter, in minutes.
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Queue

from planted_faults import FAULTS, Fault

ROOT = Path(__file__).parents[2]
COPIED = ("distlint", "rules", "tests", "docs", "examples", "pyproject.toml", "README.md")
LIMIT = 240
"""Seconds for the tests of one fault. What takes longer counts as not noticed: the machine may be slow."""
WORKERS = 2


@dataclass(frozen=True)
class Outcome:
    """What the tests said of one fault."""

    fault: Fault
    noticed: bool
    by: str
    """The first test that failed; why not, where none did."""
    seconds: float


def misplaced(fault: Fault, root: Path = ROOT) -> str:
    """Why a fault cannot be planted; empty where it can."""
    text = (root / fault.file).read_text(encoding="utf-8")
    count = text.count(fault.find)
    if count != 1:
        return f"{fault.file}: {fault.find!r} occurs {count} times, not once"
    try:
        ast.parse(text.replace(fault.find, fault.replace))
    except SyntaxError as error:
        return f"{fault.file}: with {fault.replace!r} it does not parse ({error})"
    return ""


@contextmanager
def copies(count: int) -> Iterator[list[Path]]:
    """Folders that each hold the package with its rules and tests, compiled by content."""
    with tempfile.TemporaryDirectory() as folder:
        places = [Path(folder) / str(number) for number in range(count)]
        for place in places:
            place.mkdir()
            for name in COPIED:
                if (ROOT / name).is_dir():
                    skip = shutil.ignore_patterns("__pycache__", ".hypothesis")
                    shutil.copytree(ROOT / name, place / name, ignore=skip)
                else:
                    shutil.copy(ROOT / name, place / name)
            (place / "distlint" / "rules").symlink_to(place / "rules")
            # A fault of the same length, written within the same second, would not be seen else.
            compile_all = ["-m", "compileall", "-q", "--invalidation-mode", "checked-hash"]
            subprocess.run(
                [sys.executable, *compile_all, "distlint", "rules"],
                cwd=place, check=True, timeout=LIMIT,
            )  # fmt: skip
        yield places


def ask(place: Path, tests: Sequence[str]) -> tuple[bool, str]:
    """Run tests in a copy: whether they noticed something, and the first that did."""
    path = f"{place}{os.pathsep}{place / 'tests' / 'planted'}"
    environment = os.environ | {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0"]
    command += ["-p", "no:cacheprovider", "-p", "first_example"]
    try:
        done = subprocess.run(
            [*command, "--tb=no", *tests],
            cwd=place,
            env=environment,
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )
    except subprocess.TimeoutExpired:
        return False, f"no end within {LIMIT} s"
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    match done.returncode:
        case 0:
            return False, "no test fails"
        case 1 | 2 if failed:
            return True, failed[0].split()[1]
    raise RuntimeError(f"pytest ended with {done.returncode}:\n{done.stdout}{done.stderr}")


def outcome(fault: Fault, free: Queue[Path]) -> Outcome:
    """Plant one fault in a copy that is free, and ask its tests."""
    place = free.get()
    path = place / fault.file
    text = path.read_text(encoding="utf-8")
    start = time.monotonic()
    try:
        path.write_text(text.replace(fault.find, fault.replace), encoding="utf-8")
        noticed, by = ask(place, fault.asked)
    finally:
        path.write_text(text, encoding="utf-8")
        free.put(place)
    return Outcome(fault, noticed, by, time.monotonic() - start)


def outcomes(faults: Sequence[Fault]) -> Iterator[Outcome]:
    """Plant faults one at a time in each of a few copies. RuntimeError where tests fail without one."""
    with copies(WORKERS) as places, ThreadPoolExecutor(WORKERS) as pool:
        free: Queue[Path] = Queue()
        for place in places:
            free.put(place)
        tests = sorted({test for fault in faults for test in fault.asked})
        failed, by = ask(places[0], tests)
        if failed:
            raise RuntimeError(f"without any fault: {by}")
        yield from pool.map(lambda fault: outcome(fault, free), faults)


def main(names: Sequence[str]) -> int:
    """Print a row for each fault, and how many were noticed."""
    faults = [f for f in FAULTS if not names or any(name in f.file for name in names)]
    for fault in faults:
        if problem := misplaced(fault):
            print(problem, file=sys.stderr)
            return 2
    noticed = 0
    for row in outcomes(faults):
        noticed += row.noticed
        word = "noticed" if row.noticed else "SURVIVED"
        print(f"{word:<9}{row.seconds:6.1f} s  {row.fault.file}: {row.fault.breaks}", flush=True)
        print(f"{'':19}{row.by}", flush=True)
    print(f"{noticed} of {len(faults)} noticed")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
