"""Scripts in the shapes of real trainers: wrong ones run right after distlint's fix, others stay as they are."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from distlint.proving.declaration import Declaration, read_declaration
from distlint.proving.steps import Step, as_written, found_by_check, right_when_fixed
from tests.in_this_process import distlint

SCRIPTS = Path(__file__).parent / "scripts"
WRONG = sorted(SCRIPTS.glob("wrong/*.py"))
RIGHT = sorted(SCRIPTS.glob("right/*.py"))
STEPS: dict[str, Callable[[Declaration], Step]] = {
    "as_written": as_written,
    "found_by_check": partial(found_by_check, distlint=distlint),
    "right_when_fixed": partial(right_when_fixed, distlint=distlint),
}


def _marked() -> list[Any]:
    """Each script with each step; what runs on processes with `-m long`."""
    return [
        pytest.param(
            path,
            step,
            marks=() if name == "found_by_check" else pytest.mark.long,
            id=f"{path.stem}-{name}",
        )
        for path in WRONG
        for name, step in STEPS.items()
    ]


@pytest.mark.parametrize(("path", "step"), _marked())
def test_a_wrong_script(path: Path, step: Callable[[Declaration], Step]) -> None:
    declaration = read_declaration(path)
    if step is not STEPS["found_by_check"]:
        pytest.importorskip("torch")
    result = step(declaration)
    output = [end.output for end in result.execution.ranks] if result.execution else []
    assert result.held, "\n".join([result.seen, *output])


def test_right_scripts_stay_as_they_are(tmp_path: Path) -> None:
    for path in RIGHT:
        shutil.copyfile(path, tmp_path / path.name)
    done = distlint(["fix", "--apply", "--unsafe-fixes", "--preview", "."], tmp_path)
    assert "Nothing to fix." in done.stderr
    assert len(RIGHT) >= 20
    for path in RIGHT:
        assert (tmp_path / path.name).read_bytes() == path.read_bytes(), path.name
