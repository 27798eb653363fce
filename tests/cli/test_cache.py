"""The cache seen from outside: never another answer, and a project without one is left alone."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.cli.conftest import Program


def settle(root: Path) -> None:
    """Make all files old enough for their stamps to be trusted. ctime cannot be set: wait."""
    old = time.time() - 60
    for path in root.rglob("*.py"):
        os.utime(path, (old, old))
    time.sleep(2.1)


def test_warm_runs_give_the_same_answer_and_see_every_change(
    distlint: Program, tmp_path: Path
) -> None:
    path = tmp_path / "a.py"
    path.write_text("x = 1\ny = wrong\n")
    settle(tmp_path)
    cold = distlint("check")
    assert (tmp_path / ".distlint_cache/.gitignore").exists()
    assert distlint("check") == cold
    assert distlint("check", "--no-cache") == cold
    assert "HOUSE002" not in distlint("check", "--select", "HOUSE001").out
    stamp = path.stat().st_mtime_ns
    path.write_text("x = 1\ny = right\n")
    os.utime(path, ns=(stamp, stamp))  # same size, same mtime: only ctime tells
    assert distlint("check").code == 0


def test_context_is_part_of_the_answer(distlint: Program, tmp_path: Path) -> None:
    (tmp_path / "distlint.toml").write_text("")
    (tmp_path / "a.py").write_text("wrong\n")
    assert distlint("check", "a.py").code == 1
    (tmp_path / "distlint.toml").write_text("ignore = ['HOUSE001']\n")
    assert distlint("check", "a.py").code == 0


def test_a_damaged_cache_is_written_anew(distlint: Program, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("wrong\n")
    first = distlint("check")
    files = list((tmp_path / ".distlint_cache").rglob("*.json"))
    assert len(files) == 3
    for path in files:
        path.write_bytes(b'{"engine": \xff')
    assert distlint("check") == first
    assert distlint("check") == first


def test_no_cache_leaves_nothing_behind(distlint: Program, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("wrong\n")
    distlint("check", "--no-cache")
    assert [path.name for path in tmp_path.iterdir()] == ["a.py"]


@pytest.mark.parametrize("linked", [".distlint_cache", ".distlint_cache/runs"])
def test_a_checkout_cannot_aim_the_cache_at_another_folder(
    distlint: Program, tmp_path: Path, linked: str
) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    for number in range(40):
        (victim / f"{number}.json").write_text("precious")
    checkout = tmp_path / "checkout"
    (checkout / linked).parent.mkdir(parents=True, exist_ok=True)
    (checkout / linked).symlink_to(victim, target_is_directory=True)
    (checkout / "a.py").write_text("wrong\n")
    for _ in range(2):
        assert distlint("check", cwd=checkout).code == 1
    assert len(list(victim.iterdir())) == 40
    assert {path.read_text() for path in victim.iterdir()} == {"precious"}


def test_only_what_the_cache_made_is_deleted(distlint: Program, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("wrong\n")
    runs = tmp_path / ".distlint_cache/runs"
    runs.mkdir(parents=True)
    for number in range(40):
        (runs / f"notes-{number}.json").write_text("precious")
    assert distlint("check").code == 1
    assert len(list(runs.glob("notes-*.json"))) == 40


def test_a_dangling_gitignore_in_the_cache_is_not_written_through(
    distlint: Program, tmp_path: Path
) -> None:
    checkout = tmp_path / "checkout"
    (checkout / ".distlint_cache").mkdir(parents=True)
    (checkout / ".distlint_cache/.gitignore").symlink_to(tmp_path / "made")
    (checkout / "a.py").write_text("wrong\n")
    assert distlint("check", cwd=checkout).code == 1
    assert not (tmp_path / "made").exists()
