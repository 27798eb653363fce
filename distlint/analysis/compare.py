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

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from distlint.analysis.arrival import family_of
from distlint.analysis.graph import (
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
from distlint.analysis.ir import Layer, Run

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
Assumptions = frozenset[tuple[Hashable, bool]]
Instance = frozenset[tuple[Hashable, int]]
"""Which iteration of each loop that changes a symbol: by the loop's key, counted from the last event."""
Asked = tuple[Hashable, Instance]
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


@dataclass(slots=True)
class _Front:
    """What a side may do next: events by op, calls to look into only if the other side differs, ends."""

    acts: dict[str, tuple[Act, set[State], tuple[Call, ...]]]
    calls: dict[Hashable, tuple[Call, set[State]]]
    ends: bool
    dropped: frozenset[Hashable]
    split: Asked | None = None


@dataclass(frozen=True, slots=True)
class _Open:
    """A condition that both sides ask and that has no answer yet."""

    asked: Asked


class Comparison:
    """Compares graphs for one layer of events. `skip` are nodes of events that count as absent."""

    def __init__(self, graphs: Graphs, layer: Layer, skip: frozenset[int] = frozenset()) -> None:
        self.graphs = graphs
        self.layer = layer
        self.skip = skip
        self._slice = graphs.slice(layer, skip)
        self._spent = 0
        self._loops: dict[Hashable, frozenset[Hashable]] = {}
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
                found = self._step(a, b, assumed, shared, trail, steps)
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
        trail: tuple[Act, ...],
        work: list[Next],
    ) -> tuple[Difference, Assumptions] | None:
        """Compare what both may do next, for all answers to the conditions before it."""
        given: list[Fresh] = [()]
        while given:
            fresh = given.pop()
            found = self._fronts(a, b, assumed, fresh, shared)
            if isinstance(found, tuple):
                left, right = found
                if left.acts.keys() == right.acts.keys() and left.ends == right.ends:
                    work += _further(left, right, assumed, fresh, trail)
                    continue
                difference = _difference(left, right, trail)
                if difference is not None:
                    return difference, frozenset((s, t) for (s, loops), t in fresh if not loops)
            elif not (
                len(fresh) >= _PRUNED_FROM
                and not self._may_act(a, assumed, fresh)
                and not self._may_act(b, assumed, fresh)
            ):
                given += [(*fresh, (found.asked, False)), (*fresh, (found.asked, True))]
        return None

    def _fronts(
        self,
        a: States,
        b: States,
        assumed: Assumptions,
        fresh: Fresh,
        shared: frozenset[Hashable],
    ) -> tuple[_Front, _Front] | _Open:
        """What both sides may do next, or the condition that has to be answered first.

        Calls that both make are one step for both, unless the sides differ: then they are looked into.
        """
        expand: set[Hashable] = set()
        before, answers = dict(assumed), dict(fresh)
        while True:
            self._spend()
            left = self._front(a, before, answers, shared, expand)
            right = self._front(b, before, answers, shared, expand)
            split = left.split if left.split is not None else right.split
            if split is not None:
                return _Open(split)
            lonely = left.calls.keys() ^ right.calls.keys()
            for key in left.calls.keys() & right.calls.keys():
                if not self._alike(left.calls[key][0].run, right.calls[key][0].run):
                    lonely.add(key)
            if not lonely:
                same = left.acts.keys() == right.acts.keys() and left.ends == right.ends
                lonely = set() if same else left.calls.keys() | right.calls.keys()
            if not lonely:
                return left, right
            expand |= lonely

    def _front(
        self,
        states: States,
        assumed: dict[Hashable, bool],
        fresh: dict[Asked, bool],
        shared: frozenset[Hashable],
        expand: set[Hashable],
    ) -> _Front:
        front = _Front({}, {}, False, frozenset())
        stack: list[tuple[Node, Stack, tuple[Head, ...]]] = [
            (node, returns, ()) for node, returns in sorted(states, key=_number)
        ]
        seen: set[tuple[Node, Stack, tuple[Head, ...]]] = set()
        while stack:
            node, returns, crossed = stack.pop()
            node = self._slice.ahead(node)
            if (node, returns, crossed) in seen:
                continue
            seen.add((node, returns, crossed))
            self._spend()
            match node:
                case Act():
                    op = node.event.op
                    if op not in front.acts:
                        front.acts[op] = (node, set(), _chain(returns))
                    front.acts[op][1].add((node.next, returns))
                    front.dropped |= _asked_anew(crossed)
                case If():
                    truth = self._mode(node)
                    if truth is None:
                        truth, open_ = self._answer(node.symbol, crossed, assumed, fresh)
                        if truth is None and node.symbol in shared:
                            front.split = open_
                            return front
                    if truth is not False:
                        stack.append((node.then, returns, crossed))
                    if truth is not True:
                        stack.append((node.orelse, returns, crossed))
                case Head():
                    if crossed.count(node) >= _MAX_ROUNDS:
                        continue  # round and round without an event: nothing new
                    crossed = (*crossed, node)
                    key = node.loop.key
                    truth, open_ = self._answer(key, crossed, {}, fresh)
                    truth = True if node.exit is None else truth
                    if truth is None and key in shared:
                        front.split = open_
                        return front
                    if truth is not False:
                        stack.append((node.body, returns, crossed))
                    if truth is not True and node.exit is not None:
                        stack.append((node.exit, returns, crossed))
                case Call():
                    ident = (node.run.function, id(node.node), _depth(returns))
                    if ident in expand:
                        if _depth(returns) >= _MAX_STACK:
                            # A recursion: no claim about what is that deep.
                            name = node.run.function.qualname
                            self.limits[f"{name}: calls more than {_MAX_STACK} deep"] = None
                            continue
                        stack.append((self._slice.root(node), (node, returns), crossed))
                    else:
                        _, behind = front.calls.setdefault(ident, (node, set()))
                        behind.add((node.next, returns))
                        front.dropped |= _asked_anew(crossed)
                case End():
                    if node is RETURN and returns:
                        stack.append((returns[0].next, returns[1], crossed))
                    elif node.kind != "raise":
                        front.ends = True
        return front

    def _may_act(self, states: States, assumed: Assumptions, fresh: Fresh) -> bool:
        """Whether an event can follow at all, given the answers so far.

        Each open condition doubles the ways to look at; where one that is answered keeps all events out
        (`if args.horovod`), the others need no answer.
        """
        answers = dict(assumed)
        answers.update((symbol, truth) for (symbol, loops), truth in fresh if not loops)
        stack = [(node, returns, frozenset[Hashable]()) for node, returns in states]
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
        """Whether a model is sharded is assumed where its collectives are compared."""
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
    if any(op.startswith(OPAQUE) for op in left.acts.keys() ^ right.acts.keys()):
        return None
    pick_left = [left.acts[op] for op in left.acts if op not in right.acts]
    pick_right = [right.acts[op] for op in right.acts if op not in left.acts]
    pick_left = pick_left or list(left.acts.values())
    pick_right = pick_right or list(right.acts.values())
    return Difference(
        tuple(e for e, _, _ in pick_left),
        tuple(e for e, _, _ in pick_right),
        left.ends,
        right.ends,
        trail[-12:],
        pick_left[0][2] if pick_left else (),
        pick_right[0][2] if pick_right else (),
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
    for op, (event, states, _) in left.acts.items():
        both = frozenset(states), frozenset(right.acts[op][1])
        further.append((*both, carried, (*trail, event)[-12:], dropped))
    for key, (_, behind) in left.calls.items():
        both = frozenset(behind), frozenset(right.calls[key][1])
        further.append((*both, carried, trail, dropped))
    return further


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


def _asked_anew(crossed: tuple[Head, ...]) -> frozenset[Hashable]:
    """Symbols whose answers ended with the loops that were gone through."""
    return frozenset(symbol for head in crossed for symbol in head.loop.volatile)


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
