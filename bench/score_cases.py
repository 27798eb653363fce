"""Scores distlint against real bugs and look-alikes in published packages and repositories.

    python bench/score_cases.py cases.jsonl DIR...

`cases.jsonl` holds one object a line: `truth` ("bug" or "correct"; rows with another are passed over), `cls`
(its first letter or word names the family) or `family` ("DL3", as in `bench/judged.jsonl`), and where it
stands: `pypi` {name, version, path, line} or `repo`, `commit`, `path`, `line`. A `DIR`
holds unpacked packages as `name-version/`, or the files of a repository at a commit as `owner+name@commit/`
(the whole hash). A case that names both is looked for in the package.
A bug counts as found when an error or warning of the right family stands within three lines of its line
(related places count); a look-alike is silent when no finding of its family does.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import click

TOLERANCE = 3

FAMILIES = {
    "deadlock": ("DL1", "DL3", "DL6"),
    "a": ("DL2",),
    "b": ("DL3", "DL1"),
    "c": ("DL3", "DL1"),
    "d": ("DL4", "DL3"),
    "e": ("DL5", "DL1"),
    "f": ("DL6", "DL1"),
    "g": ("DL6",),
    "h": ("DL5", "DL8"),
    "i": ("DL7", "DL3"),
}
"""Rule families that may rightly report a case of each class."""


def findings_of(package: Path) -> list[dict[str, Any]]:
    """Every finding of a package, preview rules included."""
    command = [
        sys.executable,
        "-m",
        "distlint",
        "check",
        "--no-cache",
        "--preview",
        "--output-format",
        "json",
        ".",
    ]
    done = subprocess.run(command, cwd=package, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        print(f"{package.name}: exit {done.returncode}: {done.stderr.strip()[-300:]}")
    if not done.stdout.startswith(("[", "{")):
        return []
    document = json.loads(done.stdout)
    return document["findings"] if isinstance(document, dict) else document  # type: ignore[no-any-return]


def folder_of(row: dict[str, Any]) -> str | None:
    """The folder that holds a case's project; None for one that names no place."""
    if row.get("pypi"):
        return f"{row['pypi']['name']}-{row['pypi']['version']}"
    if row.get("commit") and row.get("path"):
        return f"{row['repo'].replace('/', '+')}@{row['commit']}"
    return None


def near(finding: dict[str, Any], path: str, line: int) -> bool:
    """Whether the finding, or a place related to it, is at the line."""
    places = [finding, *finding["related"]]
    return any(p["path"] == path and abs(p["line"] - line) <= TOLERANCE for p in places)


@click.command(help=__doc__, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("cases", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument(
    "packages",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    nargs=-1,
    required=True,
    metavar="DIR...",
)
def main(cases: Path, packages: tuple[Path, ...]) -> None:
    """Print a line for each case, then the counts by class."""
    rows = [json.loads(line) for line in cases.read_text().splitlines() if line.strip()]
    by_package: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        if row["truth"] in ("bug", "correct") and (folder := folder_of(row)):
            by_package[folder].append(row)
    counts: Counter[tuple[str, str, str]] = Counter()
    for name, cases_of in sorted(by_package.items()):
        package = next((p / name for p in packages if (p / name).is_dir()), None)
        if package is None:
            print(f"{name}: not unpacked")
            continue
        findings = findings_of(package)
        for row in cases_of:
            label = row.get("cls") or row["family"]
            kind = label.partition("/")[0].partition("-")[0]
            families = FAMILIES.get(kind, (kind,) if kind.startswith("DL") else ("DL",))
            if row.get("grade"):
                kind = f"{kind} {row['grade']}"
            place = row.get("pypi") or row
            path, line = place["path"], place["line"]
            inside = next((p for p in (path, f"src/{path}") if (package / p).exists()), path)
            hits = [
                f["code"]
                for f in findings
                if f["code"].startswith(families)
                and near(f, inside, line)
                and f["severity"] != "info"
            ]
            good = bool(hits) if row["truth"] == "bug" else not hits
            outcome = (
                ("found" if good else "MISSED")
                if row["truth"] == "bug"
                else ("silent" if good else "NOISY")
            )
            counts[row["truth"], kind, outcome] += 1
            exists = "" if (package / inside).exists() else "  (no such file)"
            print(
                f"{outcome:7} {label:45} {name} {path}:{line} {' '.join(sorted(set(hits)))}{exists}"
            )
    for (truth, kind, outcome), count in sorted(counts.items()):
        print(f"{truth:8} {kind:9} {outcome:7} {count}")


if __name__ == "__main__":
    main()
