"""What rank 0 alone writes at the end of one turn of a loop, and all ranks read at the start of the next."""

from __future__ import annotations

import ast
import re
from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.interpreter.ranks import MAIN, OTHER
from distlint.analysis.live.joint_entry import groups_of
from distlint.analysis.program.syntax import own_nodes, target_names
from distlint.analysis.questions.ordering import Race, Step, Traces, unordered, way
from distlint.knowledge.schema import Effect
from distlint.nodes import last_name, walk
from distlint.patterns import pattern

if TYPE_CHECKING:
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Function

_Loop = ast.For | ast.While
_MEETS: Final = pattern("backward|train|eval|valid|test|forward|step|model|net|generate")
"""Calls in which a wrapped model may run, so that the others wait for rank 0: no trace of a file says so."""
_FIRST: Final = pattern(r"start|first|begin|resum|continue|init|\b0\b", re.IGNORECASE)
"""Words of conditions that hold in the first turn alone, which reads what an earlier run has left."""
_NAMES: Final = pattern(r"(?:id|attr)='(\w+)'")


def races_between_turns(live: LiveProgram) -> Iterator[Race]:
    """Files that rank 0 writes behind all that a turn of a loop waits for, and that the next reads in front of it.

    D-FINE 4a1f73a src/solver/det_solver.py:71: `load_resume_state(output_dir / "best_stg1.pth")` at the start of one
    epoch, and `save_on_master(…, output_dir / "best_stg1.pth")` at the end of the one before.
    """
    traces = live.answer(Traces)
    found: dict[tuple[int, int], Race] = {}
    for summaries in live.functions():
        function = summaries.function
        loops = _loops(function)
        for _, group in groups_of(summaries) if loops else ():
            runs = dict(group)
            if MAIN not in runs or OTHER not in runs or runs[MAIN] is runs[OTHER]:
                continue
            main, other = traces.of(runs[MAIN]), traces.of(runs[OTHER])
            written = any(step.effect is Effect.WRITE for step in main)
            for loop in loops if written else ():
                for prepared, used in _carried(live, function, loop, main, other):
                    key = (id(prepared.site.node), id(used.site.node))
                    found.setdefault(key, Race(prepared, used, function))
    yield from found.values()


def _loops(function: Function) -> list[_Loop]:
    return [*own_nodes(function, ast.For, ast.While)]


def _carried(
    live: LiveProgram, function: Function, loop: _Loop, main: list[Step], other: list[Step]
) -> Iterator[tuple[Step, Step]]:
    inside = {id(node) for statement in loop.body for node in walk(statement)}
    turn = [step for step in main if id(step.outer.node) in inside]
    others = [step for step in other if id(step.outer.node) in inside]
    order = {way(step): place for place, step in reversed(list(enumerate(turn)))}
    for prepared, used in unordered(live, [*turn, *turn], others):
        if (
            prepared.effect is Effect.WRITE
            and order[way(used)] < order[way(prepared)]
            and not _changes(prepared.path, function, loop)
            and not _is_last(prepared.outer.node, loop.body)
            and not _is_of_the_first_turn(used)
            and not _meet_between(loop, prepared, used)
        ):
            yield prepared, used


def _changes(path: Hashable, function: Function, loop: _Loop) -> bool:
    """Whether the turns of a loop mean other files by a path, or may do so: another function's variable is in it."""
    match path:
        case ("parameter" | "name" | "object", int() as owner, str() as name):
            return owner != id(function) or name in _bound_in(loop)
        case ("attribute", owner, str() as name):
            return name in _bound_in(loop) or _changes(owner, function, loop)
        case ("expression", _, str() as text):
            return "Call(" in text or not _bound_in(loop).isdisjoint(_NAMES.findall(text))
        case tuple():
            return any(_changes(part, function, loop) for part in path)
    return False


def _bound_in(loop: _Loop) -> set[str]:
    """The last parts of the names that a loop assigns."""
    return {
        name.rpartition(".")[2]
        for node in walk(loop)
        for target in _targets(node)
        for name in target_names(target)
    }


def _targets(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.Assign(targets=targets):
            return targets
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target) | ast.For(target=target):
            return [target]
    return []


def _is_last(node: ast.AST, body: list[ast.stmt]) -> bool:
    """Whether no turn follows that in which a loop comes to a node."""
    for statement in body:
        if any(part is node for part in walk(statement)):
            blocks = [getattr(statement, name, []) for name in ("body", "orelse", "finalbody")]
            return isinstance(body[-1], ast.Return | ast.Break | ast.Raise) or any(
                _is_last(node, block) for block in blocks if not isinstance(statement, _Loop)
            )
    return False


def _is_of_the_first_turn(used: Step) -> bool:
    return any(_FIRST.search(ast.unparse(guard.node)) for guard in used.outer.guards)


def _meet_between(loop: _Loop, prepared: Step, used: Step) -> bool:
    """Whether a model may run, and all ranks meet, behind the write or in front of the read."""
    written, read = prepared.outer.node.lineno, used.outer.node.lineno
    return any(
        isinstance(node, ast.Call)
        and (node.lineno > (prepared.outer.node.end_lineno or written) or node.lineno < read)
        and _MEETS.search(last_name(node.func))
        for statement in loop.body
        for node in walk(statement)
    )
