"""Names that an edit must not leave without a value: what is said of a file, against what Python does with it."""

from __future__ import annotations

import itertools
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from distlint.fixing.binding import added, unbound

RULES = Path(__file__).parents[2] / "rules"

NAMES = st.sampled_from(["a", "b"])
FLAGS = st.sampled_from(["one", "two", "not one", "one and two"])


def _indented(block: list[str]) -> list[str]:
    return [f"    {line}" for line in block] or ["    pass"]


@st.composite
def statements(draw: st.DrawFn, depth: int = 2) -> list[str]:
    """A block of a program that binds and reads two names, under tests that each run answers once."""
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 4))):
        name, flag = draw(NAMES), draw(FLAGS)
        kinds = ["bind", "import", "read", "read", "fail", "with", "comprehension", "walrus"]
        kinds += ["delete", "leave"] if draw(st.booleans()) else []
        kinds += ["if", "if", "else", "for", "try", "class"] if depth else []
        kind = draw(st.sampled_from(kinds))
        inside, other = (
            _indented(draw(statements(depth - 1))) if kind in holders else []
            for holders in (("if", "else", "for", "try", "class"), ("else", "try"))
        )
        match kind:
            case "bind":
                lines += [f"{name} = 1"]
            case "import":
                lines += [f"import os as {name}"]
            case "read":
                lines += [f"use({name})"]
            case "fail":
                lines += [f"fail({flag})"]
            case "leave":
                lines += [f"if {flag}:", "    raise KeyError"]
            case "with":
                lines += [f"with manager() as {name}:", f"    use({name})"]
            case "comprehension":
                lines += [f"use([{name} for _ in (1, 2)])"]
            case "walrus":
                lines += [f"use(({name} := 1) and {name})"]
            case "delete":
                lines += [f"{name} = 1", f"del {name}"]
            case "if":
                lines += [f"if {flag}:", *inside]
            case "else":
                lines += [f"if {flag}:", *inside, "else:", *other]
            case "for":
                lines += ["for _ in (1, 2):", *inside]
            case "try":
                lines += ["try:", *inside, "except ValueError:", *other]
            case "class":
                lines += ["class Inner:", *inside]
    return lines


@st.composite
def programs(draw: st.DrawFn) -> str:
    """A module with a function that it calls at its end."""
    top, body, last = draw(statements()), draw(statements()), draw(statements(1))
    return "\n".join([*top, "def function():", *_indented(body), *last, "function()", ""])


def _raises(program: str, *, one: bool, two: bool) -> bool:
    """Whether a run of a program comes to a name without a value."""

    class Manager:
        def __enter__(self) -> int:
            return 1

        def __exit__(self, *_: object) -> None:
            return None

    def fail(flag: bool) -> None:
        if flag:
            raise ValueError

    scope = {"one": one, "two": two, "use": lambda _: True, "fail": fail, "manager": Manager}
    try:
        exec(compile(program, "program", "exec"), scope)
    except NameError:
        return True
    except (ValueError, KeyError):
        return False
    return False


@given(programs())
@settings(max_examples=400, deadline=None, derandomize=True)
def test_what_has_a_value_has_one_in_every_run(program: str) -> None:
    provided = "one = two = True\nuse = fail = manager = print\n"  # what `_raises` gives it
    if not unbound(provided + program):
        for one, two in itertools.product([False, True], repeat=2):
            assert not _raises(program, one=one, two=two)


@pytest.mark.parametrize(
    ("code", "names"),
    [
        pytest.param("def f():\n    import os\n\n\ndef g():\n    os.getcwd()\n", ["os"], id="import"),
        pytest.param("print(x)\nx = 1\n", ["x"], id="below"),
        pytest.param("def f():\n    return x\n\n\nx = 1\n", [], id="below a function"),
        pytest.param("def f():\n    print(x)\n    x = 1\n\n\nx = 2\n", ["x"], id="local"),
        pytest.param("if c():\n    x = 1\nprint(x)\n\n\ndef c(): ...\n", ["c", "x"], id="one arm"),
        pytest.param("def f(c):\n    if c:\n        x = 1\n    if c:\n        print(x)\n", [], id="same test"),
        pytest.param(
            "def f(c):\n    if not c:\n        return\n    else:\n        x = 1\n    print(x)\n", [], id="left"
        ),
        pytest.param(
            "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    import os\n\n\n"
            "def f():\n    os.getcwd()\n",
            ["os"],
            id="for the type checker",
        ),
        pytest.param(
            "try:\n    import apex\nexcept ImportError:\n    pass\n\n\ndef f():\n    apex.amp\n", ["apex"], id="try"
        ),
        pytest.param(
            "try:\n    import apex\nexcept ImportError:\n    apex = None\n\n\ndef f():\n    apex.amp\n", [], id="tried"
        ),
        pytest.param("from os import *\n\n\ndef f():\n    getcwd()\n", [], id="star"),
        pytest.param("class A:\n    x = 1\n\n    def f(self):\n        return x\n", ["x"], id="class"),
        pytest.param("class A:\n    x = 1\n    y = x\n", [], id="in a class"),
        pytest.param("def f(x, *y, z=1, **w):\n    return x, y, z, w\n", [], id="parameters"),
        pytest.param("print([x for x in (1, 2) if x])\n", [], id="comprehension"),
        pytest.param("def f(p):\n    match p:\n        case [x, *_] if x:\n            print(x)\n", [], id="match"),
        pytest.param("print(__file__, len)\n", [], id="builtins"),
        pytest.param("def f(x: Missing) -> Missing:\n    y: Missing = x\n    return y\n", [], id="annotations"),
    ],
)  # fmt: skip
def test_reads_without_a_value(code: str, names: list[str]) -> None:
    assert sorted({each.name for each in unbound(code)}) == names


def test_only_what_an_edit_adds() -> None:
    before = "def f():\n    if g:\n        x = 1\n    print(x)\n"
    assert not added(before, before.replace("print(x)", "if x:\n        print(1)"))
    assert [each.name for each in added(before, before.replace("(x)", "(x, y)"))] == ["y"]


@pytest.mark.parametrize(
    "fixed", sorted(RULES.rglob("cases.fixed.py")), ids=lambda p: p.parent.name
)
def test_the_fixes_of_every_rule(fixed: Path) -> None:
    before = fixed.with_name("cases.py").read_text(encoding="utf-8")
    assert not added(before, fixed.read_text(encoding="utf-8"))


def test_a_test_of_two_holds_where_both_do() -> None:
    text = "def f(one, two):\n    if one and two:\n        a = 1\n    if {}:\n        print(a)\n"
    assert [each.name for each in unbound(text.format("one"))] == ["a"]
    assert unbound(text.format("one and two")) == ()


def test_a_name_in_the_place_of_one_without_a_value_is_not_new() -> None:
    assert added("x = wrong\n", "x = right\n") == []
    (new,) = added("x = wrong\n", "x = wrong\ny = right\n")
    assert (new.name, new.line) == ("right", 2)


def test_a_name_that_is_deleted_further_in_has_no_value_there() -> None:
    text = "b = 1\nfor _ in (1, 2):\n    b = 1\n    del b\n    if _:\n        print(b)\n"
    assert [each.name for each in unbound(text)] == ["b"]
    assert [each.name for each in unbound("b = 1\nif b:\n    del b\nprint(b)\n")] == ["b"]
