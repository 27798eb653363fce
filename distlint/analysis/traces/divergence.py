"""Where classes of ranks part: every live function compared, each origin reported once."""

from __future__ import annotations

import ast
import enum
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.interpreter.ir import Event, Guard, Layer, Loop, Summary
from distlint.analysis.interpreter.ranks import MAIN, NODE_MAIN, OTHER, RankClass
from distlint.analysis.interpreter.values import Value
from distlint.analysis.live.joint_entry import calling, groups_of
from distlint.analysis.program.definitions import Function, Module
from distlint.analysis.program.places import place_of_any
from distlint.analysis.traces.both_make import made_by_both
from distlint.analysis.traces.compare import Comparison, Difference
from distlint.analysis.traces.fronts import GaveUp
from distlint.analysis.traces.graph import Graphs
from distlint.analysis.traces.nodes import (
    OPAQUE,
    STOP,
    BranchNode,
    CallNode,
    EventNode,
    Failed,
    LoopNode,
    Node,
    is_local,
)
from distlint.analysis.traces.pairing import Pairing
from distlint.analysis.traces.parting import Parting, arm_of, inside_calls, reason_of, ways_out
from distlint.records import dataclass

if TYPE_CHECKING:
    from distlint.analysis.live.summaries import FunctionSummaries


class DivergenceKind(str, enum.Enum):
    """What makes ranks part."""

    RANK = "rank"
    """Who they are: two classes of ranks."""
    LOCAL = "local"
    """One condition that each rank answers for itself."""
    LOOP = "loop"
    """A loop whose trip count is each rank's own."""
    FAILURE = "failure"
    """An exception on one rank."""


@dataclass(frozen=True, slots=True, eq=False)
class Divergence:
    """One place where ranks do not do the same.

    act       the collective that waits, with `waiters` the ranks that reach it
    other_act what the other ranks do instead (None: they reach the end of the function)
    partings  the conditions that divide the ranks, with the arm that each class takes
    chain     the calls from the function to the collective, outermost first
    missing   whether the other side never performs that collective at all (else: another order)
    left      whether the other side has left before, by an exit under those conditions
    explained whether those conditions stand around the collective or lead out above it; else they only divide
    ending    the calls that end the process of the ranks that do not wait, by the identity of their nodes
    other_chain the calls from the function to what the other ranks do instead
    caller    the function in which the chain begins, where some ranks end their process inside another that it calls
    counterpart the like of the collective in a place of its own, in which the ranks that end here meet it otherwise
    """

    kind: DivergenceKind
    function: Function
    layer: Layer
    act: EventNode
    other_act: EventNode | None
    waiters: RankClass | None
    absent: RankClass | None
    partings: tuple[Parting, ...]
    chain: tuple[CallNode, ...]
    path: tuple[EventNode, ...]
    missing: bool
    condition: Value | None = None
    node: ast.AST | None = None
    left: bool = False
    explained: bool = True
    ending: frozenset[int] = frozenset()
    other_chain: tuple[CallNode, ...] = ()
    caller: Function | None = None
    counterpart: EventNode | None = None

    @property
    def guards(self) -> tuple[Guard, ...]:
        """The conditions that divide the ranks."""
        return tuple(parting.guard for parting in self.partings)

    @property
    def module(self) -> Module:
        """The file of the function in which the ranks part."""
        return self.function.module

    @property
    def event(self) -> Event:
        """The collective that waits."""
        return self.act.event

    @property
    def in_one_file(self) -> bool:
        """Whether the ranks part in the file of the collective that waits.

        Across files more conditions stand between the two, and some exclude each other: of such findings none of
        four in waves 13 and 15 was true, of the others five of eight since wave 9 (docs/precision.md). What is in
        another file is true where ranks leave in front of it: CLAP's training, in three programs.
        """
        return self.event.module is self.module

    @property
    def others(self) -> Event | None:
        """What the other ranks do instead."""
        return self.other_act.event if self.other_act is not None else None

    @property
    def anchor(self) -> ast.AST:
        """The node in the function itself: the collective, or the call or `with` that leads to it."""
        if self.chain:
            return self.chain[0].via[0] if self.chain[0].via else self.chain[0].node
        return self.act.via[0] if self.act.via else self.event.node


