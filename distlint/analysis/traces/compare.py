"""Do two classes of ranks perform the same collectives? Language equality under shared symbols.

The traces are the same when, whatever the shared (uniform) conditions turn out to be, both classes may
perform the same sequences of events. A symbol that both graphs know branches both; one that only one
side has may go either way there, so that side is followed as a set of nodes. Only what counts for a
layer is looked at (`Slice`). Bounded by a budget, and by how deep calls are followed: where a bound is
met, `Comparison.limits` or `GaveUp` says so.

A loop asks its conditions anew in each iteration: an answer belongs to a symbol and to the iterations of
those loops that both sides have and that change it. What happened before the last event is forgotten,
so after an event both sides count their iterations from the same one.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final

from distlint.analysis.interpreter.ir import Layer, Summary
from distlint.analysis.live.joint_entry import family_of
from distlint.analysis.program.definitions import Function
from distlint.analysis.traces.answers import Answers, Assumptions, Fresh, bears_on, excluded
from distlint.analysis.traces.fronts import (
    Budget,
    Front,
    GaveUp,
    Place,
    Places,
    States,
    Walk,
    chain_of,
)
from distlint.analysis.traces.graph import Graphs
from distlint.analysis.traces.nodes import (
    OPAQUE,
    BranchNode,
    CallNode,
    End,
    EndKind,
    EventNode,
    LoopNode,
    Node,
    reachable,
    ways_on,
)
from distlint.analysis.traces.slicing import slice_of
from distlint.records import dataclass

_PRUNED_FROM: Final = 4
"""From so many answers on it is worth asking whether events can follow at all."""
_DECIDED_FROM: Final = 8
"""From so many answers on a difference counts at once, though one side may do more besides."""

Next = tuple[States, States, Assumptions, "tuple[EventNode, ...]", "frozenset[Hashable]"]
"""What is left to compare: nodes of both sides, answers, what was done, symbols that are asked anew."""
Way = tuple[Any, ...]
"""How a search came to a state: () or (way before, new answers, symbols that are asked anew)."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Where two classes part: what each may do next. `path` is what they did together before."""

    left: tuple[EventNode, ...]
    right: tuple[EventNode, ...]
    left_ends: bool
    right_ends: bool
    path: tuple[EventNode, ...]
    left_calls: tuple[CallNode, ...] = ()
    right_calls: tuple[CallNode, ...] = ()


@dataclass(frozen=True, slots=True)
class Contents:
    """All that a graph may perform: the `op` of each event by the identity of its syntax node, the
    places of events that count, of calls and of loops, and the events of which only the first waits."""

    events: dict[int, str]
    places: frozenset[Hashable]
    first_only: frozenset[int]


