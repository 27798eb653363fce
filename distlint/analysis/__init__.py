"""From syntax to traces: what each class of ranks does. Knows no rule.

The way of a file: `program` (names) → `summaries`, `frame`, `expressions`, `calls` (one abstract run for each
class of ranks, leaving `ir` steps and sites) → `graph` (decision graphs) → `compare`, `divergence` (where
the classes part) → `model` (what rules ask).
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager

from distlint.analysis.asked import AskedModel
from distlint.analysis.ledger import Ledger
from distlint.analysis.model import Model
from distlint.analysis.program.kept import Kept
from distlint.analysis.program.linked import components
from distlint.analysis.program.program import Program
from distlint.analysis.program.source import Source
from distlint.knowledge.facts import Knowledge

_RECURSION_LIMIT = 20_000


def build_model(sources: Iterable[Source], knowledge: Knowledge | None = None) -> Model:
    """Analyse files as one program, whether or not they import one another.

    Args:
        sources: the parsed files, those reported on and those only known.
        knowledge: what is known of libraries; by default the tables.

    Returns:
        The model that rules are checked against. What could not be followed is in `model.problems`.
    """
    with deep_recursion():
        program = Program(list(sources))
    return _model_of(program, knowledge)


def build_models(
    sources: Iterable[Source],
    knowledge: Knowledge | None = None,
    *,
    tops: Collection[str] = (),
    kept: Kept | None = None,
) -> Iterator[Model]:
    """Analyse files in groups that no import joins: what is found in one does not depend on another.

    Args:
        sources: the parsed files, those reported on and those only known.
        knowledge: what is known of libraries; by default the tables.
        tops: the first parts of the names of all modules of the tree, where `sources` are not all of it.
        kept: what the last check of these files has left, and this one leaves for the next.

    Yields:
        A model for each group that holds a file to report on. One is done with before the next is
        made: its memory is free then.
    """
    with deep_recursion():
        program = Program(list(sources), tops, kept)
        groups = components(program)
    for modules in groups:
        if any(module.source.reported for module in modules):
            part = program.part(modules)
            yield _model_of(part, knowledge)
            if kept is None:
                part.forget()


def as_asked(model: Model, kept: Kept | None) -> Model:
    """The model as rules ask it: of what they were told in the last check, they take over what is still so."""
    if kept is None or not kept.runs:
        return model
    paths = [module.path for module in model.program.modules.values()]
    known = (ledger for path in paths if (ledger := kept.ledgers.get(path)) is not None)
    ledger = next((each for each in known if each.knowledge is model.knowledge), None)
    if ledger is None:
        ledger = Ledger(model.knowledge)
    kept.ledgers.update(dict.fromkeys(paths, ledger))
    return AskedModel(model, ledger)


def _model_of(program: Program, knowledge: Knowledge | None) -> Model:
    with deep_recursion():
        return Model(program, knowledge or Knowledge.default())


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Room for the nesting of real code: an `elif` chain of 900 is nested 900 deep in its syntax tree."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _RECURSION_LIMIT))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


__all__ = ["Kept", "Model", "Source", "as_asked", "build_model", "build_models", "deep_recursion"]