def divergences_of(
    live: dict[Function, FunctionSummaries], graphs: Graphs
) -> tuple[list[Divergence], list[tuple[Function, str]]]:
    """All divergences of all live functions, and the functions not compared to their end, and why."""
    for function, summaries in live.items():
        graphs.summaries[function] = tuple(summary for _, summary in summaries.summaries())
        if any(graphs.may_have_events(summary) for summary in graphs.summaries[function]):
            graphs.has_events.add(function)
    found: dict[tuple[object, ...], Divergence] = {}
    problems: list[tuple[Function, str]] = []
    said: set[tuple[Function, int]] = set()
    for function, summaries in live.items():
        limits: dict[str, None] = {}
        divergences: list[Divergence] = []
        try:
            divergences, inside = _of_function(function, summaries, graphs, limits)
            said |= inside
        except RecursionError:
            limits["nested too deeply"] = None
        problems += [(function, limit) for limit in limits]
        for divergence in divergences:
            key = (divergence.kind, id(divergence.anchor), divergence.layer > 0)
            found.setdefault(key, divergence)
    callers = calling((f, run) for f, runs in live.items() for _, run in runs.summaries())
    met = [
        d
        for d in found.values()
        if not _may_be_computed_before(d, callers)
        and (d.kind is DivergenceKind.RANK or not _is_of_one_rank(d.function, live, callers))
    ]
    return _without_halves(_innermost(met, said), live, graphs), problems


def _is_of_one_rank(
    function: Function,
    live: dict[Function, FunctionSummaries],
    callers: dict[Function, set[Function]],
    below: frozenset[Function] = frozenset(),
) -> bool:
    """Whether no two ranks of a machine come into a function: they part where it is called, and the first alone calls it.

    What such a rank answers for itself divides it from nobody (doctr 8a88fea references/detection/train.py:115: the
    search for a learning rate, below `rank == 0 and args.find_lr`).
    """
    above = callers.get(function, set()) - below - {function}
    return (
        bool(above)
        and live[function].classes <= {MAIN, NODE_MAIN}
        and all(
            each in live
            and (
                not live[each].classes <= {MAIN, NODE_MAIN}
                or _is_of_one_rank(each, live, callers, below | {function})
            )
            for each in above
        )
    )


def _may_be_computed_before(divergence: Divergence, callers: dict[Function, set[Function]]) -> bool:
    """Whether the collective is in what is computed at the first call alone, which may be one of another function.

    LoRA c4593f0 examples/NLU/src/transformers/integrations.py:568: `args.device` of rank 0 at the end of the training,
    whose `@cached_property` has called `init_process_group()` when the Trainer was made.
    """
    return divergence.kind is DivergenceKind.RANK and any(
        call.summary.function.has_decorator("cached_property", "cache", "lru_cache")
        and len(callers.get(call.summary.function, ())) > 1
        for call in divergence.chain
    )


def _without_halves(
    found: list[Divergence], live: dict[Function, FunctionSummaries], graphs: Graphs
) -> list[Divergence]:
    """Without what waits for ranks that come to it in another function, which every caller calls as well."""
    alone = [d for d in found if d.kind is DivergenceKind.RANK and d.others is None]
    if not alone:
        return found
    pairing = Pairing(live, graphs, {d.function for d in alone})
    halves = {
        d
        for d in alone
        if d.waiters is not None
        and d.absent is not None
        and pairing.met_by_callers(d.function, d.layer, d.event.op, d.waiters, d.absent)
    }
    return [d for d in found if d not in halves]


def _innermost(found: list[Divergence], inside: set[tuple[Function, int]]) -> list[Divergence]:
    """Without what a caller only repeats: the ranks part inside a function that it calls.

    `inside` are the functions with the events that some ranks miss in them, also where another one says it
    (ml-4m cda590f run_training_vqvae.py:1682: who returns there misses three forwards, of which one is reported).
    """
    return [
        d
        for d in found
        if not any(
            (function, id(d.event.node)) in inside and function is not d.function
            for function in _led_through(d)
        )
    ]


def _led_through(divergence: Divergence) -> Iterator[Function]:
    """The functions that are called on the way to the collective, and the generator whose run a loop goes through.

    Megatron-LM (bigcode) 7c325cd examples/detxoify_lm/generate_samples_gpt.py:166: the body of the loop returns to the
    barrier of the generator, out of which rank 0 alone breaks.
    """
    yield from (call.summary.function for call in divergence.chain)
    if divergence.act.via and divergence.event.site is not None:
        yield divergence.event.site.function


