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

import itertools
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from distlint.analysis.interpreter.ir import Layer, Run
from distlint.analysis.live.arrival import family_of
from distlint.analysis.traces.graph import (
    OPAQUE,
    RETURN,
    Act,
    Call,
    End,
    Graphs,
    Head,
    If,
    Node,
    ways_on,
)

_BUDGET: Final = 40_000
_MAX_STACK: Final = 24
_MAX_ROUNDS: Final = 2
"""How often a loop may be gone through without an event: a third time leads nowhere new."""
_PRUNED_FROM: Final = 4
"""From so many answers on it is worth asking whether events can follow at all."""

Stack = tuple[Any, ...]
"""The calls that a node is inside of, innermost first: () or (call, rest of the stack)."""
State = tuple[Node, Stack]
States = frozenset[State]
Place = tuple[Node, Stack, "tuple[Head, ...]"]
"""A state, and the loops gone through since the last event."""
Assumptions = frozenset[tuple[Hashable, bool]]
Instance = frozenset[tuple[Hashable, int]]
"""Which iteration of each loop that changes a symbol: by the loop's key, counted from the last event."""
Asked = tuple[Hashable, Instance]
_ONCE: Final[Instance] = frozenset()
_NOTHING: Final[Asked] = (None, _ONCE)
Fresh = tuple[tuple[Asked, bool], ...]
"""Answers given since the last event, in the order in which they were needed."""


Next = tuple[States, States, Assumptions, "tuple[Act, ...]", "frozenset[Hashable]"]
"""What is left to compare: nodes of both sides, answers, what was done, symbols that are asked anew."""
Way = tuple[Any, ...]
"""How a search came to a state: () or (way before, new answers, symbols that are asked anew)."""


class GaveUp(Exception):
    """The budget was spent before the comparison was decided."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Where two classes part: what each may do next. `trail` is what they did together before."""

    left: tuple[Act, ...]
    right: tuple[Act, ...]
    left_ends: bool
    right_ends: bool
    trail: tuple[Act, ...]
    left_calls: tuple[Call, ...] = ()
    right_calls: tuple[Call, ...] = ()


@dataclass(frozen=True, slots=True)
class Contents:
    """All that a graph may perform: the `op` of each event by the identity of its syntax node, and the
    places of events that count, of calls and of loops."""

    events: dict[int, str]
    places: frozenset[Hashable]


Places = dict[Place, None]
"""Where a side may stand, in the order in which it was found."""


@dataclass(slots=True)
class _Front:
    """What a side may do next: events by op, calls to look into only if the other side differs, an end.

    `open` holds the conditions that both sides ask and that have no answer yet.
    """

    acts: dict[str, Places] = field(default_factory=dict)
    calls: dict[Hashable, Places] = field(default_factory=dict)
    ends: bool = False
    cut: bool = False
    """Whether calls were not followed to their end: what is not found may be there."""
    open: dict[Place, Asked] = field(default_factory=dict)

    @property
    def dropped(self) -> frozenset[Hashable]:
        """Symbols whose answers ended with the loops that were gone through."""
        crossed = {
            head
            for places in (*self.acts.values(), *self.calls.values())
            for _, _, heads in places
            for head in heads
        }
        return frozenset(symbol for head in crossed for symbol in head.loop.volatile)

    def places(self) -> frozenset[Place]:
        """All places where the side may stand."""
        settled = (*self.acts.values(), *self.calls.values())
        return frozenset(self.open).union(*settled)


