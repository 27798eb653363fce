"""The live runs of a function, and the calls that they make."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import field
from functools import cached_property

from distlint.analysis.interpreter.ir import CallSite, Summary
from distlint.analysis.interpreter.ranks import MAIN, RankClass
from distlint.analysis.interpreter.values import Variance
from distlint.analysis.program.definitions import Function
from distlint.analysis.program.memory import Memory
from distlint.records import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """Something the analysis could not do: where, and what (shown with --verbose).

    `function` and `reason` are said where the classes of ranks were not compared to the end of one.
    """

    path: str
    text: str
    function: str = ""
    reason: str = ""


@dataclass(slots=True, eq=False)
class FunctionSummaries:
    """The live runs of one function: for each variant of its arguments, the run of each rank class."""

    function: Function
    contexts: dict[object, dict[RankClass, Summary]] = field(default_factory=dict)
    callers: list[tuple[Summary, ast.AST]] = field(default_factory=list)
    memory: Memory = field(default_factory=dict)

    @property
    def classes(self) -> frozenset[RankClass]:
        """The rank classes that enter the function."""
        return frozenset(rank for summaries in self.contexts.values() for rank in summaries)

    def summaries(self) -> Iterator[tuple[RankClass, Summary]]:
        """Every live run with the rank class it stands for."""
        for summaries in self.contexts.values():
            yield from summaries.items()


@dataclass(frozen=True, eq=False)
class CallGroup:
    """A call in the source, with what each rank class that makes it sees there.

    `site` is the site of the first class; `sites` holds one for each run that makes the call.
    """

    site: CallSite
    sites: tuple[tuple[RankClass, CallSite], ...]
    entered_by: frozenset[RankClass]
    """The rank classes that enter the function the call stands in."""

    @cached_property
    def classes(self) -> frozenset[RankClass]:
        """The rank classes that make the call."""
        return frozenset(rank for rank, _ in self.sites)

    @property
    def by_all(self) -> bool:
        """Whether every class that enters the function makes the call, under no condition of the rank."""
        return self.classes == self.entered_by

    @cached_property
    def guarded_by_rank(self) -> bool:
        """Whether who makes the call depends on the rank: here, or where the function is called."""
        if (
            self.classes != self.entered_by
            or MAIN not in self.entered_by
            or len(self.entered_by) == 1 != len(self.classes)
        ):
            return True
        return any(g.value.variance is Variance.RANK_DEPENDENT for g in self.site.guards)
