"""What a run was told when it asked, so that a later check of the same process can take it over.

A run is made of its function, of what it was given, and of the answers to what it asked: what names mean, what other
runs come to, what is held outside functions. Where a later check would ask for it, the same questions are asked again
in the same order, as the run itself would. While the answers are what they were, so would the next question be; when
all are, so is the run. Nothing else is compared: no digest, no list of files.

It holds for as long as a file that did not change is the same module (`program.kept`): of what is in one file, a run
asks nobody.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from typing import Any, Final, NamedTuple

from distlint.analysis.interpreter.frame import SummarySource
from distlint.analysis.interpreter.ir import Asker, Summary
from distlint.analysis.interpreter.ranks import RankClass
from distlint.analysis.interpreter.signals import SignalWrites
from distlint.analysis.interpreter.values import (
    Closure,
    Either,
    Entries,
    OneOf,
    Origin,
    Partial,
    Value,
    Wrap,
)
from distlint.analysis.program.chosen import Choice
from distlint.analysis.program.definitions import Class, Definition, Function, Module
from distlint.analysis.program.memory import Memory, recall
from distlint.analysis.program.program import Program
from distlint.knowledge.facts import Knowledge
from distlint.records import dataclass

Given = tuple[dict[str, Value], Value | None, dict[str, Value]]
"""The arguments of a run, its receiver, and what it may read of the functions around it."""


class Asked(NamedTuple):
    """One question of a run, and what it was told. `held` are the variables of a module's body when it asked."""

    question: Callable[..., Any]
    of_program: bool
    about: tuple[Any, ...]
    answer: Any
    held: dict[str, Value] | None


@dataclass(slots=True, eq=False)
class Recorded:
    """A run with what it was given and told."""

    summary: Summary
    given: Given
    knowledge: Knowledge
    signals: SignalWrites
    asked: list[Asked]
    environment: dict[str, Value] = field(init=False)
    """The variables that a module's body has left."""

    def __post_init__(self) -> None:
        self.environment = self.summary.environment

    def is_of(self, source: SummarySource, given: Given) -> bool:
        """Whether the run was given this, under what holds for all runs."""
        return (
            alike(self.given, given)
            and self.knowledge is source.knowledge
            and (self.signals is source.signals or _same_signals(self.signals, source.signals))
        )

    def is_told_the_same(self, source: SummarySource) -> bool:
        """Ask all that the run has asked; whether it would be told the same again."""
        summary = self.summary
        summary.environment = {}
        for question, of_program, about, answer, held in self.asked:
            if held is not None:
                summary.environment = held
            told = question(source.program if of_program else source, *about)
            if told is not answer and not alike(told, answer):
                return False
        summary.environment = self.environment
        return True


class Asking:
    """What a run asks, noted with the answers: stands between the frame and the runs of the program."""

    def __init__(self, source: SummarySource, summary: Summary) -> None:
        self.knowledge = source.knowledge
        self.signals = source.signals
        self.asked: list[Asked] = []
        self.program: Program = AskedProgram(self)
        self.classes: dict[str, Class] = _AskedTable(self, False, _class_named)
        self._source = source
        self._body = summary if summary.function.is_module_body else None
        self._told: dict[tuple[Any, ...], Any] = {}

    def ask(self, question: Callable[..., Any], *about: Any) -> Any:
        """Ask what may be answered otherwise the next time, or may change what is under way."""
        held = None if self._body is None else dict(self._body.environment)
        answer = question(self._source, *about)
        self.asked.append(Asked(question, False, about, answer, held))
        return answer

    def ask_once(self, of_program: bool, question: Callable[..., Any], *about: Any) -> Any:
        """Ask what has one answer as long as the program is the same."""
        key = (question, *about)
        if key not in self._told:
            answer = question(self._source.program if of_program else self._source, *about)
            self._told[key] = answer
            self.asked.append(Asked(question, of_program, about, answer, None))
        return self._told[key]

    # -- what a frame asks ------------------------------------------------------------------------------

    def summary(
        self,
        function: Function,
        rank: RankClass,
        bound: dict[str, Value] | None = None,
        receiver: Value | None = None,
        captured: dict[str, Value] | None = None,
    ) -> Summary:
        """The run of a function on a class of ranks with these arguments."""
        found: Summary = self.ask(_summary, function, rank, bound, receiver, captured)
        return found

    def is_plain(
        self, function: Function, inputs: Iterable[Value], receiver: Value | None = None
    ) -> bool:
        """Whether a call with these arguments does nothing that concerns any rule."""
        found: bool = self.ask(_is_plain, function, tuple(inputs), receiver)
        return found

    def function_of(self, node: ast.AST) -> Function | None:
        """The function that a definition statement defines."""
        found: Function | None = self.ask_once(False, _function_of, node)
        return found

    def class_of(self, node: ast.AST) -> Class | None:
        """The class that a class statement defines."""
        found: Class | None = self.ask_once(False, _class_of, node)
        return found

    def annotation_type(self, module: Module, annotation: ast.expr | None) -> str | None:
        """The class that an annotation names, or None."""
        found: str | None = self.ask_once(False, _annotation_type, module, annotation)
        return found

    def global_value(self, module: Module, name: str, asker: Asker) -> Value | None:
        """What a name means at the top level of a module."""
        value: Value | None
        value, depends_on = self.ask(_global_value, module, name, asker.rank)
        asker.depends_on |= depends_on
        return value

    def class_attribute(self, cls: Class, attr: str) -> Value | None:
        """The value of a class variable."""
        found: Value | None = self.ask_once(False, _class_attribute, cls, attr)
        return found

    def instance_attribute(self, cls: Class, attr: str, asker: Asker) -> Value | None:
        """What the methods of a class assign to `self.attr`."""
        value: Value | None
        value, depends_on = self.ask(_instance_attribute, cls, attr, asker.rank)
        asker.depends_on |= depends_on
        return value

    def flag(self, cls: Class, attr: str, value: Value | None) -> Value | None:
        """The value of an attribute, as a signal handler may have changed it."""
        found: Value | None = self.ask(_flag, cls, attr, value)
        return found


