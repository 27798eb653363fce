"""How far one side may go: on from open conditions, through calls and loops, up to its next events."""

from __future__ import annotations

import itertools
from collections.abc import Hashable
from dataclasses import field
from typing import Any, Final

from distlint.analysis.interpreter.ir import Layer
from distlint.analysis.traces.answers import NOTHING, Answers, Asked, Fresh, excluded
from distlint.analysis.traces.nodes import (
    RETURN,
    BranchNode,
    CallNode,
    End,
    EndKind,
    EventNode,
    LoopNode,
    Node,
    fails,
    ways_on,
)
from distlint.analysis.traces.slicing import Slice
from distlint.knowledge import assumed
from distlint.records import dataclass

MAX_STATES: Final = 40_000
"""How much one comparison may look at."""
_MAX_STACK: Final = 24
_MAX_ROUNDS: Final = 2
"""How often a loop may be gone through without an event: a third time leads nowhere new."""

Stack = tuple[Any, ...]
"""The calls that a node is inside of, innermost first: () or (call, rest of the stack)."""
State = tuple[Node, Stack]
States = frozenset[State]
Place = tuple[Node, Stack, "tuple[LoopNode, ...]"]
"""A state, and the loops gone through since the last event."""
Places = dict[Place, None]
"""Where a side may stand, in the order in which it was found."""


class GaveUp(Exception):
    """The budget was spent before the comparison was decided."""


class Budget:
    """Counts what a comparison looks at."""

    def __init__(self) -> None:
        self._spent = 0

    def spend(self, cost: int = 1) -> None:
        """Count; raises GaveUp where it is too much."""
        self._spent += cost
        if self._spent > MAX_STATES:
            raise GaveUp(f"more than {MAX_STATES} states to compare")


@dataclass(slots=True)
class Front:
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


