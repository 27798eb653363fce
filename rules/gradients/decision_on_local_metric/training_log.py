"""Losses of a training that are logged as they are on one rank."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import last_name
from distlint.analysis.program.environment import blocks
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import own_nodes
from distlint.analysis.questions.batch_losses import losses_of
from distlint.analysis.questions.decisions import Decision, decisions
from distlint.analysis.questions.replicated import engine_of, engines
from distlint.analysis.questions.reported import goes_to_own_file, reports

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function, Module

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


_TRAINS: Final = ("optimizer", "optimiser", ".step(")
"""What a file holds in which weights are trained; a gradient alone changes hidden states, or pictures (microsoft/LoRA
c4593f0 examples/NLU/examples/research_projects/pplm/run_pplm.py:192)."""


def local_losses(model: Model) -> Iterator[tuple[Function, ast.Call, ast.expr, ast.AST]]:
    """Each log of a loss of this rank: the function, the call, the number, and what sends the loss backward."""
    for function in _trained(model):
        yield from _logged(model, function)


def local_decisions(model: Model) -> Iterator[tuple[Function, Decision, ast.AST]]:
    """Each decision by the loss of this rank's batch: the function, the decision, and what sends the loss backward.

    microsoft/VQ-Diffusion 3c98e77 image_synthesis/engine/solver.py:290: `scheduler.step(output.get("loss"))`.
    """
    for function in _trained(model):
        losses, began = losses_of(model, function)
        found = [d for d in decisions(function) if losses.holds(d.value)] if began else []
        if found and began is not None and engine_of(model, function) is not None:
            yield from ((function, decision, began) for decision in found)


def _trained(model: Model) -> Iterator[Function]:
    """The functions of files that train on several ranks."""
    for module in model.modules if model.answer(engines) else ():
        if _trains(module):
            yield from (f for f in module.all_functions if not f.is_module_body)


@remembered
def _trains(module: Module) -> bool:
    text = module.source.text.lower()
    return any(word in text for word in _TRAINS)


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
        shown = losses.first(number) if isinstance(number, ast.JoinedStr | ast.BinOp) else number
        yield function, call, shown, began


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
                for n in own_nodes(function, ast.Expr)
                if id(n) in inside and n.value is call
            ),
            id(call),
        )
        if holder not in seen:
            seen.add(holder)
            yield call, number