class Comparison:
    """Compares graphs for one layer of events. `skip` are nodes of events that count as absent.

    `opened` are functions that are looked into though both sides call them alike.
    """

    def __init__(
        self,
        graphs: Graphs,
        layer: Layer,
        skip: frozenset[int] = frozenset(),
        opened: frozenset[Function] = frozenset(),
    ) -> None:
        self.graphs = graphs
        self._opened = opened
        self.layer = layer
        self.skip = skip
        self.limits: dict[str, None] = {}
        """What was not followed to its end, in the order in which it was met."""
        self.slice = slice_of(graphs, layer, skip)
        self.budget = Budget()

    def difference(self, left: Node, right: Node) -> Difference | None:
        """The first difference between two graphs, or None where they perform the same. Raises GaveUp."""
        if left is right:
            return None
        left, right = self.slice.ahead(left), self.slice.ahead(right)
        if left is right:
            return None
        shared = self.slice.symbols(left) & self.slice.symbols(right)
        loops = self._common_loops(left, right)
        found = self._refined(left, right, Answers(shared, loops))
        alone = self._asked_again(left, right) - shared if found is not None else None
        if not alone:
            return found
        # What one side asks more than once has one answer: equal for each of the answers is equal.
        again = self._refined(left, right, Answers(shared | alone, loops))
        return found if again else None

    def _common_loops(self, left: Node, right: Node) -> dict[Hashable, frozenset[Hashable]]:
        """The symbols that each loop of both graphs changes, on either side, by the loop's key."""
        mine, theirs = self.slice.loops(left), self.slice.loops(right)
        return {key: mine[key] | theirs[key] for key in mine.keys() & theirs.keys()}

    def _refined(self, left: Node, right: Node, answers: Answers) -> Difference | None:
        """A difference on a way that answers every condition once.

        Most pairs are equal whatever each single condition turns out to be. Where they are not, only the
        conditions that the way to the difference answered in two ways are remembered, and it starts anew.
        """
        search = _Search(self, answers)
        remembered: frozenset[Hashable] = frozenset()
        while True:
            found = search.way_to_difference(left, right, remembered)
            if found is None:
                return None
            fresh = _answered_twice(found[1]) - remembered
            if not fresh:
                return found[0]
            remembered |= fresh

    def _asked_again(self, left: Node, right: Node) -> frozenset[Hashable]:
        """Symbols that either graph asks in more than one place."""
        found: set[Hashable] = set()
        for root in (left, right):
            seen: set[Hashable] = set()
            for node in self.slice.nodes(root):
                if isinstance(node, BranchNode):
                    (found if node.symbol in seen else seen).add(node.symbol)
        return frozenset(found)

    def counts(self, act: EventNode) -> bool:
        """Whether an event is one of this layer's, among all ranks, and not one to skip."""
        return self.slice.counts(act)

    def contents(self, root: Node) -> Contents:
        """What a graph may perform, call and go round in, through calls: of all layers."""
        events: dict[int, str] = {}
        places: set[Hashable] = set()
        first_only: set[int] = set()
        for node in reachable(root, self._ways_into_calls):
            match node:
                case EventNode(event=event):
                    events[id(event.node)] = event.op
                    if event.first_only:
                        first_only.add(id(event.node))
                    if self.counts(node):
                        places.add(id(event.node))
                case CallNode():
                    places.add(id(node.node))
                case LoopNode():
                    places.add(node.loop.key)
        return Contents(events, frozenset(places), frozenset(first_only))

    def _ways_into_calls(self, node: Node) -> tuple[Node, ...]:
        if isinstance(node, CallNode):
            return node.next, self.graphs.root(node.summary, node.known)
        return ways_on(node)

    def equivalent(self, left: Summary, right: Summary) -> bool:
        """Whether a call does the same on both sides, though its arguments may be each rank's own."""
        if left.function in self._opened:
            return False
        if left.context == right.context or not comparable(left, right):
            return True
        key = (left, right, self.layer)
        known = self.graphs.equivalent.get(key)
        if known is None:
            known = self.graphs.equivalent[key] = True  # where the call comes back to itself
            inside = Comparison(self.graphs, self.layer)
            try:
                known = inside.difference(self.graphs.root(left), self.graphs.root(right)) is None
            except GaveUp as reason:
                self.limits[f"what ranks do in {left.function.qualname}: {reason}"] = None
            except RecursionError:
                del self.graphs.equivalent[key]
                raise
            self.limits |= inside.limits
            self.graphs.equivalent[key] = known
        return known


