"""Every rule's proof: goes wrong as written, is found by check, runs right after its fix."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from distlint.proving.declaration import Declaration, read_declaration
from distlint.proving.steps import (
    Step,
    as_written,
    bundled_proofs,
    found_by_check,
    right_when_fixed,
    unmet_requirement,
)

PROOFS = bundled_proofs()


def _name(path: Path) -> str:
    return f"{path.parent.parent.name}/{path.parent.name}"


@pytest.mark.parametrize(
    "step",
    [
        pytest.param(as_written, marks=pytest.mark.slow),
        found_by_check,
        pytest.param(right_when_fixed, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("path", PROOFS, ids=_name)
def test_proof(path: Path, step: Callable[[Declaration], Step]) -> None:
    declaration = read_declaration(path)
    if step is not found_by_check:
        pytest.importorskip("torch")
    if missing := unmet_requirement(declaration):
        pytest.skip(missing)
    result = step(declaration)
    output = [end.output for end in result.execution.ranks] if result.execution else []
    assert result.held, "\n".join([result.seen, *output])
