"""Functions that put the shares of all ranks together through files: each rank writes its own, and one reads them all."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import assignments, own_nodes, target_names
from distlint.knowledge import shares as tables
from distlint.nodes import last_name, walk
from distlint.patterns import pattern

if TYPE_CHECKING:
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Function

_READS: Final = pattern(r"^(?:open|read\w*|load\w*|fromfile|genfromtxt)$")
_LISTS: Final = frozenset({"glob", "iglob", "rglob", "listdir", "iterdir", "scandir"})
_WAITS: Final = pattern(r"barrier|wait|sync|all_?gather|all_?reduce", re.IGNORECASE)


@remembered
def reads_all_parts(function: Function) -> bool:
    """Whether a function waits for the ranks, and reads a file of each: by its number, or all that lie in a folder.

    OpenPCDet 8caccce pcdet/utils/common_utils.py:225, `merge_results_dist()`; VideoMamba f3427e4
    videomamba/video_mm/dataset/utils.py:123, `sync_save_result()`.
    """
    calls = own_nodes(function, ast.Call)
    if not any(_WAITS.search(last_name(call)) for call in calls):
        return False
    return any(
        _of_each_rank(function, iterable)
        and any(_names(call, names, body) for part in body for call in walk(part))
        for iterable, names, body in _loops(function)
    )


def merging(live: LiveProgram) -> frozenset[str]:
    """The names of methods of which one class or another hands what it is given to a function that reads all parts.

    MIGE 9808b79 lavis/tasks/captioning.py:126: `self.save_result(result=val_result, …)` in the `after_evaluation()` of a task
    that a registry has made.
    """
    reading = {f.name for f in live.program.functions() if reads_all_parts(f)}
    if not reading:
        return frozenset()
    return frozenset(
        function.name
        for function in live.program.functions()
        if function.cls is not None
        and any(
            last_name(call) in reading
            and any(
                _mentions(given, set(function.parameters) - {"self"})
                for given in (*call.args, *(k.value for k in call.keywords))
            )
            for call in own_nodes(function, ast.Call)
        )
    )


def _loops(function: Function) -> Iterator[tuple[ast.expr, set[str], list[ast.AST]]]:
    """What a function goes through, the names of the elements, and what is done with each."""
    for node in own_nodes(function, ast.For, ast.ListComp):
        match node:
            case ast.For(target=target, iter=iterable, body=body):
                yield iterable, set(target_names(target)), list(body)
            case ast.ListComp(elt=element, generators=[each]):
                yield each.iter, set(target_names(each.target)), [element]


def _of_each_rank(function: Function, iterable: ast.expr) -> bool:
    """Whether a loop has a turn for each rank, or for each file of a folder."""
    behind = [iterable]
    if isinstance(iterable, ast.Name):
        behind += assignments(function).get(iterable.id, [])
    for node in (each for part in behind for each in walk(part)):
        match node:
            case ast.Call(func=ast.Name(id="range"), args=[*_, count] | [_, count, _]) if _is_world(
                function, count
            ):
                return True
            case ast.Call(func=called) if last_name(called) in _LISTS:
                return True
    return False


def _is_world(function: Function, count: ast.expr) -> bool:
    if last_name(count).lower() in tables.WORLD_NAMES:
        return True
    given = assignments(function).get(count.id, []) if isinstance(count, ast.Name) else []
    return any(last_name(value).lower() in tables.WORLD_NAMES for value in given)


def _names(call: ast.AST, names: set[str], body: list[ast.AST]) -> bool:
    """Whether a call reads a file whose name is made of an element, in the call or in the turn."""
    if not isinstance(call, ast.Call) or not _READS.match(last_name(call)):
        return False
    known = set(names)
    for part in body:
        for node in walk(part):
            if isinstance(node, ast.Assign) and _mentions(node.value, known):
                known.update(name for target in node.targets for name in target_names(target))
            elif isinstance(node, ast.withitem) and _mentions(node.context_expr, known):
                known.update(target_names(node.optional_vars) if node.optional_vars else ())
    return any(_mentions(argument, known) for argument in call.args)


def _mentions(node: ast.expr, names: set[str]) -> bool:
    return any(part.id in names for part in walk(node, ast.Name))
