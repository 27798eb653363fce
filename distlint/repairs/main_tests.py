"""Tests of rank 0 that a function makes already: code that it takes over reads like the rest of it."""

from __future__ import annotations

import ast

from distlint.analysis.interpreter.ir import CallSite, Guard
from distlint.analysis.interpreter.ranks import MAIN
from distlint.analysis.interpreter.values import Variance
from distlint.analysis.model import Model, source_of
from distlint.analysis.program.definitions import Function
from distlint.nodes import walk


def test_of_main(model: Model, site: CallSite) -> str:
    """What to write behind `if` so that rank 0 alone goes on: a test in use there, else the runtime's.

    A test counts that stands above in the same function; one by an attribute (`accelerator.is_main_process`)
    also in a function around it.
    """
    line = site.statement.lineno
    for call in model.calls(module=site.module):
        guard = _only_test(call.site.guards) if call.classes == {MAIN} else None
        if guard is None or guard.node.lineno >= line or guard.module is not site.module:
            continue
        inside = call.site.function is site.function
        around = call.site.function in _around(site.function)
        names = _names(guard.node)
        if (inside or (around and _is_attribute(guard.node))) and not names & _bound(
            site.function if inside else None, site, guard.node.lineno, line
        ):
            return source_of(site.module, guard.node)
    return "$rank_info().rank == 0"


def _only_test(guards: tuple[Guard, ...]) -> Guard | None:
    """The test of the rank that leaves rank 0, where it is one and asks for nothing else."""
    ranked = [guard for guard in guards if guard.value.variance is Variance.RANK_DEPENDENT]
    if len(ranked) != 1 or not ranked[0].taken or ranked[0].exits:
        return None
    node = ranked[0].node
    plain = not any(isinstance(part, ast.BoolOp | ast.NamedExpr | ast.IfExp) for part in walk(node))
    return ranked[0] if plain and "\n" not in ast.unparse(node) else None


def _around(function: Function) -> list[Function]:
    found = []
    parent = function.parent
    while parent is not None:
        found.append(parent)
        parent = parent.parent
    return found


def _is_attribute(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) or (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args
    )


def _names(node: ast.expr) -> set[str]:
    return {part.id for part in walk(node) if isinstance(part, ast.Name)}


def _bound(function: Function | None, site: CallSite, first: int, last: int) -> set[str]:
    """The names that get another meaning between two lines, or in a function inside the one that tests."""
    where = site.function.node if function is None else function.node
    named = {
        part.id
        for part in walk(where)
        if isinstance(part, ast.Name)
        and isinstance(part.ctx, ast.Store)
        and (function is None or first < part.lineno < last)
    }
    arguments = getattr(where, "args", None)
    if function is None and isinstance(arguments, ast.arguments):
        named |= {part.arg for part in walk(arguments) if isinstance(part, ast.arg)}
    return named