class Comparison:
    """Compares graphs for one layer of events. `skip` are nodes of events that count as absent."""

    def __init__(self, graphs: Graphs, layer: Layer, skip: frozenset[int] = frozenset()) -> None:
        self.graphs = graphs
        self.layer = layer
        self.skip = skip
        self._slice = graphs.slice(layer, skip)
        self._spent = 0
        self._loops: dict[Hashable, frozenset[Hashable]] = {}
        self._excluders: dict[Hashable, list[Hashable]] = {}
        self.limits: dict[str, None] = {}
        """What was not followed to its end, in the order in which it was met."""

    def difference(self, left: Node, right: Node) -> Difference | None:
        """The first difference between two graphs, or None where they perform the same. Raises GaveUp."""
        if left is right:
            return None
        left, right = self._slice.ahead(left), self._slice.ahead(right)
        if left is right:
            return None
        shared = self._slice.symbols(left) & self._slice.symbols(right)
        self._loops = self._common_loops(left, right)
        found = self._refined(left, right, shared)
        alone = self._asked_again(left, right) - shared if found is not None else None
        if not alone:
            return found
        # What one side asks more than once has one answer: equal for each of the answers is equal.
        return found if self._refined(left, right, shared | alone) else None

    def _common_loops(self, left: Node, right: Node) -> dict[Hashable, frozenset[Hashable]]:
        """The symbols that each loop of both graphs changes, on either side, by the loop's key."""
        mine, theirs = self._slice.loops(left), self._slice.loops(right)
        return {key: mine[key] | theirs[key] for key in mine.keys() & theirs.keys()}

    def _refined(self, left: Node, right: Node, shared: frozenset[Hashable]) -> Difference | None:
        """A difference on a way that answers every condition once.

        Most pairs are equal whatever each single condition turns out to be. Where they are not, only the
        conditions that the way to the difference answered in two ways are remembered, and it starts anew.
        """
        self._excluders.clear()
        remembered: frozenset[Hashable] = frozenset()
        while True:
            found = self._search(left, right, shared, remembered)
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
            for node in self._slice.nodes(root):
                if isinstance(node, If):
                    (found if node.symbol in seen else seen).add(node.symbol)
        return frozenset(found)

    def _search(
        self,
        left: Node,
        right: Node,
        shared: frozenset[Hashable],
        remembered: frozenset[Hashable],
    ) -> tuple[Difference, Way] | None:
        start = (
            frozenset({(left, ())}),
            frozenset({(right, ())}),
            frozenset[tuple[Hashable, bool]](),
        )
        work: list[tuple[States, States, Assumptions, tuple[Act, ...], Way]] = [(*start, (), ())]
        seen: set[tuple[States, States, Assumptions]] = set()
        while work:
            a, b, assumed, trail, way = work.pop()
            if a == b or (a, b, assumed) in seen:
                continue
            seen.add((a, b, assumed))
            steps: list[Next] = []
            if not self._pair(a, b, assumed, shared, trail, steps):
                found = self._step(a, b, assumed, shared, remembered, trail, steps)
                if found is not None:
                    difference, answers = found
                    return difference, (way, answers, frozenset())
            for next_a, next_b, carried, next_trail, dropped in steps:
                kept = remembered and carried and (remembered & self._relevant(next_a, next_b))
                work.append(
                    (
                        next_a,
                        next_b,
                        frozenset(p for p in carried if kept and p[0] in kept),
                        next_trail,
                        (way, carried - assumed, dropped),
                    )
                )
        return None

    def _pair(
        self,
        a: States,
        b: States,
        assumed: Assumptions,
        shared: frozenset[Hashable],
        trail: tuple[Act, ...],
        steps: list[Next],
    ) -> bool:
        """The common case: each side is at one node, and both are at the same kind of step.

        Appends what is left to compare and returns True; returns False where the sets are needed.
        """
        if len(a) != 1 or len(b) != 1:
            return False
        self._spend()
        (left, left_stack), (right, right_stack) = next(iter(a)), next(iter(b))
        known = dict(assumed)
        left, left_stack = self._settle(left, left_stack, known)
        right, right_stack = self._settle(right, right_stack, known)

        def later(
            x: Node,
            y: Node,
            answers: Assumptions,
            done: tuple[Act, ...] = trail,
            dropped: frozenset[Hashable] = frozenset(),
        ) -> None:
            states = frozenset({(x, left_stack)}), frozenset({(y, right_stack)})
            steps.append((*states, answers, done, dropped))

        match left, right:
            case If(), If() if left.symbol == right.symbol:
                later(left.orelse, right.orelse, assumed | {(left.symbol, False)})
                later(left.then, right.then, assumed | {(left.symbol, True)})
            case Head(), Head() if left.loop.key == right.loop.key and (left.exit is None) == (
                right.exit is None
            ):
                anew = frozenset(left.loop.volatile | right.loop.volatile)
                open_ = frozenset(p for p in assumed if p[0] not in anew)
                if left.exit is not None and right.exit is not None:
                    later(left.exit, right.exit, open_, dropped=anew)
                later(left.body, right.body, open_, dropped=anew)
            case Call(), Call() if (
                left.node is right.node
                and left.run.function is right.run.function
                and self._alike(left.run, right.run)
            ):
                later(left.next, right.next, assumed)
            case Act(), Act() if left.event.op == right.event.op:
                later(left.next, right.next, assumed, (*trail, left)[-12:])
            case If(), _ if left.symbol in shared:
                later(left.orelse, right, assumed | {(left.symbol, False)})
                later(left.then, right, assumed | {(left.symbol, True)})
            case _, If() if right.symbol in shared:
                later(left, right.orelse, assumed | {(right.symbol, False)})
                later(left, right.then, assumed | {(right.symbol, True)})
            case End(), End() if (
                left is right
                or "raise" in (left.kind, right.kind)
                or not (left_stack or right_stack)
            ):
                pass
            case _:
                return False
        return True

    def _settle(
        self, node: Node, returns: Stack, known: dict[Hashable, bool]
    ) -> tuple[Node, Stack]:
        """Go on over what needs no decision: events that do not count, answered conditions, returns."""
        while True:
            node = self._slice.ahead(node)
            match node:
                case If():
                    truth = self._mode(node)
                    truth = known.get(node.symbol) if truth is None else truth
                    if truth is None and _excluded(node.symbol, known.items()):
                        truth = False
                    if truth is None:
                        return node, returns
                    node = node.then if truth else node.orelse
                case End() if node is RETURN and returns:
                    node, returns = returns[0].next, returns[1]
                case _:
                    return node, returns

    def counts(self, act: Act) -> bool:
        """Whether an event is one of this layer's, among all ranks, and not one to skip."""
        return self._slice.counts(act)

    def _alike(self, left: Run, right: Run) -> bool:
        """Whether a call does the same on both sides, though its arguments may be each rank's own."""
        if left.variant == right.variant or family_of(left.variant) != family_of(right.variant):
            # Other arguments differ where one side had too many kinds of them: nothing to say of that.
            return True
        key = (left, right, self.layer)
        known = self.graphs.alike.get(key)
        if known is None:
            known = self.graphs.alike[key] = True  # where the call comes back to itself
            inside = Comparison(self.graphs, self.layer)
            try:
                known = inside.difference(self.graphs.root(left), self.graphs.root(right)) is None
            except GaveUp as reason:
                self.limits[f"what ranks do in {left.function.qualname}: {reason}"] = None
            except RecursionError:
                del self.graphs.alike[key]
                raise
            self.limits |= inside.limits
            self.graphs.alike[key] = known
        return known

    def _relevant(self, a: States, b: States) -> frozenset[Hashable]:
        """Symbols that either side may still ask: what both have answered holds for the one that asks again."""
        return self._ahead(a) | self._ahead(b)

    def _ahead(self, states: States) -> frozenset[Hashable]:
        found: frozenset[Hashable] = frozenset()
        for node, returns in states:
            found |= self._slice.symbols(node)
            while returns:
                found |= self._slice.symbols(returns[0].next)
                returns = returns[1]
        return found

    def _step(
        self,
        a: States,
        b: States,
        assumed: Assumptions,
        shared: frozenset[Hashable],
        remembered: frozenset[Hashable],
        trail: tuple[Act, ...],
        steps: list[Next],
    ) -> tuple[Difference, Assumptions] | None:
        """Compare what both may do next, for all answers to the conditions before it.

        Both go on together from one open condition to the next. Where they come to the same places with
        the same answers that may still matter, one of the ways there stands for all.
        """
        before = dict(assumed)
        seen: set[tuple[Hashable, ...]] = set()
        work: list[tuple[_Front, _Front, Fresh, frozenset[Hashable]]] = [
            (self._start(a), self._start(b), (), frozenset())
        ]
        while work:
            left, right, fresh, expand = work.pop()
            left, right, expand = self._fronts(left, right, before, fresh, shared, expand)
            asked = next(iter((*left.open.values(), *right.open.values())), None)
            if asked is not None:
                key = (
                    *(left.places(), left.ends, left.cut, right.places(), right.ends, right.cut),
                    *(expand, self._live(left, right, fresh, remembered)),
                )
                idle = len(fresh) >= _PRUNED_FROM and not (
                    self._may_act(left, before, fresh) or self._may_act(right, before, fresh)
                )
                if key not in seen and not idle:
                    seen.add(key)
                    work += [
                        (left, right, (*fresh, (asked, truth)), expand) for truth in (False, True)
                    ]
            elif left.acts.keys() == right.acts.keys() and left.ends == right.ends:
                steps += _further(left, right, assumed, fresh, trail)
            else:
                difference = _difference(left, right, trail)
                if difference is not None:
                    return difference, frozenset((s, t) for (s, loops), t in fresh if not loops)
        return None

    def _start(self, states: States) -> _Front:
        return _Front(open={(*state, ()): _NOTHING for state in sorted(states, key=_number)})

    def _live(
        self, left: _Front, right: _Front, fresh: Fresh, remembered: frozenset[Hashable]
    ) -> Fresh:
        """The answers that may still matter: to be remembered, or asked again before the next event."""
        ahead = [
            (crossed, self._ahead(frozenset({(node, returns)})))
            for node, returns, crossed in (*left.open, *right.open)
            if fresh
        ]
        return tuple(
            (asked, truth)
            for asked, truth in fresh
            if asked[0] in remembered
            or any(
                not self._passed(asked, crossed) and _bears_on(asked[0], truth, symbols)
                for crossed, symbols in ahead
            )
        )

    def _passed(self, asked: Asked, crossed: tuple[Head, ...]) -> bool:
        """Whether the iterations for which an answer was given are over."""
        symbol, instance = asked
        given = dict(instance)
        return any(lap > given.get(key, 0) for key, lap in self._instance(symbol, crossed))

    def _fronts(
        self,
        left: _Front,
        right: _Front,
        before: dict[Hashable, bool],
        fresh: Fresh,
        shared: frozenset[Hashable],
        expand: frozenset[Hashable],
    ) -> tuple[_Front, _Front, frozenset[Hashable]]:
        """What both sides may do next with the answers so far, and the calls that were looked into.

        Calls that both make are one step for both, unless the sides differ: then they are looked into.
        """
        answers = dict(fresh)
        while True:
            self._spend()
            left = self._advance(left, before, answers, shared, expand)
            right = self._advance(right, before, answers, shared, expand)
            if left.open or right.open:
                return left, right, expand
            lonely = left.calls.keys() ^ right.calls.keys()
            for key in left.calls.keys() & right.calls.keys():
                if not self._alike(_call(left.calls[key]).run, _call(right.calls[key]).run):
                    lonely.add(key)
            if not lonely:
                same = left.acts.keys() == right.acts.keys() and left.ends == right.ends
                lonely = set() if same else left.calls.keys() | right.calls.keys()
            if not lonely:
                return left, right, expand
            expand |= lonely

    def _advance(
        self,
        front: _Front,
        before: dict[Hashable, bool],
        answers: dict[Asked, bool],
        shared: frozenset[Hashable],
        expand: frozenset[Hashable],
    ) -> _Front:
        """Go on from the conditions that have an answer by now, and into the calls to look into."""
        if not front.open and front.calls.keys().isdisjoint(expand):
            return front
        self._spend(len(front.acts) + len(front.calls))
        ahead = _Front(
            {op: dict(places) for op, places in front.acts.items()},
            {key: dict(places) for key, places in front.calls.items() if key not in expand},
            front.ends,
            front.cut,
        )
        stack = list(front.open)[::-1]
        stack += (place for key in front.calls.keys() & expand for place in front.calls[key])
        seen: set[Place] = set()
        while stack:
            node, returns, crossed = stack.pop()
            node = self._slice.ahead(node)
            place = node, returns, crossed
            if place in seen:
                continue
            seen.add(place)
            self._spend()
            match node:
                case Act():
                    ahead.acts.setdefault(node.event.op, {})[place] = None
                case If():
                    truth = self._mode(node)
                    if truth is None:
                        truth, asked = self._answer(node.symbol, crossed, before, answers)
                        first = asked if node.symbol in shared else None
                        if first is None and not asked[1]:
                            first = self._excluder(node.symbol, before, answers, shared)
                        if truth is None and first is not None:
                            ahead.open[place] = first
                            continue
                    if truth is not False:
                        stack.append((node.then, returns, crossed))
                    if truth is not True:
                        stack.append((node.orelse, returns, crossed))
                case Head():
                    if crossed.count(node) >= _MAX_ROUNDS:
                        continue  # round and round without an event: nothing new
                    key = node.loop.key
                    crossed = (*crossed, node)
                    truth, asked = self._answer(key, crossed, {}, answers)
                    if truth is None and key in shared and node.exit is not None:
                        ahead.open[place] = asked
                        continue
                    if truth is not False or node.exit is None:
                        stack.append((node.body, returns, crossed))
                    if truth is not True and node.exit is not None:
                        stack.append((node.exit, returns, crossed))
                case Call():
                    ident = (node.run.function, id(node.node), _depth(returns))
                    if ident not in expand:
                        ahead.calls.setdefault(ident, {})[place] = None
                    elif _depth(returns) >= _MAX_STACK:
                        # A recursion: no claim about what is that deep.
                        name = node.run.function.qualname
                        self.limits[f"{name}: calls more than {_MAX_STACK} deep"] = None
                        ahead.cut = True
                    else:
                        stack.append((self._slice.root(node), (node, returns), crossed))
                case End():
                    if node is RETURN and returns:
                        stack.append((returns[0].next, returns[1], crossed))
                    elif node.kind != "raise":
                        ahead.ends = True
        return ahead

    def _may_act(self, front: _Front, before: dict[Hashable, bool], fresh: Fresh) -> bool:
        """Whether an event can follow at all, given the answers so far.

        Each open condition doubles the ways to look at; where one that is answered keeps all events out
        (`if args.horovod`), the others need no answer.
        """
        if front.acts:
            return True
        answers = dict(before)
        answers.update((symbol, truth) for (symbol, loops), truth in fresh if not loops)
        stack = [
            (node, returns, frozenset(s for head in crossed for s in head.loop.volatile))
            for node, returns, crossed in (*front.open, *itertools.chain(*front.calls.values()))
        ]
        seen: set[tuple[Node, Stack, frozenset[Hashable]]] = set()
        while stack:
            state = stack.pop()
            if state in seen:
                continue
            seen.add(state)
            self._spend()
            node, returns, anew = state
            node = self._slice.ahead(node)
            match node:
                case Act():
                    return True
                case If():
                    truth = self._mode(node)
                    if truth is None and node.symbol not in anew:
                        truth = answers.get(node.symbol)
                    if truth is not False:
                        stack.append((node.then, returns, anew))
                    if truth is not True:
                        stack.append((node.orelse, returns, anew))
                case Head():
                    truth = answers.get(node.loop.key) if node.loop.key not in anew else None
                    inside = anew | node.loop.volatile
                    if truth is not False:
                        stack.append((node.body, returns, inside))
                    if truth is not True and node.exit is not None:
                        stack.append((node.exit, returns, inside))
                case Call():
                    if _depth(returns) >= _MAX_STACK:
                        return True
                    stack.append((self._slice.root(node), (node, returns), anew))
                case End():
                    if node is RETURN and returns:
                        stack.append((returns[0].next, returns[1], anew))
        return False

    def _mode(self, node: If) -> bool | None:
        """What the assumed run answers: it has several ranks, is under way, and shards its model where
        the collectives of that count."""
        match node.symbol:
            case ("compare", "Eq" | "Gt" as how, ("attr", _, str() as name), ("constant", _, 1)):
                if name.endswith("world_size"):
                    # fairseq 0.12.2 trainer.py:854, `if distributed_world_size == 1: return None`.
                    return how == "Gt"
            case ("hasattr", ("function", _), _):
                # What a function keeps since its first call, which ranks make as the program starts
                # (fairseq 0.12.2 distributed/utils.py:423, a process group).
                return True
        sharded = (
            node.value is not None
            and "sharded-mode" in node.value.tags
            and self.layer >= Layer.SHARDED
        )
        return True if sharded else None

    def _spend(self, cost: int = 1) -> None:
        self._spent += cost
        if self._spent > _BUDGET:
            raise GaveUp(f"more than {_BUDGET} states to compare")

    def contents(self, root: Node) -> Contents:
        """What a graph may perform, call and go round in, through calls: of all layers."""
        events: dict[int, str] = {}
        places: set[Hashable] = set()
        seen: set[Node] = set()
        stack = [root]
        while stack:
            node = stack.pop()
            if node in seen:
                continue
            seen.add(node)
            stack += ways_on(node)
            match node:
                case Act(event=event):
                    events[id(event.node)] = event.op
                    if self.counts(node):
                        places.add(id(event.node))
                case Call():
                    places.add(id(node.node))
                    stack.append(self.graphs.root(node.run, node.known))
                case Head():
                    places.add(node.loop.key)
        return Contents(events, frozenset(places))

    def _answer(
        self,
        symbol: Hashable,
        crossed: tuple[Head, ...],
        assumed: dict[Hashable, bool],
        fresh: dict[Asked, bool],
    ) -> tuple[bool | None, Asked]:
        """How a symbol was answered, and for which iterations an answer is to be kept."""
        instance = self._instance(symbol, crossed)
        asked = symbol, instance
        if asked in fresh:
            return fresh[asked], asked
        truth = assumed.get(symbol) if not instance else None
        if truth is None and not instance:
            given = ((other, told) for (other, loops), told in fresh.items() if not loops)
            if _excluded(symbol, (*assumed.items(), *given)):
                truth = False
        return truth, asked

    def _excluder(
        self,
        symbol: Hashable,
        before: dict[Hashable, bool],
        answers: dict[Asked, bool],
        shared: frozenset[Hashable],
    ) -> Asked | None:
        """What both sides ask and have not answered yet, and what may exclude a symbol of one side."""
        if symbol not in self._excluders:
            found = [other for other in shared if _excluded(symbol, ((other, True),))]
            self._excluders[symbol] = sorted(found, key=repr)
        for other in self._excluders[symbol]:
            asked = other, _ONCE
            if other not in before and asked not in answers:
                return asked
        return None

    def _instance(self, symbol: Hashable, crossed: tuple[Head, ...]) -> Instance:
        """In which iterations of the loops that change it a symbol is asked.

        A loop that one side alone has says nothing of what both ask; an inner loop begins anew with each
        iteration of the one around it.
        """
        laps: dict[Hashable, int] = {}
        for head in crossed:
            key = head.loop.key
            if key in self._loops:
                for inner in [
                    other for other in laps if other != key and other in self._loops[key]
                ]:
                    del laps[inner]
                laps[key] = laps.get(key, 0) + 1
        return frozenset((key, lap) for key, lap in laps.items() if symbol in self._loops[key])


