"""What fixes rely on, asked of all callers: that every rank comes to a call, whoever calls its function."""

from __future__ import annotations

from distlint.analysis.interpreter.ir import CallSite
from distlint.analysis.live.joint_entry import JointEntry, ranked
from distlint.analysis.live.program import LiveProgram
from distlint.analysis.model import Model
from distlint.analysis.program.definitions import Function


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
