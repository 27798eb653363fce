"""What the abstract run computes of constants is what Python computes."""

from __future__ import annotations

import ast

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from distlint.analysis import Source
from distlint.analysis.interpreter.ranks import MAIN
from distlint.analysis.interpreter.summaries import Summaries
from distlint.analysis.interpreter.values import Value
from distlint.analysis.program.program import Program
from distlint.knowledge.facts import Knowledge

BINARY = ("+", "-", "*", "//", "/", "%", "&", "|", "^", "<<", ">>")
COMPARE = ("==", "!=", "<", "<=", ">", ">=", "in", "not in", "is", "is not")
IDENTITY = ("is", "is not")

LITERALS = (*map(str, range(10)), "True", "False", "None", "''", "'a'", "'ab'", "'%s'")
UNARY = ("not ", "-", "+", "~", "int", "str", "bool", "abs", "len")


@st.composite
def expressions(draw: st.DrawFn, depth: int = 3) -> str:
    def part() -> str:
        return draw(expressions(depth - 1))

    match draw(
        st.sampled_from(("literal", "binary", "compare", "word", "chain", "if", "in", "one", "two"))
    ):
        case "binary" if depth:
            return f"({part()} {draw(st.sampled_from(BINARY))} {part()})"
        case "compare" if depth:
            operator = draw(st.sampled_from(COMPARE))
            return f"({part()} {operator} {'None' if operator in IDENTITY else part()})"
        case "word" if depth:
            return f"({part()} {draw(st.sampled_from(('and', 'or')))} {part()})"
        case "chain" if depth:
            return f"({part()} < {part()} {draw(st.sampled_from(COMPARE[:6]))} {part()})"
        case "if" if depth:
            return f"({part()} if {part()} else {part()})"
        case "in" if depth:
            return f"({part()} {draw(st.sampled_from(('in', 'not in')))} ({part()}, {part()}))"
        case "one" if depth:
            return f"({draw(st.sampled_from(UNARY))}({part()}))"
        case "two" if depth:
            return f"{draw(st.sampled_from(('min', 'max')))}({part()}, {part()})"
    return draw(st.sampled_from(LITERALS))


def value_of(expression: str, before: str = "pass") -> Value:
    """What `return expression` gives, behind other statements."""
    text = f"def main():\n    {before}\n    return {expression}\n"
    program = Program([Source("m.py", "m", text, ast.parse(text))])
    main = next(f for f in program.functions() if f.name == "main")
    returned = Summaries(program, Knowledge.default()).summary(main, MAIN).returns
    assert returned is not None
    return returned


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@settings(max_examples=200, deadline=None, derandomize=True)
@given(expressions())
@example("(+(True))")
def test_a_known_value_is_that_of_python(expression: str) -> None:
    """Where Python raises there is no value: nothing is claimed, and nothing breaks."""
    value = value_of(expression)
    try:
        wanted = eval(expression)
    except (TypeError, ValueError, ArithmeticError):
        return
    chained = any(isinstance(n, ast.Compare) and n.ops[1:] for n in ast.walk(ast.parse(expression)))
    if value.known:
        assert value.const == wanted and type(value.const) is type(wanted), expression
    else:  # of a chained comparison that is false only the truth is known
        assert chained, expression
    assert value.truthiness() in (bool(wanted), None if chained else bool(wanted)), expression


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@settings(max_examples=100, deadline=None, derandomize=True)
@given(expressions(), st.sampled_from(["None", "0", "'a'", "True"]))
def test_what_is_decided_beside_an_unknown_holds_for_every_value(text: str, sample: str) -> None:
    """`x and 0` is falsy whatever `x` is; with a sample for `x` Python agrees."""
    for expression in (f"(x and {text})", f"(x or {text})", f"(not x and {text} or x)"):
        truth = value_of(expression, "x = unknown()").truthiness()
        try:
            wanted = bool(eval(expression, {"x": eval(sample)}))
        except (TypeError, ValueError, ArithmeticError):
            continue
        assert truth is None or truth is wanted, expression


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.integers(0, 9), st.sampled_from(BINARY), st.integers(1, 9))
def test_an_augmented_assignment_computes(start: int, operator: str, other: int) -> None:
    wanted = {"x": start}
    exec(f"x {operator}= {other}", {}, wanted)
    assert value_of("x", f"x = {start}; x {operator}= {other}").const == wanted["x"]


@pytest.mark.parametrize(
    "expression",
    [
        "'=' * 900000000000",
        "1 << 900000000000",
        "'%900000000000d' % 3",
        "range(100000000000000000000)",
        f"f'{{0x{'f' * 5000}}}'",
    ],
)
def test_a_value_too_large_to_compute_is_unknown(expression: str) -> None:
    """The program may never come there; the check must not run out of memory in its place."""
    assert not value_of(expression).known


def test_the_variable_of_a_comprehension_is_its_own() -> None:
    assert value_of("x", "x = 3; y = [x for x in unknown()]").const == 3


def test_a_deleted_name_is_not_known() -> None:
    assert not value_of("x", "x = 3; del x").known
