"""Diffs that `git apply` and `patch -p1` turn into exactly the new bytes."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest
from programs import program
from test_properties import requests

from distlint.fixing.diff import diff_text, unified_diff
from distlint.fixing.engine import apply_fixes

CASES = [
    (b"a\nb\nc\n", b"a\nB\nc\n"),
    (b"a\nb", b"a\nB"),
    (b"a\nb", b"a\nb\n"),
    (b"a\nb\n", b"a\nb"),
    (b"a\r\nb\r\n", b"a\r\nB\r\nc\r\n"),
    (b"a\rb\r", b"a\rB\r"),
    (b"\xef\xbb\xbfa\n", b"\xef\xbb\xbfb\n"),
    (b"# coding: latin-1\n'\xe9'\n", b"# coding: latin-1\n'\xfc'\n"),
    (b"a\n\x0c\nb\n", b"a\n\x0c\nc\n"),
    (b"a\n", b""),
    (b"--- a\n+++ b\n", b"--- a\n+++ c\n"),
    (b"".join(b"%d\n" % n for n in range(100)), b"".join(b"%d\n" % n for n in range(7, 95) if n != 50)),
]  # fmt: skip
TOOLS = [
    pytest.param(
        tool, marks=pytest.mark.skipif(shutil.which(tool[0]) is None, reason="not installed")
    )
    for tool in (("git", "apply", "-"), ("patch", "-p1", "--binary", "-s"))
]


def apply(tool: tuple[str, ...], directory: Path, patch: bytes) -> None:
    result = subprocess.run(tool, cwd=directory, input=patch, capture_output=True, check=False)
    assert result.returncode == 0, (result.stdout, result.stderr, patch)


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize(("before", "after"), CASES)
def test_patch(tool: tuple[str, ...], tmp_path: Path, before: bytes, after: bytes) -> None:
    path = tmp_path / "train.py"
    path.write_bytes(before)
    apply(tool, tmp_path, unified_diff("train.py", before, after))
    # `git apply` keeps an emptied file; `patch` removes it.
    assert (path.read_bytes() if path.exists() else b"") == after


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("name", ["a b.py", "ü.py", 'q".py', "d/e.py", "b\\s.py", "t\tb.py"])
def test_names(tool: tuple[str, ...], tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"a\n")
    apply(tool, tmp_path, unified_diff(name, b"a\n", b"b\n"))
    assert path.read_bytes() == b"b\n"


@pytest.mark.parametrize("seed", range(30))
def test_results_of_the_engine(tmp_path: Path, seed: int) -> None:
    choose = random.Random(seed)
    source = program(choose)
    before = source.encode()
    after = apply_fixes(before, requests(source, choose, 3)).data
    patch = unified_diff("train.py", before, after)
    if before == after:
        assert patch == b""
        return
    path = tmp_path / "train.py"
    path.write_bytes(before)
    apply(("git", "apply", "-"), tmp_path, patch)
    assert path.read_bytes() == after


def test_what_people_see() -> None:
    text = diff_text("a/train.py", b"x\r\n\xe9\r\n", b"y\r\n\xe9\r\n")
    assert text == ("--- a/a/train.py\n+++ b/a/train.py\n@@ -1,2 +1,2 @@\n-x\n+y\n \\xe9\n")
    assert diff_text("train.py", b"x", b"y") == (
        "--- a/train.py\n+++ b/train.py\n@@ -1 +1 @@\n"
        "-x\n\\ No newline at end of file\n+y\n\\ No newline at end of file\n"
    )


def test_a_file_that_was_empty() -> None:
    """The range of no lines names the line before it, as POSIX diff has it: 0."""
    assert (
        unified_diff("a.py", b"", b"x\ny\n") == b"--- a/a.py\n+++ b/a.py\n@@ -0,0 +1,2 @@\n+x\n+y\n"
    )
    assert unified_diff("a.py", b"a\nb\n", b"a\nx\nb\n", context=0) == (
        b"--- a/a.py\n+++ b/a.py\n@@ -1,0 +2 @@\n+x\n"
    )


def test_blank_lines_of_a_long_file_stay() -> None:
    before = [b"a = %d" % n if n % 2 else b"" for n in range(400)]
    after = [b"b" if n in (199, 201) else line for n, line in enumerate(before)]
    diff = unified_diff("a.py", b"\n".join(before), b"\n".join(after)).split(b"\n")
    assert [line for line in diff[3:] if line[:1] in (b"-", b"+")] == [
        b"-a = 199",
        b"+b",
        b"-a = 201",
        b"+b",
    ]
