"""Formats that code hosts read: SARIF to the letter, paths from the root, fixes that can be applied."""

from __future__ import annotations

import ast
import json
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from distlint.fixing.replacements import replacements
from tests.cli.conftest import Program
from tests.cli.sarif_subset import SARIF

ROOT = Path(__file__).parents[2]


def sarif(program: Program, *arguments: str, cwd: Path) -> list[dict[str, Any]]:
    """The results of a check, whose SARIF holds to the standard."""
    document = json.loads(program("check", "--output-format", "sarif", *arguments, cwd=cwd).out)
    jsonschema.Draft7Validator(SARIF).validate(document)
    results: list[dict[str, Any]] = document["runs"][0]["results"]
    return results


def offset(text: str, line: int, column: int) -> int:
    """The place of a line and a character (from 1) in `text`."""
    return sum(map(len, text.splitlines(keepends=True)[: line - 1])) + column - 1


def applied(text: str, fix: dict[str, Any]) -> str:
    """`text` after one SARIF fix, carried out as the standard says."""
    (change,) = fix["artifactChanges"]
    for piece in reversed(change["replacements"]):
        region = piece["deletedRegion"]
        start = offset(text, region["startLine"], region["startColumn"])
        end = offset(text, region["endLine"], region["endColumn"])
        text = text[:start] + piece["insertedContent"]["text"] + text[end:]
    return text


def test_every_bundled_fix_is_one_that_a_reader_of_sarif_can_apply(
    distlint: Program, tmp_path: Path
) -> None:
    for path in sorted(ROOT.glob("rules/*/*/cases.py"))[::8]:
        shutil.copyfile(path, tmp_path / f"{path.parent.name}.py")
    fixes = 0
    for row in sarif(distlint, "--no-cache", ".", cwd=tmp_path):
        offered = row.get("properties", {}).get("fix", {}).get("applicability")
        assert ("fixes" in row) <= (offered in ("safe", "unsafe"))
        for fix in row.get("fixes", ()):
            uri = fix["artifactChanges"][0]["artifactLocation"]["uri"]
            before = (tmp_path / uri).read_text(encoding="utf-8")
            after = applied(before, fix)
            assert after != before
            ast.parse(after)
            fixes += 1
    assert fixes > 10


def test_a_fix_in_sarif_is_what_fix_writes(distlint: Program, tmp_path: Path) -> None:
    path = tmp_path / "größe.py"
    text = "é = wrong  # stays\r\nx = 1\r\n"
    path.write_bytes(text.encode())
    (row,) = sarif(distlint, ".", cwd=tmp_path)
    (fix,) = row["fixes"]
    location = fix["artifactChanges"][0]["artifactLocation"]
    assert location == {"uri": "gr%C3%B6%C3%9Fe.py", "uriBaseId": "%SRCROOT%"}
    distlint("fix", "--apply")
    assert (
        applied(text, fix).encode()
        == path.read_bytes()
        == b"\xc3\xa9 = right  # stays\r\nx = 1\r\n"
    )


def test_a_stored_result_does_not_lose_the_fixes(distlint: Program, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("wrong\nrisky\nadvised\nx = 1  # distlint: ignore[HOUSE001]\n")
    select = ("--select", "ALL")
    distlint("check", *select)
    rows = {row["ruleId"]: row for row in sarif(distlint, *select, cwd=tmp_path)}
    assert {code for code, row in rows.items() if "fixes" in row} == {
        "HOUSE001",
        "HOUSE002",
        "DL901",
    }
    assert "(unsafe:" in rows["HOUSE002"]["fixes"][0]["description"]["text"]
    assert "(unsafe:" not in rows["HOUSE001"]["fixes"][0]["description"]["text"]


def test_the_page_of_a_rule_is_where_its_package_says(distlint: Program, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("wrong\n")
    document = json.loads(distlint("check", "--output-format", "sarif").out)
    (rule,) = document["runs"][0]["tool"]["driver"]["rules"]
    assert rule["helpUri"] == "https://house.example/rules#HOUSE001"


@pytest.mark.parametrize("marker", [".git", "pyproject.toml"])
def test_paths_start_at_the_root_wherever_distlint_runs(
    distlint: Program, tmp_path: Path, marker: str
) -> None:
    (tmp_path / marker).mkdir() if marker == ".git" else (tmp_path / marker).touch()
    inner = tmp_path / "pkg" / "deep"
    inner.mkdir(parents=True)
    (inner / "a.py").write_text("wrong\n")
    (row,) = sarif(distlint, "a.py", cwd=inner)
    uri = row["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    (gitlab,) = json.loads(distlint("check", "--output-format", "gitlab", cwd=inner).out)
    github = distlint("check", "--output-format", "github", cwd=inner).out
    assert uri == gitlab["location"]["path"] == "pkg/deep/a.py"
    assert github.startswith("::error file=pkg/deep/a.py,line=1")
    assert distlint("check", cwd=inner).out.startswith("a.py:1:1")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a\nb\nc\n", "a\nc\n"),
        ("a\r\nb\r\n", "a\r\nx\r\nb\r\n"),
        ("a\rb", "a\r\nb"),
        ("", "new\n"),
        ("last", "last\n"),
        ("x = f(1)\ny = 2\n", "x = f(2)\ny = g(2)\n"),
        ("é\n模 = 1\n", "é\n模 = 12\n"),
        ("a\n", ""),
    ],
)
def test_replacements_turn_one_text_into_the_other(before: str, after: str) -> None:
    text = before
    for piece in reversed(replacements(before, after)):
        start = offset(text, piece.line, piece.column)
        end = offset(text, piece.end_line, piece.end_column)
        text = text[:start] + piece.text + text[end:]
    assert text == after
