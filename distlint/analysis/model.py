"""The analysed project, as rules see it.

    for site in model.calls():            # every call that some rank makes, with who makes it
        if site.name == "torch.save" and len(site.classes) > 1: ...
    for site in model.attributes(): ...   # attributes of wrapped models
    for divergence in model.divergences(): ...   # where the collectives of two rank classes part

Only what live runs did is there: a function that the project calls only under `if rank == 0` is followed
for rank 0 alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from distlint.analysis.arrival import Arrival, Group, arrivals, groups_of, together
from distlint.analysis.divergence import Divergence, divergences_of
from distlint.analysis.engine import Engine
from distlint.analysis.filesystem import FileCall, callers_of, file_calls, first_sections
from distlint.analysis.graph import Graphs
from distlint.analysis.ir import AttributeSite, CallSite, Run
from distlint.analysis.program import Class, Definition, Function, Module, Program, dotted_name
from distlint.analysis.ranks import MAIN, RankClass, classes_to_run
from distlint.analysis.relevance import relevance
from distlint.analysis.source import Source
from distlint.analysis.values import Spread
from distlint.findings import Place, Related
from distlint.fixing.edits import Span
from distlint.knowledge import facts
from distlint.project.columns import segment


@dataclass(frozen=True, slots=True)
class Problem:
    """Something the analysis could not do: where, and what (shown with --verbose)."""

    path: str
    text: str


@dataclass(slots=True, eq=False)
class FunctionRuns:
    """The live runs of one function: for each variant of its arguments, the run of each rank class."""

    function: Function
    variants: dict[object, dict[RankClass, Run]] = field(default_factory=dict)
    callers: list[tuple[Run, ast.AST]] = field(default_factory=list)

    @property
    def classes(self) -> frozenset[RankClass]:
        """The rank classes that enter the function."""
        return frozenset(rank for runs in self.variants.values() for rank in runs)

    def runs(self) -> Iterator[tuple[RankClass, Run]]:
        """Every live run with the rank class it stands for."""
        for runs in self.variants.values():
            yield from runs.items()


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """A call in the source, with what each rank class that makes it sees there.

    `site` is the site of the first class; `sites` holds one for each run that makes the call.
    """

    site: CallSite
    sites: tuple[tuple[RankClass, CallSite], ...]
    entered_by: frozenset[RankClass]
    """The rank classes that enter the function the call stands in."""

    @property
    def classes(self) -> frozenset[RankClass]:
        """The rank classes that make the call."""
        return frozenset(rank for rank, _ in self.sites)

    @property
    def by_all(self) -> bool:
        """Whether every class that enters the function makes the call, under no condition of the rank."""
        return self.classes == self.entered_by

    @property
    def guarded_by_rank(self) -> bool:
        """Whether who makes the call depends on the rank: here, or where the function is called."""
        if (
            self.classes != self.entered_by
            or MAIN not in self.entered_by
            or len(self.entered_by) == 1 != len(self.classes)
        ):
            return True
        return any(g.value.spread is Spread.RANK for g in self.site.guards)


def _position(call: Call) -> tuple[int, int]:
    return call.site.node.lineno, call.site.node.col_offset


class Model:
    """The analysed project."""

    def __init__(self, sources: Iterable[Source]) -> None:
        self.program = Program(list(sources))
        self.engine = Engine(self.program)
        self.graphs = Graphs(self.engine.final)
        self.problems: list[Problem] = []
        self._runs: dict[Function, FunctionRuns] = {}
        self._solve()

    # -- solving -------------------------------------------------------------------------------------

    def _solve(self) -> None:
        """Run every function that nothing calls, for each class of ranks, and all that they reach."""
        relevant = relevance(self.program, self.engine.signals.names)
        self.engine.plain = relevant.plain
        functions = [f for f in self.program.functions() if f in relevant.starts]
        for function in functions:
            # Nothing in the tree calls anything of that name.
            if function.is_module_body or function.name not in relevant.called:
                run = self._safely(function, MAIN)
                if run is not None:
                    self._enter(function, run)
        called: set[Function] = set()
        plain: dict[Function, Run] = {}
        for function in functions:
            if function in self._runs:
                continue
            run = self._safely(function, MAIN)
            if run is not None:
                plain[function] = run
        for run in plain.values():
            called |= {
                child.function for child in run.children if child.function is not run.function
            }
        for function, run in plain.items():
            if function not in called:
                self._enter(function, run)
        for function, run in plain.items():
            if function not in self._runs:
                self._enter(function, run)
        self.engine.keep({run for runs in self._runs.values() for _, run in runs.runs()})
        for function, text in self.engine.gave_up:
            self.problems.append(Problem(function.module.path, f"{function.qualname}: {text}"))

    def _safely(self, function: Function, rank: RankClass) -> Run | None:
        try:
            return self.engine.run(function, rank)
        except RecursionError:
            self.engine.reset()
            self.problems.append(
                Problem(function.module.path, f"{function.qualname}: nested too deeply to follow")
            )
            return None

    def _enter(self, function: Function, main: Run) -> None:
        """Make the runs of an entry function live, and those they call."""
        consulted = frozenset(main.consulted)
        ranks = [MAIN, *(classes_to_run(consulted) or classes_to_run(frozenset({"rank"})))]
        for rank in ranks:
            run = self._safely(function, rank)
            if run is not None:
                self._mark_live(run, rank)

    def _mark_live(self, root: Run, rank: RankClass) -> None:
        stack = [root]
        while stack:
            run = self.engine.final(stack.pop())
            runs = self._runs.setdefault(
                run.function, FunctionRuns(run.function)
            ).variants.setdefault(run.variant, {})
            if rank in runs:
                continue
            runs[rank] = run
            stack.extend(run.children)

    # -- what rules ask ------------------------------------------------------------------------------

    @property
    def modules(self) -> Iterator[Module]:
        """The modules on which findings are reported."""
        return (m for m in self.program.modules.values() if m.source.reported)

    def functions(self) -> Iterator[FunctionRuns]:
        """The live runs of every function of the reported modules, in source order."""
        for module in self.modules:
            for function in module.all_functions:
                runs = self._runs.get(function)
                if runs is not None:
                    yield runs

    def runs_of(self, function: Function) -> FunctionRuns | None:
        """The live runs of a function."""
        return self._runs.get(function)

    @cached_property
    def _calls(self) -> dict[Module, list[Call]]:
        found: dict[Module, list[Call]] = {}
        for runs in self.functions():
            by_node: dict[int, list[tuple[RankClass, CallSite]]] = {}
            for rank, run in runs.runs():
                for site in run.calls:
                    by_node.setdefault(id(site.node), []).append((rank, site))
            entered = runs.classes
            calls = found.setdefault(runs.function.module, [])
            for sites in by_node.values():
                sites.sort(key=lambda pair: pair[0].rank)
                calls.append(Call(sites[0][1], tuple(sites), entered))
        for calls in found.values():
            calls.sort(key=_position)
        return found

    @cached_property
    def _calls_by_node(self) -> dict[int, Call]:
        return {id(c.site.node): c for calls in self._calls.values() for c in calls}

    @cached_property
    def _calls_by_name(self) -> dict[Module, dict[str, list[Call]]]:
        found: dict[Module, dict[str, list[Call]]] = {}
        for module, calls in self._calls.items():
            by_name = found[module] = {}
            for call in calls:
                by_name.setdefault(call.site.name, []).append(call)
                method = f".{call.site.method}"
                if method != call.site.name:
                    by_name.setdefault(method, []).append(call)
        return found

    def call_at(self, node: ast.AST) -> Call | None:
        """The call that a syntax node of a reported module makes; None where no rank makes it."""
        return self._calls_by_node.get(id(node))

    def calls(self, *names: str, module: Module | None = None) -> Iterator[Call]:
        """Calls in the reported modules, in source order; with `names`, only calls of those.

        A name is canonical ("torch.save"), or ".method" for a method of whatever receiver.
        """
        for m in [module] if module is not None else list(self.modules):
            if not names:
                yield from self._calls.get(m, ())
                continue
            by_name = self._calls_by_name.get(m, {})
            found = {id(call): call for name in names for call in by_name.get(name, ())}
            yield from sorted(found.values(), key=_position)

    def attributes(self) -> Iterator[tuple[AttributeSite, frozenset[RankClass]]]:
        """Attributes read from, set on or deleted from wrapped models, and by which classes."""
        for runs in self.functions():
            by_node: dict[int, tuple[AttributeSite, set[RankClass]]] = {}
            for rank, run in runs.runs():
                for site in run.attributes:
                    by_node.setdefault(id(site.node), (site, set()))[1].add(rank)
            for site, ranks in sorted(
                by_node.values(), key=lambda p: (p[0].node.lineno, p[0].node.col_offset)
            ):
                yield site, frozenset(ranks)

    @cached_property
    def _divergences(self) -> list[Divergence]:
        found, problems = divergences_of(self._runs, self.graphs)
        self.problems.extend(Problem(path, text) for path, text in problems)
        return found

    def divergences(self) -> Iterator[Divergence]:
        """Where the traces of two rank classes part, in the reported modules; each origin once."""
        return (d for d in self._divergences if d.module.source.reported)

    @cached_property
    def arrivals(self) -> dict[Group, Arrival]:
        """What shows that several ranks enter a function together, where something does."""
        return arrivals(self.program, self._runs)

    def arrival_at(self, call: Call) -> Arrival | None:
        """What shows that several ranks come to a call together, under whatever arguments."""
        runs = self._runs.get(call.site.function)
        if runs is None:
            return None
        found = (self.arrivals.get((runs.function, family)) for family, _ in groups_of(runs))
        return next((arrival for arrival in found if arrival is not None), None)

    @cached_property
    def file_calls(self) -> list[FileCall]:
        """Every call of the reported modules that touches a file, in source order."""
        return file_calls(self)

    @cached_property
    def first_sections(self) -> list[tuple[Function, ast.With | ast.AsyncWith]]:
        """The `with` blocks of the reported modules that one rank runs before the others."""
        return first_sections(self)

    @cached_property
    def callers(self) -> dict[Function, list[CallSite]]:
        """The calls that rank 0 and other ranks make together, by the function that is called."""
        return callers_of(
            together(group) for runs in self._runs.values() for _, group in groups_of(runs)
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
        found = set(own)
        for module in self.program.modules.values():
            for dotted in module.imports.values():
                meaning = self.program.lookup(dotted)
                other = meaning.module if isinstance(meaning, (Function, Class)) else meaning
                if isinstance(other, Module) and other is not module:
                    if other in own:
                        found.add(module)
                    if module in own:
                        found.add(other)
        return frozenset(found)

    def _shows_ranks(self, module: Module) -> bool:
        for function in module.all_functions:
            runs = self._runs.get(function)
            if runs is None:
                continue
            for _, run in runs.runs():
                if run.consulted & {"rank", "local", "last"} or run.attributes:
                    return True
                if any(site.rows and facts.is_collective(site.rows) for site in run.calls):
                    return True
        return any(facts.is_training_class(self.program.mro(cls)[1]) for cls in module.all_classes)


def place_of(module: Module, node: ast.AST) -> Place:
    """The place of a syntax node in its file."""
    line = getattr(node, "lineno", 1)
    column = getattr(node, "col_offset", 0)
    return Place(
        module.path,
        line,
        column,
        getattr(node, "end_lineno", None) or line,
        getattr(node, "end_col_offset", None) or column,
    )


def related(module: Module, node: ast.AST, message: str) -> Related:
    """A place that explains a finding."""
    return Related(place_of(module, node), message)


def evidence(arrival: Arrival) -> tuple[Related, ...]:
    """The places that show that several ranks come to a function."""
    found = [related(arrival.module, arrival.node, arrival.text)]
    if arrival.call is not None:
        text = f"and calls `{arrival.call.method}()`, which leads here"
        found.append(related(arrival.call.module, arrival.call.node, text))
    return tuple(found)


def span_of(node: ast.AST) -> Span:
    """The span of a syntax node, for edits."""
    place = place_of_any(node)
    return Span(*place)


def place_of_any(node: ast.AST) -> tuple[int, int, int, int]:
    """Line, column, end line and end column of a node; a decorated definition starts at its decorator."""
    decorators: Sequence[ast.expr] = getattr(node, "decorator_list", ())
    line = min([node.lineno, *(d.lineno for d in decorators)])  # type: ignore[attr-defined]
    column = node.col_offset  # type: ignore[attr-defined]
    return line, column, node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]


def source_of(module: Module, node: ast.AST) -> str:
    """The text of a node as written."""
    return segment(module.source.text, node)
