"""What fixes rely on: that every rank comes to a call, whoever calls its function; that ranks are known there."""

from __future__ import annotations

import ast
from typing import Final

from distlint.analysis.interpreter.ir import CallSite, CallStep, Event, UnknownCall
from distlint.analysis.live.joint_entry import JointEntry, in_handlers, ranked
from distlint.analysis.model import Model
from distlint.analysis.program.definitions import Function
from distlint.analysis.program.syntax import assignments, literals, own_nodes
from distlint.analysis.questions import caught
from distlint.analysis.traces.graph import steps_below
from distlint.findings import Applicability, Fix
from distlint.nodes import last_name, walk
from distlint.patterns import pattern
from distlint.repairs.group import callers_by_function, group_at
from distlint.repairs.group_flow import Group
from distlint.repairs.meeting import calls_of


def everyone_comes(model: Model, site: CallSite, joint_entry: JointEntry) -> bool:
    """Whether every rank makes a call: what shows it holds for all, and no caller keeps a rank away.

    `joint_entry` is one way into the function. A helper that is called beside a barrier, and by another
    function on rank 0 alone, is no place for a collective (wenet wenet/utils/checkpoint.py:50). What a launch alone shows
    is so of that launch: whether there is a group by then, and what another way to start the script does, it does not say.
    """
    return (
        joint_entry.all_ranks
        and joint_entry.launch is None
        and not ranked_callers(model, site.function)
    )


def is_decided_by_score(model: Model, site: CallSite) -> bool:
    """Whether a call waits for what a function of the program gave this rank to beat another number, and it met nobody there.

    WeakTr 3457ad3 main.py:429: `max_miou > max_max_mIoU`, from files of which others may not have written theirs yet.
    """
    assigned = assignments(site.function)
    for guard in site.guards:
        for part, _ in literals(guard.node, guard.taken):
            match part:
                case ast.Compare(
                    left=left,
                    ops=[ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE()],
                    comparators=[ast.Name() | ast.Attribute() | ast.Subscript() as right],
                ):
                    names = {n.id for side in (left, right) for n in walk(side, ast.Name)}
                    for made in (value for name in names for value in assigned.get(name, ())):
                        scores = isinstance(made, ast.Call) and model.resolve(
                            site.module, made.func
                        )
                        if isinstance(scores, Function) and not _may_meet(model, scores):
                            return True
    return False


_MEETS: Final = pattern(r"(?i)sync|reduce|gather|broadcast")
"""Names of methods by which ranks put together what each has."""


def _may_meet(model: Model, function: Function) -> bool:
    calls = own_nodes(function, ast.Call)
    return bool(meetings_in(model, function)) or any(
        _MEETS.search(last_name(call.func)) for call in calls
    )


_FEW: Final = 5
"""So many calls are one change that people read at once."""


def on_import(joint_entry: JointEntry) -> Fix | None:
    """The advice for what spawned ranks run when they import their script, where no rank is known; None elsewhere."""
    if not joint_entry.on_import:
        return None
    advice = (
        'Move it below `if __name__ == "__main__":`, or to rank 0 in the function that is spawned'
    )
    return Fix(Applicability.DISPLAY, advice)


def ranked_callers(model: Model, function: Function) -> list[CallSite]:
    """The calls, at any depth, that lead to a function and that some ranks alone make, or may make."""
    callers = model.answer(callers_by_function)
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


def runs_by_itself(model: Model, function: Function, node: ast.AST) -> bool:
    """Whether a node runs when a signal or an exception comes: on this process, whatever the others are at.

    Nothing there can wait for all ranks, guarded or not. LightningDiT 2725fed vavae/main.py:727: `melk()` saves a
    checkpoint on SIGUSR1, and in the handler around `trainer.fit()`.
    """
    if function in model.summaries.signals.handlers or id(node) in in_handlers(function):
        return True
    calls = caught.calls_of(model.program, function)
    return any(call in in_handlers(caller) for caller, call in calls)


def may_come_alone(model: Model, function: Function) -> bool:
    """Whether a call, at any depth, leads to a function of which nothing shows that all ranks make it.

    sentence-transformers 6.2.0 sentence_transformers/base/model.py:789: a trainer's callback saves on all ranks,
    and so does a user who gives each rank a folder of its own.
    """
    callers = model.answer(callers_by_function)
    seen = {function}
    work = [function]
    while work:
        reached = work.pop()
        sites = callers.get(reached, ())
        if _is_called_besides(reached, {id(site.node) for site in sites}):
            return True
        for site in sites:
            call = model.call_at(site.node)
            joint_entry = model.joint_entry_at(call) if call is not None else None
            if joint_entry is None or not joint_entry.all_ranks:
                return True
            if joint_entry.call is not None and site.function not in seen:
                seen.add(site.function)
                work.append(site.function)
    return False


def _is_called_besides(function: Function, followed: set[int]) -> bool:
    """Whether code of the same file, or class, that no rank is seen to run calls a function by its name."""
    cls = function.cls
    return any(
        isinstance(node, ast.Call)
        and id(node) not in followed
        and ast.unparse(node.func) == (f"self.{function.name}" if cls else function.name)
        for other in (cls.methods.values() if cls else function.module.all_functions)
        if other is not function
        for node in own_nodes(other)
    )


def meetings_in(model: Model, function: Function, *, sure: bool = False) -> set[int]:
    """The nodes of a function, by `id`, that perform a collective or may, themselves or in what they call.

    `sure` leaves out the calls of which nothing is known: of code that is handed a function, and of `backward()`, which
    meets the other ranks where what it goes through does (terapipe 1a17aa2 terapipe.py:457: a pipeline of the program's own).
    """
    runs = model.summaries_of(function)
    found = set[int]() if sure else {id(node) for node in own_nodes(function) if _goes_back(node)}
    for _, run in runs.summaries() if runs is not None else ():
        for step in steps_below(run.steps):
            match step:
                case Event(node=node):
                    found.add(id(node))
                case UnknownCall(node=node) if not sure:
                    found.add(id(node))
                case CallStep(node=node, summary=called):
                    if called.function in model.graphs.has_events:
                        found.add(id(node))
    return found


def _goes_back(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) == "backward"


def joint_callers(model: Model, function: Function) -> list[CallSite]:
    """The calls of a function that no rank makes alone, by their files and lines; none where they are not a few
    statements of reported files.

    Several are all there are: LoRA c4593f0 seq2seq-distillation/utils.py:446 calls `save_json()` in a helper, of which
    no run is followed.
    """
    together = {id(site.node): site for site in model.callers.get(function, ())}
    found = [site for site in together.values() if not ranked(site)]
    followed = {id(site.node) for site in model.answer(callers_by_function).get(function, ())}
    if len(found) > 1 and any(id(call) not in followed for _, call in calls_of(model, function)):
        return []
    sites = sorted(found, key=lambda site: (site.module.path, site.node.lineno))
    fits = all(
        isinstance(site.statement, ast.Expr)
        and site.statement.value is site.node
        and site.module.source.reported
        for site in sites
    )
    return sites if fits and len(sites) <= _FEW else []


def group_comes_later(model: Model, site: CallSite) -> bool:
    """Whether the process group is made behind a call: before, every process takes itself for rank 0.

    ijepa src/train.py:129: each process writes its settings and then calls `init_distributed()`, which asks
    for the group first.
    """
    return group_at(model, site.function, site.statement.lineno) is Group.LATER
