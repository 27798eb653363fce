"""`distlint explain`, `distlint rules`, the help, and the list of commands."""

from __future__ import annotations

import json

import pytest

from distlint.cli import COMMANDS, main
from tests.cli.conftest import Program


@pytest.mark.parametrize("word", ["DL901", "dl901", "unused-suppression", "unused_suppression"])
def test_explain_by_code_and_name(distlint: Program, word: str) -> None:
    result = distlint("explain", word)
    assert result.code == 0
    assert result.out.startswith("DL901 unused-suppression\nwarning, stable")
    assert "Why it is bad" in result.out


def test_explain_of_an_unknown_rule_names_the_nearest(distlint: Program) -> None:
    result = distlint("explain", "unused-supression")
    assert result.code == 2
    assert "did you mean `unused-suppression`?" in result.err


def test_rules_lists_every_rule_once(distlint: Program) -> None:
    listed = json.loads(distlint("rules", "--output-format", "json").out)
    names = [row["code"] for row in listed]
    assert len(names) == len(set(names))
    assert {"DL900", "DL901", "DL902", "HOUSE001"} <= set(names)
    text = distlint("rules").out
    for row in listed:
        assert row["code"] in text
        assert row["name"] in text


def test_help_lists_all_commands_without_loading_them(distlint: Program) -> None:
    result = distlint("--help")
    for name in COMMANDS:
        assert f"  {name}" in result.out


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_exists_under_its_name(distlint: Program, name: str) -> None:
    result = distlint(name, "--help")
    assert result.code == 0
    assert f"distlint {name}" in result.out


def test_an_unknown_command_is_2(distlint: Program) -> None:
    result = distlint("chekc")
    assert result.code == 2
    assert "chekc" in result.err


def test_the_program_has_one_entry() -> None:
    assert main.name == "main"
