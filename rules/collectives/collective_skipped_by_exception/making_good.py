"""Handlers that write the file which could not be read: what one rank misses, all have missed or will find."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from distlint.analysis.program.syntax import attempts_around
from distlint.knowledge.schema import Effect
from distlint.nodes import walk

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function


def makes_good(model: Model, function: Function, node: ast.AST) -> bool:
    """Whether each handler lets every rank that comes there write what the call (`node`) in the `try` reads.

    The file is missing for all ranks in the first run, and there for all in the next: sentence-transformers 85ec645
    examples/cross_encoder/training/distillation/train_cross_encoder_kd_mse.py:31, whose handler maps the data, saves
    it, and ends the process.
    """
    if not isinstance(node, ast.Call):
        return False
    read = [f for f in model.file_calls if f.site.node is node and f.effect is Effect.READ]
    if not read:
        return False
    written = {
        id(found.site.node)
        for found in model.file_calls
        if found.effect is Effect.WRITE
        and found.function is function
        and found.text == read[0].text
        and found.ranks == read[0].ranks
    }
    return any(
        attempt.handlers
        and all(any(id(inner) in written for inner in walk(h)) for h in attempt.handlers)
        for attempt in attempts_around(function, node)
    )
