"""What ruff formats after a fix: in files that were formatted, only lines of the fix that are too long."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from distlint.columns import lines_kept

SCRIPTS = Path(__file__).parent / "scripts"
STYLES = ("runtime", "native")
WIDTH = 100


def _formatted(texts: Mapping[str, str], folder: Path) -> dict[str, str]:
    """The files as ruff formats them in a new folder."""
    folder.mkdir()
    for name, text in texts.items():
        (folder / name).write_text(text)
    command = [sys.executable, "-m", "ruff", "format", "--no-cache", "--isolated"]
    command += ["--line-length", str(WIDTH), str(folder)]
    subprocess.run(command, capture_output=True, timeout=60, check=True)
    return {name: (folder / name).read_text() for name in texts}


@pytest.mark.parametrize("style", STYLES)
def test_only_what_a_fix_wrote_is_formatted(tmp_path: Path, style: str) -> None:
    code = tmp_path / "code"
    scripts = {path.name: path.read_text() for path in SCRIPTS.glob("wrong/*.py")}
    before = _formatted(scripts, code)
    command = [sys.executable, "-m", "distlint", "fix", "--apply", "--unsafe-fixes", "--preview"]
    subprocess.run(
        [*command, "--no-cache", "--fix-style", style, "--exit-zero", "."],
        cwd=code,
        capture_output=True,
        timeout=120,
        check=True,
    )
    fixed = {name: (code / name).read_text() for name in before}
    formatted = _formatted(fixed, tmp_path / "formatted")
    changed = 0
    for name, old in before.items():
        changed += fixed[name] != old
        ours = fixed[name].splitlines()
        again = lines_kept(ours, formatted[name].splitlines())
        theirs = lines_kept(old.splitlines(), ours)
        lost = [ours[line - 1] for line in theirs.values() if line not in again]
        assert not lost, (name, lost)
        written = [line for number, line in enumerate(ours, 1) if number not in again]
        assert all(len(line) > WIDTH for line in written), (name, written)
    assert changed > 20
