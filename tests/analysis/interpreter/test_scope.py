"""What is in force at a statement: conditions, loops, handlers, each for its block alone."""

from __future__ import annotations

import ast

from hypothesis import given
from hypothesis import strategies as st

from distlint.analysis.interpreter.ir import Guard
from distlint.analysis.interpreter.scope import OpenLoop, Scope
from distlint.analysis.interpreter.values import Value, Variance, constant
from distlint.analysis.program.program import Program
from distlint.analysis.program.source import Source

MODULE = Program([Source("m.py", "m", "", ast.parse(""))]).modules["m"]
TESTS = st.builds(
    lambda spread, truth: (
        Value(("test", spread), variance=spread) if truth is None else constant(truth, spread)
    ),
    st.sampled_from(Variance),
    st.sampled_from((None, True, False)),
)


def guard(value: Value) -> Guard:
    return Guard(ast.Name("test"), MODULE, value, True)


def under(tests: list[Value]) -> Scope:
    scope = Scope()
    for test in tests:
        scope = scope.under(guard(test))
    return scope


@given(st.lists(TESTS))
def test_conditions_are_listed_outermost_first(tests: list[Value]) -> None:
    scope = under(tests)
    assert [g.value for g in scope.guards] == tests
    assert scope._replace(guards=()) == Scope()


@given(st.lists(TESTS))
def test_the_innermost_condition_that_the_rank_decides(tests: list[Value]) -> None:
    deciding = [
        t for t in tests if t.variance is Variance.RANK_DEPENDENT and t.truthiness() is not None
    ]
    found = under(tests).innermost_rank_guard()
    assert (found and found.value) is (deciding[-1] if deciding else None)


@given(TESTS, TESTS)
def test_what_ranks_decide_differently_controls_its_arms(outer: Value, inner: Value) -> None:
    scope = Scope().controlled_by(outer).controlled_by(inner)
    differing = [t for t in (outer, inner) if t.variance is not Variance.UNIFORM]
    assert scope.control is (differing[-1] if differing else None)


@given(st.lists(TESTS), st.lists(TESTS))
def test_a_handler_remembers_who_came_to_its_try(before: list[Value], within: list[Value]) -> None:
    handler = under(before).handler()
    assert handler.handling and not under(before).handling
    assert handler.alone is handler.innermost_rank_guard()
    inner = handler
    for test in within:
        inner = inner.under(guard(test))
    if handler.alone is not None:  # the outermost handler's, also in a handler inside it
        assert inner.handler().alone is handler.alone


def test_only_a_try_with_handlers_catches() -> None:
    caught, plain = ast.parse("try: f()\nexcept E: g()\ntry: f()\nfinally: g()").body
    assert isinstance(caught, ast.Try) and isinstance(plain, ast.Try)
    assert Scope().attempted(caught).attempted(plain).tries == (caught,)


def test_loops_are_listed_outermost_first() -> None:
    first, second = ast.parse("for x in y: pass\nwhile x: pass").body
    scope = Scope().inside(OpenLoop(first)).inside(OpenLoop(second))
    assert scope.loop_statements == (first, second)
