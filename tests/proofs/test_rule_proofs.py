"""Every rule's proof: goes wrong as written, is found by check, runs right after its fix."""

from __future__ import annotations

from pathlib import Path

import pytest

from distlint.proving import launch, warm
from distlint.proving.declaration import read_declaration
from distlint.proving.steps import (
    Step,
    as_written,
    bundled_proofs,
    found_by_check,
    right_when_fixed,
    unmet_requirement,
)
from tests.in_this_process import distlint

PROOFS = bundled_proofs()


def _name(path: Path) -> str:
    return f"{path.parent.parent.name}/{path.parent.name}"


def _held(step: Step) -> None:
    output = [end.output for end in step.execution.ranks] if step.execution else []
    assert step.held, "\n".join([step.seen, *output])


@pytest.mark.parametrize("path", PROOFS, ids=_name)
def test_found_by_check(path: Path) -> None:
    declaration = read_declaration(path)
    if missing := unmet_requirement(declaration):
        pytest.skip(missing)
    _held(found_by_check(declaration, distlint))


@pytest.mark.slow
@pytest.mark.parametrize("path", PROOFS, ids=_name)
def test_wrong_as_written_and_right_when_fixed(
    path: Path, interpreter: warm.WarmInterpreter
) -> None:
    declaration = read_declaration(path)
    if missing := unmet_requirement(declaration):
        pytest.skip(missing)
    # Where a defect does not show in forked ranks (equal hashes), both runs get ranks of their own.
    start = interpreter.start
    written = as_written(declaration, start)
    if not written.held:
        start = launch.start
        written = as_written(declaration, start)
    _held(written)
    _held(right_when_fixed(declaration, start, distlint))
