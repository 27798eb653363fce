"""Caches that rank 0 alone writes, and that the other ranks read as soon as they find them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.interpreter.ir import CallSite, Guard
from distlint.analysis.interpreter.ranks import MAIN, OTHER
from distlint.analysis.live.joint_entry import groups_of
from distlint.analysis.program.syntax import literals, mentions_rank
from distlint.analysis.questions.filesystem import FileCall, asked_paths
from distlint.analysis.questions.ordering import Race, Step, Traces, by_rank, waits_on_other_arm
from distlint.analysis.questions.paths import Parts, holds, parts_of
from distlint.analysis.questions.sections import in_turn
from distlint.knowledge.schema import Effect
from distlint.knowledge.sinks import COMMANDS, FILLS_FOLDERS
from distlint.nodes import last_name, walk
from distlint.records import dataclass

if TYPE_CHECKING:
    from distlint.analysis.live.program import LiveProgram

_CONTENT: Final = frozenset(
    {
        "dump",
        "save",
        "savez",
        "savez_compressed",
        "save_file",
        "to_csv",
        "to_json",
        "to_parquet",
        "to_pickle",
    }
)
"""What writes what others read, a piece after the other; a mark that says "ready" is no such thing."""
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


@dataclass(frozen=True, slots=True, eq=False)
class Filled:
    """A folder for whose existence every rank asks, and which one of them then fills while those that came in time wait."""

    asked: Guard
    filled: CallSite
    waiting: ast.While


def filled_while_asked(calls: Iterable[FileCall]) -> Iterator[Filled]:
    """Folders that are there as soon as the first rank begins to fill them: who asks then goes on with a part of it.

    suncet 731547d src/data_manager.py:1092: `if not os.path.exists(data_path):`, and below it local rank 0 unpacks an
    archive there, while the others wait for a file that says it is done. None where that file is what all ask for.
    """
    known = list(calls)
    for found in known:
        site = found.site
        if (
            found.effect not in (Effect.WRITE, Effect.DOWNLOAD)
            or found.path is None
            or not _fills(site)
        ):
            continue
        folder = parts_of(found.path, found.function)
        for place, asked in enumerate(site.guards):
            missing = [
                parts_of(path, found.function)
                for part, holds_there in literals(asked.node, asked.taken)
                if not holds_there
                for path in asked_paths(part)
            ]
            below = [path for path in missing if holds(folder, path)]
            waiting = next(
                (
                    loop
                    for inner in site.guards[place + 1 :]
                    if mentions_rank(inner.node)
                    and (loop := waits_on_other_arm(found.function, inner)) is not None
                ),
                None,
            )
            if below and waiting is not None and not _is_put_there(known, found, below):
                yield Filled(asked, site, waiting)
                break


def _fills(site: CallSite) -> bool:
    return site.name in COMMANDS or site.method in FILLS_FOLDERS


def _is_put_there(calls: list[FileCall], filled: FileCall, asked: list[Parts]) -> bool:
    """Whether what is asked for is made by another call: it says that the folder is full."""
    return any(
        other.function is filled.function
        and other.site is not filled.site
        and other.effect in (Effect.WRITE, Effect.CREATE_DIR)
        and other.path is not None
        and parts_of(other.path, other.function) in asked
        for other in calls
    )


@dataclass(frozen=True, slots=True, eq=False)
class Awaited:
    """A file for whose existence the other ranks wait in a loop, while one of them still writes it under that name."""

    written: CallSite
    waiting: ast.While


def awaited_by_name(calls: Iterable[FileCall]) -> Iterator[Awaited]:
    """The files that are there as soon as somebody opens them: who waits for no more reads what is written by then.

    sentiment-discovery 17bcf05 data_utils/lazy_loader.py:48: `pkl.dump(lengths, open(path, "wb"))` of rank 0, and `while
    not os.path.exists(path): time.sleep(1)` of the others.
    """
    for found in calls:
        site = found.site
        if found.effect is not Effect.WRITE or found.path is None or not _writes_content(site):
            continue
        path = parts_of(found.path, found.function)
        for guard in site.guards:
            loop = waits_on_other_arm(found.function, guard) if mentions_rank(guard.node) else None
            if loop is not None and path in [
                parts_of(asked, found.function) for asked in asked_paths(loop.test)
            ]:
                yield Awaited(site, loop)
                break


def _writes_content(site: CallSite) -> bool:
    """Whether a call writes what others read, or opens the file for one that does."""
    return any(last_name(node) in _CONTENT for node in walk(site.statement, ast.Call))