# The questions. Each is asked again as it stands.


@dataclass(slots=True)
class _Asker:
    """A run that asks for a value: the predicates of the rank on which that depends are noted with it."""

    rank: RankClass
    depends_on: set[str] = field(default_factory=set)


def _summary(source: SummarySource, *about: Any) -> Summary:
    return source.summary(*about)


def _is_plain(source: SummarySource, *about: Any) -> bool:
    return source.is_plain(*about)


def _function_of(source: SummarySource, node: ast.AST) -> Function | None:
    return source.function_of(node)


def _class_of(source: SummarySource, node: ast.AST) -> Class | None:
    return source.class_of(node)


def _annotation_type(source: SummarySource, module: Module, node: ast.expr | None) -> str | None:
    return source.annotation_type(module, node)


def _class_named(source: SummarySource, name: str) -> Class | None:
    return source.classes.get(name)


def _class_attribute(source: SummarySource, cls: Class, attr: str) -> Value | None:
    return source.class_attribute(cls, attr)


def _flag(source: SummarySource, cls: Class, attr: str, value: Value | None) -> Value | None:
    return source.flag(cls, attr, value)


def _global_value(
    source: SummarySource, module: Module, name: str, rank: RankClass
) -> tuple[Value | None, frozenset[str]]:
    asker = _Asker(rank)
    value = source.global_value(module, name, asker)
    return value, frozenset(asker.depends_on)


def _instance_attribute(
    source: SummarySource, cls: Class, attr: str, rank: RankClass
) -> tuple[Value | None, frozenset[str]]:
    asker = _Asker(rank)
    value = source.instance_attribute(cls, attr, asker)
    return value, frozenset(asker.depends_on)


def _module_named(program: Program, name: str) -> Module | None:
    return program.modules.get(name)


def _all_modules(program: Program) -> tuple[tuple[str, Module], ...]:
    return tuple(program.modules.items())


