"""Class hierarchies as Python itself orders them, and where their methods are found."""

from __future__ import annotations

import ast
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from distlint.analysis import Source
from distlint.analysis.program.definitions import Class
from distlint.analysis.program.program import Program

OUTSIDE = ("One", "Two")
Bases = list[list[str]]


@st.composite
def hierarchies(draw: st.DrawFn) -> Bases:
    """The bases of each of a few classes, from those before it and from a library."""
    found: Bases = []
    for number in range(draw(st.integers(1, 7))):
        known = [f"C{before}" for before in range(number)] + [f"lib.{name}" for name in OUTSIDE]
        found.append(draw(st.lists(st.sampled_from(known), max_size=3, unique=True)))
    return found


def made(hierarchy: Bases) -> dict[str, type | None]:
    """The classes, as `type()` makes them; None where Python refuses, and for what derives from it."""
    classes: dict[str, type | None] = {f"lib.{name}": type(name, (), {}) for name in OUTSIDE}
    for number, names in enumerate(hierarchy):
        bases = [classes[name] for name in names]
        made_: type | None = None
        if None not in bases:
            try:
                made_ = type(f"C{number}", tuple(b for b in bases if b), {"own": number})
            except TypeError:
                made_ = None
        classes[f"C{number}"] = made_
    return classes


def read(hierarchy: Bases) -> tuple[Program, dict[str, Class]]:
    text = "import lib\n" + "".join(
        f"class C{number}({', '.join(names)}):\n    def own(self): ...\n"
        + ("    def some(self): ...\n" if number % 2 else "")
        for number, names in enumerate(hierarchy)
    )
    program = Program([Source("m.py", "m", text, ast.parse(text))])
    return program, {c.name: c for m in program.modules.values() for c in m.all_classes}


@settings(max_examples=150, deadline=None, derandomize=True)
@given(hierarchies())
def test_the_order_is_that_of_python(hierarchy: Bases) -> None:
    program, classes = read(hierarchy)
    for name, known in made(hierarchy).items():
        if name not in classes:
            continue
        own, outside = program.mro(classes[name])
        listed = [c.name for c in own]
        if known is not None:
            order = [c.__name__ for c in known.__mro__[:-1]]
            assert listed == [n for n in order if n not in OUTSIDE]
            assert list(outside) == [f"lib.{n}" for n in order if n in OUTSIDE]
        else:  # each is taken once, the class itself first
            assert listed[0] == name
            assert len(set(listed)) == len(listed)
            assert len(set(outside)) == len(outside)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(hierarchies())
def test_methods_and_subclasses_are_those_of_python(hierarchy: Bases) -> None:
    program, classes = read(hierarchy)
    real = made(hierarchy)
    if None in real.values():
        return
    for name, cls in classes.items():
        order: list[Any] = [c.__name__ for c in real[name].__mro__ if c.__name__ in classes]  # type: ignore[union-attr]
        some = [n for n in order if int(n[1:]) % 2]
        found = program.find_method(cls, "some")
        assert (found and found.cls and found.cls.name) == (some[0] if some else None)
        for position, owner in enumerate(order):  # `super()` in a method of each class above
            method = program.find_method(cls, "own", after=classes[owner])
            following = order[position + 1 : position + 2]
            assert ([method.cls.name] if method and method.cls else []) == following
        above = {n for n, c in real.items() if c and n != name and issubclass(c, real[name] or ())}
        assert {c.name for c in program.subclasses(cls)} == above
