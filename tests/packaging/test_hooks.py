"""Both hooks as pre-commit runs them: distlint installed from its repository, in a repository of 800 files."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
INSTALLED = ("distlint", "rules", "pyproject.toml", "setup.py", "MANIFEST.in", "README.md")
SOURCES = (*INSTALLED, "LICENSE", ".pre-commit-hooks.yaml")

HELPER = """\
import torch.distributed as dist


def meet():
    dist.barrier()
"""
GUARDED = """\
import torch.distributed as dist

from {package}.helper import meet


def main(steps):
    dist.init_process_group("gloo")
    if dist.get_rank() == 0:
        meet()
    for step in range(steps):
        dist.barrier()


main(2)
"""
DELETED = """\
import os

from accelerate import Accelerator

if "CUDA_VISIBLE_DEVICES" in os.environ:
    del os.environ["CUDA_VISIBLE_DEVICES"]
accelerator = Accelerator()
print(accelerator.device)
"""


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(
        ["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, timeout=60
    )


def committed(folder: Path) -> None:
    """Make a folder a repository with one commit of all that is in it."""
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "all")


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository of distlint itself, and beside it what pre-commit installs from it."""
    folder = tmp_path_factory.mktemp("hooks") / "distlint"
    folder.mkdir()
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder)
    committed(folder)
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository of 800 files, of which two go wrong."""
    folder = tmp_path / "project"
    for package in range(8):
        (folder / f"part{package}").mkdir(parents=True)
        for number in range(98):
            path = folder / f"part{package}" / f"module{number}.py"
            path.write_text(f"import torch\n\nx = torch.ones({number})\n", encoding="utf-8")
        (folder / f"part{package}/helper.py").write_text(HELPER, encoding="utf-8")
        (folder / f"part{package}/__init__.py").touch()
    (folder / "part0/module0.py").write_text(GUARDED.format(package="part0"), encoding="utf-8")
    (folder / "part1/module0.py").write_text(DELETED, encoding="utf-8")
    assert len(list(folder.rglob("*.py"))) == 800
    committed(folder)
    return folder


def try_repo(hooks: Path, hook: str, project: Path, *files: str) -> tuple[int, str]:
    """The exit code and output of `pre-commit try-repo`."""
    home = hooks.parent
    done = subprocess.run(
        [sys.executable, "-m", "pre_commit", "try-repo", str(hooks), hook, "--files", *files],
        cwd=project,
        env={
            **os.environ,
            "PRE_COMMIT_HOME": str(home / "pre-commit"),
            "DISTLINT_CACHE_DIR": str(home / "cache"),
        },
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.long
def test_the_check_reports_passed_files_and_knows_the_others(hooks: Path, project: Path) -> None:
    code, said = try_repo(hooks, "distlint", project, "part0/module0.py", "part3/module7.py")
    assert code == 1, said
    assert "part0/module0.py:9:9: warning DL101" in said  # the barrier is in part0/helper.py
    assert "part1/module0.py" not in said
    code, said = try_repo(hooks, "distlint", project, "part0/helper.py", "part3/module7.py")
    assert code == 0, said


@pytest.mark.long
def test_the_fix_repairs_passed_files_and_fails_once(hooks: Path, project: Path) -> None:
    before = (project / "part0/module0.py").read_text(encoding="utf-8")
    code, said = try_repo(hooks, "distlint-fix", project, "part1/module0.py", "part3/module7.py")
    assert code == 1, said
    assert "files were modified by this hook" in said
    repaired = (project / "part1/module0.py").read_text(encoding="utf-8")
    assert "del os.environ" not in repaired
    assert (project / "part0/module0.py").read_text(encoding="utf-8") == before
    git(project, "add", "--all")
    code, said = try_repo(hooks, "distlint-fix", project, "part1/module0.py", "part3/module7.py")
    assert code == 0, said