class _Search:
    """Goes through what both sides may do, in step."""

    def __init__(self, comparison: Comparison, answers: Answers) -> None:
        self._comparison = comparison
        self._answers = answers
        self._budget = comparison.budget
        self._walk = Walk(comparison.slice, answers, comparison.budget, comparison.limits)

    def way_to_difference(
        self,
        left: Node,
        right: Node,
        remembered: frozenset[Hashable],
    ) -> tuple[Difference, Way] | None:
        start = (
            frozenset({(left, ())}),
            frozenset({(right, ())}),
            frozenset[tuple[Hashable, bool]](),
        )
        work: list[tuple[States, States, Assumptions, tuple[EventNode, ...], Way]] = [
            (*start, (), ())
        ]
        seen: set[tuple[States, States, Assumptions]] = set()
        while work:
            a, b, assumed, path, way = work.pop()
            if a == b or (a, b, assumed) in seen:
                continue
            seen.add((a, b, assumed))
            steps: list[Next] = []
            if not self._pair(a, b, assumed, path, steps):
                found = self._step(a, b, assumed, remembered, path, steps)
                if found is not None:
                    difference, answers = found
                    return difference, (way, answers, frozenset())
            for next_a, next_b, carried, next_path, dropped in steps:
                kept = remembered and carried and (remembered & self._relevant(next_a, next_b))
                work.append(
                    (
                        next_a,
                        next_b,
                        frozenset(p for p in carried if kept and p[0] in kept),
                        next_path,
                        (way, carried - assumed, dropped),
                    )
                )
        return None

    def _pair(
        self,
        a: States,
        b: States,
        assumed: Assumptions,
        path: tuple[EventNode, ...],
        steps: list[Next],
    ) -> bool:
        """The common case: each side is at one node, and both are at the same kind of step.

        Appends what is left to compare and returns True; returns False where the sets are needed.
        """
        if len(a) != 1 or len(b) != 1:
            return False
        self._budget.spend()
        (left, left_stack), (right, right_stack) = next(iter(a)), next(iter(b))
        known = dict(assumed)
        left, left_stack = self._walk.settle(left, left_stack, known)
        right, right_stack = self._walk.settle(right, right_stack, known)

        def later(
            x: Node,
            y: Node,
            answers: Assumptions,
            done: tuple[EventNode, ...] = path,
            dropped: frozenset[Hashable] = frozenset(),
        ) -> None:
            states = frozenset({(x, left_stack)}), frozenset({(y, right_stack)})
            steps.append((*states, answers, done, dropped))

        match left, right:
            case BranchNode(), BranchNode() if left.symbol == right.symbol:
                later(left.orelse, right.orelse, assumed | {(left.symbol, False)})
                later(left.then, right.then, assumed | {(left.symbol, True)})
            case LoopNode(), LoopNode() if left.loop.key == right.loop.key and (
                left.exit is None
            ) == (right.exit is None):
                anew = frozenset(left.loop.volatile | right.loop.volatile)
                open_ = frozenset(p for p in assumed if p[0] not in anew)
                if left.exit is not None and right.exit is not None:
                    later(left.exit, right.exit, open_, dropped=anew)
                later(left.body, right.body, open_, dropped=anew)
            case CallNode(), CallNode() if (
                left.node is right.node
                and left.summary.function is right.summary.function
                and self._comparison.equivalent(left.summary, right.summary)
            ):
                later(left.next, right.next, assumed)
            case EventNode(), EventNode() if (
                left.event.op == right.event.op
                and self._comparison.counts(left)
                and self._comparison.counts(right)
            ):
                later(left.next, right.next, assumed, (*path, left)[-12:])
            case BranchNode(), _ if left.symbol in self._answers.shared:
                later(left.orelse, right, assumed | {(left.symbol, False)})
                later(left.then, right, assumed | {(left.symbol, True)})
            case _, BranchNode() if right.symbol in self._answers.shared:
                later(left, right.orelse, assumed | {(right.symbol, False)})
                later(left, right.then, assumed | {(right.symbol, True)})
            case End(), End() if (
                left is right
                or EndKind.RAISE in (left.kind, right.kind)
                or not (left_stack or right_stack)
            ):
                pass
            case _:
                return False
        return True

    def _step(
        self,
        a: States,
        b: States,
        assumed: Assumptions,
        remembered: frozenset[Hashable],
        path: tuple[EventNode, ...],
        steps: list[Next],
    ) -> tuple[Difference, Assumptions] | None:
        """Compare what both may do next, for all answers to the conditions before it.

        Both go on together from one open condition to the next. Where they come to the same places with
        the same answers that may still matter, one of the ways there stands for all.
        """
        before = dict(assumed)
        seen: set[tuple[Hashable, ...]] = set()
        work: list[tuple[Front, Front, Fresh, frozenset[Hashable]]] = [
            (self._walk.start(a), self._walk.start(b), (), frozenset())
        ]
        while work:
            left, right, fresh, expand = work.pop()
            left, right, expand = self._fronts(left, right, before, fresh, expand)
            asked = next(iter((*left.open.values(), *right.open.values())), None)
            if (
                asked is not None
                and len(fresh) >= _DECIDED_FROM
                and (_never_the_same(left, right) or _never_the_same(right, left))
            ):
                asked = None
            if asked is not None:
                key = (
                    *(left.places(), left.ends, left.cut, right.places(), right.ends, right.cut),
                    *(expand, self._live(left, right, fresh, remembered)),
                )
                idle = len(fresh) >= _PRUNED_FROM and not (
                    self._walk.may_act(left, before, fresh)
                    or self._walk.may_act(right, before, fresh)
                )
                if key not in seen and not idle:
                    seen.add(key)
                    work += [
                        (left, right, (*fresh, (asked, truth)), expand) for truth in (False, True)
                    ]
            elif left.acts.keys() == right.acts.keys() and left.ends == right.ends:
                steps += _further(left, right, assumed, fresh, path)
            else:
                difference = _difference(left, right, path)
                if difference is not None:
                    return difference, frozenset((s, t) for (s, loops), t in fresh if not loops)
        return None

    def _live(
        self, left: Front, right: Front, fresh: Fresh, remembered: frozenset[Hashable]
    ) -> Fresh:
        """The answers that may still matter: to be remembered, or asked again before the next event."""
        ahead = [
            (crossed, self._walk.symbols(frozenset({(node, returns)})))
            for node, returns, crossed in (*left.open, *right.open)
            if fresh
        ]
        return tuple(
            (asked, truth)
            for asked, truth in fresh
            if asked[0] in remembered
            or any(
                not self._answers.passed(asked, crossed) and bears_on(asked[0], truth, symbols)
                for crossed, symbols in ahead
            )
        )

    def _fronts(
        self,
        left: Front,
        right: Front,
        before: dict[Hashable, bool],
        fresh: Fresh,
        expand: frozenset[Hashable],
    ) -> tuple[Front, Front, frozenset[Hashable]]:
        """What both sides may do next with the answers so far, and the calls that were looked into.

        Calls that both make are one step for both, unless the sides differ: then they are looked into.
        """
        answers = dict(fresh)
        while True:
            self._budget.spend()
            left = self._walk.advance(left, before, answers, expand)
            right = self._walk.advance(right, before, answers, expand)
            if left.open or right.open:
                return left, right, expand
            lonely = left.calls.keys() ^ right.calls.keys()
            for key in [key for key in left.calls if key in right.calls]:
                if not self._comparison.equivalent(
                    _call(left.calls[key]).summary, _call(right.calls[key]).summary
                ):
                    lonely.add(key)
            if not lonely:
                same = left.acts.keys() == right.acts.keys() and left.ends == right.ends
                lonely = set() if same else left.calls.keys() | right.calls.keys()
            closed = {
                key
                for key in left.calls.keys() & right.calls.keys()
                if not comparable(_call(left.calls[key]).summary, _call(right.calls[key]).summary)
            }
            lonely -= closed
            if not lonely:
                if closed:  # what is in there is not compared, nor what may be there instead
                    left.cut = right.cut = True
                return left, right, expand
            expand |= lonely

    def _relevant(self, a: States, b: States) -> frozenset[Hashable]:
        """Symbols that either side may still ask: what both have answered holds for the one that asks again."""
        return self._walk.symbols(a) | self._walk.symbols(b)


