"""What stands for `dataclasses.dataclass` and `re.compile` while modules are loaded: the same, for less."""

from __future__ import annotations

import ast
import copy
import dataclasses
import pickle
import re
from collections.abc import Iterator
from dataclasses import field, replace
from pathlib import Path
from typing import Any

import pytest

from distlint.patterns import pattern
from distlint.records import dataclass

ROOT = Path(__file__).parents[1]

NO_CHECK = {"authoring", "hardware", "proving", "runtime"}
"""Rooms that a check never enters."""


@dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: int = 0
    note: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True)
class Marked:
    value: int
    marks: list[int] = field(hash=False)


@dataclass(frozen=True)
class One:
    value: str


@dataclass(slots=True)
class Changing:
    values: list[int] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Itself:
    value: int


@dataclass(frozen=True)
class Folded:
    text: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Folded) and self.text.lower() == other.text.lower()

    def __repr__(self) -> str:
        return self.text


def test_fields_are_compared_and_hashed() -> None:
    assert Point(1, 2, "a") == Point(1, 2, "b") != Point(2, 1)
    assert Marked(1, [1]) != Marked(1, []) and hash(Marked(1, [1])) == hash(Marked(1, []))
    assert len({Point(1, 2, "a"), Point(1, 2, "b"), Point(1)}) == 2
    assert hash(Point(1, 2)) == hash((1, 2))
    assert hash(One("a")) == hash(("a",))
    assert Point(1).__eq__(One("a")) is NotImplemented


def test_what_changes_has_no_hash_and_what_is_itself_has() -> None:
    assert Changing([1]) == Changing([1])
    with pytest.raises(TypeError, match="unhashable"):
        hash(Changing())
    assert Itself(1) != Itself(1)
    assert len({Itself(1), Itself(1)}) == 2


def test_what_the_body_says_stays() -> None:
    assert Folded("A") == Folded("a")
    assert hash(Folded("a")) == hash(("a",))
    assert repr(Folded("a")) == "a"


def test_the_functions_of_the_standard_library_take_them() -> None:
    point = Point(1, 2, "a")
    assert replace(point, x=3) == Point(3, 2)
    assert [each.name for each in dataclasses.fields(point)] == ["x", "y", "note"]
    assert dataclasses.asdict(point) == {"x": 1, "y": 2, "note": "a"}
    assert repr(point) == "Point(x=1, y=2)"
    for twin in (pickle.loads(pickle.dumps(point)), copy.deepcopy(point)):
        assert (twin, twin.note) == (point, "a")
    match point:
        case Point(x, y):
            assert (x, y) == (1, 2)
    with pytest.raises(AttributeError):
        point.z = 1  # type: ignore[attr-defined]


@pytest.mark.parametrize("flags", [0, re.IGNORECASE])
def test_a_pattern_answers_as_the_compiled_one(flags: int) -> None:
    late, compiled = pattern(r"(a)(\d)", flags), re.compile(r"(a)(\d)", flags)
    text = "a1 A2 a3"
    assert (late.pattern, late.flags, late.groups) == (compiled.pattern, compiled.flags, 2)
    assert late.findall(text) == compiled.findall(text)
    assert late.sub(r"\2", text) == compiled.sub(r"\2", text)
    found: Any = late.search(text)
    assert found.groups() == ("a", "1")
    assert late.fullmatch("b") is None
    assert pattern(rb"a").findall(b"aa") == [b"a", b"a"]
    assert copy.deepcopy(late).findall(text) == compiled.findall(text)


def test_a_pattern_is_compiled_when_it_is_first_asked() -> None:
    late = pattern("(")
    with pytest.raises(re.error):
        late.search("")


def test_what_a_check_loads_is_made_of_them() -> None:
    """A class of the standard library's `dataclass` costs 0.8 ms, an expression that is compiled at import 0.15."""
    files = [*ROOT.glob("distlint/**/*.py"), *ROOT.glob("rules/**/*.py")]
    wrong = []
    for path in files:
        parts = path.relative_to(ROOT).parts
        if parts[1] in NO_CHECK | {"records.py"} or "cases" in parts:
            continue
        if path.name.startswith(("cases", "proof")):
            continue
        for node in _at_import(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.ImportFrom(module="dataclasses", names=names) if any(
                    each.name == "dataclass" for each in names
                ):
                    wrong.append(f"{path}:{node.lineno} takes `dataclass` from distlint.records")
                case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr="compile")):
                    wrong.append(f"{path}:{node.lineno} takes `pattern` from distlint.patterns")
    assert not wrong, "\n".join(wrong)


def _at_import(node: ast.AST) -> Iterator[ast.AST]:
    """What runs when a module is loaded: all that is in no function."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.Lambda) and not _of_the_checker(child):
            yield child
            yield from _at_import(child)


def _of_the_checker(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
