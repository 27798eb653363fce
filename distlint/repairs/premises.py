"""What fixes rely on: that every rank comes to a call, whoever calls its function; that ranks are known there."""

from __future__ import annotations

import ast

from distlint.analysis.interpreter.ir import CallSite
from distlint.analysis.live.joint_entry import PROCESS_GROUP_STARTS, JointEntry, ranked
from distlint.analysis.live.program import LiveProgram
from distlint.analysis.model import Model
from distlint.analysis.program.definitions import Function, last_name
from distlint.nodes import walk


def everyone_comes(model: Model, site: CallSite, joint_entry: JointEntry) -> bool:
    """Whether every rank makes a call: what shows it holds for all, and no caller keeps a rank away.

    `joint_entry` is one way into the function. A helper that is called beside a barrier, and by another
    function on rank 0 alone, is no place for a collective (wenet wenet/utils/checkpoint.py:50).
    """
    return joint_entry.all_ranks and not ranked_callers(model, site.function)


def ranked_callers(model: Model, function: Function) -> list[CallSite]:
    """The calls, at any depth, that lead to a function and that some ranks alone make, or may make."""
    callers = model.answer(_callers)
    found: list[CallSite] = []
    seen = {function}
    work = [function]
    while work:
        for site in callers.get(work.pop(), ()):
            if ranked(site):
                found.append(site)
            elif site.function not in seen:
                seen.add(site.function)
                work.append(site.function)
    return found


def joint_caller(model: Model, function: Function) -> CallSite | None:
    """The one call of a function, as a statement of the same file, that all ranks make; None for none or several."""
    sites = {id(site.node): site for site in model.callers.get(function, ()) if not ranked(site)}
    if len(sites) != 1:
        return None
    (site,) = sites.values()
    alone = isinstance(site.statement, ast.Expr) and site.statement.value is site.node
    return site if alone and site.module is function.module else None


def _callers(live: LiveProgram) -> dict[Function, list[CallSite]]:
    """Every call that some rank makes, by the function of the project that is called."""
    found: dict[Function, dict[int, CallSite]] = {}
    for function in live.program.functions():
        summaries = live.summaries_of(function)
        for _, summary in summaries.summaries() if summaries is not None else ():
            for site in summary.calls:
                if site.callee is not None:
                    found.setdefault(site.callee, {})[id(site.node)] = site
    return {function: list(sites.values()) for function, sites in found.items()}


def group_comes_later(model: Model, site: CallSite) -> bool:
    """Whether a function makes the process group behind a call: before, every process takes itself for rank 0.

    Decided by syntax, since runs are followed as if the group were there: ijepa src/train.py:129, each process
    writes its settings and then calls `init_distributed()`, which asks for the group first.
    """
    summaries = model.summaries_of(site.function)
    if summaries is None:
        return False
    later = {
        id(call.node): call
        for _, summary in summaries.summaries()
        for call in summary.calls
        if call.node.lineno > (site.statement.end_lineno or 0)
    }
    return any(
        call.name in PROCESS_GROUP_STARTS
        or (call.callee is not None and _makes_group(model, call.callee, set()))
        for call in later.values()
    )


def _makes_group(model: Model, function: Function, seen: set[Function]) -> bool:
    if function in seen:
        return False
    seen.add(function)
    started = {name.rpartition(".")[2] for name in PROCESS_GROUP_STARTS}
    if any(isinstance(n, ast.Call) and last_name(n.func) in started for n in walk(function.node)):
        return True
    summaries = model.summaries_of(function)
    return summaries is not None and any(
        call.callee is not None and _makes_group(model, call.callee, seen)
        for _, summary in summaries.summaries()
        for call in summary.calls
    )
