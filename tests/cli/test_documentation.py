"""Pages and packaging files say what the program does."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

from distlint.cli import COMMANDS, main
from distlint.hardware import contracts
from distlint.project.settings import Settings
from distlint.proving.steps import bundled_proofs
from distlint.rule import load_rules
from tests.cli.conftest import Program

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[2]


def test_rule_pages_and_readme_say_what_the_program_says() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "docs/generate.py", "--check"],
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_readme_names_every_command_and_setting() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for command in COMMANDS:
        assert f"distlint {command}" in readme
    for field in Settings.__dataclass_fields__:
        if field not in ("root", "source", "origins"):
            assert field.replace("_", "-") in readme


def test_the_readme_names_every_option_of_check_and_fix() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in ("check", "fix"):
        command = main.get_command(None, name)  # type: ignore[arg-type]
        assert command is not None
        options = [option for each in command.params for option in each.opts if "--" in option]
        assert [option for option in options if option not in readme] == []


def test_the_tests_command_of_the_readme_is_what_ci_runs() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    script = (ROOT / ".ci/run").read_text(encoding="utf-8")
    command = "python3 -m venv .venv && .venv/bin/pip install -e '.[dev]' && .venv/bin/pytest"
    assert command in readme
    for part in (
        "python3 -m venv .venv",
        ".venv/bin/pip install",
        "-e '.[dev]'",
        ".venv/bin/pytest -m slow",
        ".venv/bin/pytest >",
    ):
        assert part in script
    assert "`.venv/bin/pytest -m slow`" in readme


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


def test_the_example_says_how_many_places_go_wrong(distlint: Program, tmp_path: Path) -> None:
    example = shutil.copy(ROOT / "examples/train.py", tmp_path)
    (tmp_path / "run.sh").write_text("accelerate launch --num_processes 2 train.py\n")
    result = distlint("check", "--preview", "--output-format", "json", str(tmp_path))
    number = len(json.loads(result.out)["findings"])
    words = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    text = Path(example).read_text(encoding="utf-8")
    assert re.findall(r"(\w+) places go wrong", text) == [words[number - 1]]


def test_the_readme_names_the_commands_that_execute_code() -> None:
    executing = set()
    for name in COMMANDS:
        command = main.get_command(None, name)  # type: ignore[arg-type]
        assert command is not None
        told = [command.help, *(getattr(each, "help", None) for each in command.params)]
        if any(
            re.search(r"runs your code|THIS EXECUTES|runs their proofs", text or "")
            for text in told
        ):
            executing.add(name)
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    (sentence,) = re.findall(r"Three execute your code, and say so: (.+?)\. ", readme)
    named = set(re.findall(r"`distlint ([\w-]+)", sentence))
    assert executing == named == {"run", "plan", "test-rules"}


def test_ruff_keeps_a_noqa_of_ours_when_told_as_the_readme_says(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (settings,) = re.findall(r"```toml\n(\[tool\.ruff\.lint\]\n.*?)```", readme, re.DOTALL)
    (tmp_path / "a.py").write_text("import torch\n\ntorch.save({}, 'x')  # noqa: DL301\n")
    pyproject = tmp_path / "pyproject.toml"

    def unused() -> int:
        command = [
            sys.executable,
            "-m",
            "ruff",
            "check",
            "--no-cache",
            "--select",
            "RUF100,RUF102",
            ".",
        ]
        return subprocess.run(
            command, cwd=tmp_path, capture_output=True, timeout=60, check=False
        ).returncode

    pyproject.write_text("[tool.ruff]\n")
    assert unused() == 1
    pyproject.write_text(settings)
    assert unused() == 0


def test_the_page_of_verify_shows_what_its_command_selects() -> None:
    page = (ROOT / "docs/commands/verify.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"^\$ distlint verify (.+)$", page, re.MULTILINE)
    patterns = re.findall(r"--select '?([^' ]+)", command)
    proven = {path.parent.name.replace("_", "-") for path in bundled_proofs()}
    names = [one.name for one in contracts.ALL]
    names += [f"{rule.code} {rule.name}" for rule in load_rules().values() if rule.name in proven]
    chosen = [
        name for name in names if any(fnmatch(name.split()[0], pattern) for pattern in patterns)
    ]
    rows = re.findall(r"^  (?:held|–)  +(\S+(?: \S+)*?)  +[\d.]+ s$", page, re.MULTILINE)
    assert rows == chosen
    assert len(rows) > 5


def test_the_page_of_vendor_counts_what_is_copied() -> None:
    page = (ROOT / "docs/commands/vendor.md").read_text(encoding="utf-8")
    files = sorted((ROOT / "distlint/runtime").glob("*.py"))
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)
    assert f"{round(lines, -2):,} lines in {len(files)} files" in page


def test_nobody_is_told_to_install_a_name_from_the_index_that_is_not_ours() -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("distlint/**/*.py")]
    advice = re.compile(r"pip install (?:-\S+ )*[\"']?distlint\b")
    told = [path.name for path in pages if advice.search(path.read_text(encoding="utf-8"))]
    assert told == []
