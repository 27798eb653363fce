"""What is installed: a wheel without tests, an sdist with them, and a checkout that needs neither."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ("distlint", "rules", "docs", "examples", "bench", "tests", ".ci")
DEPENDENCIES = (
    *("click", "libcst", "pathspec", "yaml", "_yaml", "typing_extensions", "tomli"),
    *("tree_sitter", "tree_sitter_bash"),
)
"""What distlint needs at run time, and what LibCST needs."""


def run(command: Sequence[str | Path], cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={"PATH": os.environ["PATH"], "HOME": str(cwd), **env},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources, that building may write into."""
    copy = tmp_path_factory.mktemp("checkout")
    for name in SOURCES:
        shutil.copytree(
            ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__", "*.pyc")
        )
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copy(path, copy)
    return copy


@pytest.fixture(scope="module")
def dependencies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what distlint depends on and nothing else: neither torch nor distlint."""
    folder = tmp_path_factory.mktemp("dependencies")
    for name in DEPENDENCIES:
        spec = find_spec(name)
        if spec is not None and spec.origin is not None:
            origin = Path(spec.origin)
            source = origin.parent if origin.name == "__init__.py" else origin
            (folder / source.name).symlink_to(source)
    return folder


@pytest.fixture(scope="module")
def distributions(checkout: Path) -> tuple[Path, Path]:
    """The wheel and the sdist."""
    code = "from setuptools.build_meta import *; build_wheel('dist'); build_sdist('dist')"
    done = run([sys.executable, "-c", code], checkout)
    assert done.returncode == 0, done.stderr[-2000:]
    (wheel,), (sdist,) = (list((checkout / "dist").glob(kind)) for kind in ("*.whl", "*.tar.gz"))
    return wheel, sdist


def assert_works(program: Sequence[str | Path], cwd: Path, path: Path) -> None:
    """distlint, run in `cwd`, finds and repairs the example's defects and has the pages."""
    example = str(shutil.copy(ROOT / "examples/train.py", cwd))

    def distlint(*arguments: str) -> subprocess.CompletedProcess[str]:
        return run([*program, "-m", "distlint", *arguments], cwd, PYTHONPATH=str(path))

    check = distlint("check", "--no-cache", "-q", "--output-format", "concise", example)
    assert (check.returncode, len(check.stdout.splitlines())) == (1, 4), check.stderr
    fix = distlint("fix", "--no-cache", "--select", "DL501", example)
    assert '-        del os.environ["CUDA_VISIBLE_DEVICES"]' in fix.stdout, fix.stderr
    page = distlint("explain", "DL101")
    assert page.stdout.startswith("DL101 collective-not-on-all-ranks"), page.stderr
    assert distlint("--version").stdout.startswith("distlint, version ")


def test_a_checkout_runs_without_an_installation(checkout: Path, dependencies: Path) -> None:
    assert_works([sys.executable, "-S"], checkout, dependencies)


def test_the_wheel_holds_what_runs_and_no_tests(distributions: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(distributions[0]) as wheel:
        names = wheel.namelist()
    assert "distlint/py.typed" in names
    assert "distlint/rules/files/unguarded_save/proof.py" in names
    rules = [name for name in names if name.startswith("distlint/rules/")]
    assert not [name for name in rules if any(p.startswith("cases") for p in Path(name).parts)]
    modules = {str(path.relative_to(ROOT)) for path in ROOT.glob("distlint/**/*.py")}
    assert modules <= set(names)
    assert {name.partition("/")[0] for name in names if not name.startswith("distlint-")} == {
        "distlint"
    }


def test_the_sdist_holds_tests_cases_and_documentation(distributions: tuple[Path, Path]) -> None:
    with tarfile.open(distributions[1]) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    wanted = {
        str(path.relative_to(ROOT))
        for folder in SOURCES
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and not {"__pycache__", ".distlint_cache"}.intersection(path.parts)
    }
    assert wanted <= names
    assert {"CHANGELOG.md", "CONTRIBUTING.md", ".pre-commit-hooks.yaml"} <= names


@pytest.mark.slow
def test_the_wheel_works_in_an_environment_of_its_own(
    distributions: tuple[Path, Path], dependencies: Path, tmp_path: Path
) -> None:
    # The pip of this environment installs there: to give the new one its own costs more than the rest.
    run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], tmp_path)
    python = tmp_path / "env/bin/python"
    pip: list[str | Path] = [sys.executable, "-m", "pip", "--python", python]
    done = run([*pip, "install", "--no-deps", "--no-index", distributions[0]], tmp_path)
    assert done.returncode == 0, done.stderr
    assert_works([python], tmp_path, dependencies)