def _of_function(
    function: Function, summaries: FunctionSummaries, graphs: Graphs, limits: dict[str, None]
) -> tuple[list[Divergence], set[tuple[Function, int]]]:
    """The divergences of one function, and all events in which its ranks part, also those that go without saying.

    Adds to `limits` what was not compared to its end, and why.
    """
    found: list[Divergence] = []
    reported: set[int] = set()
    too_many: set[int] = set()
    """Places of which one layer, on one class, could not be compared: others would not fare better."""
    for context in _entered_together(summaries):
        if not any(graphs.may_have_events(summary) for summary in context.values()):
            continue
        given_up: set[RankClass] = set()
        for layer in Layer:
            main = context.get(MAIN)
            if main is None:
                continue
            for rank, other in context.items():
                if any(not d.missing for d in found):
                    break  # what follows a difference in order is shifted against each other
                if rank is MAIN or other is main or rank in given_up:
                    continue
                try:
                    _compare(function, graphs, layer, main, other, rank, reported, found, limits)
                except GaveUp as reason:
                    given_up.add(rank)
                    limits[str(reason)] = None
            for summary in dict.fromkeys(context.values()):
                found += _local(
                    function, graphs, layer, summary, reported, context, limits, too_many
                )
    inside = {(d.function, id(d.event.node)) for d in found}
    found = _without_counterparts(found)
    return _without_backward_of_forward(_once_for_each_exit(found)), inside


def _without_counterparts(found: list[Divergence]) -> list[Divergence]:
    """Without what the others would wait in, had they come to the call in which the first class waits for them.

    scene_graph_benchmark 8e14944 maskrcnn_benchmark/engine/inference.py:281: `gather_on_master()` has a `dist.gather()` for
    rank 0 and one for the others, who have returned in front of it.
    """
    waiting: dict[tuple[object, ...], set[tuple[RankClass | None, RankClass | None]]] = {}
    kept = []
    for d in found:
        at = waiting.setdefault((d.kind, id(d.anchor), d.event.op, d.layer), set())
        if d.kind is not DivergenceKind.RANK or (d.absent, d.waiters) not in at:
            at.add((d.waiters, d.absent))
            kept.append(d)
    return kept


def _without_backward_of_forward(found: list[Divergence]) -> list[Divergence]:
    """Who does not come to the forward of a model does not come to its backward: that is said once."""

    def cause(divergence: Divergence) -> tuple[object, ...]:
        return divergence.kind, id(divergence.node), *(id(g.node) for g in divergence.guards)

    forward = {cause(d) for d in found if d.event.op == "forward"}
    return [d for d in found if d.event.op != "backward" or cause(d) not in forward]


def _once_for_each_exit(found: list[Divergence]) -> list[Divergence]:
    """Ranks that have left miss everything below: the first collective that waits for them says it.

    In a loop what stands above the exit comes in the next turn (VAE_AIGC_detection 00a3430 train_ddp.py:145, not 117).
    """
    first: dict[tuple[object, ...], Divergence] = {}
    for divergence in found:
        exits = (divergence.waiters, *(id(guard.node) for guard in divergence.guards))
        known = first.setdefault(exits, divergence)
        if _place(divergence) < _place(known):
            first[exits] = divergence
    kept = set(first.values())
    return [d for d in found if not d.left or d in kept]


def _place(divergence: Divergence) -> tuple[int, bool, tuple[int, ...]]:
    at = place_of_any(divergence.anchor)[:2]
    exits = max((place_of_any(guard.node)[:2] for guard in divergence.guards), default=(0, 0))
    return divergence.layer, at < exits, at


def _entered_together(summaries: FunctionSummaries) -> Iterator[dict[RankClass, Summary]]:
    """The runs to compare: what ranks pass alike, be it that an argument is each rank's own.

    Where several calls pass such an argument, which runs belong together only their callers know.
    """
    for _, group in groups_of(summaries):
        by_rank = dict(group)
        if len(by_rank) == len(group):
            yield by_rank
        else:
            members = {id(summary) for _, summary in group}
            for context in summaries.contexts.values():
                if any(id(summary) in members for summary in context.values()):
                    yield context