def _difference(left: _Front, right: _Front, trail: tuple[Act, ...]) -> Difference | None:
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
        trail[-12:],
        _chain(mine[0][1]) if mine else (),
        _chain(theirs[0][1]) if theirs else (),
    )


def _further(
    left: _Front, right: _Front, assumed: Assumptions, fresh: Fresh, trail: tuple[Act, ...]
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
        further.append((*both, carried, (*trail, event)[-12:], dropped))
    for key, places in left.calls.items():
        both = _behind(places), _behind(right.calls[key])
        further.append((*both, carried, trail, dropped))
    return further


def _act(place: Place) -> Act:
    assert isinstance(place[0], Act)
    return place[0]


def _call(places: Places) -> Call:
    call, _, _ = next(iter(places))
    assert isinstance(call, Call)
    return call


def _behind(places: Places) -> States:
    """The states that follow events or calls."""
    return frozenset(
        (node.next, returns) for node, returns, _ in places if isinstance(node, (Act, Call))
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
            if truth and _excluded(symbol, current.items()):
                found.update(other for other in current if _excluded(other, ((symbol, True),)))
                found.add(symbol)
    return frozenset(found)


def _excluded(symbol: Hashable, answers: Iterable[tuple[Hashable, bool]]) -> bool:
    """Whether `x == "a"` cannot hold, for `x` was answered to equal another constant."""
    match symbol:
        case ("compare", "Eq", what, ("constant", _, constant)):
            for other, truth in answers:
                match other:
                    case ("compare", "Eq", same, ("constant", _, another)) if truth:
                        if same == what and another != constant:
                            return True
    return False


def _bears_on(symbol: Hashable, truth: bool, symbols: frozenset[Hashable]) -> bool:
    """Whether an answer is one to any of these symbols, or excludes one."""
    if symbol in symbols:
        return True
    match symbol:
        case ("compare", "Eq", _, ("constant", _, _)) if truth:
            return any(_excluded(other, ((symbol, True),)) for other in symbols)
    return False


def _number(state: State) -> tuple[int, ...]:
    """Sorts states by the order in which their nodes were made: the same in every run."""
    node, returns = state
    return node.number, *(call.number for call in _chain(returns))


def _depth(stack: Stack) -> int:
    depth = 0
    while stack:
        depth += 1
        stack = stack[1]
    return depth


def _chain(stack: Stack) -> tuple[Call, ...]:
    """The calls of a stack, outermost first."""
    calls: list[Call] = []
    while stack:
        calls.append(stack[0])
        stack = stack[1]
    return tuple(reversed(calls))