class AskedProgram(Program):
    """The program as a run asks it."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking
        self.modules = _AskedModules(asking, True, _module_named)
        self.memory: Memory = _AskedMemory(asking)

    def lookup(self, dotted: str, depth: int = 0) -> Definition | None:
        found: Definition | None = self._asking.ask_once(True, Program.lookup, dotted, depth)
        return found

    def member(self, module: Module, name: str, depth: int = 0) -> Definition | None:
        found: Definition | None = self._asking.ask_once(True, Program.member, module, name, depth)
        return found

    def bases(self, cls: Class) -> tuple[Definition, ...]:
        found: tuple[Definition, ...] = self._asking.ask_once(True, Program.bases, cls)
        return found

    def resolve_dotted(self, module: Module, dotted: str) -> Definition | None:
        found: Definition | None = self._asking.ask_once(
            True, Program.resolve_dotted, module, dotted
        )
        return found

    def mro(self, cls: Class) -> tuple[tuple[Class, ...], tuple[str, ...]]:
        found: tuple[tuple[Class, ...], tuple[str, ...]] = self._asking.ask_once(
            True, Program.mro, cls
        )
        return found

    def find_method(self, cls: Class, name: str, after: Class | None = None) -> Function | None:
        found: Function | None = self._asking.ask_once(True, Program.find_method, cls, name, after)
        return found

    def subclasses(self, cls: Class) -> list[Class]:
        found: list[Class] = self._asking.ask_once(True, Program.subclasses, cls)
        return found

    def functions(self) -> Iterator[Function]:
        for module in self.modules.values():
            yield from module.all_functions


class _AskedTable(dict[str, Any]):
    """A table of the program that is asked for one name."""

    def __init__(self, asking: Asking, of_program: bool, question: Callable[..., Any]) -> None:
        super().__init__()
        self._asking = asking
        self._of_program = of_program
        self._question = question

    def get(self, key: str, default: Any = None) -> Any:
        found = self._asking.ask_once(self._of_program, self._question, key)
        return default if found is None else found

    def __contains__(self, key: object) -> bool:
        return self._asking.ask_once(self._of_program, self._question, key) is not None

    def __getitem__(self, key: str) -> Any:
        found = self._asking.ask_once(self._of_program, self._question, key)
        if found is None:
            raise KeyError(key)
        return found


class _AskedModules(_AskedTable):
    """The modules of the program; who goes through all of them has asked for each."""

    def _all(self) -> dict[str, Module]:
        return dict(self._asking.ask_once(True, _all_modules))

    def items(self) -> Any:
        return self._all().items()

    def values(self) -> Any:
        return self._all().values()

    def keys(self) -> Any:
        return self._all().keys()

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())


class _AskedMemory(Memory):
    """What is remembered of the program, as `remembered` looks it up."""

    def __init__(self, asking: Asking) -> None:
        super().__init__()
        self._asking = asking

    def get(self, function: Any, _default: Any = None) -> Any:
        return self[function]

    def __missing__(self, function: Any) -> Any:
        found = self[function] = _AskedAnswers(self._asking, function)
        return found


class _AskedAnswers(dict[Any, Any]):
    """What one function has found of the program: found now, where it has not."""

    def __init__(self, asking: Asking, function: Callable[..., Any]) -> None:
        super().__init__()
        self._asking = asking
        self._function = function

    def __contains__(self, key: object) -> bool:
        return True

    def __getitem__(self, key: Any) -> Any:
        return self._asking.ask_once(True, recall, self._function, key)


# Whether two answers are one


_PARTS: Final[dict[type, tuple[str, ...]]] = {
    Value: Value.__slots__,
    Closure: ("function", "captured", "receiver", "args", "keywords"),
    Partial: ("function", "args", "keywords"),
    OneOf: ("classes",),
    Either: ("names", "values"),
    Entries: ("named", "rest"),
    Origin: ("node", "module", "text", "kind"),
    Wrap: ("kind", "node", "module", "always", "instead"),
    Choice: ("candidates", "named", "open"),
}
"""What is made anew by each check, with what it is made of."""


def alike(one: Any, other: Any) -> bool:
    """Whether two answers say the same: of the same nodes, functions, classes and modules, which are objects of a file."""
    return _alike(one, other, set())


def _alike(one: Any, other: Any, seen: set[tuple[int, int]]) -> bool:
    if one is other:
        return True
    kind = one.__class__
    if kind is not other.__class__:
        return False
    if kind in _PARTS:
        pair = (id(one), id(other))
        if pair in seen:
            return True
        seen.add(pair)
        for part in _PARTS[kind]:
            mine, theirs = getattr(one, part), getattr(other, part)
            if mine is not theirs and not _alike(mine, theirs, seen):
                return False
        return True
    if kind is tuple or kind is list:
        if len(one) != len(other):
            return False
        for mine, theirs in zip(one, other, strict=True):
            if mine is not theirs and not _alike(mine, theirs, seen):
                return False
        return True
    if kind is dict:
        if list(one) != list(other):
            return False
        for name, mine in one.items():
            if mine is not (theirs := other[name]) and not _alike(mine, theirs, seen):
                return False
        return True
    if kind is Summary:
        return _is_cut(one) and _is_cut(other) and one.function is other.function
    return bool(one == other)


def _is_cut(summary: Summary) -> bool:
    """Whether a run stands for one that was under way, and holds nothing."""
    return (
        summary.arguments is not None
        and summary.returns is None
        and not (summary.steps or summary.calls or summary.attributes or summary.children)
        and not (summary.depends_on or summary.self_attributes or summary.filled)
    )


def _same_signals(one: SignalWrites, other: SignalWrites) -> bool:
    return (one.attributes, one.variables, one.handlers, one.names) == (
        other.attributes, other.variables, other.handlers, other.names
    )  # fmt: skip
