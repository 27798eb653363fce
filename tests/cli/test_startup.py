"""What `distlint check` does not load, so that it starts at once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CHECK = """
import sys
from distlint.cli import main
try:
    main(["check", *sys.argv[1:]])
except SystemExit:
    pass
print("MODULES", *sys.modules, file=sys.stderr)
"""


def modules(cwd: Path, *arguments: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", CHECK, *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": ""},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    line = done.stderr.strip().split("\n")[-1]
    assert line.startswith("MODULES "), done.stderr
    return set(line.split()[1:])


HEAVY = {"libcst", "torch", "accelerate", "transformers", "numpy", "yaml", "pathspec", "email"}


def test_neither_libcst_nor_torch(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        "import torch\nimport torch.distributed as dist\n\n\n"
        "def main(model, path):\n    if dist.get_rank() == 0:\n        dist.barrier()\n"
        "    torch.save(model.state_dict(), path)\n\n\nmain(1, 2)\n"
    )
    loaded = modules(tmp_path, "--no-cache")
    assert "distlint.analysis" in loaded
    assert not loaded & HEAVY
    assert not {
        name for name in loaded if name.startswith(("distlint.hardware", "distlint.runtime"))
    }


@pytest.mark.parametrize("module", ["libcst", "distlint.analysis.model", "distlint.rules.wrapping"])
def test_files_without_anything_to_look_for_load_no_analysis(tmp_path: Path, module: str) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    modules(tmp_path)  # leaves the catalogue of rules in the cache
    assert module not in modules(tmp_path)


def test_modules_of_the_analysed_code_are_never_imported(tmp_path: Path) -> None:
    for name in ("re", "json", "click", "ast", "torch", "difflib", "hashlib"):
        (tmp_path / f"{name}.py").write_text("import sys\nsys.exit('analysed code ran')\n")
    done = subprocess.run(
        [sys.executable, "-m", "distlint", "check", "--no-cache"],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout == "No findings (7 files checked).\n"
