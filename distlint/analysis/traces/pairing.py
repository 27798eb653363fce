"""Collectives that ranks meet in from two functions: one half in each, called one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.interpreter.ir import Layer, Summary
from distlint.analysis.interpreter.ranks import RankClass
from distlint.analysis.live.joint_entry import calling, groups_of
from distlint.analysis.program.definitions import Function
from distlint.analysis.traces.compare import Comparison
from distlint.analysis.traces.fronts import GaveUp
from distlint.analysis.traces.graph import Graphs

if TYPE_CHECKING:
    from distlint.analysis.live.summaries import FunctionSummaries

Live = dict[Function, "FunctionSummaries"]

_OTHER_HALF: Final = {
    "__enter__": "__exit__",
    "__exit__": "__enter__",
    "__aenter__": "__aexit__",
    "__aexit__": "__aenter__",
}
"""Of a context manager Python calls both, whoever holds it: pairs need no caller that is known."""


class Pairing:
    """Whether the callers of a function bring the ranks together that part in it.

    `parting` are the functions of which a class of ranks does more than another. Seen from a caller such a call
    is as good as equal, since what is in it was compared: here they, and what leads to them, are looked into.
    """

    def __init__(self, live: Live, graphs: Graphs, parting: Iterable[Function]) -> None:
        self._live = live
        self._graphs = graphs
        self._callers = calling(
            (function, run) for function, runs in live.items() for _, run in runs.summaries()
        )
        self._opened = frozenset(self._leading(parting))

    def met_by_callers(
        self, function: Function, layer: Layer, op: str, waiters: RankClass, absent: RankClass
    ) -> bool:
        """Whether in every caller the ranks that wait in a function find the others in the same collective.

        `if rank != 0: barrier()` is in one method, `if rank == 0: barrier()` in another.
        """
        if self._met_in_other_half(function, op, (waiters, absent)):
            return True
        return self._met(function, layer, op, (waiters, absent), frozenset({function}))

    def _met_in_other_half(
        self, function: Function, op: str, ranks: tuple[RankClass, RankClass]
    ) -> bool:
        """Whether both classes come to a collective as often, counted over both halves of a context manager.

        LLM-Shearing b87218b instruction_tuning/alpaca_farm/common.py:64: even ranks wait in `__enter__`, odd ones
        in `__exit__`, and `with` gets one of several managers.
        """
        methods = function.cls.methods if function.cls is not None else {}
        other = methods.get(_OTHER_HALF.get(function.name, ""))
        if other not in self._live:
            return False
        waits, misses = 0, 0
        for half in (function, other):
            pairs = list(self._runs(half, ranks))
            if len(pairs) != 1:
                return False
            waits += self._count(pairs[0][0], op)
            misses += self._count(pairs[0][1], op)
        return waits == misses

    def _count(self, run: Summary, op: str) -> int:
        contents = Comparison(self._graphs, Layer.ALWAYS).contents(self._graphs.root(run))
        return list(contents.events.values()).count(op)

    def _met(
        self,
        function: Function,
        layer: Layer,
        op: str,
        ranks: tuple[RankClass, RankClass],
        below: frozenset[Function],
    ) -> bool:
        callers = self._callers.get(function, set())
        if not callers or callers & below or not callers <= self._live.keys():
            return False
        return all(
            self._equal(caller, layer, op, ranks)
            or self._met(caller, layer, op, ranks, below | {caller})
            for caller in callers
        )

    def _equal(
        self, function: Function, layer: Layer, op: str, ranks: tuple[RankClass, RankClass]
    ) -> bool:
        pairs = list(self._runs(function, ranks))
        return bool(pairs) and all(self._meet(layer, op, *pair) for pair in pairs)

    def _meet(self, layer: Layer, op: str, waits: Summary, misses: Summary) -> bool:
        comparison = Comparison(self._graphs, layer, opened=self._opened)
        left, right = self._graphs.root(waits), self._graphs.root(misses)
        here, there = comparison.contents(left).events, comparison.contents(right).events
        if op not in {name for node, name in there.items() if node not in here}:
            return False
        try:
            return comparison.difference(left, right) is None and not comparison.limits
        except (GaveUp, RecursionError):
            return False

    def _runs(
        self, function: Function, ranks: tuple[RankClass, RankClass]
    ) -> Iterator[tuple[Summary, Summary]]:
        for _, group in groups_of(self._live[function]):
            runs = dict(group)
            if ranks[0] in runs and ranks[1] in runs:
                yield runs[ranks[0]], runs[ranks[1]]

    def _leading(self, functions: Iterable[Function]) -> set[Function]:
        """The functions, and all that call them at any depth."""
        found: set[Function] = set()
        work = list(functions)
        while work:
            each = work.pop()
            if each not in found and each in self._live:
                found.add(each)
                work += self._callers.get(each, ())
        return found