def _compare(
    function: Function,
    graphs: Graphs,
    layer: Layer,
    main: Summary,
    other: Summary,
    rank: RankClass,
    reported: set[int],
    found: list[Divergence],
    limits: dict[str, None],
) -> None:
    """Add what divides two classes of ranks to `found`. Raises GaveUp; what was found until then stays.

    Of DDP's forwards without gradients the first alone broadcasts, what else the next training step would: as many
    broadcasts stand between two steps, whoever evaluates. So the rest is compared without them, and they for
    themselves (TransGAN 6b85440 train_derived.py:251: rank 0 alone draws samples, and seemed to miss training steps).
    """
    left, right = graphs.root(main), graphs.root(other)
    skip: set[int] = reported | _endless_for_both(graphs, main, other)
    without = frozenset[int]()
    if layer is Layer.WRAPPED:
        inside = Comparison(graphs, layer)
        without = inside.contents(left).first_only | inside.contents(right).first_only
    if without:
        spared = skip | without
        whole = _compare_without(
            function, graphs, layer, main, other, rank, reported, found, limits, spared
        )
        if not whole:
            return
        skip |= spared - without
    _compare_without(
        function, graphs, layer, main, other, rank, reported, found, limits, skip, without
    )


def _compare_without(
    function: Function,
    graphs: Graphs,
    layer: Layer,
    main: Summary,
    other: Summary,
    rank: RankClass,
    reported: set[int],
    found: list[Divergence],
    limits: dict[str, None],
    skip: set[int],
    only: frozenset[int] = frozenset(),
) -> bool:
    """Compare two classes without the events in `skip`, which grows; those of `only` alone are found, if there are any.

    Returns False where their order differs: what follows is shifted against each other.
    """
    left, right = graphs.root(main), graphs.root(other)
    shifted: list[tuple[Divergence, set[int]]] = []
    while True:  # each difference adds an event to `skip`
        comparison = Comparison(graphs, layer, frozenset(skip))
        difference = comparison.difference(left, right)
        limits |= comparison.limits
        if difference is None:
            found += [d for d, own in shifted if own.isdisjoint(reported)]
            reported |= {id(d.event.node) for d, own in shifted if own.isdisjoint(reported)}
            return True
        mine, theirs = comparison.contents(left), comparison.contents(right)
        divergence = _classify(
            function, layer, difference, main, other, rank, mine.events, theirs.events
        )
        if divergence is None:
            return True
        if only and id(divergence.event.node) not in only:
            # Shifted against each other by a forward that has met another: there is nothing to see behind it.
            return True
        skip.add(id(divergence.event.node))
        if divergence.counterpart is not None:
            # Without one half of a pair, the other half would meet what comes behind it.
            skip.add(id(divergence.counterpart.event.node))
        absent = other if divergence.waiters is MAIN else main
        if made_by_both(graphs, absent, divergence.chain, divergence.event):
            continue
        if not divergence.explained and divergence.others is None:
            waits, misses = (mine, theirs) if divergence.waiters is MAIN else (theirs, mine)
            if not waits.places - misses.places:
                # Nothing keeps the others from it, and nothing that this class does is its own alone: a
                # condition that both ask was not seen to be the same (axolotl 0.21.0 fsdp2.py:405, where
                # the main process alone has asked for `nvfp4_cls` before).
                continue
            own = {
                node
                for node, op in waits.events.items()
                if op == divergence.event.op and node not in misses.events
            }
            if own and id(divergence.event.node) in misses.events:
                # Both come to it, and what this class has alone met the others' turn before: that says it, where it is
                # found (FGOVD 1562de8 main_ddp.py:257: rank 0's evaluation ends with a barrier, each epoch with another).
                shifted.append((divergence, own))
                continue
        if not divergence.guards or any(act.event.op == "join" for act in difference.path):
            # No condition on the rank divides them: nothing that a person could look at. And inside
            # `Join` ranks that ran out of inputs shadow the collectives of the others.
            continue
        if not divergence.missing and divergence.others is not None:
            skip.add(id(divergence.others.node))
        if divergence.event.layer == layer:
            reported.add(id(divergence.event.node))
            found.append(divergence)
            if not divergence.missing:
                return False


def _endless_for_both(graphs: Graphs, main: Summary, other: Summary) -> set[int]:
    """The `while True` loops that both classes go through, by the identity of their syntax nodes.

    One that one class alone comes to may serve the others, and so may one in which rank 0 waits for nothing:
    it says what to do by other ways.
    """
    mine = {id(loop.node) for loop in graphs.endless_loops(main) if graphs.may_wait_in(loop)}
    return mine & {id(loop.node) for loop in graphs.endless_loops(other)}


