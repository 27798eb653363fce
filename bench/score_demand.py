"""Counts the causes of public reports that distlint finds, on scripts of the reported shape.

    python bench/score_demand.py [--stable] [REPORT...]

`tests/demand/reports.jsonl` has a row for each public report of a known cause in users' own code or launch
files: the file and a piece of the line that is wrong, and the rules that may say so. The scripts were written
from the reports' texts alone, before it was looked up which rule would find them.
`tests/demand/reports/<report>/wrong` holds the script, `right` a look-alike that does it right. A cause is found
where an error or warning of a named rule stands within three lines of its line (related places count). Rules in
preview run too, but with --stable. With names of reports: what is found in each, in full.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from distlint.cli import main as distlint

HERE = Path(__file__).resolve().parent.parent / "tests" / "demand"
TOLERANCE = 3

Row = dict[str, Any]


def rows() -> list[Row]:
    """The table of the reports."""
    text = (HERE / "reports.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def folder(row: Row) -> Path:
    """Where the scripts of a report are."""
    name: str = row["report"]
    return HERE / "reports" / name.replace("/", "+").replace("#", "-")


def findings(project: Path, *options: str) -> list[dict[str, Any]]:
    """What is found in a copy of a project, away from the folder of tests, with paths from its root."""
    with tempfile.TemporaryDirectory() as temporary:
        copy = Path(temporary).resolve() / "project"
        shutil.copytree(project, copy)
        arguments = ["check", "--no-cache", "--output-format", "json", *options, str(copy)]
        done = CliRunner().invoke(distlint, arguments)
        if done.exit_code not in (0, 1):
            raise SystemExit(f"{project}: exit {done.exit_code}: {done.output[-300:]}")
        found: list[dict[str, Any]] = json.loads(done.stdout)["findings"]
    for place in [p for finding in found for p in (finding, *finding["related"])]:
        place["path"] = place["path"].rpartition("project/")[2]
    return found


def lines_of(row: Row) -> list[int]:
    """The lines that are wrong; of a notebook, those of its cell."""
    path = folder(row) / "wrong" / row["file"]
    return [
        number
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if row["at"] in line
    ]


def is_found(row: Row, found: list[dict[str, Any]]) -> bool:
    """Whether a finding of a named rule, or a place related to it, is at the line."""
    lines = lines_of(row)
    return any(
        place["path"] == row["file"]
        and (
            row["file"].endswith(".ipynb")
            or any(abs(place["line"] - n) <= TOLERANCE for n in lines)
        )
        for finding in found
        if finding["code"] in row["codes"]
        for place in (finding, *finding["related"])
    )


def text_of(finding: dict[str, Any]) -> str:
    """A finding in one line."""
    return f"{finding['path']}:{finding['line']} {finding['code']} {finding['severity']} {finding['message']}"


def main() -> None:
    """Print the reports whose cause is silent, the look-alikes that are not, then the counts."""
    stable = "--stable" in sys.argv
    named = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    options = [] if stable else ["--preview"]
    counts: Counter[tuple[str, str]] = Counter()
    for row in rows():
        if named and row["report"] not in named:
            continue
        wrong = findings(folder(row) / "wrong", *options)
        right = findings(folder(row) / "right", *options)
        state = "found" if is_found(row, wrong) else "silent" if row["codes"] else "no rule"
        counts[row["where"], state] += 1
        counts[row["where"], "look-alikes with findings"] += bool(right)
        if state != "found" or named:
            print(f"{state}: {row['report']} ({', '.join(row['codes'])}): {row['cause']}")
        for finding in wrong:
            if named or state != "found":
                print(f"    {text_of(finding)}")
        for finding in right:
            print(f"  look-alike of {row['report']}: {text_of(finding)}")
    for where in sorted({where for where, _ in counts}):
        of_it = {state: n for (w, state), n in counts.items() if w == where}
        total = sum(of_it.get(state, 0) for state in ("found", "silent", "no rule"))
        share = of_it.get("found", 0) / total
        print(
            f"{where}: {total} reports, found {share:.0%},",
            ", ".join(f"{k} {v}" for k, v in of_it.items()),
        )


if __name__ == "__main__":
    main()
