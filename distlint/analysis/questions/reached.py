"""Which ranks come to each collective: what an editor shows above the line."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from distlint.analysis.interpreter.ranks import MAIN, NODE_MAIN, OTHER, RankClass
from distlint.analysis.interpreter.values import Variance
from distlint.analysis.live.joint_entry import groups_of
from distlint.analysis.program.memory import all_remembered
from distlint.analysis.program.places import related
from distlint.analysis.traces.witness import text_of
from distlint.findings import Related
from distlint.knowledge.facts import is_collective

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.live.summaries import FunctionSummaries


def reached(live: LiveProgram) -> list[Related]:
    """The collectives of the reported modules, in source order, each with the ranks that come to it.

    Where a function is entered in several ways (a helper that all ranks call here and rank 0 there), each way
    counts. What a program of one process alone calls has no rank to name, and is left out.
    """
    return [
        related(summaries.function.module, node, " or ".join(ways))
        for summaries in live.functions()
        if summaries.function not in live.alone
        for node, ways in _collectives(summaries)
    ]


@all_remembered
def _collectives(summaries: FunctionSummaries) -> Iterator[tuple[ast.Call, list[str]]]:
    """The collectives of a function, each with the ranks that come to it, a text for each way in."""
    found: dict[int, tuple[ast.Call, dict[str, None]]] = {}
    for _, group in groups_of(summaries):
        entered = {rank for rank, _ in group}
        sites: dict[int, dict[RankClass, CallSite]] = {}
        for rank, summary in group:
            for site in summary.calls:
                if is_collective(site.rows):
                    sites.setdefault(id(site.node), {})[rank] = site
        for key, by_rank in sites.items():
            node = next(iter(by_rank.values())).node
            _, ways = found.setdefault(key, (node, {}))
            ways[_who(frozenset(by_rank), entered) + _condition(by_rank.values())] = None
    for node, ways in sorted(found.values(), key=lambda each: (each[0].lineno, each[0].col_offset)):
        yield node, sorted(ways)


def _who(making: frozenset[RankClass], entered: set[RankClass]) -> str:
    """The ranks that make a call, of those that enter its function."""
    if making >= {MAIN, OTHER}:
        without = sorted(rank.name for rank in entered - making)
        return "every rank" + (f" but {' and '.join(without)}" if without else "")
    if OTHER in making:
        return "every rank but 0"
    if making == {MAIN, NODE_MAIN}:
        return "the first rank of each node"
    if making == {MAIN}:
        return "rank 0 alone"
    return " and ".join(rank.name for rank in sorted(making, key=lambda each: each.rank))


def _condition(sites: Iterable[CallSite]) -> str:
    """What each rank decides for itself before the call, innermost: it may be another on every rank."""
    for site in sites:
        for guard in reversed(site.guards):
            if guard.value.variance is Variance.RANK_LOCAL:
                test = text_of(guard.node)
                return f" on which `{test}` {'holds' if guard.taken else 'does not hold'}"
    return ""