def _classify(
    function: Function,
    layer: Layer,
    difference: Difference,
    main: Summary,
    other: Summary,
    rank: RankClass,
    mine: dict[int, str],
    theirs: dict[int, str],
) -> Divergence | None:
    """Which side waits, in what, and what the other does meanwhile."""
    left, right = difference.left, difference.right
    only_left = [a for a in left if id(a.event.node) not in theirs]
    only_right = [a for a in right if id(a.event.node) not in mine]
    alike = _perform_alike(left, right) and difference.left_ends is not difference.right_ends
    if alike:
        # Both may do the same next, each in a place of its own, and one may end instead: the other waits.
        left_waits = difference.right_ends
        only_left, only_right = (list(left), []) if left_waits else ([], list(right))
    else:
        left_waits = bool(only_left) or (
            not only_right and bool(left) and (difference.right_ends or not right)
        )
    if left_waits:
        act, others, chain = (only_left or list(left))[0], right, difference.left_calls
        waiters, absent, waiting_rank, absent_rank = main, other, MAIN, rank
        both = bool(only_left) and bool(only_right) and not difference.right_ends
    elif right:
        act, others, chain = (only_right or list(right))[0], left, difference.right_calls
        waiters, absent, waiting_rank, absent_rank = other, main, rank, MAIN
        both = not only_right and not difference.left_ends
    else:
        return None
    ended = difference.right_ends if left_waits else difference.left_ends
    different = [a for a in others if a.event.op != act.event.op]
    instead = None if ended or not different else different[0]
    # Only one side ever performs it: it is missing on the other. Else the two perform different ones here.
    missing = not both if instead is not None else True
    here, there = (mine, theirs) if left_waits else (theirs, mine)
    if instead is not None and act.event.op in {o for n, o in there.items() if n not in here}:
        missing = False  # the other side has one like it in a place of its own
    their_calls = difference.right_calls if left_waits else difference.left_calls
    other_act = (instead, their_calls if instead is others[0] else ()) if instead else None
    reason = reason_of(function, act, chain, waiters, absent, other_act)
    partings = reason.partings
    if not partings:
        # An argument that is each rank's own decides inside the calls.
        calls = (difference.left_calls, difference.right_calls)
        waiting, missing_calls = calls if left_waits else calls[::-1]
        partings = inside_calls(waiting, missing_calls)
    return Divergence(
        DivergenceKind.RANK,
        function,
        layer,
        act,
        instead,
        waiting_rank,
        absent_rank,
        partings,
        chain,
        difference.path,
        missing,
        left=reason.left and missing and instead is None,
        explained=reason.explained,
        ending=ways_out(absent),
        other_chain=other_act[1] if other_act is not None else (),
        counterpart=next((a for a in others if alike and a.event.node is not act.event.node), None),
    )


def _perform_alike(left: tuple[EventNode, ...], right: tuple[EventNode, ...]) -> bool:
    return bool(left) and {a.event.op for a in left} == {a.event.op for a in right}


def _local(
    function: Function,
    graphs: Graphs,
    layer: Layer,
    summary: Summary,
    reported: set[int],
    context: dict[RankClass, Summary],
    limits: dict[str, None],
    too_many: set[int],
) -> list[Divergence]:
    """Conditions, loops and failures that each rank answers for itself: their arms must be equal."""
    found: list[Divergence] = []
    raised: set[Failed] = set()
    for owner, kind, value, place, arms in _forks(function, graphs, summary):
        comparison = Comparison(graphs, layer, frozenset(reported))
        others: tuple[EventNode, ...] = ()
        path: tuple[EventNode, ...] = ()
        if isinstance(arms[0], Failed):
            # A handler catches what nobody expects, too: an out-of-memory error.
            known = arms[0] in raised or isinstance(place, ast.ExceptHandler)
            if layer is Layer.ALWAYS and not known:
                waits = _waits_alone(comparison, graphs, arms[0], arms[1], context)
                if waits is not None:
                    raised.add(arms[0])
                    act, chain, waiters = waits
                    found.append(
                        Divergence(
                            kind, owner, layer, act, None, waiters, summary.rank,
                            (Parting(arms[0].guard, not arms[0].guard.taken, arms[0].guard.taken),),
                            chain, (), True, None, place,
                        )
                    )  # fmt: skip
            continue
        if arms[0] is STOP and owner is not function:
            # A rank that is gone takes part in nothing: whatever the others come to first, they wait in.
            ahead = _first_act(comparison, graphs, arms[1])
            if ahead is None:
                continue
            act, chain = ahead
        elif id(place) in too_many:
            continue
        else:
            try:
                difference = comparison.difference(*arms)
            except GaveUp as reason:
                too_many.add(id(place))
                line = getattr(place, "lineno", 0)
                limits[f"what follows each answer in line {line}: {reason}"] = None
                continue
            limits |= comparison.limits
            if difference is None:
                continue
            ends = difference.left_ends and difference.right_ends
            if ends and not difference.right and isinstance(place, ast.ExceptHandler):
                # A handler that may do more, under a condition that it alone asks (fairseq 0.12.2
                # trainer.py:1124, a process group that is made when it is first asked for).
                continue
            left = [(act, difference.right, difference.left_calls) for act in difference.left]
            right = [(act, difference.left, difference.right_calls) for act in difference.right]
            # What both layers hold may come first: the break of one rank leads to a barrier at the end.
            picked = [p for p in (*left, *right) if p[0].event.layer == layer]
            if not picked:
                continue
            # Who skips a backward comes to the forward of the next turn: what is skipped says more.
            backward = next((p for p in picked if p[0].event.op == "backward"), None)
            act, others, chain = backward or picked[0]
            path = difference.path
            if path and isinstance(place, ast.ExceptHandler):
                # The handler's way begins like the other: ranks that tell each other who ran out of memory
                # (mosaicml 0.32.1 composer/trainer/trainer.py, `found_cuda_oom`).
                continue
        if act.event.layer != layer:
            continue
        reported.add(id(act.event.node))
        found.append(
            Divergence(
                kind, owner, layer, act, others[0] if others else None, None, None, (),
                chain, path, not others, value, place, caller=function if owner is not function else None,
            )
        )  # fmt: skip
    return found


