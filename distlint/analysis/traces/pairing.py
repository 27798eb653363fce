"""Collectives that ranks meet in from two functions: one half in each, called one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

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
        return self._met(function, layer, op, (waiters, absent), frozenset({function}))

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
