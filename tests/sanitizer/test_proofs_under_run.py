"""`run` on the proofs that hang: the divergence is at the line where check has its finding."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from distlint.proving.declaration import Launch, Outcome, read_declaration
from distlint.proving.steps import bundled_proofs, unmet_requirement
from distlint.rule import load_rules

pytest.importorskip("torch")

EXAMPLE = Path(__file__).parents[1] / "proofs" / "examples" / "hang" / "proof.py"
HANGING = [
    path
    for path in bundled_proofs()
    for declaration in [read_declaration(path)]
    if declaration.outcome is Outcome.HANGS and declaration.launch is Launch.RANKS
]


def _lines(report: dict[str, Any], path: Path) -> set[int]:
    """The lines of the script on the stacks of the divergence: entered, or waited at."""
    frames = [frame for rank in report["ranks"] for frame in rank["stack"]]
    for rank in report["ranks"]:
        frames += rank["operation"]["stack"] if rank["operation"] else []
    return {
        frame["line"]
        for frame in frames
        if (path.parent / frame["path"]).resolve() == path.resolve()
    }


@pytest.mark.parametrize(
    "path",
    [EXAMPLE, HANGING[0], *(pytest.param(path, marks=pytest.mark.long) for path in HANGING[1:])],
    ids=lambda path: f"{path.parent.parent.name}/{path.parent.name}",
)
def test_divergence_is_where_check_reports(path: Path, tmp_path: Path) -> None:
    declaration = read_declaration(path)
    if missing := unmet_requirement(declaration):
        pytest.skip(missing)
    script = tmp_path / "proof.py"
    script.write_bytes(path.read_bytes())
    options = ["-n", str(declaration.ranks), "--stall-timeout", "3", "--json"]
    command = [sys.executable, "-m", "distlint", "run", *options, str(script)]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    report = json.loads(done.stdout)
    assert (done.returncode, report["outcome"]) == (3, "diverged"), report["headline"]
    expected = {line for line, _ in declaration.expected}
    if set(declaration.codes) <= load_rules().keys():
        found = {(finding["line"], finding["code"]) for finding in report["findings"]}
        marked = {(line, code) for line, codes in declaration.expected for code in codes}
        # A finding is at the collective, or at the condition before it with the collective beside.
        assert marked & found, report["findings"]
    else:
        assert expected & _lines(report, script), report["headline"]
