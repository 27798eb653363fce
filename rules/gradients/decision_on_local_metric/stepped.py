"""Schedulers of the learning rate that rank 0 alone steps, where the others train with optimizers of their own."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.interpreter.ranks import MAIN, NODE_MAIN
from distlint.analysis.interpreter.values import Variance
from distlint.analysis.program.syntax import own_nodes
from distlint.analysis.questions.training import sent_backward

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function, Module


def stepped_on_main(model: Model) -> Iterator[tuple[Module, list[ast.Call]]]:
    """The steps of schedulers that rank 0 alone, or the first rank of each machine, takes in a function of a file in which
    other ranks send something backward.

    Music-Source-Separation-Training train_accelerate.py:373: DDP averages gradients, and no learning rates. PepHAR
    4a809d5 train_ddp.py:213: in what is called under `local_rank == 0`.
    """
    for module in model.modules:
        if "sched" not in module.source.text.lower():
            continue
        found = [
            sorted(
                (
                    node
                    for node in _steps(function)
                    if _on_first_ones(model, node) and not _left_by_callers(model, node)
                ),
                key=lambda node: node.lineno,
            )
            for function in module.all_functions
        ]
        if any(found) and any(_trains_on_others(model, f) for f in module.all_functions):
            yield from ((module, steps) for steps in found if steps)


def _on_first_ones(model: Model, node: ast.AST) -> bool:
    group = model.call_at(node)
    return group is not None and group.classes - {NODE_MAIN} == {MAIN}


def _left_by_callers(model: Model, step: ast.Call) -> bool:
    """Whether the others come to the function too, and nothing there asks who they are: it is called from elsewhere for them.

    ICML25_10807_BiSSL 3bdeed4 utils/training_fn.py:175: `if lr_scheduler is not None:`, which fine-tuning.py gives on its one
    rank, and bissl.py on none.
    """
    group = model.call_at(step)
    return (
        group is not None
        and group.entered_by != group.classes
        and all(
            guard.value.known and guard.value.variance is Variance.UNIFORM
            for _, site in group.sites
            for guard in site.guards
        )
    )


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
        and not _on_first_ones(model, node)
        for node in own_nodes(function)
    )
