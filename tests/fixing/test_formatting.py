"""What ruff formats after a fix: in files that were formatted, only lines of the fix that are too long."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from distlint.columns import lines_kept

SCRIPTS = Path(__file__).parent / "scripts"
STYLES = ("runtime", "native")
WIDTH = 100


def _formatted(text: str) -> str:
    command = [
        sys.executable,
        "-m",
        "ruff",
        "format",
        "--isolated",
        "--line-length",
        str(WIDTH),
        "-",
    ]
    done = subprocess.run(
        command, input=text, capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout


@pytest.mark.parametrize("style", STYLES)
def test_only_what_a_fix_wrote_is_formatted(tmp_path: Path, style: str) -> None:
    before = {path.name: _formatted(path.read_text()) for path in SCRIPTS.glob("wrong/*.py")}
    for name, text in before.items():
        (tmp_path / name).write_text(text)
    command = [sys.executable, "-m", "distlint", "fix", "--apply", "--unsafe-fixes", "--preview"]
    subprocess.run(
        [*command, "--no-cache", "--fix-style", style, "--exit-zero", "."],
        cwd=tmp_path,
        capture_output=True,
        timeout=120,
        check=True,
    )
    changed = 0
    for name, old in before.items():
        fixed = (tmp_path / name).read_text()
        changed += fixed != old
        formatted = _formatted(fixed).splitlines()
        ours = fixed.splitlines()
        again = lines_kept(ours, formatted)
        theirs = lines_kept(old.splitlines(), ours)
        lost = [ours[line - 1] for line in theirs.values() if line not in again]
        assert not lost, (name, lost)
        written = [line for number, line in enumerate(ours, 1) if number not in again]
        assert all(len(line) > WIDTH for line in written), (name, written)
    assert changed > 20
