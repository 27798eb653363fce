"""Schedulers of the learning rate that rank 0 alone steps, where the others train with optimizers of their own."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.program.syntax import own_nodes
from distlint.analysis.questions.alone import on_main_alone
from distlint.analysis.questions.training import sent_backward

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function, Module


def stepped_on_main(model: Model) -> Iterator[tuple[Module, ast.Call]]:
    """The steps of schedulers that rank 0 alone takes in a file in which other ranks send something backward.

    Music-Source-Separation-Training train_accelerate.py:373: DDP averages gradients, and no learning rates.
    """
    for module in model.modules:
        if "sched" not in module.source.text.lower():
            continue
        steps = [node for f in module.all_functions for node in _steps(f)]
        steps = [node for node in steps if on_main_alone(model, node)]
        if steps and any(_trains_on_others(model, f) for f in module.all_functions):
            yield from ((module, node) for node in steps)


def _steps(function: Function) -> Iterator[ast.Call]:
    for node in own_nodes(function, ast.Expr):
        match node:
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr="step", value=owner)) as call) if (
                "sched" in ast.unparse(owner).lower()
            ):
                yield call


def _trains_on_others(model: Model, function: Function) -> bool:
    return any(
        sent_backward(node) is not None
        and model.call_at(node) is not None
        and not on_main_alone(model, node)
        for node in own_nodes(function)
    )
