"""What the checkers are told: exemptions that are still needed, over all code, by versions that stay."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
RATCHETED = re.compile(r"ARG\d+|C901")


def offenders() -> dict[str, set[str]]:
    """What ruff would report of unused arguments and complexity without any exemption, by file."""
    lint = SETTINGS["tool"]["ruff"]["lint"]
    command = [
        *(sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache"),
        *("--select", "ARG,C90", "--output-format", "json", "."),
        *("--config", f"lint.mccabe.max-complexity = {lint['mccabe']['max-complexity']}"),
    ]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    found: dict[str, set[str]] = defaultdict(set)
    for row in json.loads(done.stdout):
        found[str(Path(row["filename"]).relative_to(ROOT))].add(row["code"])
    return found


def test_every_exemption_of_the_ratchet_is_still_needed() -> None:
    table: dict[str, list[str]] = SETTINGS["tool"]["ruff"]["lint"]["per-file-ignores"]
    listed = {
        (path, code)
        for path, codes in table.items()
        for code in codes
        if RATCHETED.fullmatch(code) and "*" not in path
    }
    found = offenders()
    idle = sorted((path, code) for path, code in listed if code not in found.get(path, ()))
    assert not idle, "remove them from per-file-ignores in pyproject.toml"
    assert listed


def test_types_are_checked_wherever_code_is() -> None:
    checked = set(SETTINGS["tool"]["mypy"]["files"])
    written = {
        path.relative_to(ROOT).parts[0]
        for path in ROOT.glob("*/**/*.py")
        if not path.relative_to(ROOT).parts[0].startswith((".", "build"))
    }
    assert written - checked == {"examples"}


def test_the_versions_of_the_checkers_are_named() -> None:
    dev: list[str] = SETTINGS["project"]["optional-dependencies"]["dev"]
    for name in ("ruff", "mypy", "types-PyYAML", "types-jsonschema"):
        (row,) = [row for row in dev if re.match(rf"{name}\b(?!-)", row)]
        assert "==" in row
