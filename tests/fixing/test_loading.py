"""LibCST costs a quarter of a second to import: only the engine may load it."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("module", "loads"),
    [
        ("distlint.edits", False),
        ("distlint.fixing.requests", False),
        ("distlint.fixing.writing", False),
        ("distlint.fixing.diff", False),
        ("distlint.findings", False),
        ("distlint.fixing.engine", True),
    ],
)
def test_who_loads_libcst(module: str, loads: bool) -> None:
    code = f"import sys, {module}; print('libcst' in sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == str(loads)
