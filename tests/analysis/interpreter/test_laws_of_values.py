"""Laws of the join of two values, and of the variables where two blocks meet.

Exact on spread, tags, constant, truth, `given` and number: commutative, associative, idempotent, and
nothing is claimed that one side does not hold. An approximation by intent:

- wraps: the longer of two stacks of layers stands for both (wrapped on one way counts as wrapped), so
  only their number commutes; of two with equally many layers the first is kept;
- type and target: one side that is None leaves those of the other.

Two values with one number are one value: they differ at most in what is known of them.
"""

from __future__ import annotations

import ast
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from distlint.analysis.interpreter.values import (
    NO_TAGS,
    UNKNOWN,
    Closure,
    Value,
    Variance,
    Wrap,
    constant,
    join,
    variance_of,
)
from distlint.analysis.interpreter.variables import Variables
from distlint.analysis.program.program import Program
from distlint.analysis.program.source import Source

MODULE = Program([Source("m.py", "m", "", ast.parse(""))]).modules["m"]
LAYERS = tuple(Wrap(kind, ast.Pass(), MODULE) for kind in ("ddp", "fsdp", "compile"))
TAGS = ("rank", "clock", "unwrapped")


@st.composite
def values(draw: st.DrawFn) -> Value:
    spread = draw(st.sampled_from(Variance))
    tags = frozenset(draw(st.sets(st.sampled_from(TAGS))))
    if draw(st.booleans()):
        const = draw(st.sampled_from((None, True, False, 1, 0, "", "a")))
        made = constant(const, spread, tags=tags)
        return made.replace(key=(*made.key, spread, tags))  # type: ignore[misc]
    count = draw(st.integers(0, 3))
    truth = draw(st.sampled_from((None, True, False)))
    given_ = draw(st.booleans())
    type_ = draw(st.sampled_from((None, "a.A", "a.B")))
    key = ("made", spread, tags, count, truth, given_, type_)
    return Value(
        key,
        UNKNOWN,
        spread,
        tags=tags,
        truth=truth,
        not_none=given_,
        type=type_,
        wraps=LAYERS[:count],
    )


def facts(value: Value) -> tuple[Any, ...]:
    """What is known besides the number, the type and which layers there are."""
    const = (type(value.const), value.const)
    return const, value.variance, value.tags, value.truthiness(), value.never_none, len(value.wraps)


@given(values(), values())
def test_join_commutes(a: Value, b: Value) -> None:
    one, other = join(a, b, "here"), join(b, a, "here")
    assert facts(one) == facts(other)
    assert (one.key, one.type) == (other.key, other.type)


@given(values(), values(), values())
def test_join_is_associative(a: Value, b: Value, c: Value) -> None:
    left, right = join(join(a, b, "here"), c, "here"), join(a, join(b, c, "here"), "here")
    assert facts(left) == facts(right)


@given(values(), values())
def test_join_is_idempotent(a: Value, b: Value) -> None:
    assert join(a, a, "here") is a
    assert facts(join(a, a.replace(), "here")) == facts(a)
    once = join(a, b, "here")
    assert facts(join(once, b, "here")) == facts(once)
    assert facts(join(a, once, "here")) == facts(once)


@given(values(), values())
def test_join_claims_what_both_hold(a: Value, b: Value) -> None:
    both = join(a, b, "here")
    assert both.variance == max(a.variance, b.variance)
    assert both.tags == a.tags | b.tags
    assert both.never_none == (a.never_none and b.never_none)
    if both.known:
        assert facts(a)[0] == facts(b)[0] == facts(both)[0]
    if both.truthiness() is not None:
        assert a.truthiness() is b.truthiness() is both.truthiness()
    bare = "unwrapped" in both.tags and a.key != b.key
    assert len(both.wraps) == (0 if bare else max(len(a.wraps), len(b.wraps)))
    if both.type is not None:
        assert {a.type, b.type} == {both.type} or None in (a.const, b.const)


@given(values(), values(), values())
def test_join_is_monotone(a: Value, b: Value, more: Value) -> None:
    """What differs more, on one side, never gives less."""
    less, greater = join(a, b, "here"), join(join(a, more, "there"), b, "here")
    assert less.variance <= greater.variance
    assert less.tags <= greater.tags
    if "unwrapped" not in greater.tags:
        assert len(less.wraps) <= len(greater.wraps)


@given(values(), st.sampled_from(Variance), st.sampled_from(Variance))
def test_of_one_value_the_larger_spread_is_kept(a: Value, one: Variance, other: Variance) -> None:
    for given_ in (True, False):
        both = join(
            a.replace(variance=one, not_none=True),
            a.replace(variance=other, not_none=given_),
            "here",
        )
        assert both.key == a.key and both.variance == max(one, other) and both.not_none is given_


