"""Losses of a training that are logged as they are on one rank."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import last_name
from distlint.analysis.program.environment import blocks
from distlint.analysis.program.syntax import own_nodes
from distlint.analysis.questions.batch_losses import losses_of
from distlint.analysis.questions.replicated import engine_of, engines
from distlint.analysis.questions.reported import goes_to_own_file, reports

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function

_TELLS: Final = frozenset(
    {
        "info",
        "print",
        "write",
        "set_postfix",
        "print_on_main",
        "print_rank_0",
        "log_for_0",
        "set_description",
    }
)
"""What tells a person how far it is: reported where no tracker gets the number."""


def local_losses(model: Model) -> Iterator[tuple[Function, ast.Call, ast.expr, ast.AST]]:
    """Each log of a loss of this rank: the function, the call, the number, and what sends the loss backward."""
    if not model.answer(engines):
        return
    for module in model.modules:
        if "loss" in module.source.text or "backward" in module.source.text:
            for function in module.all_functions:
                if not function.is_module_body:
                    yield from _logged(model, function)


def _logged(
    model: Model, function: Function
) -> Iterator[tuple[Function, ast.Call, ast.expr, ast.AST]]:
    losses, began = losses_of(model, function)
    if began is None:
        return
    found = [
        (call, number.node)
        for call, numbers in reports(function)
        for number in numbers
        if losses.holds(number.node) and not goes_to_own_file(model, function, call)
    ]
    if not found or engine_of(model, function) is None:
        return
    tracked = [pair for pair in found if last_name(pair[0]) not in _TELLS]
    for call, number in _once_a_block(function, tracked or found):
        yield function, call, number, began


def _once_a_block(
    function: Function, found: list[tuple[ast.Call, ast.expr]]
) -> Iterator[tuple[ast.Call, ast.expr]]:
    """The first of the calls that stand in one block: each line of a log says the same."""
    of = {
        id(statement): number
        for number, block in enumerate(blocks(function.body))
        for statement in block
    }
    inside = {id(n): of[id(n)] for n in own_nodes(function) if id(n) in of}
    seen: set[int] = set()
    for call, number in found:
        holder = next(
            (
                inside[id(n)]
                for n in own_nodes(function)
                if isinstance(n, ast.Expr) and id(n) in inside and n.value is call
            ),
            id(call),
        )
        if holder not in seen:
            seen.add(holder)
            yield call, number