def comparable(left: Summary, right: Summary) -> bool:
    """Whether two runs of a call were made for the same kinds of arguments.

    They were not where one side had too many kinds of them, so that its run is one for all: it asks
    other questions.
    """
    return family_of(left.context) == family_of(right.context)


def _never_the_same(settled: Front, other: Front) -> bool:
    """Whether a side may do what the other, which has no condition left to ask, does not.

    open_clip 89fb801 src/open_clip_train/main.py:140: rank 0 may have returned while the others wait; what
    else it may do, behind thirty conditions more, changes nothing.
    """
    if settled.open or settled.calls:
        return False
    return (other.ends and not settled.ends) or not other.acts.keys() <= settled.acts.keys()


def _difference(left: Front, right: Front, path: tuple[EventNode, ...]) -> Difference | None:
    """What to say of two classes that may not do the same next, if it is a matter of waiting."""
    if not (left.acts or right.acts or left.calls or right.calls):
        return None  # who leaves here and who goes on: nobody is waited for
    if any(not (side.acts or side.ends or side.calls) for side in (left, right)):
        return None  # an exception, or round and round in a loop that has no events
    if left.cut or right.cut:
        return None
    if any(op.startswith(OPAQUE) for op in left.acts.keys() ^ right.acts.keys()):
        return None
    only_left = {op: places for op, places in left.acts.items() if op not in right.acts}
    only_right = {op: places for op, places in right.acts.items() if op not in left.acts}
    mine = [next(iter(places)) for places in (only_left or left.acts).values()]
    theirs = [next(iter(places)) for places in (only_right or right.acts).values()]
    return Difference(
        tuple(_act(place) for place in mine),
        tuple(_act(place) for place in theirs),
        left.ends,
        right.ends,
        path[-12:],
        chain_of(mine[0][1]) if mine else (),
        chain_of(theirs[0][1]) if theirs else (),
    )


