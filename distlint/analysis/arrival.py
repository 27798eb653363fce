"""Which functions several ranks are known to enter together, and what shows it.

A function with a path among its parameters may be called by anybody: under a guard, in a script that runs
on one process, in a notebook. Only where the program itself shows that the ranks come here together is it
a defect that all of them write. What shows it: the function performs a collective, it tells the ranks
apart by a test, a framework calls it on every rank, or such a function calls it under no test of the rank.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from distlint.analysis.ir import CallSite, Run
from distlint.analysis.program import Function, Module, Program
from distlint.analysis.ranks import MAIN, RankClass
from distlint.analysis.values import Closure, Spread
from distlint.knowledge import facts, hooks

if TYPE_CHECKING:
    from distlint.analysis.model import FunctionRuns

_TRAINERS: Final = ("transformers.", "lightning.", "composer.", "mmengine.")
"""Libraries whose trainers call the hooks; a plain module or dataset is used on one process too."""
_NOT_ON_ALL: Final = frozenset({"_save", "push_to_hub", "create_model_card"})
"""Methods of `transformers.Trainer` that up to 4.57 only the writing rank entered (trainer.py)."""


@dataclass(frozen=True, slots=True, eq=False)
class Arrival:
    """Why several ranks are known to enter a function: a clause for messages, and where that shows."""

    text: str
    module: Module
    node: ast.AST
    all_ranks: bool
    """Whether every rank must come: for a collective, or because a framework calls on every rank."""


def arrivals(program: Program, live: Mapping[Function, FunctionRuns]) -> dict[Function, Arrival]:
    """The functions that several ranks enter together, each with its reason."""
    found: dict[Function, Arrival] = {}
    for function, runs in live.items():
        for known, why in _reasons(program, function, runs):
            found.setdefault(known, why)
    work = list(found)
    while work:
        function = work.pop()
        reason = found[function]
        for site in together(live[function]):
            callee = site.callee
            if callee is not None and callee not in found and callee in live:
                found[callee] = reason
                work.append(callee)
    return found


def together(runs: FunctionRuns) -> Iterator[CallSite]:
    """The calls that rank 0 and other ranks make, under no condition of the rank; each once."""
    by_node: dict[int, tuple[CallSite, set[RankClass]]] = {}
    for rank, run in runs.runs():
        for site in run.calls:
            by_node.setdefault(id(site.node), (site, set()))[1].add(rank)
    for site, ranks in by_node.values():
        if MAIN in ranks and len(ranks) > 1 and not ranked(site):
            yield site


def ranked(site: CallSite) -> bool:
    """Whether who makes the call depends on the rank."""
    return any(guard.value.spread is Spread.RANK for guard in site.guards)


def _reasons(
    program: Program, function: Function, runs: FunctionRuns
) -> Iterator[tuple[Function, Arrival]]:
    if not any(rank is not MAIN for rank in runs.classes):
        return
    hook = _hook(program, function)
    if hook is not None:
        text = f"every rank runs `{hook}`"
        yield function, Arrival(text, function.module, function.node, True)
    for site in together(runs):
        if facts.is_collective(site.rows):
            name = site.name.rpartition(".")[2]
            text = f"every rank calls `{name}()`"
            yield function, Arrival(text, site.module, site.node, True)
        if site.method in hooks.ANY_REGISTRARS:
            for value in (*site.args, *site.keywords.values()):
                if isinstance(value.target, Closure):
                    text = f"every rank runs what is given to `{site.method}()`"
                    yield value.target.function, Arrival(text, site.module, site.node, True)
    for run in (run for _, run in runs.runs()):
        reason = _test(run)
        if reason is not None:
            yield function, reason
            return


def _test(run: Run) -> Arrival | None:
    """A test of the rank in the function itself: it would not ask if one rank alone came here."""
    for guard in run.divides:
        # A flag that the caller passes says nothing of where the caller calls.
        if guard.value.spread is Spread.RANK and guard.value.origin is not None:
            text = f"`{ast.unparse(guard.node)}` tells the ranks apart"
            return Arrival(text, guard.module, guard.node, False)
    return None


def _hook(program: Program, function: Function) -> str | None:
    """The name by which a framework calls a method on every rank; None where it does not."""
    if function.cls is None:
        return None
    own, outside = program.mro(function.cls)
    bases = (*outside, *(facts.canonical_name(c.full_name) for c in own[1:]))
    for base in facts.with_bases(bases):
        row = hooks.HOOKS.get(base)
        if (
            row is not None
            and base.startswith(_TRAINERS)
            and function.name in (*row.methods, "__init__")
            and function.name not in _NOT_ON_ALL
            and f"{base}.{function.name}" not in hooks.MAIN_ONLY_METHODS
        ):
            return f"{function.cls.name}.{function.name}"
    return None
