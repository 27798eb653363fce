"""Values that live outside functions: variables of modules, attributes of classes and of their instances."""

from __future__ import annotations

import ast
from functools import cache
from typing import Protocol

from distlint.analysis.interpreter.ir import Asker, Summary
from distlint.analysis.interpreter.ranks import RankClass
from distlint.analysis.interpreter.signals import SignalWrites, set_by_signal
from distlint.analysis.interpreter.underway import AttributeKey, UnderWay
from distlint.analysis.interpreter.values import (
    HOST_ARRAY,
    NO_TAGS,
    UNKNOWN,
    Closure,
    Value,
    Variance,
    join,
)
from distlint.analysis.program.definitions import Class, Definition, Function, Module, dotted_name
from distlint.analysis.program.inherited import may_run
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.program import Program
from distlint.analysis.program.syntax import assignments
from distlint.knowledge.conventions import SURE
from distlint.knowledge.facts import Knowledge
from distlint.nodes import walk


class Runs(Protocol):
    """Where the runs come from that assign what lives outside functions."""

    under_way: UnderWay

    def summary(self, function: Function, rank: RankClass) -> Summary:
        """The run of a function on a class of ranks, whatever its arguments."""
        ...

    def note_cut_short(self, method: Function, rank: RankClass) -> None:
        """A run that was made to know what a method assigns was cut short by one that is under way."""
        ...


