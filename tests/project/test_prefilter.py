"""The prefilter: what it lets through, and that no literal of it is a common word."""

from __future__ import annotations

import sysconfig
from functools import cache
from pathlib import Path

import pytest

from distlint.knowledge.literals import PREFILTER
from distlint.project.prefilter import holds_any, minimal_literals
from distlint.rule import load_rules

LITERALS = sorted({*PREFILTER, *(word for rule in load_rules().values() for word in rule.literals)})


@cache
def standard_library() -> list[bytes]:
    """Files of code that has nothing to do with ranks."""
    root = Path(sysconfig.get_paths()["stdlib"])
    return [
        path.read_bytes()
        for path in root.rglob("*.py")
        if "site-packages" not in path.parts and "test" not in path.parts
    ]


@pytest.mark.parametrize("literal", LITERALS, ids=repr)
def test_a_literal_tells_something(literal: bytes) -> None:
    files = standard_library()
    holding = sum(literal in data for data in files)
    assert holding <= len(files) * 0.02, f"{holding} of {len(files)} files hold it: too common"


def test_longer_literals_that_contain_a_shorter_one_are_not_searched() -> None:
    assert minimal_literals([b"barrier", b"dist.barrier", b"rank", b"", b"rank"]) == (
        b"rank",
        b"barrier",
    )


def test_what_a_full_search_finds_the_minimal_one_finds() -> None:
    literals = [b"barrier", b"dist.barrier", b"get_rank", b"rank"]
    for data in (b"x = dist.barrier()", b"get_rank", b"nothing", b""):
        assert holds_any(data, minimal_literals(literals)) == any(x in data for x in literals)


@pytest.mark.parametrize(
    ("text", "held"),
    [
        (b"import accelerate\n", True),
        (b"x = 1\nfrom accelerate import Accelerator", True),
        (b"    from accelerate import Accelerator\n", True),
        (b"import os\n# from accelerate\n", False),
        (b'print("from accelerate")\n', False),
    ],
)
def test_a_literal_of_an_import_is_one_in_imports_alone(text: bytes, held: bool) -> None:
    assert holds_any(text, [b"from accelerate", b"import accelerate"]) is held
