"""What the questions of one session's checks came to, and what each of them had asked itself.

While a question is answered, all that it asks is noted with it. A later check takes its answer over where all of that
is answered as it was; where not, it is answered anew, and whoever had asked it is told only if the answer is another
one. So a change costs what depends on it, as far as answers differ (Adapton and Salsa work like that).

A question is a function of the model and of what it is about: nodes, functions, classes, modules, texts. It holds what
one module says for known as long as the module is that object (`program.kept`), and asks the model for all else.
"""

from __future__ import annotations

import ast
import enum
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Final, Generic, TypeVar

from distlint.analysis.interpreter.asking import alike
from distlint.analysis.interpreter.ir import Summary
from distlint.analysis.interpreter.values import Value
from distlint.analysis.live.summaries import CallGroup, FunctionSummaries
from distlint.analysis.program.definitions import Class, Function, Module
from distlint.analysis.questions.shares.values import Whose
from distlint.knowledge.facts import Knowledge

Root = TypeVar("Root")


class _Record(Generic[Root]):
    """One question with its answer: of which check it is, since which it is the same, and what it has asked."""

    __slots__ = ("about", "always", "answer", "asked", "question", "seen", "settled", "since")

    def __init__(self, question: Callable[..., Any], about: tuple[Any, ...]) -> None:
        self.question = question
        self.about = about
        self.always = question in _ALWAYS
        """Whether no other stands behind it."""
        self.answer: Any = None
        self.asked: tuple[_Record[Root], ...] = ()
        self.seen = 0
        self.since = 0
        self.settled = False
        """Whether the answer stays while all that was asked is answered as it was."""


class Ledger(Generic[Root]):
    """The questions of a session on files that belong together, and the check that is under way.

    `knowledge` is what they were answered with.
    """

    def __init__(self, knowledge: Knowledge) -> None:
        self.knowledge = knowledge
        self.runs: dict[Function, FunctionSummaries] = {}
        """The live runs of the last check."""
        self._records: dict[tuple[Any, ...], _Record[Root]] = {}
        self._root: Root
        self._now = 0
        self._open: list[dict[_Record[Root], None]] = []

    def begin(self, root: Root) -> None:
        """Another check, which asks `root`. What the last one did not ask is forgotten."""
        self._records = {k: r for k, r in self._records.items() if r.seen == self._now}
        self._root = root
        self._now += 1

    def ask(self, question: Callable[..., Any], *about: Any) -> Any:
        """What a question comes to: as in the last check, or now."""
        key = (question, *about)
        record = self._records.get(key)
        if record is None:
            record = self._records[key] = _Record(question, about)
        if self._open:
            self._open[-1][record] = None
        if record.seen != self._now:
            self._update(record)
        return record.answer

    def _update(self, record: _Record[Root]) -> None:
        seen = record.seen
        if not (record.settled and self._stay(record.asked, seen)):
            if record.always:
                answer = record.question(self._root, *record.about)
            else:
                asked: dict[_Record[Root], None] = {}
                self._open.append(asked)
                try:
                    answer = record.question(self._root, *record.about)
                finally:
                    self._open.pop()
                record.asked = tuple(asked)
            if not seen or not same(record.answer, answer):
                record.answer, record.since = answer, self._now
                record.settled = not record.always and is_settled(answer)
        record.seen = self._now

    def _stay(self, asked: tuple[_Record[Root], ...], seen: int) -> bool:
        """Whether questions have had the same answers since a check. Most of what a check does here: a loop, and no calls."""
        now = self._now
        for each in asked:
            if each.seen != now:
                try:
                    self._update(each)
                except Exception:  # whoever asks it meets that, too
                    return False
            if each.since > seen:
                return False
        return True


_ALWAYS: Final[set[Callable[..., Any]]] = set()

Question = TypeVar("Question", bound=Callable[..., Any])


def asked_always(question: Question) -> Question:
    """Mark a question that no other stands behind: each check asks it anew."""
    _ALWAYS.add(question)
    return question


# Whether two answers are one, and whether an answer holds all that it says

_SCALARS: Final = frozenset({str, int, float, bool, bytes, type(None), complex})
_WHOLE: Final = frozenset({Value, CallGroup})
"""What is made of parts that ask nobody."""
_RUNS: Final = Summary.__module__
_TRACES: Final = "distlint.analysis.traces."


@cache
def _is_object(kind: type) -> bool:
    """Whether what is of a kind says the same only where it is the same object: parts of files, and of runs, and what
    would take long to compare."""
    return kind.__module__ == _RUNS or issubclass(
        kind, (ast.AST, Function, Class, Module, FunctionSummaries, Whose, enum.Enum)
    )


@cache
def _parts(kind: type) -> tuple[str, ...] | None:
    """The fields that an object is made of; None where nobody says."""
    if is_dataclass(kind) and not kind.__module__.startswith(_TRACES):
        return tuple(field.name for field in fields(kind))
    return None


def same(one: Any, other: Any) -> bool:
    """Whether two answers say the same of the same objects."""
    if one is other:
        return True
    kind = one.__class__
    if kind is not other.__class__:
        return False
    if kind in _SCALARS:
        return bool(one == other)
    if kind is FunctionSummaries:
        return one.function is other.function and same(one.contexts, other.contexts)
    if _is_object(kind):
        return False
    if kind is Value:
        return alike(one, other)
    if issubclass(kind, (tuple, list)):
        return len(one) == len(other) and all(map(same, one, other))
    if issubclass(kind, dict):
        return len(one) == len(other) and all(
            same(mine, theirs) and same(one[mine], other[theirs])
            for mine, theirs in zip(one, other, strict=True)
        )
    if issubclass(kind, (frozenset, set)):
        return len(one) == len(other) and all(_is_in(each, other) for each in one)
    names = _parts(kind)
    return names is not None and all(
        same(getattr(one, name, None), getattr(other, name, None)) for name in names
    )


def _is_in(element: Any, others: Any) -> bool:
    """Whether a set holds an element, and not one that only compares equal."""
    kind = element.__class__
    if element not in others:
        return False
    return kind in _SCALARS or _is_object(kind) or any(same(element, other) for other in others)


def is_settled(answer: Any) -> bool:
    """Whether an answer is all there: no generator, no function, nothing that may ask the model later."""
    seen: set[int] = set()
    work = [answer]
    while work:
        each = work.pop()
        kind = each.__class__
        if kind in _SCALARS or kind in _WHOLE or _is_object(kind) or id(each) in seen:
            continue
        seen.add(id(each))
        if issubclass(kind, dict):
            work += each
            work += each.values()
        elif issubclass(kind, (tuple, list, frozenset, set)):
            work += each
        elif (names := _parts(kind)) is not None:
            work += [getattr(each, name, None) for name in names]
        else:
            return False
    return True
