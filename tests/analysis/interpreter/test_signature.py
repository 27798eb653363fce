"""Arguments reach the parameters that Python gives them to."""

from __future__ import annotations

import ast
import functools
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from distlint.analysis import Source
from distlint.analysis.interpreter.signature import bind, with_bound
from distlint.analysis.interpreter.values import Closure, Value, constant
from distlint.analysis.program.definitions import Function
from distlint.analysis.program.program import Program

NAMES = ("a", "b", "c", "d", "e")


@st.composite
def parameters(draw: st.DrawFn) -> str:
    """`a, b=1, /, c=2, *args, d=3, **kw`: as many of each kind as are drawn."""
    only, plain = sorted((draw(st.integers(0, 3)), draw(st.integers(0, 3))))
    defaults = draw(st.integers(0, plain))
    parts = [
        f"{name}={index - 2}" if index >= plain - defaults else name
        for index, name in enumerate(NAMES[:plain])
    ]
    if only:
        parts.insert(only, "/")
    star = draw(st.sampled_from(("", "*args", "*")))
    later = draw(st.integers(1, 2)) if star == "*" else draw(st.integers(0, 2)) if star else 0
    parts += [star] if star else []
    parts += [
        f"{name}=None" if draw(st.booleans()) else name for name in NAMES[plain : plain + later]
    ]
    return ", ".join([*parts, *(["**kw"] if draw(st.booleans()) else [])])


CALLS = st.tuples(
    st.lists(st.integers(10, 99), max_size=4),
    st.dictionaries(st.sampled_from((*NAMES, "f")), st.integers(10, 99), max_size=3),
)


def defined(text: str, name: str) -> Function:
    program = Program([Source("m.py", "m", text, ast.parse(text))])
    return next(f for f in program.functions() if f.name == name)


def told(bound: dict[str, Value]) -> dict[str, Any]:
    return {name: value.const for name, value in bound.items()}


def without_stars(found: dict[str, Any]) -> dict[str, Any]:
    """What `*args` and `**kw` take is not bound to a name."""
    return {name: value for name, value in found.items() if name not in ("args", "kw", "self")}


Call = tuple[list[int], dict[str, int]]


@settings(max_examples=200, deadline=None, derandomize=True)
@given(parameters(), CALLS, CALLS)
def test_arguments_are_bound_as_python_binds_them(spec: str, first: Call, later: Call) -> None:
    """With what `functools.partial` has bound before, and with what the call gives."""
    text = f"def f({spec}):\n    return locals()\n"
    names: dict[str, Any] = {}
    exec(text, names)
    partial = functools.partial(names["f"], *first[0], **first[1])
    try:
        wanted = partial(*later[0], **later[1])
    except TypeError:
        return
    closure = Closure(
        defined(text, "f"),
        {},
        args=tuple(map(constant, first[0])),
        keywords=tuple((name, constant(value)) for name, value in first[1].items()),
    )
    args, keywords = with_bound(
        closure, list(map(constant, later[0])), {n: constant(v) for n, v in later[1].items()}
    )
    assert told(bind(closure.function, None, args, keywords)) == without_stars(wanted)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(parameters(), CALLS, st.sampled_from(("", "@classmethod", "@staticmethod")))
def test_a_method_gets_its_receiver_first(spec: str, call: Call, decorator: str) -> None:
    takes_self = decorator != "@staticmethod"
    separator = ", " if spec else ""
    whole = f"self{separator}{spec}" if takes_self else spec
    text = f"class C:\n    {decorator or 'pass'}\n    def f({whole}):\n        return locals()\n"
    names: dict[str, Any] = {}
    exec(text, names)
    try:
        wanted = names["C"]().f(*call[0], **call[1])
    except TypeError:
        return
    receiver = Value("receiver", type="m.C")
    keywords = {name: constant(value) for name, value in call[1].items()}
    bound = bind(defined(text, "f"), receiver, list(map(constant, call[0])), keywords)
    assert bound.pop("self", None) is (receiver if takes_self else None)
    assert told(bound) == without_stars(wanted)
