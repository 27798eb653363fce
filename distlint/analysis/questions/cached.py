"""Caches that rank 0 alone writes, and that the other ranks read as soon as they find them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.interpreter.ranks import MAIN, OTHER
from distlint.analysis.live.joint_entry import groups_of
from distlint.analysis.questions.filesystem import asked_paths
from distlint.analysis.questions.ordering import Race, Step, Traces, by_rank
from distlint.analysis.questions.paths import holds, parts_of
from distlint.analysis.questions.sections import in_turn
from distlint.knowledge.schema import Effect

if TYPE_CHECKING:
    from distlint.analysis.live.program import LiveProgram

_AT_ONCE: Final = frozenset({"replace", "rename", "renames", "move"})
"""What puts a whole file in its place."""


def half_written(live: LiveProgram) -> Iterator[Race]:
    """Files on whose existence every rank goes on, and which rank 0 alone writes where they are missing.

    CodeT5 7de7f69 CodeT5/utils.py:46: `if os.path.exists(cache): load` … `else: …; if local_rank in [-1, 0]: save`. A
    rank that asks while rank 0 writes finds the file, and half of what belongs into it.
    """
    traces = live.answer(Traces)
    found: dict[int, Race] = {}
    for summaries in live.functions():
        for _, group in groups_of(summaries):
            runs = dict(group)
            if MAIN not in runs or OTHER not in runs or runs[MAIN] is runs[OTHER]:
                continue
            main, other = traces.of(runs[MAIN]), traces.of(runs[OTHER])
            if any(step.effect is None for step in (*main, *other)):
                continue
            theirs = {id(step.site.node) for step in other}
            for made in main:
                if (
                    made.effect is not Effect.WRITE
                    or made.site.method in _AT_ONCE
                    or id(made.site.node) in theirs
                ):
                    continue
                used = next((step for step in other if _is_read_where_found(step, made)), None)
                if used is not None and by_rank(made) and not in_turn(live, used.outer):
                    found.setdefault(id(made.site.node), Race(made, used, summaries.function))
    yield from found.values()


def _is_read_where_found(used: Step, made: Step) -> bool:
    """Whether a step reads a file on one arm of a test of its existence, on whose other arm it is made."""
    if used.effect is not Effect.READ or not holds(made.path, used.path):
        return False
    arms = {id(guard.node): guard.taken for guard in made.outer.guards}
    return any(
        arms.get(id(guard.node), guard.taken) is not guard.taken
        and any(
            holds(parts_of(asked, used.outer.function), used.path)
            for asked in asked_paths(guard.node)
        )
        for guard in used.outer.guards
    )
