"""Collectives and rank tests of a project's own, named in its settings."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SETTINGS = """\
collectives = ["mylib.comm.sync_all", ".sync_everyone"]
[rank-predicates]
"mylib.comm.is_chief" = "is_main"
"""


def _check(folder: Path) -> list[tuple[str, int]]:
    command = [sys.executable, "-m", "distlint", "check", "--output-format", "json", "."]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return [(finding["code"], finding["line"]) for finding in json.loads(done.stdout)["findings"]]


def test_rows_of_the_settings_count_like_those_of_the_tables(tmp_path: Path) -> None:
    library = tmp_path / "mylib"
    library.mkdir()
    (library / "__init__.py").write_text("")
    (library / "comm.py").write_text(
        "def sync_all():\n    _extension()\n\n\ndef is_chief():\n    return _who() == 0\n"
    )
    (tmp_path / "train.py").write_text(
        "from mylib.comm import is_chief, sync_all\n\n\n"
        "def main(obj):\n    if is_chief():\n        sync_all()\n        obj.sync_everyone()\n"
    )
    assert _check(tmp_path) == []
    (tmp_path / "distlint.toml").write_text(SETTINGS)
    assert _check(tmp_path) == [("DL101", 6), ("DL101", 7)]


def test_a_kind_that_does_not_exist_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "distlint.toml").write_text('[rank-predicates]\n"a.b" = "is_mian"\n')
    command = [sys.executable, "-m", "distlint", "check", "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "is_mian" in done.stdout and "is_main" in done.stdout
