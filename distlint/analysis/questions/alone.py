"""What rank 0 does alone: the calls that it makes, and what stands under a condition that lets no other rank in."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from distlint.analysis.interpreter.ranks import MAIN
from distlint.analysis.program.syntax import own_nodes
from distlint.nodes import walk

if TYPE_CHECKING:
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Function


def on_main_alone(live: LiveProgram, node: ast.AST) -> bool:
    """Whether rank 0 alone makes a call."""
    group = live.call_at(node)
    return group is not None and group.classes == {MAIN}


def entered_by_main_alone(live: LiveProgram, function: Function) -> bool:
    """Whether rank 0 alone comes into a function, from each place that calls it.

    SpeechTokenizer 30c96fb speechtokenizer/trainer/trainer.py:213: `save()`, called under `if self.is_main`.
    """
    summaries = live.summaries_of(function)
    return summaries is not None and set(summaries.classes) == {MAIN}


def under_main_alone(live: LiveProgram, function: Function, node: ast.AST) -> bool:
    """Whether a part of a function stands under a condition that lets rank 0 alone in.

    MiniGPT-4 minigpt4/runners/runner_base.py:395: `if agg_metrics > best_agg_metric` under `if is_main_process():`.
    """
    summaries = live.summaries_of(function)
    if summaries is None:
        return False
    closed = {
        id(guard.node)
        for rank, summary in summaries.summaries()
        if rank != MAIN
        for guard in summary.rank_conditions
        if not guard.taken
    }
    return any(
        isinstance(outer, ast.If)
        and id(outer.test) in closed
        and any(part is node for statement in outer.body for part in walk(statement))
        for outer in own_nodes(function)
    )
