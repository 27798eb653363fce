"""`distlint vendor`: a copy that works without distlint, and never replaces what it did not write."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import rank_processes
from click.testing import CliRunner

from distlint.cli.vendor import vendor


def _vendor(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(vendor, list(arguments))
    return result.exit_code, result.output


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A user's package."""
    folder = tmp_path / "train" / "lib"
    folder.mkdir(parents=True)
    for part in (folder, folder.parent):
        (part / "__init__.py").write_text("")
    return folder


def test_copy_works_without_distlint(package: Path) -> None:
    """Saved and sent to the other rank by the copy, in processes that cannot import distlint."""
    pytest.importorskip("torch")
    code, output = _vendor(str(package / "dist"))
    assert code == 0
    assert 'runtime-module = "train.lib.dist"' in output
    script = package.parent.parent / "script.py"
    script.write_text(
        "import sys\n"
        "sys.modules['distlint'] = None\n"
        "from train.lib.dist import run_on_main, save, DesyncError, barrier\n"
        "print(run_on_main(lambda: 'value', broadcast=True))\n"
        "save({'a': 1}, 'saved.pt')\n"
        "barrier()\n"
    )
    launcher = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    port = ["--master-port", str(rank_processes.free_port())]
    done = subprocess.run(
        [*launcher, *port, str(script)],
        cwd=script.parent,
        env={**rank_processes.environment({}), "PYTHONPATH": str(script.parent)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("value") == 2
    assert (script.parent / "saved.pt").exists()


def test_copy_says_where_it_is_from(package: Path) -> None:
    """Whoever opens a file knows where to change it."""
    _vendor(str(package / "dist"))
    for path in (package / "dist").glob("*.py"):
        assert path.read_text().startswith("# Copied from distlint "), path
        assert "distlint.runtime" not in path.read_text().replace("`distlint.runtime`", ""), path


def test_replacing(package: Path) -> None:
    """An earlier copy with --force; anything else never."""
    target = package / "dist"
    _vendor(str(target))
    (target / "left_over.py").write_text("")
    code, output = _vendor(str(target))
    assert code == 2
    assert "pass --force" in output
    assert _vendor(str(target), "--force")[0] == 0
    assert not (target / "left_over.py").exists()
    own = package / "own"
    own.mkdir()
    (own / "__init__.py").write_text("mine = 1\n")
    for arguments in ([str(own)], [str(own), "--force"], [str(package), "--force"]):
        code, output = _vendor(*arguments)
        assert code == 2
        assert "not a copy of the runtime" in output
    assert (own / "__init__.py").read_text() == "mine = 1\n"
    assert sorted(path.name for path in package.iterdir()) == ["__init__.py", "dist", "own"]


@pytest.mark.parametrize(
    ("name", "message"),
    [("with-dash", "cannot be imported"), ("missing/dist", "is not a directory")],
)
def test_bad_paths(package: Path, name: str, message: str) -> None:
    """One line that says what to do."""
    code, output = _vendor(str(package / name))
    assert code == 2
    assert message in output
    assert len(output.strip().splitlines()) == 1
