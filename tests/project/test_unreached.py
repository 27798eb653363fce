"""What is found in a file that nothing in its project leads to is information."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from distlint.cli import main

HARMFUL = """
import torch.distributed as dist

LIMITS = {"steps": 3}

def finish(x):
    if dist.get_rank() == 0:
        dist.all_reduce(x)
"""
SCRIPT = """
import models.used

if __name__ == "__main__":
    models.used.finish(1)
"""


def severities(
    tmp_path: Path, files: dict[str, str], capsys: pytest.CaptureFixture[str], *only: str
) -> dict[str, str]:
    """The severity of the findings of DL101 by file."""
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    options = ["--no-cache", "--select", "DL101", "--output-format", "json"]
    with pytest.raises(SystemExit):
        main(["check", *options, *(str(tmp_path / name) for name in only or ("",))])
    found = json.loads(capsys.readouterr().out)["findings"]
    return {Path(each["path"]).name: each["severity"] for each in found}


BASE = {"train.py": SCRIPT, "models/used.py": HARMFUL, "models/left_over.py": HARMFUL}


def test_a_left_over_copy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / ".git").mkdir()
    assert severities(tmp_path, BASE, capsys) == {"used.py": "error", "left_over.py": "info"}


def test_a_copy_that_is_checked_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / ".git").mkdir()
    severities(tmp_path, BASE, capsys)
    assert severities(tmp_path, {}, capsys, "models/left_over.py") == {"left_over.py": "info"}


@pytest.mark.parametrize(
    "more",
    [
        {"models/__init__.py": "from . import left_over\n"},
        {"tools.py": "import importlib\nm = importlib.import_module('models.left_over')\n"},
        {"run.sh": "torchrun --nproc_per_node 2 -m models.left_over\n"},
        {"models/left_over.py": HARMFUL + "\nfinish(1)\n"},
        {"models/left_over.py": HARMFUL + "\nif __name__ == '__main__':\n    finish(1)\n"},
        {"setup.py": "from setuptools import setup\nsetup(name='x')\n"},
        {"models/setup.py": "from setuptools import setup\nsetup(name='x')\n"},
        {"pyproject.toml": "[project]\nname = 'x'\nversion = '1'\n"},
    ],
)
def test_what_may_be_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: dict[str, str]
) -> None:
    (tmp_path / ".git").mkdir()
    assert severities(tmp_path, BASE | more, capsys)["left_over.py"] == "error"


def test_a_folder_without_a_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / ".git").mkdir()
    assert severities(tmp_path, {"models/part.py": HARMFUL}, capsys) == {"part.py": "error"}


def test_a_file_that_cannot_be_parsed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / ".git").mkdir()
    for name, text in (BASE | {"models/left_over.py": "def f(:\n    barrier()\n"}).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(SystemExit):
        main(["check", "--no-cache", "--select", "DL9", "--output-format", "json", str(tmp_path)])
    found = json.loads(capsys.readouterr().out)["findings"]
    assert [each["severity"] for each in found] == ["error"]