class Walk:
    """Leads the sides of one comparison on. `limits` takes what was not followed to its end."""

    def __init__(
        self, slice_: Slice, answers: Answers, budget: Budget, limits: dict[str, None]
    ) -> None:
        self._slice = slice_
        self._answers = answers
        self._budget = budget
        self._limits = limits

    def start(self, states: States) -> Front:
        """A side at these states."""
        return Front(open={(*state, ()): NOTHING for state in sorted(states, key=_number)})

    def settle(self, node: Node, returns: Stack, known: dict[Hashable, bool]) -> tuple[Node, Stack]:
        """Go on over what needs no decision: events that do not count, answered conditions, returns."""
        while True:
            node = self._slice.ahead(node)
            match node:
                case BranchNode():
                    truth = self._sharded(node)
                    truth = known.get(node.symbol) if truth is None else truth
                    if truth is None and excluded(node.symbol, known.items()):
                        truth = False
                    if truth is None:
                        return node, returns
                    node = node.then if truth else node.orelse
                case End() if node is RETURN and returns:
                    node, returns = returns[0].next, returns[1]
                case _:
                    return node, returns

    def symbols(self, states: States) -> frozenset[Hashable]:
        """The symbols that a side may still ask."""
        found: frozenset[Hashable] = frozenset()
        for node, returns in states:
            found |= self._slice.symbols(node)
            while returns:
                found |= self._slice.symbols(returns[0].next)
                returns = returns[1]
        return found

    def advance(
        self,
        front: Front,
        before: dict[Hashable, bool],
        answers: dict[Asked, bool],
        expand: frozenset[Hashable],
    ) -> Front:
        """Go on from the conditions that have an answer by now, and into the calls to look into."""
        if not front.open and front.calls.keys().isdisjoint(expand):
            return front
        self._budget.spend(len(front.acts) + len(front.calls))
        ahead = Front(
            {op: dict(places) for op, places in front.acts.items()},
            {key: dict(places) for key, places in front.calls.items() if key not in expand},
            front.ends,
            front.cut,
        )
        stack = list(front.open)[::-1]
        # In the order in which they were met: that of a set of keys is another in each process.
        stack += (p for key, places in front.calls.items() if key in expand for p in places)
        seen: set[Place] = set()
        while stack:
            node, returns, crossed = stack.pop()
            node = self._slice.ahead(node)
            place = node, returns, crossed
            if place in seen:
                continue
            seen.add(place)
            self._budget.spend()
            match node:
                case EventNode() if not self._slice.counts(node):
                    # Of a loop without an end that has nothing else: it goes round and round.
                    stack.append((node.next, returns, crossed))
                case EventNode():
                    ahead.acts.setdefault(node.event.op, {})[place] = None
                case BranchNode() | LoopNode():
                    if isinstance(node, LoopNode):
                        if crossed.count(node) >= _MAX_ROUNDS:
                            continue  # round and round without an event: nothing new
                        crossed = (*crossed, node)
                    truth, first = self._asked(node, crossed, before, answers)
                    if truth is None and first is not None:
                        ahead.open[place] = first
                    else:
                        stack += [(way, returns, crossed) for way in _ways(node, truth)]
                case CallNode():
                    ident = (node.summary.function, id(node.node), _depth(returns))
                    if ident not in expand:
                        ahead.calls.setdefault(ident, {})[place] = None
                    elif _depth(returns) >= _MAX_STACK:
                        # A recursion: no claim about what is that deep.
                        name = node.summary.function.qualname
                        self._limits[f"{name}: calls more than {_MAX_STACK} deep"] = None
                        ahead.cut = True
                    else:
                        stack.append((self._slice.root(node), (node, returns), crossed))
                case End():
                    if node is RETURN and returns:
                        stack.append((returns[0].next, returns[1], crossed))
                    elif node.kind is not EndKind.RAISE:
                        ahead.ends = True
        return ahead

    def _asked(
        self,
        node: BranchNode | LoopNode,
        crossed: tuple[LoopNode, ...],
        before: dict[Hashable, bool],
        answers: dict[Asked, bool],
    ) -> tuple[bool | None, Asked | None]:
        """How a decision is answered, else what both sides have to answer before it is taken."""
        if isinstance(node, LoopNode):
            key = node.loop.key
            truth, asked = self._answers.answer(key, crossed, {}, answers)
            both = key in self._answers.shared and node.exit is not None
            return truth, asked if both else None
        mode = self._sharded(node)
        if mode is not None:
            return mode, None
        truth, asked = self._answers.answer(node.symbol, crossed, before, answers)
        if node.symbol in self._answers.shared:
            return truth, asked
        if fails(node):
            # What fails on one side alone is said of that side (DL105): here it stands where it did not fail (DEIM a9aa4ad
            # engine/backbone/hgnetv2.py:502, a barrier in each arm, behind a download of rank 0).
            return False, None
        return truth, None if asked[1] else self._answers.excluder(node.symbol, before, answers)

    def may_act(self, front: Front, before: dict[Hashable, bool], fresh: Fresh) -> bool:
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
            self._budget.spend()
            node, returns, anew = state
            node = self._slice.ahead(node)
            match node:
                case EventNode() if not self._slice.counts(node):
                    stack.append((node.next, returns, anew))
                case EventNode():
                    return True
                case BranchNode():
                    truth = self._sharded(node)
                    if truth is None and node.symbol not in anew:
                        truth = answers.get(node.symbol)
                    stack += [(way, returns, anew) for way in _ways(node, truth)]
                case LoopNode():
                    truth = answers.get(node.loop.key) if node.loop.key not in anew else None
                    inside = anew | node.loop.volatile
                    stack += [(way, returns, inside) for way in _ways(node, truth)]
                case CallNode():
                    if _depth(returns) >= _MAX_STACK:
                        return True
                    stack.append((self._slice.root(node), (node, returns), anew))
                case End():
                    if node is RETURN and returns:
                        stack.append((returns[0].next, returns[1], anew))
        return False

    def _sharded(self, node: BranchNode) -> bool | None:
        """What the layer answers: a model is sharded where the collectives of that count."""
        value = node.value
        tagged = value is not None and "sharded-mode" in value.tags
        if tagged and self._slice.layer >= Layer.SHARDED:
            return True
        named = self._slice.layer is Layer.SHARDED and assumed.asks_for_sharding(node.symbol)
        return True if named else None


def _ways(node: BranchNode | LoopNode, truth: bool | None) -> tuple[Node, ...]:
    """The ways on from a decision with this answer; a loop without end is gone into in any case."""
    ways = ways_on(node)
    if truth is None or len(ways) == 1:
        return ways
    return ways[:1] if truth else ways[1:]


def _number(state: State) -> tuple[int, ...]:
    """Sorts states by the order in which their nodes were made: the same in every run."""
    node, returns = state
    return node.number, *(call.number for call in chain_of(returns))


def _depth(stack: Stack) -> int:
    depth = 0
    while stack:
        depth += 1
        stack = stack[1]
    return depth


def chain_of(stack: Stack) -> tuple[CallNode, ...]:
    """The calls of a stack, outermost first."""
    calls: list[CallNode] = []
    while stack:
        calls.append(stack[0])
        stack = stack[1]
    return tuple(reversed(calls))
