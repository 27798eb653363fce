"""From syntax to traces: what each class of ranks does. Knows no rule.

The way of a file: `program` (names) → `engine`, `frame`, `expressions`, `calls` (one abstract run for each
class of ranks, leaving `ir` steps and sites) → `graph` (decision graphs) → `compare`, `divergence` (where
the classes part) → `model` (what rules ask).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from distlint.analysis.model import Model
from distlint.analysis.program.memory import forget
from distlint.analysis.program.source import Source
from distlint.knowledge.facts import Knowledge

_RECURSION_LIMIT = 20_000


def build_model(sources: Iterable[Source], knowledge: Knowledge | None = None) -> Model:
    """Analyse files together.

    Args:
        sources: the parsed files, those reported on and those only known.
        knowledge: what is known of libraries; by default the tables.

    Returns:
        The model that rules are checked against. What could not be followed is in `model.problems`.
    """
    forget()
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _RECURSION_LIMIT))
    try:
        return Model(sources, knowledge or Knowledge.default())
    finally:
        sys.setrecursionlimit(limit)


__all__ = ["Model", "Source", "build_model"]
