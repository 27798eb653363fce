"""The variables that a launcher sets, against those that it did set."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from distlint.knowledge.configuration.launchers import SET_BY, TORCHRUN_NAMES, Launcher

SCRIPT = "import json, os, sys; json.dump(sorted(os.environ), open(sys.argv[1], 'w'))"


@pytest.mark.slow
def test_torchrun_sets_what_the_table_says(tmp_path: Path) -> None:
    script, out = tmp_path / "names.py", tmp_path / "names.json"
    script.write_text(SCRIPT)
    told = {*TORCHRUN_NAMES, *SET_BY[Launcher.TORCHRUN], *SET_BY[Launcher.DEEPSPEED]}
    clean = {name: value for name, value in os.environ.items() if name not in told}
    subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=1",
         str(script), str(out)],
        env=clean, check=True, timeout=120, capture_output=True,
    )  # fmt: skip
    assert set(json.loads(out.read_text())) & told == SET_BY[Launcher.TORCHRUN]


def test_what_is_offered_is_torchruns_and_what_is_asked_for_is_not() -> None:
    assert set(TORCHRUN_NAMES.values()) <= SET_BY[Launcher.TORCHRUN]
    assert SET_BY[Launcher.TORCHRUN].isdisjoint(TORCHRUN_NAMES)