def _waits_alone(
    comparison: Comparison,
    graphs: Graphs,
    failed: Failed,
    ahead: Node,
    context: dict[RankClass, Summary],
) -> tuple[EventNode, tuple[CallNode, ...], RankClass] | None:
    """The next collective, the calls to it, and the ranks that come to it without what fails.

    They took the other arm of the condition on the rank: nothing tells them of the failure.
    """
    first = _first_act(comparison, graphs, ahead)
    if first is None:
        return None
    act, chain = first
    for rank, summary in context.items():
        if (
            arm_of(summary, failed.guard) is (not failed.guard.taken)
            and id(act.event.node) in comparison.contents(graphs.root(summary)).events
        ):
            return act, chain, rank
    return None


def _first_act(
    comparison: Comparison, graphs: Graphs, node: Node
) -> tuple[EventNode, tuple[CallNode, ...]] | None:
    """The nearest collective that a graph may perform, and the calls that lead to it."""
    seen: set[Node] = set()
    queue: deque[tuple[Node, tuple[CallNode, ...]]] = deque([(node, ())])
    while queue:
        current, chain = queue.popleft()
        if current in seen:
            continue
        seen.add(current)
        match current:
            case EventNode():
                if comparison.counts(current) and not current.event.op.startswith(OPAQUE):
                    return current, chain
                queue.append((current.next, chain))
            case BranchNode():
                queue += [(current.then, chain), (current.orelse, chain)]
            case LoopNode():
                queue.append((current.body, chain))
                if current.exit is not None:
                    queue.append((current.exit, chain))
            case CallNode():
                queue.append((graphs.root(current.summary, current.known), (*chain, current)))
                queue.append((current.next, chain))
    return None


def _forks(
    function: Function, graphs: Graphs, summary: Summary
) -> Iterator[tuple[Function, DivergenceKind, Value, ast.AST, tuple[Node, Node]]]:
    """Where each rank chooses its way for itself: the function that asks, the kind of divergence, the
    value that decides, its place, and the two ways."""
    for node in graphs.own_nodes(summary):
        match node:
            case BranchNode(value=Value() as value) if is_local(value):
                yield function, _kind(value), value, node.node, (node.then, node.orelse)
            case LoopNode(exit=Node() as leave, loop=Loop(local=Value() as value)) if is_local(
                value
            ):
                yield function, DivergenceKind.LOOP, value, node.loop.node, (node.body, leave)
            case CallNode():
                # Some ranks end their process in there: the others go on behind the call.
                for owner, asked in graphs.exits(node.summary):
                    if asked.value is not None:
                        yield owner, _kind(asked.value), asked.value, asked.node, (STOP, node.next)


def _kind(value: Value) -> DivergenceKind:
    return DivergenceKind.FAILURE if "failure" in value.tags else DivergenceKind.LOCAL


__all__ = ["OTHER", "Divergence", "DivergenceKind", "divergences_of"]
