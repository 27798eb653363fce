"""Pages and packaging files say what the program does."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from distlint.cli import COMMANDS, main
from distlint.project.settings import Settings
from distlint.rule import Rule, load_rules

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[2]
HEADINGS = [
    "What it does",
    "Why it is bad",
    "Example",
    "Use instead",
    "Fix safety",
    "Known limits",
    "References",
]
RULES = [rule for rule in load_rules().values() if rule.module.startswith("distlint.rules.")]


def test_rule_pages_and_readme_say_what_the_program_says() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "docs/generate.py", "--check"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_every_page_has_the_headings_in_order(rule: Rule) -> None:
    assert rule.summary.endswith("."), rule.summary
    assert re.findall(r"^## (.+)$", rule.page, re.MULTILINE) == HEADINGS


def test_the_readme_names_every_command_and_setting() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for command in COMMANDS:
        assert f"distlint {command}" in readme
    for field in Settings.__dataclass_fields__:
        if field not in ("root", "source", "origins"):
            assert field.replace("_", "-") in readme


def test_the_tests_command_of_the_readme_is_what_ci_runs() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    script = (ROOT / ".ci/run").read_text(encoding="utf-8")
    command = "python3 -m venv .venv && .venv/bin/pip install -e '.[dev]' && .venv/bin/pytest"
    assert command in readme
    for part in (
        "python3 -m venv .venv",
        ".venv/bin/pip install",
        "-e '.[dev]'",
        ".venv/bin/pytest",
    ):
        assert part in script


def test_both_names_of_the_hook_manifest_are_one_file() -> None:
    assert (ROOT / "pre-commit-hooks.yaml").read_bytes() == (
        ROOT / ".pre-commit-hooks.yaml"
    ).read_bytes()


def test_the_hooks_call_options_that_exist() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert [hook["id"] for hook in hooks] == ["distlint", "distlint-fix"]
    for hook in hooks:
        program, command, *options = hook["entry"].split()
        assert program == "distlint"
        known = main.get_command(None, command)  # type: ignore[arg-type]
        assert known is not None
        names = {name for each in known.params for name in (*each.opts, *each.secondary_opts)}
        assert set(options) <= names
