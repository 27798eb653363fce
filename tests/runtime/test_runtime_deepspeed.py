"""DeepSpeed ZeRO-1, 2 and 3 on two CPU processes.

Not part of the default run, as DeepSpeed is not among the development dependencies. Its command,
in an environment with torch 2.13.0 and ``DS_BUILD_OPS=0 pip install deepspeed==0.19.8``:

    python -m pytest -m slow tests/runtime/test_runtime_deepspeed.py
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
import rank_processes

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("deepspeed") is None, reason="deepspeed is not installed"
    ),
]


@pytest.mark.parametrize("stage", [1, 2, 3])
def test_zero(stage: int, tmp_path: Path) -> None:
    """unwrap, full_state_dict and save, also compiled, also with tied weights."""
    outcomes = rank_processes.run(
        "deepspeed_ranks:check_stage",
        2,
        stage,
        str(tmp_path),
        limit=300,
        env={"DS_ACCELERATOR": "cpu", "DS_BUILD_OPS": "0"},
    )
    for outcome in outcomes:
        assert outcome.result == "ok", f"rank {outcome.rank}: {outcome.error}\n{outcome.output}"
