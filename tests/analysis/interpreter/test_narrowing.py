"""What a test says of a variable in its arms holds for every value with which Python comes there."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distlint.analysis import Source
from distlint.analysis.interpreter.ranks import MAIN
from distlint.analysis.interpreter.summaries import Summaries
from distlint.analysis.interpreter.values import Value
from distlint.analysis.program.program import Program
from distlint.knowledge.facts import Knowledge

PLAIN = (
    "x is None", "x is not None", "x", "y is None", "y is not None", "y", "x == 3", "other()",
    "isinstance(x, int)", "not x", "not y",
)  # fmt: skip
SAMPLES: tuple[object, ...] = (None, 0, 3, "", "a", [], {"k": 1})


@st.composite
def conditions(draw: st.DrawFn, depth: int = 3) -> str:
    def part() -> str:
        return draw(conditions(depth - 1))

    match draw(st.sampled_from(("plain", "not", "and", "or"))):
        case "not" if depth:
            return f"not ({part()})"
        case "and" | "or" as word if depth:
            return f"({part()} {word} {part()})"
    return draw(st.sampled_from(PLAIN))


def handed_over(text: str) -> dict[str, list[list[Value]]]:
    """The arguments with which `main` calls each function of the text."""
    program = Program([Source("m.py", "m", text, ast.parse(text))])
    main = next(f for f in program.functions() if f.name == "main")
    found: dict[str, list[list[Value]]] = {}
    for site in Summaries(program, Knowledge.default()).summary(main, MAIN).calls:
        found.setdefault(site.name.rpartition(".")[2], []).append(site.args)
    return found


FUNCTIONS = "def then(x, y): ...\ndef orelse(x, y): ...\ndef behind(x, y): ...\n"
ARMS = """
def main(x, y):
    if {test}:
        then(x, y)
    else:
        orelse(x, y)
    behind(x, y)
"""
EXITS = """
def main(x, y):
    if {test}:
        then(x, y)
        return
    behind(x, y)
"""
ASSERTED = """
def main(x, y):
    assert {test}
    behind(x, y)
"""


def came(text: str, x: object, y: object, other: bool) -> set[str]:
    """Which of the functions Python calls."""
    called: set[str] = set()
    names: dict[str, Any] = {"other": lambda: other}
    exec(text, names)
    for name in ("then", "orelse", "behind"):
        names[name] = lambda *_, name=name: called.add(name)
    try:
        names["main"](x, y)
    except AssertionError:
        return set()
    return called


@settings(max_examples=100, deadline=None, derandomize=True)
@given(conditions(), st.sampled_from((ARMS, EXITS, ASSERTED)))
def test_nothing_is_said_that_a_sample_belies(test: str, program: str) -> None:
    text = FUNCTIONS + program.format(test=test)
    said = handed_over(text)
    for x in SAMPLES:
        for y in (None, 0, 3):
            for other in (True, False):
                for name in came(text, x, y, other):
                    assert name in said, f"{name} is not reached with {x!r}, {y!r}:\n{text}"
                    for value, sample in zip(said[name][0], (x, y), strict=True):
                        if value.known:
                            assert value.const is sample, f"{name} with {sample!r}:\n{text}"
                        if value.not_none:
                            assert sample is not None, f"{name} with {sample!r}:\n{text}"


@pytest.mark.parametrize(
    ("test", "then", "orelse"),
    [
        ("x is None", "none", "given"),
        ("x is not None", "given", "none"),
        ("not x is None", "given", "none"),
        ("x", "given", ""),
        ("not x", "", "given"),
        ("x is not None and other()", "given", ""),
        ("other() and x", "given", ""),
        ("x is None or other()", "", "given"),
        ("not (x is None or other())", "given", ""),
        ("x == 3", "", ""),
    ],
)
def test_what_is_said(test: str, then: str, orelse: str) -> None:
    said = handed_over(FUNCTIONS + ARMS.format(test=test))
    found = [
        "none" if value.known and value.const is None else "given" if value.not_none else ""
        for value in (said["then"][0][0], said["orelse"][0][0])
    ]
    assert found == [then, orelse]
    assert not said["behind"][0][0].known


def test_an_assert_holds_behind_it() -> None:
    assert handed_over(FUNCTIONS + ASSERTED.format(test="x is not None"))["behind"][0][0].not_none


WRAPPED = """
from torch.nn.parallel import DistributedDataParallel, DataParallel
def then(model): ...
def orelse(model): ...

def main(net, flag):
    model = DistributedDataParallel(net) if flag else net
    if {test}:
        then(model)
    else:
        orelse(model)
"""


@pytest.mark.parametrize(
    ("test", "then", "orelse"),
    [
        ('hasattr(model, "module")', True, False),
        ('not hasattr(model, "module")', False, True),
        ('hasattr(model, "config")', True, True),
        ("isinstance(model, (DistributedDataParallel, DataParallel))", True, False),
        ("not isinstance(model, (DistributedDataParallel, DataParallel))", False, True),
        ("isinstance(model, dict)", False, True),
        ("isinstance(model, (dict, str))", False, True),
        ("isinstance(model, Net)", True, True),
    ],
)
def test_where_a_model_is_wrapped(test: str, then: bool, orelse: bool) -> None:
    said = handed_over(WRAPPED.format(test=test))
    assert [bool(said[name][0][0].wraps) for name in ("then", "orelse")] == [then, orelse]
