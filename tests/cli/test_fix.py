"""`distlint fix`: diffs that apply, writing only when asked, rounds, refusals."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

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


def test_one_line_of_one_file(distlint: Program, tmp_path: Path) -> None:
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text("wrong\n\nwrong, risky\n")
    distlint("fix", "--apply", "--line", "a.py:3")
    assert (tmp_path / "a.py").read_text() == "wrong\n\nright, risky\n"
    distlint("fix", "--apply", "--line", "a.py:3", "--unsafe-fixes", "--line", "./b.py:1")
    assert (tmp_path / "a.py").read_text() == "wrong\n\nright, right\n"
    assert (tmp_path / "b.py").read_text() == "right\n\nwrong, risky\n"


@pytest.mark.parametrize(
    ("place", "says"),
    [
        ("a.py", "--line: want FILE:LINE, for instance train.py:12, not a.py"),
        ("a.py:2", "a.py:2: nothing is found on this line"),
        ("gone.py:1", "gone.py:1: nothing is found on this line"),
        ("a.py:3", "a.py:3: HOUSE003 has no fix here that a machine can make"),
    ],
)
def test_a_line_with_nothing_to_fix_is_said(
    distlint: Program, tmp_path: Path, place: str, says: str
) -> None:
    (tmp_path / "a.py").write_text("wrong\n\nadvised\n")
    result = distlint("fix", "--line", place, "--extend-select", "HOUSE003")
    assert (result.code, result.out) == (2, "")
    assert says in result.err


@pytest.mark.parametrize(
    ("answers", "after"),
    [
        ("n\ny\nn\n", "wrong, right\nwrong\n"),
        ("maybe\na\ny\n", "right, right\nright\n"),
        ("y\nq\n", "right, risky\nwrong\n"),
        ("", "wrong, risky\nwrong\n"),
    ],
    ids=["yes and no", "all of a rule", "quit", "no answer"],
)
def test_it_asks_about_each_fix(
    distlint: Program, tmp_path: Path, answers: str, after: str
) -> None:
    path = tmp_path / "a.py"
    path.write_text("wrong, risky\nwrong\n")
    result = distlint("fix", "-i", stdin=answers.encode())
    assert path.read_text() == after
    assert "[1/3] a.py:1 HOUSE001 wrong-name" in result.out
    assert "-wrong, risky\n  +right, risky\n" in result.out
    if answers.startswith("n"):
        assert "unsafe fix: numbers, timing or files may change: Write right" in result.out


def test_changes_for_programs(distlint: Program, tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("x = wrong\ny = risky\n")
    document = json.loads(distlint("fix", "--output-format", "json").out)
    assert path.read_text() == "x = wrong\ny = risky\n"
    pieces = [row["fix"]["changes"] for row in document["findings"]]
    assert [each["line"] for changes in pieces for each in changes] == [1, 2]
    (file,) = document["files"]
    assert file["path"] == "a.py"
    assert file["diff"].endswith("-x = wrong\n+x = right\n y = risky\n")
    sarif = json.loads(distlint("fix", "--output-format", "sarif").out)
    assert all("fixes" in result for result in sarif["runs"][0]["results"])
    applied = json.loads(distlint("fix", "--apply", "--output-format", "json").out)
    assert applied["files"] == document["files"]
    assert path.read_text() == "x = right\ny = risky\n"


def test_changes_for_programs_beside_what_has_no_fix(distlint: Program, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = wrong\ny = advised\n")
    document = json.loads(
        distlint("fix", "--extend-select", "HOUSE003", "--output-format", "json").out
    )
    fixes = [row["fix"] for row in document["findings"]]
    assert [fix["applicability"] for fix in fixes] == ["safe", "display"]
    assert [piece["line"] for piece in fixes[0]["changes"]] == [1]


def test_check_writes_fixes_and_reports_what_is_left(distlint: Program, tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("x = wrong\ny = risky\n")
    result = distlint("check", "--fix", "--output-format", "concise")
    assert path.read_text() == "x = right\ny = risky\n"
    assert "Applied 1 fix in 1 file. 1 more with `--unsafe-fixes`." in result.err
    assert "a.py:2:5" in result.out and "HOUSE001" not in result.out
    assert result.code == 1
    assert distlint("check", "--fix", "--unsafe-fixes").code == 0
    assert path.read_text() == "x = right\ny = right\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["check", "--unsafe-fixes"], "--unsafe-fixes goes with --fix"),
        (["check", "--fix", "--diff", "HEAD"], "--fix changes the files"),
        (["check", "--fix", "-"], "--fix writes files"),
        (["fix", "-i", "-"], "--interactive reads answers"),
        (["fix", "-i", "--output-format", "json"], "--interactive prints text"),
        (["fix", "--apply", "--output-format", "json", "-"], "`--apply -` prints text"),
    ],
)
def test_options_that_do_not_go_together(
    distlint: Program, arguments: list[str], says: str
) -> None:
    result = distlint(*arguments)
    assert (result.code, result.out) == (2, "")
    assert says in result.err


def test_fix_takes_what_check_has_found(distlint: Program, tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("x = wrong\n")
    cache = tmp_path / "cache"
    found = distlint("check", "--cache-dir", str(cache), "a.py").out
    (run,) = cache.glob("*/run-*.json")
    before = run.stat().st_ino
    assert "+x = right" in distlint("fix", "--cache-dir", str(cache), "a.py").out
    assert [each.stat().st_ino for each in cache.glob("*/run-*.json")] == [before]
    assert distlint("check", "--cache-dir", str(cache), "a.py").out == found
