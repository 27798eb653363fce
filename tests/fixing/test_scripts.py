"""Scripts in the shapes of real trainers: wrong ones run right after distlint's fix, others stay as they are."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from distlint.proving.declaration import Declaration, read_declaration
from distlint.proving.steps import Step, as_written, found_by_check, right_when_fixed

SCRIPTS = Path(__file__).parent / "scripts"
WRONG = sorted(SCRIPTS.glob("wrong/*.py"))
RIGHT = sorted(SCRIPTS.glob("right/*.py"))


def _marked() -> list[Any]:
    """Each script with each step; what runs on processes with `-m long`."""
    return [
        pytest.param(
            path,
            step,
            marks=() if step is found_by_check else pytest.mark.long,
            id=f"{path.stem}-{step.__name__}",
        )
        for path in WRONG
        for step in (as_written, found_by_check, right_when_fixed)
    ]


@pytest.mark.parametrize(("path", "step"), _marked())
def test_a_wrong_script(path: Path, step: Callable[[Declaration], Step]) -> None:
    declaration = read_declaration(path)
    if step is not found_by_check:
        pytest.importorskip("torch")
    result = step(declaration)
    output = [end.output for end in result.execution.ranks] if result.execution else []
    assert result.held, "\n".join([result.seen, *output])


def test_right_scripts_stay_as_they_are(tmp_path: Path) -> None:
    for path in RIGHT:
        shutil.copyfile(path, tmp_path / path.name)
    command = [
        sys.executable,
        "-m",
        "distlint",
        "fix",
        "--apply",
        "--unsafe-fixes",
        "--preview",
        ".",
    ]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert "Nothing to fix." in done.stderr
    assert len(RIGHT) >= 20
    for path in RIGHT:
        assert (tmp_path / path.name).read_bytes() == path.read_bytes(), path.name
