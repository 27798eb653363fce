"""Which conditions of the rank divide two classes, and the arm that each class takes there."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from distlint.analysis.interpreter.ir import Guard, Summary
from distlint.analysis.interpreter.values import Variance
from distlint.analysis.program.definitions import Function
from distlint.analysis.program.syntax import decided, ends_process, is_way_out
from distlint.analysis.traces.nodes import CallNode, EventNode
from distlint.nodes import walk
from distlint.records import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Parting:
    """A condition of the rank, and how each class answers it.

    None: the class does not come there, or may answer either way.
    """

    guard: Guard
    waiting: bool | None
    absent: bool | None

    @property
    def rank_conditions(self) -> bool:
        """Whether the classes may go different ways here."""
        return self.waiting is None or self.waiting is not self.absent


@dataclass(frozen=True, slots=True, eq=False)
class Reason:
    """Why one class comes to a collective and the other does not.

    left      whether the conditions are those of an exit above the collective, not of what encloses it
    explained whether they are either; else they are all that is known to divide the classes
    """

    partings: tuple[Parting, ...]
    left: bool
    explained: bool


def arm_of(summary: Summary, guard: Guard) -> bool | None:
    """How a class of ranks answered a test; None where it did not come there, or not always alike."""
    arms = {other.taken for other in summary.rank_conditions if other.node is guard.node}
    return arms.pop() if len(arms) == 1 else None


def reason_of(
    function: Function,
    act: EventNode,
    chain: tuple[CallNode, ...],
    waiters: Summary,
    absent: Summary,
    instead: tuple[EventNode, tuple[CallNode, ...]] | None,
) -> Reason:
    """The conditions that let the waiting class come to an event and kept the other from it.

    `instead`: what the other class comes to, if it comes to anything, and the calls that lead to it.
    """
    ended = instead is None
    anchor = _anchor(act, chain)
    by_rank = _around(_enclosing(act, chain, waiters), absent)
    if by_rank:
        return Reason(by_rank, False, True)
    if instead is not None:
        # What one class does apart stands under a condition, and the other waits in what comes behind it (Oscar
        # 266075f oscar/run_vqa.py:613, an evaluation of rank 0 in front of everybody's next step).
        alone = _around(_enclosing(*instead, absent), waiters)
        if alone:
            turned = (Parting(p.guard, p.absent, p.waiting) for p in alone)
            return Reason(tuple(turned), False, True)
    leaving = [
        guard
        for guard in absent.rank_conditions
        if any(_leaves_by(guard, function, ways_out(absent), ended=ended))
        and not _is_behind(guard, anchor, function)
    ]
    exits = _partings([g for g in leaving if g.exits], waiters, absent)
    # An exit deeper inside: open_clip_torch 3.3.0, open_clip_train/main.py, where the master returns if
    # the experiment exists; the other conditions on the rank keep nobody from what follows.
    exits = exits or _partings(leaving, waiters, absent)
    # seed-vc d334fb7 train_v2.py:206: `if self.iters >= self.max_steps and is_main_process: exit()`.
    perhaps = (g for g in waiters.rank_conditions if g.exits and arm_of(absent, g) is None)
    exits = exits or _partings(
        [g for g in perhaps if any(_leaves_by(_other_arm(g), function, frozenset(), ended=ended))],
        waiters,
        absent,
    )
    if act.event.op == "forward":
        # A call that both classes make, of a model that only one is seen to have wrapped, is no
        # absence (accelerate 1.15.0 test_utils/scripts/test_distributed_data_loop.py:173).
        return Reason(exits, bool(exits), True)
    partings = exits or _partings(absent.rank_conditions, waiters, absent)
    partings = partings or _partings(waiters.rank_conditions, waiters, absent)
    # What stands around it says more than all else that divides them (sd-scripts fine_tune.py:505).
    partings = tuple(p for p in partings if _encloses(p.guard, anchor)) or partings
    # The class that waits went on where the other may have left (accelerate 1.15.0 fsdp_utils.py:233).
    explained = bool(exits) or any(guard.exits for guard in waiters.rank_conditions)
    return Reason(partings, bool(exits), explained)


def _around(enclosing: tuple[Guard, ...], others: Summary) -> tuple[Parting, ...]:
    """The conditions on the rank around what one class does that another does not pass: surely, else perhaps."""
    for known in (True, False):
        found = (
            Parting(guard, guard.taken, arm_of(others, guard))
            for guard in enclosing
            if _skipped(guard, others, known=known)
        )
        by_rank = tuple(parting for parting in found if parting.rank_conditions)
        if by_rank:
            return by_rank
    return ()


def _skipped(guard: Guard, others: Summary, *, known: bool) -> bool:
    """Whether the others took the other arm, or may have where the condition is one on the rank.

    Of `rank in [-1, 0] and evaluate` rank 0 asks the second half alone, and the others come to no other half.
    """
    if arm_of(others, guard) is (not guard.taken):
        return True
    return not known and guard.value.variance is Variance.RANK_DEPENDENT


def _other_arm(guard: Guard) -> Guard:
    return replace(guard, taken=not guard.taken)


def inside_calls(
    waiting: tuple[CallNode, ...], absent: tuple[CallNode, ...]
) -> tuple[Parting, ...]:
    """The conditions that divide the classes in the functions that they call on their ways."""
    found: dict[Guard, Parting] = {}
    for mine, theirs in ((waiting, absent), (absent, waiting)):
        for call in mine:
            other = next(
                (c.summary for c in theirs if c.summary.function is call.summary.function), None
            )
            for guard in call.summary.rank_conditions:
                arms = guard.taken, None if other is None else arm_of(other, guard)
                parting = Parting(guard, *(arms if mine is waiting else arms[::-1]))
                if parting.rank_conditions:
                    found.setdefault(guard, parting)
    return tuple(found.values())


def _partings(guards: list[Guard], waiters: Summary, absent: Summary) -> tuple[Parting, ...]:
    """Those of some conditions at which the two classes may go different ways."""
    found = (Parting(g, arm_of(waiters, g), arm_of(absent, g)) for g in guards)
    return tuple(parting for parting in found if parting.rank_conditions)


def _anchor(act: EventNode, chain: tuple[CallNode, ...]) -> ast.AST:
    """The node in the function itself: the event, or the call or `with` that leads to it."""
    via = chain[0].via if chain else act.via
    return via[0] if via else chain[0].node if chain else act.event.node


def _is_behind(guard: Guard, anchor: ast.AST, function: Function) -> bool:
    """Whether a function comes to a condition only when it has passed an event: nobody has left by it before.

    scene_graph_benchmark 8e14944 maskrcnn_benchmark/engine/inference.py: all but rank 0 return at line 246, and at 284.
    """
    branch, own = decided(guard.module).get(id(guard.node)), function.node
    if not isinstance(branch, ast.If) or not isinstance(own, ast.stmt):
        return False
    line = getattr(anchor, "end_lineno", None) or own.lineno
    return (
        guard.module is function.module
        and line < branch.lineno <= (own.end_lineno or own.lineno)
        and not any(
            turn.lineno <= line and branch.lineno <= (turn.end_lineno or turn.lineno)
            for turn in walk(own, ast.For, ast.AsyncFor, ast.While)
        )
    )


def _encloses(guard: Guard, anchor: ast.AST) -> bool:
    """Whether an event stands in an arm of the `if` that a condition decides."""
    branch = decided(guard.module).get(id(guard.node))
    return isinstance(branch, ast.If) and any(node is anchor for node in walk(branch))


def _enclosing(act: EventNode, chain: tuple[CallNode, ...], waiters: Summary) -> tuple[Guard, ...]:
    """The conditions in force where the waiting class performs an event, or calls what leads to it."""
    anchor = _anchor(act, chain)
    nodes = {id(anchor)}
    if isinstance(anchor, (ast.With, ast.AsyncWith)):
        nodes |= {id(item.context_expr) for item in anchor.items}
    site = next((s for s in waiters.calls if id(s.node) in nodes), act.event.site)
    return site.guards if site is not None else ()


def ways_out(summary: Summary) -> frozenset[int]:
    """The calls of a run to functions that end the process, by the identity of their nodes."""
    return frozenset(
        id(site.node)
        for site in summary.calls
        if site.callee is not None and is_way_out(site.callee)
    )


def _leaves_by(
    guard: Guard, function: Function, ending: frozenset[int], *, ended: bool
) -> Iterator[ast.stmt]:
    """The statements by which the arm of an `if` that was taken may leave.

    A rank that raises without a handler around comes to nothing else.
    """
    branch = decided(guard.module).get(id(guard.node))
    if branch is None or isinstance(branch, ast.IfExp):
        return
    if isinstance(branch, ast.Assert):
        if not guard.taken and (ended or _is_tried(branch, function)):
            yield branch
        return
    arm = branch.body if guard.taken else branch.orelse
    inner = leaving_less(arm)
    for statement in arm:
        for node in walk(statement, ast.Raise, ast.Return, ast.Break, ast.Continue, ast.Expr):
            match node:
                case ast.Raise():
                    if ended or _is_tried(branch, function):
                        yield node
                case ast.Return() | ast.Break() | ast.Continue() if node not in inner:
                    yield node
                case ast.Expr(value=ast.Call(func=called) as call) if (
                    ends_process(called) or id(call) in ending
                ):
                    yield node


def leaving_less(arm: list[ast.stmt]) -> set[ast.stmt]:
    """The exits in an arm that lead no further than it: of a loop, or a function, that stands in it.

    Oscar 266075f oscar/run_vqa.py:674: `break` ends the attempts to save, not the epochs.
    """
    found: set[ast.stmt] = set()
    for outer in (node for statement in arm for node in walk(statement)):
        match outer:
            case ast.For(body=body) | ast.AsyncFor(body=body) | ast.While(body=body):
                exits: tuple[type[ast.stmt], ...] = (ast.Break, ast.Continue)
            case ast.FunctionDef(body=body) | ast.AsyncFunctionDef(body=body):
                exits = (ast.Return, ast.Break, ast.Continue)
            case _:
                continue
        found.update(n for line in body for n in walk(line) if isinstance(n, exits))
    return found


def _is_tried(branch: ast.stmt, function: Function) -> bool:
    """Whether an exception that is raised there may be caught in the function."""
    return any(
        any(inner is branch for inner in walk(node)) for node in walk(function.node, ast.Try)
    )


__all__ = ["Parting", "Reason", "arm_of", "inside_calls", "leaving_less", "reason_of", "ways_out"]
