"""The tests notice nearly all of the faults that are planted in the package by hand."""

from __future__ import annotations

import pytest
from planted_faults import FAULTS, Fault
from planting import misplaced, outcomes

WANTED = 0.85


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.file}: {fault.breaks}")
def test_a_fault_can_be_planted(fault: Fault) -> None:
    assert misplaced(fault) == ""


@pytest.mark.planted
def test_most_faults_are_noticed() -> None:
    survived = [row.fault for row in outcomes(FAULTS) if not row.noticed]
    listed = "\n".join(f"{fault.file}: {fault.breaks}" for fault in survived)
    assert len(FAULTS) - len(survived) >= WANTED * len(FAULTS), f"not noticed:\n{listed}"
