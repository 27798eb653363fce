"""What rank 0 has come to alone, while the others waited, before all ranks come to it by another way."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from distlint.analysis.interpreter.ranks import MAIN, OTHER
from distlint.analysis.live.joint_entry import BARRIERS
from distlint.analysis.program.definitions import Function, last_name
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import own_nodes
from distlint.analysis.questions.filesystem import asked_paths, entered_together
from distlint.nodes import walk

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.live.program import LiveProgram

_DEPTH: Final = 6


@remembered
def prepared_by_main(live: LiveProgram, function: Function) -> bool:
    """Whether each way of several ranks to a function that asks what is there stands behind one on which rank 0 came alone.

    WalkerNet 9b51a4b src/train.py:173: `prepare_data_cache()` has rank 0 build the cache, and ends with a barrier; the data
    sets that all ranks make below call the same method where a file of it is missing.
    """
    made = live.answer(_made_by_main)
    if not made:
        return False
    ways = _ways(live, function)
    preparing = {site.function for each in ways for site in made.get(each, ())}
    return (
        bool(preparing)
        and any(_asks(live, each) for each in ways)
        and _is_behind(live, function, frozenset(preparing), frozenset())
    )


def _made_by_main(live: LiveProgram) -> dict[Function, list[CallSite]]:
    """The calls that rank 0 makes alone, and behind which all ranks wait, by the function that is called."""
    found: dict[Function, list[CallSite]] = {}
    for call in live.calls():
        callee = call.site.callee
        if callee is not None and call.classes == {MAIN} and _all_wait_behind(live, call.site):
            found.setdefault(callee, []).append(call.site)
    return found


def _leading(live: LiveProgram) -> dict[Function, set[Function]]:
    """The functions that call a function on any rank."""
    found: dict[Function, set[Function]] = {}
    for call in live.calls():
        if call.site.callee is not None:
            found.setdefault(call.site.callee, set()).add(call.site.function)
    return found


def _ways(live: LiveProgram, function: Function) -> set[Function]:
    """A function, and those that lead to it."""
    leading = live.answer(_leading)
    found = work = {function}
    for _ in range(_DEPTH):
        work = {above for each in work for above in leading.get(each, ())} - found
        found = found | work
    return found


def _asks(live: LiveProgram, function: Function) -> bool:
    """Whether a condition in a function asks the file system, itself or by a method of the same object."""
    return any(
        asked_paths(test) or any(_is_asking(live, function, call) for call in walk(test, ast.Call))
        for node in own_nodes(function, ast.If)
        for test in (node.test,)
    )


def _is_asking(live: LiveProgram, function: Function, call: ast.Call) -> bool:
    match call.func:
        case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name) if function.cls:
            method = live.program.find_method(function.cls, name)
            return method is not None and any(
                asked_paths(node.value)
                for node in own_nodes(method, ast.Return)
                if node.value is not None
            )
    return False


def _is_behind(
    live: LiveProgram,
    function: Function,
    preparing: frozenset[Function],
    below: frozenset[Function],
) -> bool:
    callers = live.callers.get(function, ())
    entered = live.answer(entered_together)
    callers = [each for each in callers if each.function in entered] or list(callers)
    below |= {function}
    return (
        bool(callers)
        and len(below) <= _DEPTH
        and all(
            _stands_behind(live, site, preparing)
            or (site.function not in below and _is_behind(live, site.function, preparing, below))
            for site in callers
        )
    )


def _stands_behind(live: LiveProgram, site: CallSite, preparing: frozenset[Function]) -> bool:
    """Whether a call stands below one of a function that lets rank 0 go first, on every way to it."""
    passed = {id(guard.node) for guard in site.guards}
    return any(
        before.function is site.function
        and before.node.lineno < site.node.lineno
        and {id(guard.node) for guard in before.guards} <= passed
        and set(before.loops) <= set(site.loops)
        for each in preparing
        for before in live.callers.get(each, ())
    )


def _all_wait_behind(live: LiveProgram, site: CallSite) -> bool:
    """Whether all ranks wait in the same function below a call."""
    return any(
        node.lineno > site.node.lineno
        and last_name(node.func) in BARRIERS
        and (group := live.call_at(node)) is not None
        and {MAIN, OTHER} <= set(group.classes)
        for node in own_nodes(site.function, ast.Call)
    )
