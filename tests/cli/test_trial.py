"""Fixes on trial: what leaves its finding, or makes another one, is not offered, and the rest is."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

from tests.cli.conftest import Program

HELPER = """
import os

import torch


def keep(state, path):
    torch.save(state, path)


def keep_sharded(model, path):
    state = model.state_dict()
    if int(os.environ.get("RANK", 0)) == 0:
        keep(state, path)
"""

TRAINER = """
import os

import torch.distributed as dist

from helper import keep, keep_sharded


def train(model, loader, folder, sharded):
    for batch in loader:
        model(batch).mean().backward()
    dist.init_process_group("nccl")
    if sharded:
        keep_sharded(model, os.path.join(folder, "model.pt"))
    else:
        keep(model.state_dict(), os.path.join(folder, "model.pt"))
"""

LAST = """

def last(model, folder):
    dist.init_process_group("nccl")
    return keep(model.state_dict(), os.path.join(folder, "last.pt"))
"""
"""A call of all ranks whose result all of them read: no edit of the callers can take the place of the helper's."""

GOOD = """
import torch
import torch.distributed as dist


def finish(state, folder):
    dist.init_process_group("nccl")
    torch.save(state, folder + "/model.pt")
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A helper that one function calls on every rank and another on rank 0, and a file of its own."""
    for name, text in (("helper", HELPER), ("trainer", TRAINER + LAST), ("good", GOOD)):
        (tmp_path / f"{name}.py").write_text(text)
    return tmp_path


def test_a_collective_for_a_helper_of_rank_0_is_not_offered(
    distlint: Program, project: Path
) -> None:
    result = distlint("fix", "--apply", "--unsafe-fixes")
    assert (project / "helper.py").read_text() == HELPER
    assert "    save(state, folder + " in (project / "good.py").read_text()
    assert "[fix]" not in result.out and "[unsafe fix]" not in result.out
    assert result.code == 1


@pytest.mark.usefixtures("project")
def test_a_fix_that_was_refused_is_no_change_in_sarif(distlint: Program) -> None:
    document = json.loads(distlint("check", "--output-format", "sarif").out)
    rows = {
        row["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]: row
        for row in document["runs"][0]["results"]
    }
    assert "fixes" in rows["good.py"]
    assert "fixes" not in rows["helper.py"]
    assert rows["helper.py"]["properties"]["fix"]["applicability"] == "display"


@pytest.mark.parametrize(("asked", "mark"), [("is_main_process", ""), ("trains", " [fix]")])
def test_what_is_safe_for_one_caller_is_asked_of_all(
    distlint: Program, project: Path, asked: str, mark: str
) -> None:
    test = 'if int(os.environ.get("RANK", 0)) == 0:'
    assert test in HELPER
    other = f"{test}\n        print(path)\n    if model.{asked}:"
    (project / "helper.py").write_text(HELPER.replace(test, other))
    assert f"helper.py:8:5: warning DL301 unguarded-save{mark}\n" in distlint("check").out


def test_the_edit_goes_to_the_caller_that_all_ranks_make(distlint: Program, tmp_path: Path) -> None:
    path = tmp_path / "one.py"
    path.write_text(HELPER + TRAINER.replace("from helper import keep, keep_sharded\n", ""))
    distlint("fix", "--apply")
    text = path.read_text()
    assert "run_on_main(keep, model.state_dict(), os.path.join(folder, " in text
    assert "    torch.save(state, path)\n" in text
    assert distlint("check").code == 0


HOUSE = '''"""The name `{word}`."""
import ast
from distlint.edits import Replace, Span
from distlint.findings import Applicability, Finding, Fix, Place, Severity
from distlint.rule import Status

CODE, NAME, SEVERITY, STATUS = "{code}", "name-{word}", Severity.ERROR, Status.STABLE
LITERALS = (b"{word}",)
LOOKS = []

def check(model):
    LOOKS.append(model)
    for module in model.modules:
        for node in ast.walk(module.source.tree):
            if isinstance(node, ast.Name) and node.id == "{word}":
                where = (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
                fix = Fix(Applicability.SAFE, "Rename it", (Replace(Span(*where), "{then}"),))
                yield Finding(CODE, NAME, SEVERITY, "`{word}` is here.",
                              Place(module.source.path, *where), fix=fix)
'''


@pytest.fixture
def renaming(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules whose fixes write other words: `alpha` and `gamma` good ones, `delta` one that is a finding."""
    package = tmp_path / "site" / "renaming_rules"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    for code, word, then in (
        ("REN001", "alpha", "beta"),
        ("REN002", "delta", "omega"),
        ("REN003", "omega", "omega_"),
        ("REN004", "gamma", "gamma + gamma"),
    ):
        (package / f"{word}.py").write_text(HOUSE.format(code=code, word=word, then=then))
    metadata = tmp_path / "site" / "renaming_rules-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: renaming-rules\nVersion: 1.0\n"
    )
    (metadata / "entry_points.txt").write_text("[distlint.rules]\nrenaming = renaming_rules\n")
    monkeypatch.syspath_prepend(tmp_path / "site")


@pytest.mark.usefixtures("renaming")
def test_one_bad_fix_among_many_is_found(distlint: Program, tmp_path: Path) -> None:
    code = tmp_path / "code"
    code.mkdir()
    lines = [f"x{number} = alpha" for number in range(9)]
    lines[5] = "x5 = delta"
    lines[7] = "x7 = gamma"
    (code / "a.py").write_text("\n".join(lines) + "\n")
    (code / "b.py").write_text("y = alpha, delta\n")
    result = distlint("fix", "--apply", "--select", "REN", cwd=code)
    fixed = [line.replace("alpha", "beta") for line in lines]
    assert (code / "a.py").read_text() == "\n".join(fixed) + "\n"
    assert (code / "b.py").read_text() == "y = beta, delta\n"
    assert (
        "a.py:6: the fix of REN002 is not offered: with it, REN003 is found at a.py:6" in result.err
    )
    assert "a.py:8: the fix of REN004 is not offered: REN004 is found as before" in result.err
    assert "Applied 8 fixes in 2 files." in result.err


@pytest.mark.usefixtures("renaming")
def test_another_rule_than_the_selected_one_counts(distlint: Program, tmp_path: Path) -> None:
    code = tmp_path / "code"
    code.mkdir()
    (code / "a.py").write_text("x = delta\n")
    result = distlint("fix", "--apply", "--select", "REN002", cwd=code)
    assert (code / "a.py").read_text() == "x = delta\n"
    assert "with it, REN003 is found at a.py:1" in result.err
    assert "REN003" not in result.out.replace("with it, REN003", "")


@pytest.mark.usefixtures("renaming")
def test_few_looks_find_the_bad_fix_among_many(distlint: Program, tmp_path: Path) -> None:
    looks = importlib.import_module("renaming_rules.delta").LOOKS
    code = tmp_path / "code"
    code.mkdir()
    lines = [f"x{number} = alpha" for number in range(64)]
    lines[40] = "x40 = delta"
    (code / "a.py").write_text("\n".join(lines) + "\n")
    looks.clear()
    result = distlint("fix", "--apply", "--no-cache", "--select", "REN", cwd=code)
    assert "a.py:41: the fix of REN002 is not offered" in result.err
    assert "Applied 63 fixes in 1 file." in result.err
    # With the selected rules as the file is and as it becomes; with all stable ones as it is, with all fixes,
    # and without the one where the harm shows. Halving took 17.
    assert len(looks) == 5
