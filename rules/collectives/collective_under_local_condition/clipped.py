"""Norms of gradients that DDP has averaged: the same number on all ranks."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.syntax import assignments
from distlint.nodes import walk

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function

_CLIPS: Final = frozenset(
    {"torch.nn.utils.clip_grad_norm_", "torch.nn.utils.clip_grad.clip_grad_norm_"}
)


def is_norm_of_averaged(model: Model, function: Function, test: ast.expr) -> bool:
    """Whether all that a condition reads of a function's variables is what `clip_grad_norm_` gave of a DDP model's parameters.

    rl-llm-grpo-ppo 9990c2d main_grpo.py:445: `if not torch.isfinite(grad_norm): continue`. Of a sharded model the norm is each
    rank's own.
    """
    given = assignments(function)
    read = [given[name.id] for name in walk(test, ast.Name) if name.id in given]
    return bool(read) and all(
        _is_norm(model, function, value) for values in read for value in values
    )


def _is_norm(model: Model, function: Function, value: ast.expr) -> bool:
    match value:
        case ast.Call(func=func, args=[clipped, *_]) if (
            model.resolve(function.module, func) in _CLIPS
        ):
            pass
        case _:
            return False
    several = assignments(function).get(ast.unparse(clipped), [clipped])
    parts = {id(part) for each in several for part in walk(each, ast.Attribute)}
    return any(
        id(site.node) in parts
        and site.attr == "parameters"
        and site.receiver.wraps[-1].kind == "ddp"
        for site, _ in model.attributes()
    )
