"""The tests notice nearly all of the faults that are planted in the package by hand."""

from __future__ import annotations

from collections import Counter

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
    planted, left = (Counter(fault.room for fault in faults) for faults in (FAULTS, survived))
    noticed = {room: 1 - left[room] / planted[room] for room in planted}
    assert min(noticed.values()) >= WANTED, f"{noticed}, not noticed:\n{listed}"
