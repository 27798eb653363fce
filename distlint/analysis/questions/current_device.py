"""Where a library has made the GPU of a rank the current one: plain `"cuda"` further down is that of the rank."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import Class, Function, dotted_name
from distlint.analysis.program.environment import statements
from distlint.analysis.program.syntax import assignments
from distlint.analysis.questions.cuda_start import evaluated_before
from distlint.knowledge import facts
from distlint.knowledge.devices import MAKE_CURRENT
from distlint.nodes import walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Definition

_FUNCTIONS: Final = ast.FunctionDef | ast.AsyncFunctionDef
_DEPTH: Final = 3
_PARSER: Final = "transformers.HfArgumentParser"
_PARSES: Final = "parse_"
"""How the methods begin by which a parser makes an object of each class that it was given."""


def is_current(live: LiveProgram, site: CallSite) -> bool:
    """Whether a call above, on every way to a place in its function, has chosen the device of this rank.

    LLM-QAT 5ef1289 train.py:71: `process_args()`, which parses `TrainingArguments`, stands above `model.cuda()`.
    """
    return any(_chooses(live, site.function, call, _DEPTH) for call in _calls_before(site))


def _calls_before(site: CallSite) -> Iterator[ast.Call]:
    function = site.function
    node = function.node if isinstance(function.node, _FUNCTIONS) else None
    for statement, above in statements(function.body):
        if statement is site.statement:
            before = evaluated_before(site.module, node, above, statement)
            yield from (each for each in before if isinstance(each, ast.Call))


def _chooses(live: LiveProgram, function: Function, call: ast.Call, depth: int) -> bool:
    """Whether a call chooses the device, by what it constructs or in a function that it runs."""
    if any(isinstance(each, ast.Constant) and each.value == "cpu" for each in call.args[:1]):
        return False  # a mesh of CPUs
    meaning = live.resolve(function.module, call.func)
    if _makes_current(live, meaning) or _parses(live, function, call):
        return True
    return (
        isinstance(meaning, Function)
        and depth > 0
        and any(
            isinstance(each, ast.Call) and _chooses(live, meaning, each, depth - 1)
            for statement in meaning.body
            if isinstance(statement, ast.Expr | ast.Assign | ast.AnnAssign | ast.Return)
            for each in walk(statement)
        )
    )


def _makes_current(live: LiveProgram, meaning: Definition | None) -> bool:
    names: tuple[str, ...] = ()
    if isinstance(meaning, str):
        names = (meaning,)
    elif isinstance(meaning, Class):
        names = live.program.mro(meaning)[1]
    return not MAKE_CURRENT.keys().isdisjoint(facts.with_bases(names))


def _parses(live: LiveProgram, function: Function, call: ast.Call) -> bool:
    """Whether a parser makes training arguments of the command line: their class is among those that it was given."""
    match call.func:
        case ast.Attribute(attr=method, value=parser) if method.startswith(_PARSES):
            made = assignments(function).get(dotted_name(parser), ()) or (parser,)
        case _:
            return False
    return all(
        isinstance(each, ast.Call)
        and live.resolve(function.module, each.func) == _PARSER
        and any(
            _makes_current(live, live.resolve(function.module, kind))
            for given in each.args
            for kind in walk(given, ast.Name, ast.Attribute)
        )
        for each in made
    )
