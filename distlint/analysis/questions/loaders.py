"""What is a loader by what makes it, whatever it is called: `self.dataset = dataset` of a constructor that is handed one."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from distlint.analysis.program.definitions import Class, Function
from distlint.analysis.questions.origins import origins
from distlint.knowledge import facts
from distlint.knowledge.conventions import LOADER

if TYPE_CHECKING:
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Definition


def may_be_loader(live: LiveProgram, function: Function, node: ast.expr) -> bool:
    """Whether an expression of a function may be a loader of torch, by the calls that make its value.

    wavegrad c3d54c8 src/wavegrad/learner.py:105 goes through `self.dataset`, which a script hands to the constructor.
    """
    return any(
        origin is not None and _is_loader(live, origin.meaning)
        for origin in origins(live, function, node)
    )


def _is_loader(live: LiveProgram, meaning: Definition | None) -> bool:
    if isinstance(meaning, Class):
        return LOADER in facts.with_bases(live.program.mro(meaning)[1])
    return meaning == LOADER
