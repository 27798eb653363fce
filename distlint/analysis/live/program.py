"""The live program: every function followed from the entries on, for each class of ranks.

Only what live runs did is there: a function that the project calls only under `if rank == 0` is followed
for rank 0 alone.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterator
from functools import cached_property
from typing import TypeVar

from distlint.analysis.interpreter.ir import AttributeSite, CallSite, Summary
from distlint.analysis.interpreter.ranks import MAIN, RANK_KINDS, RankClass, classes_to_run
from distlint.analysis.interpreter.relevance import relevance
from distlint.analysis.interpreter.summaries import Summaries
from distlint.analysis.live.data_sets import makes_registered
from distlint.analysis.live.joint_entry import (
    Group,
    JointEntry,
    beside_a_collective,
    callers_of,
    groups_of,
    imported_again,
    joint_entries,
    together,
)
from distlint.analysis.live.processes import alone
from distlint.analysis.live.summaries import CallGroup, FunctionSummaries, Problem
from distlint.analysis.program.definitions import Definition, Function, Module, dotted_name
from distlint.analysis.program.linked import imported
from distlint.analysis.program.memory import Memory, all_remembered, remembered
from distlint.analysis.program.program import Program
from distlint.findings import Place
from distlint.knowledge import facts
from distlint.knowledge.facts import Knowledge
from distlint.knowledge.schema import CallRow, Effect

T = TypeVar("T")


def _needs_group(rows: tuple[CallRow, ...]) -> bool:
    """Whether a call is a collective in every mode, and so needs a process group."""
    return any(row.effect is Effect.COLLECTIVE for row in rows)


def _position(call: CallGroup) -> tuple[int, int]:
    return call.site.node.lineno, call.site.node.col_offset


class LiveProgram:
    """A program with the runs that its entries lead to."""

    def __init__(self, program: Program, knowledge: Knowledge) -> None:
        self.program = program
        self.knowledge = knowledge
        self.summaries = Summaries(self.program, knowledge)
        self.problems: list[Problem] = []
        self.memory: Memory = {}
        self._summaries: dict[Function, FunctionSummaries] = {}
        self._entries: list[tuple[Summary, RankClass]] = []
        self._answers: dict[object, object] = {}
        self._solve()

    # -- solving -------------------------------------------------------------------------------------

    def _solve(self) -> None:
        """Run every function that nothing calls, for each class of ranks, and all that they reach."""
        relevant = relevance(self.program, self.knowledge, self.summaries.signals.names)
        self.summaries.follow_only(relevant.plain)
        functions = [f for f in self.program.functions() if f in relevant.starts]
        for function in functions:
            # Nothing in the tree calls anything of that name, or what calls it by its class is a demo.
            if (
                function.is_module_body
                or function.name not in relevant.called
                or makes_registered(self.program, function)
            ):
                summary = self._safely(function, MAIN)
                if summary is not None:
                    self._enter(function, summary)
        called: set[Function] = set()
        plain: dict[Function, Summary] = {}
        for function in functions:
            if function in self._summaries:
                continue
            summary = self._safely(function, MAIN)
            if summary is not None:
                plain[function] = summary
        for summary in plain.values():
            called |= {
                child.function
                for child in summary.children
                if child.function is not summary.function
            }
        for function, summary in plain.items():
            if function not in called:
                self._enter(function, summary)
        for function, summary in plain.items():
            if function not in self._summaries:
                self._enter(function, summary)
        self.summaries.keep(
            {
                summary
                for summaries in self._summaries.values()
                for _, summary in summaries.summaries()
            }
        )
        self.summaries.let_go_of_earlier()
        for function, text in self.summaries.gave_up:
            self.problems.append(Problem(function.module.path, f"{function.qualname}: {text}"))

    def _safely(self, function: Function, rank: RankClass) -> Summary | None:
        try:
            return self.summaries.summary(function, rank)
        except RecursionError:
            self.summaries.reset()
            self.problems.append(
                Problem(function.module.path, f"{function.qualname}: nested too deeply to follow")
            )
            return None

    def _enter(self, function: Function, main: Summary) -> None:
        """Make the runs of an entry function live, and those they call."""
        depends_on = frozenset(main.depends_on)
        ranks = [MAIN, *(classes_to_run(depends_on) or classes_to_run(frozenset({"rank"})))]
        for rank in ranks:
            summary = self._safely(function, rank)
            if summary is not None:
                self._entries.append((summary, rank))
                self._mark_live(summary, rank)

    def _mark_live(self, root: Summary, rank: RankClass) -> None:
        stack = [root]
        while stack:
            summary = self.summaries.final(stack.pop())
            summaries = self._summaries.setdefault(
                summary.function, FunctionSummaries(summary.function)
            ).contexts.setdefault(summary.context, {})
            if rank in summaries:
                continue
            summaries[rank] = summary
            stack.extend(summary.children)

    def answer(self, question: Callable[[LiveProgram], T]) -> T:
        """What a question finds in this program; asked once, and remembered as long as the program."""
        if question not in self._answers:
            self._answers[question] = question(self)
        return self._answers[question]  # type: ignore[return-value]

    # -- what rules ask ------------------------------------------------------------------------------

    @property
    def modules(self) -> Iterator[Module]:
        """The modules on which findings are reported."""
        return (m for m in self.program.modules.values() if m.source.reported)

    def functions(self) -> Iterator[FunctionSummaries]:
        """The live runs of every function of the reported modules, in source order."""
        for module in self.modules:
            yield from self.functions_of(module)

    def functions_of(self, module: Module) -> Iterator[FunctionSummaries]:
        """The live runs of every function of a module, in source order."""
        for function in module.all_functions:
            summaries = self._summaries.get(function)
            if summaries is not None:
                yield summaries

    def summaries_of(self, function: Function) -> FunctionSummaries | None:
        """The live runs of a function."""
        return self._summaries.get(function)

    @cached_property
    def _calls_by_node(self) -> dict[int, CallGroup]:
        return {id(c.site.node): c for m in self.modules for c in _calls_of(self, m)}

    def call_at(self, node: ast.AST) -> CallGroup | None:
        """The call that a syntax node of a reported module makes; None where no rank makes it."""
        return self._calls_by_node.get(id(node))

    def calls(self, *names: str, module: Module | None = None) -> Iterator[CallGroup]:
        """Calls in the reported modules, in source order; with `names`, only calls of those.

        A name is canonical ("torch.save"), or ".method" for a method of whatever receiver.
        """
        for m in [module] if module is not None else list(self.modules):
            if not names:
                yield from _calls_of(self, m)
                continue
            by_name = _calls_by_name(self, m)
            found = {id(call): call for name in names for call in by_name.get(name, ())}
            yield from sorted(found.values(), key=_position)

    def attribute_writes(self) -> Iterator[AttributeSite]:
        """Attributes that any module sets on wrapped models."""
        for summaries in self._summaries.values():
            for _, summary in summaries.summaries():
                yield from (s for s in summary.attributes if isinstance(s.node.ctx, ast.Store))

    def attributes(
        self, *, each_wrap: bool = False
    ) -> Iterator[tuple[AttributeSite, frozenset[RankClass]]]:
        """Attributes read from wrapped models, and by which classes; with `each_wrap` once for each wrapper there.

        trl 0.11.4 trl/trainer/ppo_trainer.py: one method is handed the model of `prepare()` and an engine.
        """
        for module in self.modules:
            yield from _attributes_of(self, module, each_wrap)

    @cached_property
    def alone(self) -> frozenset[Function]:
        """The functions that only programs of one process run."""
        return alone(self.program)

    @cached_property
    def of_several(self) -> dict[Function, FunctionSummaries]:
        """The live runs without those that only programs of one process lead to."""
        if not self.alone:
            return self._summaries
        found: dict[Function, FunctionSummaries] = {}
        stack = list(self._entries)
        while stack:
            entry, rank = stack.pop()
            summary = self.summaries.final(entry)
            function = summary.function
            if function in self.alone:
                continue
            runs = found.setdefault(function, FunctionSummaries(function))
            by_rank = runs.contexts.setdefault(summary.context, {})
            if rank not in by_rank:
                by_rank[rank] = summary
                stack.extend((child, rank) for child in summary.children)
        return {f: found[f] for f in self._summaries if f in found}

    @cached_property
    def joint_entries(self) -> dict[Group, JointEntry]:
        """What shows that several ranks enter a function together, where something does."""
        return joint_entries(self.program, self._summaries, self.alone, self.launched)

    def launched(self, _: Module) -> Place | None:
        """Where a script is surely started on several processes; the code alone does not say."""
        return None

    def joint_entry_at(self, call: CallGroup) -> JointEntry | None:
        """What shows that several ranks come to a call together, under whatever arguments."""
        summaries = self._summaries.get(call.site.function)
        if summaries is None:
            return None
        found = (
            self.joint_entries.get((summaries.function, family))
            for family, _ in groups_of(summaries)
        )
        known = next(
            (each for each in found if each is not None and each.leads_to(call.site)), None
        )
        return known or imported_again(call.site)

    def collective_beside(self, call: CallGroup) -> JointEntry | None:
        """The collective that every rank performs whenever it comes to a call."""
        if call.site.function in self.alone:
            return None
        summaries = self._summaries.get(call.site.function)
        groups = groups_of(summaries) if summaries is not None else ()
        found = (beside_a_collective(call.site, group) for _, group in groups)
        return next((reason for reason in found if reason is not None), None)

    @cached_property
    def callers(self) -> dict[Function, list[CallSite]]:
        """The calls that rank 0 and other ranks make together, by the function that is called."""
        return callers_of(
            together(group)
            for summaries in self._summaries.values()
            for _, group in groups_of(summaries)
        )

    def resolve(self, module: Module, node: ast.AST) -> Definition | None:
        """What a name or chain of attributes means at the top level of a module."""
        return self.program.resolve_dotted(module, dotted_name(node))

    def is_distributed(self, module: Module) -> bool:
        """Whether a module shows that several ranks run it: it, or a module beside it that it imports,
        asks for the rank, calls a collective, wraps a model, or derives from a trainer."""
        return module in self._distributed

    @cached_property
    def _distributed(self) -> frozenset[Module]:
        own = {m for m in self.program.modules.values() if self._shows_ranks(m)}
        met = {function.module for function, _ in self.joint_entries}
        own |= met
        found = set(own)
        for module in self.program.modules.values():
            for other in imported(self.program, module):
                # What a script imports may be asked by many ranks; who starts the script is another
                # matter (open-instruct decontamination/index.py: one process, by hand).
                if other in own and (module in met or not module.is_script):
                    found.add(module)
                if module in own:
                    found.add(other)
        return frozenset(found)

    def _shows_ranks(self, module: Module) -> bool:
        for function in module.all_functions:
            summaries = self._summaries.get(function)
            if summaries is None:
                continue
            for _, summary in summaries.summaries():
                asks = summary.depends_on & RANK_KINDS and not module.is_script
                if asks or any(
                    facts.forward_waits(w.kind for w in a.receiver.wraps)
                    for a in summary.attributes
                ):
                    return True
                # `from_pretrained()` waits for other ranks where there are some.
                waits = _needs_group if module.is_script else facts.is_collective
                if any(site.rows and waits(site.rows) for site in summary.calls):
                    return True
        return any(facts.is_training_class(self.program.mro(cls)[1]) for cls in module.all_classes)


@remembered
def _calls_of(live: LiveProgram, module: Module) -> list[CallGroup]:
    """The calls in a reported module, in source order."""
    found: list[CallGroup] = []
    for summaries in live.functions_of(module) if module.source.reported else ():
        by_node: dict[int, list[tuple[RankClass, CallSite]]] = {}
        for rank, summary in summaries.summaries():
            for site in summary.calls:
                by_node.setdefault(id(site.node), []).append((rank, site))
        entered = summaries.classes
        for sites in by_node.values():
            sites.sort(key=lambda pair: pair[0].rank)
            found.append(CallGroup(sites[0][1], tuple(sites), entered))
    found.sort(key=_position)
    return found


@remembered
def _calls_by_name(live: LiveProgram, module: Module) -> dict[str, list[CallGroup]]:
    found: dict[str, list[CallGroup]] = {}
    for call in _calls_of(live, module):
        found.setdefault(call.site.name, []).append(call)
        method = f".{call.site.method}"
        if method != call.site.name:
            found.setdefault(method, []).append(call)
    return found


@all_remembered
def _attributes_of(
    live: LiveProgram, module: Module, each_wrap: bool
) -> Iterator[tuple[AttributeSite, frozenset[RankClass]]]:
    for summaries in live.functions_of(module):
        by_node: dict[Hashable, tuple[AttributeSite, set[RankClass]]] = {}
        for rank, summary in summaries.summaries():
            for site in summary.attributes:
                if isinstance(site.node.ctx, ast.Store):
                    continue
                layers = tuple((w.kind, id(w.node)) for w in site.receiver.wraps)
                key = (id(site.node), layers if each_wrap else ())
                by_node.setdefault(key, (site, set()))[1].add(rank)
        for site, ranks in sorted(
            by_node.values(), key=lambda p: (p[0].node.lineno, p[0].node.col_offset)
        ):
            yield site, frozenset(ranks)
