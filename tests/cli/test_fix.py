"""`distlint fix`: diffs that apply, writing only when asked, rounds, refusals."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.cli.conftest import Program


def test_it_prints_a_diff_and_writes_nothing(distlint: Program, tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("x = wrong  # stays\ny = risky\n")
    result = distlint("fix")
    assert result.code == 1
    assert path.read_text() == "x = wrong  # stays\ny = risky\n"
    assert "-x = wrong  # stays\n+x = right  # stays\n" in result.out
    assert "Would apply 1 fix in 1 file" in result.err
    assert "1 more with `--unsafe-fixes`" in result.err


def test_the_diff_is_one_that_git_applies(distlint: Program, tmp_path: Path) -> None:
    (tmp_path / "sub dir").mkdir()
    for path in (tmp_path / "a.py", tmp_path / "sub dir/b.py"):
        path.write_bytes(b"x = wrong\r\ny = 1")
    diff = distlint("fix").out
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "apply", "-"], input=diff.encode(), cwd=tmp_path, check=True)
    assert (tmp_path / "a.py").read_bytes() == b"x = right\r\ny = 1"
    assert (tmp_path / "sub dir/b.py").read_bytes() == b"x = right\r\ny = 1"


def test_apply_writes_safe_fixes_and_reports_what_is_left(
    distlint: Program, tmp_path: Path
) -> None:
    path = tmp_path / "a.py"
    path.write_text("x = wrong\ny = risky\n")
    result = distlint("fix", "--apply")
    assert path.read_text() == "x = right\ny = risky\n"
    assert result.code == 1
    assert "a.py:2:5: warning HOUSE002 risky-name [unsafe fix]" in result.out
    assert "HOUSE001" not in result.out
    assert "Applied 1 fix in 1 file" in result.err
    again = distlint("fix", "--apply", "--unsafe-fixes")
    assert path.read_text() == "x = right\ny = right\n"
    assert again.code == 0
    assert "Nothing to fix." in distlint("fix", "--apply").err


def test_the_setting_takes_unsafe_fixes(distlint: Program, tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("risky\n")
    (tmp_path / "distlint.toml").write_text("unsafe-fixes = true\n")
    distlint("fix", "--apply", "--no-unsafe-fixes")
    assert path.read_text() == "risky\n"
    distlint("fix", "--apply", "--diff")
    assert path.read_text() == "right\n"


def test_code_and_comment_of_one_file(distlint: Program, tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text(
        "# distlint: ignore[HOUSE002] per node\n"
        "x = wrong  # type: ignore  # distlint: ignore[HOUSE002, HOUSE004]  # keep\n"
        "z = risky  # distlint: ignore[HOUSE002, HOUSE001]\n"
    )
    result = distlint("fix", "--apply", "--preview")
    assert path.read_text() == (
        "x = right  # type: ignore  # keep\nz = risky  # distlint: ignore[HOUSE002]\n"
    )
    assert result.code == 0


def test_standard_input_comes_out_fixed(distlint: Program, tmp_path: Path) -> None:
    result = distlint("fix", "--apply", "-", "--stdin-filename", "a.py", stdin=b"x = wrong\r\n")
    assert result.out == "x = right\r\n"
    assert not (tmp_path / "a.py").exists()
    same = distlint("fix", "--apply", "-", stdin=b"x = 1\n")
    assert (same.code, same.out) == (0, "x = 1\n")


def test_a_read_only_file_is_said_and_the_rest_goes_on(distlint: Program, tmp_path: Path) -> None:
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text("wrong\n")
    locked = tmp_path / "sub"
    locked.mkdir()
    (locked / "c.py").write_text("def f(:\n")
    result = distlint("fix", "--apply", "a.py", "b.py", "sub", "gone.py")
    assert result.code == 2
    assert (tmp_path / "a.py").read_text() == (tmp_path / "b.py").read_text() == "right\n"
    assert "gone.py: no such file or folder" in result.err
    assert "sub/c.py:1:7: error DL900" in result.out


def test_display_fixes_are_never_applied(distlint: Program, tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("advised\n")
    result = distlint("fix", "--apply", "--unsafe-fixes", "--select", "HOUSE003")
    assert path.read_text() == "advised\n"
    assert result.code == 1
