"""How conditions were answered on the way so far, and for which iterations of loops that holds."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Final

from distlint.analysis.traces.nodes import LoopNode

Assumptions = frozenset[tuple[Hashable, bool]]
Instance = frozenset[tuple[Hashable, int]]
"""Which iteration of each loop that changes a symbol: by the loop's key, counted from the last event."""
Asked = tuple[Hashable, Instance]
Fresh = tuple[tuple[Asked, bool], ...]
"""Answers given since the last event, in the order in which they were needed."""

_ONCE: Final[Instance] = frozenset()
NOTHING: Final[Asked] = (None, _ONCE)


class Answers:
    """What is answered for both sides: `shared` symbols, and the `loops` of both with what they change."""

    def __init__(
        self, shared: frozenset[Hashable], loops: dict[Hashable, frozenset[Hashable]]
    ) -> None:
        self.shared = shared
        self._loops = loops
        self._excluders: dict[Hashable, list[Hashable]] = {}
        self._instances: dict[
            tuple[LoopNode, ...],
            tuple[tuple[tuple[Hashable, int], ...], dict[Hashable, Instance]],
        ] = {}

    def answer(
        self,
        symbol: Hashable,
        crossed: tuple[LoopNode, ...],
        assumed: dict[Hashable, bool],
        fresh: dict[Asked, bool],
    ) -> tuple[bool | None, Asked]:
        """How a symbol was answered, and for which iterations an answer is to be kept."""
        instance = self.instance(symbol, crossed)
        asked = symbol, instance
        if asked in fresh:
            return fresh[asked], asked
        truth = assumed.get(symbol) if not instance else None
        if truth is None and not instance:
            given = ((other, told) for (other, loops), told in fresh.items() if not loops)
            if excluded(symbol, (*assumed.items(), *given)):
                truth = False
        return truth, asked

    def excluder(
        self,
        symbol: Hashable,
        before: dict[Hashable, bool],
        answers: dict[Asked, bool],
    ) -> Asked | None:
        """What both sides ask and have not answered yet, and what may exclude a symbol of one side."""
        if symbol not in self._excluders:
            found = [other for other in self.shared if excluded(symbol, ((other, True),))]
            self._excluders[symbol] = sorted(found, key=repr)
        for other in self._excluders[symbol]:
            asked = other, _ONCE
            if other not in before and asked not in answers:
                return asked
        return None

    def passed(self, asked: Asked, crossed: tuple[LoopNode, ...]) -> bool:
        """Whether the iterations for which an answer was given are over."""
        symbol, instance = asked
        given = dict(instance)
        return any(lap > given.get(key, 0) for key, lap in self.instance(symbol, crossed))

    def instance(self, symbol: Hashable, crossed: tuple[LoopNode, ...]) -> Instance:
        """In which iterations of the loops that change it a symbol is asked."""
        if crossed not in self._instances:
            self._instances[crossed] = self._laps(crossed), {}
        laps, known = self._instances[crossed]
        if symbol not in known:
            known[symbol] = frozenset((key, lap) for key, lap in laps if symbol in self._loops[key])
        return known[symbol]

    def _laps(self, crossed: tuple[LoopNode, ...]) -> tuple[tuple[Hashable, int], ...]:
        """The loops of both sides that are gone through, and how often.

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
        return tuple(laps.items())


def excluded(symbol: Hashable, answers: Iterable[tuple[Hashable, bool]]) -> bool:
    """Whether `x == "a"` cannot hold, for `x` was answered to equal another constant."""
    match symbol:
        case ("compare", "Eq", what, ("constant", _, constant)):
            for other, truth in answers:
                match other:
                    case ("compare", "Eq", same, ("constant", _, another)) if truth:
                        if same == what and another != constant:
                            return True
    return False


def bears_on(symbol: Hashable, truth: bool, symbols: frozenset[Hashable]) -> bool:
    """Whether an answer is one to any of these symbols, or excludes one."""
    if symbol in symbols:
        return True
    match symbol:
        case ("compare", "Eq", _, ("constant", _, _)) if truth:
            return any(excluded(other, ((symbol, True),)) for other in symbols)
    return False