@given(values(), values())
def test_elements_are_joined_one_by_one(a: Value, b: Value) -> None:
    pairs = [Value(name, items=(x, y)) for name, x, y in (("one", a, b), ("other", b, a))]
    both = join(pairs[0], pairs[1], "here").items
    assert both is not None
    assert [facts(item) for item in both] == [facts(join(a, b, "x"))] * 2
    assert join(pairs[0], Value("three", items=(a,)), "here").items is None


@given(st.lists(values()))
def test_what_is_computed_differs_as_its_operands_do(operands: list[Value]) -> None:
    spread, _, tags = variance_of(operands)
    assert spread == max((v.variance for v in operands), default=Variance.UNIFORM)
    assert tags == NO_TAGS.union(*(v.tags for v in operands))


# -- variables ------------------------------------------------------------------------------------------

NAMES = ("a", "b")
PATHS = ("a.x", "a.x.y", "a.y", "b.x")
ACTS = st.tuples(
    st.sampled_from(("bind", "store", "remove")), st.sampled_from((*NAMES, *PATHS)), values()
)
VARIABLES = st.lists(ACTS, max_size=8)


def below(known: dict[str, Value], path: str) -> None:
    for name in [n for n in known if n.startswith(path + ".")]:
        del known[name]


def done(acts: list[tuple[str, str, Value]]) -> tuple[Variables, dict[str, Value]]:
    """Variables after some acts, and what ought to be known."""
    variables, known = Variables(), dict[str, Value]()
    for act, path, value in acts:
        match act:
            case "bind" if "." not in path:
                variables.bind(path, value)
                below(known, path)
                known[path] = value
            case "remove":
                variables.remove(path)
                below(known, path)
                known.pop(path, None)
            case _:
                variables.store(path, value)
                known[path] = value
    return variables, known


@given(VARIABLES)
def test_paths_are_known_until_their_root_is_bound(acts: list[tuple[str, str, Value]]) -> None:
    variables, known = done(acts)
    assert variables.values == known
    assert all(variables.get(name) is known.get(name) for name in (*NAMES, *PATHS))


@given(VARIABLES, values())
def test_a_copy_is_its_own(acts: list[tuple[str, str, Value]], value: Value) -> None:
    variables, known = done(acts)
    other = variables.copy()
    other.bind("a", value)
    other.store("b.x", value)
    assert variables.values == known


@settings(deadline=None)
@given(VARIABLES, VARIABLES)
def test_where_two_blocks_meet(
    mine: list[tuple[str, str, Value]], theirs: list[tuple[str, str, Value]]
) -> None:
    """Names of either side are kept, paths of both alone, and flags that a rank sets for itself; equal whichever side
    comes first."""
    left, right = done(mine)[0], done(theirs)[0]
    merged, turned = left.merge(right, "here"), right.merge(left, "here")
    both = left.values.keys() & right.values.keys()
    either = {**left.values, **right.values}
    flags = {
        name
        for name, value in either.items()
        if "." in name and name not in both
        if value.variance is Variance.RANK_LOCAL and isinstance(value.const, bool)
    }
    assert merged.values.keys() == both | flags | {name for name in either if "." not in name}
    for name in flags:
        assert not merged.values[name].known
        assert merged.values[name].variance is Variance.RANK_LOCAL
    for name, value in merged.values.items():
        if name in flags:
            continue
        sides = [v for v in (left.get(name), right.get(name)) if v is not None]
        assert facts(value) == facts(turned.values[name])
        assert facts(value) == facts(join(sides[0], sides[-1], "here"))
    assert left.merge(left, "here") is left


@given(VARIABLES, VARIABLES, values())
def test_a_root_bound_behind_the_meeting_ends_its_paths(
    mine: list[tuple[str, str, Value]], theirs: list[tuple[str, str, Value]], value: Value
) -> None:
    merged = done(mine)[0].merge(done(theirs)[0], "here")
    merged.bind("a", value)
    assert not [name for name in merged.values if name.startswith("a.")]


@given(VARIABLES, st.sampled_from((*NAMES, *PATHS)))
def test_forgetting_what_is_below(acts: list[tuple[str, str, Value]], path: str) -> None:
    variables, known = done(acts)
    variables.forget_below(path)
    below(known, path)
    assert variables.values == known


def test_one_function_with_other_variables_around_it_is_not_known() -> None:
    """PipeTransformer 187b78b: the analysis did not end."""
    one, other = (Value((name,), target=Closure(MODULE.body, {})) for name in "ab")
    assert join(one, other, "met").target is None
