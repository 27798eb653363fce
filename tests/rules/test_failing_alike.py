"""What fails on all ranks of a machine or on none is information, where what may fail on one is a warning."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import severities_in

SCRIPT = """
import os
import torch
import torch.distributed as dist


def find(folder):
    try:
        found = {call}
        dist.barrier()
    except Exception as failed:
        print(failed)
        return None
    return found
"""


@pytest.mark.parametrize(
    ("call", "severity"), [("os.listdir(folder)", "info"), ("torch.load(folder)", "warning")]
)
def test_a_look_into_a_folder_fails_alike(
    call: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = SCRIPT.format(call=call)
    assert list(severities_in("DL105", tmp_path, {"script.py": script}, capsys)) == [severity]
