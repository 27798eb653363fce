"""Draws of a training loop that the ranks have to make alike."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from distlint.analysis.program.definitions import Function
from distlint.analysis.questions.seeding import Seed, draws_by_syntax, draws_from
from distlint.nodes import walk

from .training_draws import reached, trains

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Module


def chooses_for_all(model: Model, function: Function, seed: Seed) -> tuple[Module, ast.Call] | None:
    """A draw of what the training loops call by which all ranks choose the parameters to train.

    LMFlow f3597db experimental/LISA-diffusion/diffusion_dpo/train_diffusion_dpo_lisa.py:74: `np.random.choice` of
    the layers, every few steps. Ranks whose streams differ would train different layers.
    """
    work = [f for f in reached(model, function) if trains(model, f)]
    training, found = set(work), set(work)
    for current in work:
        # A script that freezes once, and draws noise in its loop, chooses nothing.
        if current not in training and _sets_requires_grad(current):
            for call, draw in draws_by_syntax(model, current):
                if draws_from(draw, seed):
                    return current.module, call
        for node in walk(current.node):
            meaning = (
                model.resolve(current.module, node.func) if isinstance(node, ast.Call) else None
            )
            if isinstance(meaning, Function) and meaning not in found:
                found.add(meaning)
                work.append(meaning)
    return None


def _sets_requires_grad(function: Function) -> bool:
    attributes = [node for node in walk(function.node) if isinstance(node, ast.Attribute)]
    return any(
        each.attr == "requires_grad_"
        or (each.attr == "requires_grad" and isinstance(each.ctx, ast.Store))
        for each in attributes
    )
