"""Every rule's cases: found where they are marked and nowhere else, and repaired as cases.fixed.py says."""

from __future__ import annotations

import ast
import io
import json
import re
import shutil
import tokenize
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from distlint.cli import main

ROOT = Path(__file__).parents[2] / "rules"
CASES = sorted(ROOT.glob("*/*/cases.py"))
EXPECT = re.compile(r"#\s*expect:\s*(?P<codes>DL\d+(?:\s*,\s*DL\d+)*)")


def _name(path: Path) -> str:
    return f"{path.parent.parent.name}/{path.parent.name}"


def _code(path: Path) -> str:
    match = re.search(r'^CODE = "(\w+)"', (path.parent / "__init__.py").read_text(), re.MULTILINE)
    assert match, f"{path.parent} names no CODE"
    return match[1]


def _run(*arguments: str) -> tuple[int, str]:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            status = main(list(arguments))
        except SystemExit as end:
            status = int(end.code or 0)
    assert status in (0, 1), err.getvalue()
    return int(status or 0), out.getvalue()


def _findings(path: Path, code: str) -> list[dict[str, object]]:
    _, out = _run("check", "--no-cache", "--select", code, "--output-format", "json", str(path))
    found: list[dict[str, object]] = json.loads(out)["findings"]
    return found


def _expected(text: str, code: str) -> list[int]:
    return [
        number
        for number, line in enumerate(text.splitlines(), 1)
        for match in EXPECT.finditer(line)
        for name in re.split(r"\s*,\s*", match["codes"])
        if name == code
    ]


def _comments(text: str) -> list[str]:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return sorted(t.string for t in tokens if t.type == tokenize.COMMENT)


@pytest.fixture(params=CASES, ids=_name)
def cases(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of a rule's cases, beside its rule's code in the name of the folder."""
    source: Path = request.param
    target = tmp_path / _code(source) / "cases.py"
    target.parent.mkdir()
    shutil.copy(source, target)
    fixed = source.with_name("cases.fixed.py")
    if fixed.exists():
        shutil.copy(fixed, target.parent / "expected.txt")
    return target


def test_found_where_marked(cases: Path) -> None:
    code = cases.parent.name
    found = sorted(int(str(f["line"])) for f in _findings(cases, code))
    assert found == _expected(cases.read_text(), code)


def test_cases_hold_bugs(cases: Path) -> None:
    assert _expected(cases.read_text(), cases.parent.name)


def test_fixed_as_written_down(cases: Path) -> None:
    code = cases.parent.name
    before = cases.read_text()
    offers = [f for f in _findings(cases, code) if _applies(f)]
    _run("fix", "--apply", "--unsafe-fixes", "--select", code, str(cases))
    after = cases.read_text()
    expected = cases.parent / "expected.txt"
    if not offers:
        assert after == before
        return
    assert expected.exists(), "a rule with fixes has a cases.fixed.py"
    assert after == expected.read_text()
    ast.parse(after)
    assert _comments(after) == _comments(before)
    left = [f for f in _findings(cases, code) if _applies(f)]
    assert not left, "the fix leaves something to fix"
    _run("fix", "--apply", "--unsafe-fixes", "--select", code, str(cases))
    assert cases.read_text() == after, "a second run changes nothing"


def _applies(finding: dict[str, object]) -> bool:
    fix = finding["fix"]
    return isinstance(fix, dict) and fix["applicability"] in ("safe", "unsafe")
