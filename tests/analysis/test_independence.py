"""What is found in a file depends on nothing but that file and those that belong to it."""

from __future__ import annotations

import ast
import random
from functools import cache
from pathlib import Path

import pytest

from distlint.analysis import Source, build_models
from distlint.rule import load_rules

RULES = Path(__file__).parents[2] / "rules"
CASES = sorted(RULES.glob("*/*/cases.py"))


@cache
def source_of(path: Path) -> Source:
    name = f"{path.parent.parent.name}_{path.parent.name}"
    text = path.read_text(encoding="utf-8")
    return Source(f"{name}.py", name, text, ast.parse(text))


def findings(sources: list[Source]) -> dict[str, list[str]]:
    """What all rules find, by file, in the order in which a report lists it."""
    found: dict[str, list[str]] = {source.path: [] for source in sources}
    for model in build_models(sources):
        for rule in load_rules().values():
            for finding in rule.check(model):
                found[finding.place.path].append(repr(finding))
    return {path: sorted(rows) for path, rows in found.items()}


@cache
def alone(path: Path) -> list[str]:
    return findings([source_of(path)])[source_of(path).path]


@pytest.mark.parametrize("seed", range(6))
def test_other_files_and_their_order_change_nothing(seed: int) -> None:
    """Unrelated files beside a file, in any order, leave what is found in it as it is."""
    chosen = random.Random(seed).sample(CASES, 8)
    together = findings([source_of(path) for path in chosen])
    for path in chosen:
        assert together[source_of(path).path] == alone(path), path
        # Nor on where the objects of this process are; of each rule's own cases, `test-rules` says so.
        assert not any(" object at 0x" in row or "id(" in row for row in alone(path)), path


def test_a_second_run_finds_the_same() -> None:
    path = RULES / "collectives" / "collective_not_on_all_ranks" / "cases.py"
    text = path.read_text(encoding="utf-8")
    runs = [findings([Source("cases.py", "cases", text, ast.parse(text))]) for _ in range(2)]
    assert runs[0] == runs[1]
