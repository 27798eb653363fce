"""What distlint finds, and what it costs, over a folder of unpacked packages.

    python bench/corpus.py PACKAGES_DIR [--one-run] [--findings FILE] [--limit 1.1]

Each folder in `PACKAGES_DIR` is checked alone, one process after the other, without the cache and with the
preview rules. Printed are, for each package, files, lines, CPU seconds (in all, per 1,000 lines), peak
memory and the count of errors and warnings; the counts of each rule; and the exponent b of the least-squares
line through log(seconds) = a + b log(lines), which is 1 where the time of a line does not depend on the
size of the project. The start of the interpreter is measured on an empty folder and taken off first.
`--one-run` also checks the whole folder as one project. Exit status 1 where a run did not end with
0 or 1 (it crashed, or could not read something), or where the exponent is above the limit.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

COMMAND = (
    *(sys.executable, "-m", "distlint", "check", "--no-cache", "--preview"),
    *("--output-format", "json", "."),
)
COUNTED = ("error", "warning")
ENVIRONMENT = {**os.environ, "PYTHONSAFEPATH": "1"}
"""The folder to check is no place to import from: some packages hold modules named like a library."""


@dataclass(frozen=True)
class Run:
    """One check of one folder: its size, what it cost (CPU seconds, MiB), how it ended, what it found."""

    name: str
    files: int
    lines: int
    cpu: float
    memory: float
    status: int
    complaint: str
    findings: tuple[dict[str, Any], ...]


def size_of(folder: Path) -> tuple[int, int]:
    """How many Python files lie under `folder`, and how many lines they have."""
    files = [path for path in folder.rglob("*.py") if path.is_file()]
    return len(files), sum(path.read_bytes().count(b"\n") for path in files)


def check(folder: Path) -> Run:
    """Check `folder` in a process of its own and take its cost from the operating system."""
    files, lines = size_of(folder)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen(COMMAND, cwd=folder, stdout=out, stderr=err, env=ENVIRONMENT)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        text, complaint = out.read().decode(), err.read().decode().strip()
    found = json.loads(text)["findings"] if child.returncode in (0, 1) else []
    scale = 2**20 if sys.platform == "darwin" else 2**10
    return Run(
        name=folder.name,
        files=files,
        lines=lines,
        cpu=usage.ru_utime + usage.ru_stime,
        memory=usage.ru_maxrss / scale,
        status=child.returncode,
        complaint=complaint,
        findings=tuple(f for f in found if f["severity"] in COUNTED),
    )


def exponent(runs: Sequence[Run], start: float) -> float:
    """The slope of log(CPU seconds without `start`) over log(lines), by least squares."""
    points = [
        (math.log(run.lines), math.log(run.cpu - start))
        for run in runs
        if run.lines and run.cpu > start
    ]
    if len(points) < 2:
        return math.nan
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    if spread == 0:
        return math.nan
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread


def show(run: Run) -> None:
    """One line of the table of packages, and what a run complained about."""
    rate = f"{1000 * run.cpu / run.lines:9.3f}" if run.lines else f"{'-':>9}"
    print(
        f"{run.name:<32}{run.files:7,}{run.lines:11,}{run.cpu:9.1f}{rate}{run.memory:8.0f}"
        f"{len(run.findings):10}{run.status:6}",
        flush=True,
    )
    if run.complaint or run.status not in (0, 1):
        print(f"    {run.complaint.splitlines()[-1] if run.complaint else 'said nothing'}")


def show_rules(runs: Sequence[Run]) -> None:
    """Errors and warnings of each rule over all packages."""
    counts = Counter((f["code"], f["severity"]) for run in runs for f in run.findings)
    print(f"\n{'rule':<8}{'errors':>8}{'warnings':>10}")
    for code in sorted({code for code, _ in counts}):
        print(f"{code:<8}{counts[code, 'error']:8}{counts[code, 'warning']:10}")
    errors, warnings = (sum(n for (_, s), n in counts.items() if s == kind) for kind in COUNTED)
    print(f"{'all':<8}{errors:8}{warnings:10}")


def main() -> int:
    """Check every package, print the tables; the exit code says whether all went well."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("packages", type=Path, help="a folder with one folder for each package")
    parser.add_argument("--one-run", action="store_true", help="check the folder as a whole, too")
    parser.add_argument("--findings", type=Path, help="write all errors and warnings here (json)")
    parser.add_argument("--limit", type=float, default=1.1, help="the greatest exponent allowed")
    options = parser.parse_args()
    if not options.packages.is_dir():
        parser.error(f"{options.packages} is no folder: name one that holds unpacked packages")
    folders = sorted(path for path in options.packages.iterdir() if path.is_dir())
    if not folders:
        parser.error(f"{options.packages} holds no folder: unpack some packages into it")
    with tempfile.TemporaryDirectory() as nothing:
        start = check(Path(nothing)).cpu

    print(
        f"{'package':<32}{'files':>7}{'lines':>11}{'CPU s':>9}{'s/kLOC':>9}{'MiB':>8}"
        f"{'findings':>10}{'exit':>6}"
    )
    runs = []
    for folder in folders:
        runs.append(check(folder))
        show(runs[-1])
    if options.one_run:
        whole = check(options.packages)
        show(whole)
        runs_and_whole = [*runs, whole]
    else:
        runs_and_whole = runs
    show_rules(runs)
    slope = exponent(runs, start)
    print(f"\nstart {start:.2f} s; exponent of CPU time against lines: {slope:.2f}")
    if options.findings:
        rows = [{"package": run.name, **finding} for run in runs for finding in run.findings]
        options.findings.write_text(json.dumps(rows, indent=1))
    crashed = [run.name for run in runs_and_whole if run.status not in (0, 1)]
    if crashed:
        print(f"did not end well: {', '.join(crashed)}", file=sys.stderr)
    if slope > options.limit:
        print(f"the exponent is above {options.limit}", file=sys.stderr)
    return 1 if crashed or slope > options.limit else 0


if __name__ == "__main__":
    sys.exit(main())