def _further(
    left: Front, right: Front, assumed: Assumptions, fresh: Fresh, path: tuple[EventNode, ...]
) -> list[Next]:
    """What is left to compare behind the events and calls that both make."""
    dropped = left.dropped | right.dropped
    latest: dict[Hashable, bool] = {s: t for s, t in assumed if s not in dropped}
    for (symbol, _), truth in sorted(fresh, key=lambda answer: sum(n for _, n in answer[0][1])):
        latest[symbol] = truth
    carried = frozenset(latest.items())
    further: list[Next] = []
    for op, places in left.acts.items():
        event = _act(next(iter(places)))
        both = _behind(places), _behind(right.acts[op])
        further.append((*both, carried, (*path, event)[-12:], dropped))
    for key, places in left.calls.items():
        both = _behind(places), _behind(right.calls[key])
        further.append((*both, carried, path, dropped))
    return further


def _act(place: Place) -> EventNode:
    assert isinstance(place[0], EventNode)
    return place[0]


def _call(places: Places) -> CallNode:
    call, _, _ = next(iter(places))
    assert isinstance(call, CallNode)
    return call


def _behind(places: Places) -> States:
    """The states that follow events or calls."""
    return frozenset(
        (node.next, returns)
        for node, returns, _ in places
        if isinstance(node, (EventNode, CallNode))
    )


def _answered_twice(way: Way) -> frozenset[Hashable]:
    """The symbols to which a way gave two answers though nothing asked them anew."""
    steps: list[tuple[Assumptions, frozenset[Hashable]]] = []
    while way:
        way, answers, dropped = way
        steps.append((answers, dropped))
    current: dict[Hashable, bool] = {}
    found: set[Hashable] = set()
    for answers, dropped in reversed(steps):
        for symbol in dropped:
            current.pop(symbol, None)
        for symbol, truth in answers:
            if current.setdefault(symbol, truth) is not truth:
                found.add(symbol)
            if truth and excluded(symbol, current.items()):
                found.update(other for other in current if excluded(other, ((symbol, True),)))
                found.add(symbol)
    return frozenset(found)