class Outside:
    """What the functions of one program share through modules, classes and instances."""

    def __init__(
        self, program: Program, knowledge: Knowledge, signals: SignalWrites, runs: Runs
    ) -> None:
        self._program = program
        self._knowledge = knowledge
        self._signals = signals
        self._runs = runs
        self._defined: dict[tuple[Module, str], Value] = {}
        self._rebound: dict[Module, frozenset[str]] = {}
        self._instance: dict[AttributeKey, tuple[Value | None, frozenset[str]]] = {}
        """Attributes of instances, each with the predicates that the runs asked which assign them."""
        self._computing: set[AttributeKey] = set()

    def clear(self) -> None:
        """Nothing is under way any more."""
        self._computing.clear()

    def global_value(self, module: Module, name: str, asker: Asker) -> Value | None:
        """What a name means at the top level of a module, on the asking run's class of ranks."""
        defined = self._defined.get((module, name))
        if defined is not None:
            return defined
        meaning = self._program.member(module, name)
        if meaning is not None:
            if isinstance(meaning, str) and (
                meaning in self._knowledge.attributes or meaning in SURE
            ):
                return None
            defined = self._defined[module, name] = definition(meaning)
            return defined
        if name in module.imports:
            # `from .state import RANK`: a variable of another module of the project.
            dotted = module.imports[name]
            home, _, attribute = dotted.rpartition(".")
            other = self._program.modules.get(home)
            if other is not None and other is not module and attribute in other.assigned:
                return self.global_value(other, attribute, asker)
            return Value(("unresolved", dotted))
        if name not in module.assigned:
            other = self._sharing(module, name)
            return self.global_value(other, name, asker) if other is not None else None
        written = self._signals.variables.get(module.body, {}).get(name)
        if written is not None:
            return set_by_signal(Value(("global", module.name, name)), written, module)
        value = self._variable(module.body, name, asker)
        if value is None:
            return Value(("global", module.name, name))
        if value.known and value.variance is Variance.UNIFORM and name in self._rebound_in(module):
            return Value(("global", module.name, name))
        return (
            value
            if value.known or value.target or value.type or value.wraps or value.variance
            else value.replace(key=("global", module.name, name))
        )

    def _sharing(self, module: Module, name: str) -> Module | None:
        """The module whose variable of a name `from … import *` gives: scBERT 262fd4b finetune.py:26."""
        if name.startswith("_"):
            return None
        shared = (self._program.modules.get(star) for star in reversed(module.star_imports))
        return next((m for m in shared if m and m is not module and name in m.assigned), None)

    def _variable(self, body: Function, name: str, asker: Asker) -> Value | None:
        """What the body of a module leaves in a variable; what it has come to while it is under way."""
        under_way = self._runs.under_way
        depth = under_way.depth_of((body, asker.rank, None))
        if depth is not None:
            value = under_way.variable(depth, name)
            # A flag may be set, called with and set back: what was called in between must not know it.
            changes = value is not None and value.known and len(assignments(body).get(name, ())) > 1
            if not changes and (value is None or value.variance is not Variance.RANK_DEPENDENT):
                under_way.read_variable(depth, name, value)
                return value
        summary = self._runs.summary(body, asker.rank)
        if summary.arguments is not None or _is_ranked(summary, name):
            asker.depends_on |= summary.depends_on
        return summary.environment.get(name)

    def _rebound_in(self, module: Module) -> frozenset[str]:
        """Names that functions of a module assign through `global`."""
        found = self._rebound.get(module)
        if found is None:
            names: set[str] = set()
            for function in module.all_functions if "global " in module.source.text else ():
                if not function.is_module_body:
                    for statement in walk(function.node, ast.Global):
                        names.update(statement.names)
            found = self._rebound[module] = frozenset(names)
        return found

    def class_attribute(self, cls: Class, attr: str) -> Value | None:
        """The value of a class variable."""
        for owner in self._program.mro(cls)[0]:
            node = owner.attributes.get(attr)
            if node is not None:
                if isinstance(node, ast.Constant):
                    return Value(("constant", type(node.value).__name__, node.value), node.value)
                return Value(("attr", owner.full_name, attr))
        return None

    def instance_attribute(self, cls: Class, attr: str, asker: Asker) -> Value | None:
        """What the methods of a class assign to `self.attr`: the join over all of them."""
        key = (cls, attr, asker.rank)
        known = self._instance.get(key)
        if known is not None:
            value, depends_on = known
            asker.depends_on |= depends_on
            return value
        if key in self._computing:
            begins = NO_TAGS if not self._is_array(cls, attr) else frozenset({HOST_ARRAY})
            return Value(("attr", ("self",), attr), tags=begins)
        self._computing.add(key)
        try:
            assigned, missing, depends_on, complete = self._assigned(cls, attr, asker.rank)
        finally:
            self._computing.discard(key)
        incomplete = bool(missing) and assigned is None
        if assigned is None:
            assigned = self.class_attribute(cls, attr)
        result = self._of_any_instance(cls, attr, assigned, incomplete)
        if attr in self._signals.names:
            result = self.flag(cls, attr, result)
        if missing:
            self._runs.under_way.assume_attribute(missing, key, result)
        elif complete:
            self._instance[key] = result, depends_on
        asker.depends_on |= depends_on
        return result

    def _assigned(
        self, cls: Class, attr: str, rank: RankClass
    ) -> tuple[Value | None, list[int], frozenset[str], bool]:
        """What methods assign to an attribute, how deep those are under way that are left out, the
        predicates on which it depends, and whether no recursion cut the runs short that assign it."""
        result: Value | None = None
        complete = True
        missing: list[int] = []
        depends_on: set[str] = set()
        for method in self._assigning(cls, attr):
            under_way = self._runs.under_way.depths_of(method)
            if under_way:
                missing += under_way
                result = result or self._by_now(cls, attr, method, under_way)
                continue
            summary = self._runs.summary(method, rank)
            value = summary.self_attributes.get(attr)
            if summary.arguments is not None:
                complete = False
                self._runs.note_cut_short(method, rank)
            if value is None:
                continue
            if value.variance is not Variance.UNIFORM:
                depends_on |= summary.depends_on
            result = value if result is None else join(result, value, ("attr", ("self",), attr))
        return result, missing, frozenset(depends_on), complete

    def _by_now(self, cls: Class, attr: str, method: Function, depths: list[int]) -> Value | None:
        """What a method under way has assigned to an attribute that is assigned nowhere else: all ranks have it.

        ARRWM e7599a7 trainer/diffusion_train.py:79: `self.is_distributed = …` in the constructor, which calls
        `self._resolve_logdir(…)` further down.
        """
        if (
            len(self._assigning(cls, attr)) > 1
            or len(assignments(method).get(f"self.{attr}", ())) != 1
        ):
            return None
        values = [self._runs.under_way.attribute(depth, attr) for depth in depths]
        first = values[0]
        if first is None or first.variance is not Variance.UNIFORM or len(values) > 1:
            return None
        return first

    def _assigning(self, cls: Class, attr: str) -> list[Function]:
        """The methods that assign an attribute and run on objects of a class."""
        methods = [m for o in self._program.mro(cls)[0] for m in o.self_assigned.get(attr, ())]
        if all(method.cls is cls for method in methods):
            return methods
        return [m for m in methods if may_run(self._program, cls, m)] or methods

    def _is_array(self, cls: Class, attr: str) -> bool:
        """Whether a method gives an attribute an array of numpy's, which others then filter.

        CodeRL ec3c526 transformers/examples/research_projects/distillation/lm_seqs_dataset.py:34: `self.lengths` is
        `np.array([len(t) for t in data])`, and `self.lengths[self.lengths > 11]` in a method of the constructor's.
        """
        return any(
            isinstance(value, ast.Call)
            and str(
                self._program.resolve_dotted(method.module, dotted_name(value.func))
            ).startswith("numpy.")
            for method in self._assigning(cls, attr)
            for value in assignments(method).get(f"self.{attr}", ())
        )

    def _of_any_instance(
        self, cls: Class, attr: str, value: Value | None, incomplete: bool
    ) -> Value | None:
        """What is known of an attribute at any time: a constant only where one method alone assigns it."""
        if value is None or (value.known and value.variance is not Variance.UNIFORM):
            return value
        times = len(self._assigning(cls, attr))
        if value.known and (times != 1 or incomplete):
            value = value.replace(const=UNKNOWN)
        once = times == 1
        return value.replace(
            key=("attr", ("self",), attr),
            items=value.items if once else None,
            entries=value.entries if once else None,
            logic=None,
        )

    def flag(self, cls: Class, attr: str, value: Value | None) -> Value | None:
        """The value of an attribute of a class, as a signal handler may have changed it."""
        for owner in self._program.mro(cls)[0]:
            node = self._signals.attributes.get(owner, {}).get(attr)
            if node is not None:
                known = value or Value(("attr", ("self",), attr))
                return set_by_signal(known, node, owner.module)
        return value


def definition(meaning: Definition) -> Value:
    """The value of a name that means this, on every rank: one object for all checks, which need not compare what it holds."""
    match meaning:
        case Function():
            return _function(meaning)
        case Class():
            return _class(meaning.module, meaning)
        case Module():
            return _module(meaning)
        case str():
            return _external(meaning)


@remembered
def _function(function: Function) -> Value:
    return Value(("function", id(function)), target=Closure(function, {}))


@remembered
def _class(_: Module, cls: Class) -> Value:
    return Value(("class", id(cls)), target=cls)


@remembered
def _module(module: Module) -> Value:
    return Value(("module", module.name), target=module)


@cache
def _external(name: str) -> Value:
    return Value(("external", name), target=name)


def _is_ranked(summary: Summary, name: str) -> bool:
    """Whether a variable that a module's body leaves depends on the rank."""
    value = summary.environment.get(name)
    return value is not None and value.variance is Variance.RANK_DEPENDENT
