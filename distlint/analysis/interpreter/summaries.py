"""Makes runs on demand and remembers them: one for each function, class of ranks and set of bound arguments.

A run that a recursion cut short is used where it was made and then forgotten; only complete runs are
remembered. Functions in which nothing depends on the rank are run once for all classes.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterable
from typing import Final

from distlint.analysis.interpreter.annotations import Annotations
from distlint.analysis.interpreter.arguments import (
    Arguments,
    class_of,
    holds_models,
    mentions_rank,
)
from distlint.analysis.interpreter.asking import Asking, Given, Recorded
from distlint.analysis.interpreter.frame import SummarySource
from distlint.analysis.interpreter.interpreter import follow
from distlint.analysis.interpreter.ir import Asker, Summary
from distlint.analysis.interpreter.outside import Outside
from distlint.analysis.interpreter.ranks import MAIN, RANK_CLASSES, RANK_KINDS, RankClass
from distlint.analysis.interpreter.signals import signal_writes
from distlint.analysis.interpreter.underway import Key, UnderWay
from distlint.analysis.interpreter.values import Value
from distlint.analysis.program.definitions import Class, Function, Module
from distlint.analysis.program.program import Program
from distlint.knowledge.facts import Knowledge

_Kept = dict[tuple[RankClass, Hashable], list[Recorded]]
"""The runs of one function."""

_MAX_NESTING: Final = 120
_MAX_CONTEXTS: Final = 16


class Summaries:
    """All runs of one program."""

    def __init__(self, program: Program, knowledge: Knowledge) -> None:
        self.program = program
        self._earlier: dict[Function, _Kept] | None = {} if program.is_kept else None
        """The runs of the last check, by function, from the first time that one of it is asked for."""
        self.knowledge = knowledge
        self.classes: dict[str, Class] = {}
        self._functions_by_node: dict[int, Function] = {}
        self._classes_by_node: dict[int, Class] = {}
        for module in program.modules.values():
            for cls in module.all_classes:
                self.classes[cls.full_name] = cls
                self._classes_by_node[id(cls.node)] = cls
            for function in module.all_functions:
                self._functions_by_node[id(function.node)] = function
        self.signals = signal_writes(program)
        self.under_way = UnderWay()
        self._annotations = Annotations(program)
        self._arguments = Arguments(program, knowledge, self._annotations, self.classes)
        self._outside = Outside(program, knowledge, self.signals, self)
        self._memo: dict[Key, Summary] = {}
        self._provisional: dict[Key, Summary] = {}
        self._finals: dict[Summary, Summary] = {}
        self._cut_short: dict[tuple[Function, RankClass], None] = {}
        """Runs that were made to know what methods assign, and were cut short."""
        self._contexts: dict[tuple[Function, RankClass], set[Hashable]] = {}
        self.gave_up: dict[tuple[Function, str], None] = {}

    def follow_only(self, plain: set[Function]) -> None:
        """Calls of `plain` functions need not be followed, unless an argument matters."""
        self._arguments.plain = plain

    # -- lookups by syntax ---------------------------------------------------------------------------

    def function_of(self, node: ast.AST) -> Function | None:
        """The function that a definition statement defines."""
        return self._functions_by_node.get(id(node))

    def class_of(self, node: ast.AST) -> Class | None:
        """The class that a class statement defines."""
        return self._classes_by_node.get(id(node))

    def annotation_type(self, module: Module, annotation: ast.expr | None) -> str | None:
        """The class that an annotation names (also quoted, `Optional[X]`, `X | None`), or None."""
        return self._annotations.type_of(module, annotation)

    # -- runs ---------------------------------------------------------------------------------------

    def summary(
        self,
        function: Function,
        rank: RankClass,
        bound: dict[str, Value] | None = None,
        receiver: Value | None = None,
        captured: dict[str, Value] | None = None,
    ) -> Summary:
        """The run of a function on a class of ranks with these arguments."""
        given = self._arguments.told(function, bound) if bound else {}
        signatures = self._arguments.signatures(function, given)
        bound = {name: given[name] for name in signatures}
        captured = captured or {}
        context = self._arguments.context(function, signatures, receiver, captured)
        if receiver is not None and function.cls is not None and class_of(context) is None:
            # Shared by all classes of receivers: the first one must not be seen in it.
            held = holds_models(context)
            receiver = receiver.replace(type=function.cls.full_name) if held else None
        key = (function, rank, context)
        found = self._memo.get(key) or self._provisional.get(key)
        if found is not None:
            return found
        depth = self.under_way.depth_of(key)
        if depth is not None:
            self.under_way.came_back_to(depth)
            return Summary(function, rank, context, arguments=(bound, receiver, captured))
        if len(self.under_way) >= _MAX_NESTING:
            self._give_up(function, f"called through more than {_MAX_NESTING} nested calls")
            self.under_way.came_back_to(-1)
            return Summary(function, rank, context, arguments=(bound, receiver, captured))
        contexts = self._contexts.setdefault((function, rank), set())
        if len(contexts) >= _MAX_CONTEXTS and context is not None and context not in contexts:
            # Of many different calls only the ranks that they pass are told apart, and those of few.
            self._give_up(
                function,
                f"called with more than {_MAX_CONTEXTS} kinds of arguments; the others as one",
            )
            ranks = {n: v for n, v in bound.items() if v.known and "rank" in n}
            if not ranks or len(contexts) >= 2 * _MAX_CONTEXTS:
                return self.summary(function, rank)
            if len(ranks) < len(bound) or receiver is not None or captured:
                return self.summary(function, rank, ranks)
        contexts.add(context)
        if rank is not MAIN:
            main = self._memo.get((function, MAIN, context))
            if main is None and not mentions_rank(context):
                main = self.summary(function, MAIN, bound, receiver, captured)
            # One that a recursion cut short does not know all that it depends on.
            if (
                main is not None
                and main.arguments is None
                and not main.depends_on & RANK_KINDS
                and not mentions_rank(context)
            ):
                self._memo[key] = main
                return main
            for other in RANK_CLASSES[: RANK_CLASSES.index(rank)]:
                like = self._memo.get((function, other, context))
                if like is not None and rank.answers_like(other, like.depends_on):
                    # What it asked comes out alike: so does everything else.
                    self._memo[key] = like
                    return like
        return self._make(key, bound, receiver, captured)

    def _make(
        self, key: Key, bound: dict[str, Value], receiver: Value | None, captured: dict[str, Value]
    ) -> Summary:
        summary = Summary(*key)
        self.under_way.begin(key, summary)
        try:
            if self._earlier is None:
                _fill(self, summary, (bound, receiver, captured))
            else:
                summary = self._taken_over(summary, (bound, receiver, captured), self._earlier)
        except BaseException:
            self.under_way.give_up()
            raise
        done = self.under_way.end()
        for waiting, confirmed in done.confirmed:
            confirmed.arguments = None
            self._memo[waiting] = confirmed
        if done.complete:
            self._memo[key] = summary
        else:
            summary.arguments = (bound, receiver, captured)
            self._provisional[key] = summary
        if not self.under_way:
            self._provisional.clear()
        return summary

    def _taken_over(
        self, summary: Summary, given: Given, earlier: dict[Function, _Kept]
    ) -> Summary:
        """The run of an earlier check, where it would come out the same; else the new one, for the next check."""
        function, place = summary.function, (summary.rank, summary.context)
        if function not in earlier:
            earlier[function] = function.memory.pop(Recorded, {})
        known = earlier[function].get(place, [])
        kept = function.memory.setdefault(Recorded, {}).setdefault(place, [])
        for recorded in [each for each in known if each.is_of(self, given)]:
            recorded.summary.arguments = None
            self.under_way.stands_for(recorded.summary)
            if recorded.is_told_the_same(self):
                known.remove(recorded)  # two runs stay two, though they are alike
                kept.append(recorded)
                return recorded.summary
        self.under_way.stands_for(summary)
        asking = Asking(self, summary)
        _fill(asking, summary, given)
        kept.append(Recorded(summary, given, self.knowledge, self.signals, asking.asked))
        return summary

    def let_go_of_earlier(self) -> None:
        """Forget the runs of the last check that this one did not ask for."""
        if self._earlier is not None:
            for function in self.program.functions():
                if function not in self._earlier:
                    function.memory.pop(Recorded, None)
            for known in self._earlier.values():
                known.clear()

    def is_plain(
        self, function: Function, inputs: Iterable[Value], receiver: Value | None = None
    ) -> bool:
        """Whether a call of a function with these arguments does nothing that concerns any rule."""
        return self._arguments.is_plain(function, tuple(inputs), receiver)

    def final(self, summary: Summary) -> Summary:
        """The complete run in place of one that a recursion cut short; only between runs."""
        if summary.arguments is None or self.under_way:
            return summary
        known = self._finals.get(summary)
        if known is None:
            self._complete_assigning()
            found = self.summary(summary.function, summary.rank, *summary.arguments)
            if found.arguments is not None:
                return summary
            known = self._finals[summary] = found
        return known

    def note_cut_short(self, method: Function, rank: RankClass) -> None:
        """A run that was made to know what a method assigns was cut short by one that is under way."""
        self._cut_short[method, rank] = None

    def _complete_assigning(self) -> None:
        """Make the runs whole that tell what methods assign: each run that asks would make them again, and cut them
        short again where it is under way itself.

        ChatGLM-6B 401bf3a ptuning/trainer.py, the training loop of transformers 4.27: seven times as many runs.
        """
        while self._cut_short:
            method, rank = self._cut_short.popitem()[0]
            self.summary(method, rank)

    def keep(self, live: set[Summary]) -> None:
        """Forget the runs that no entry of the program leads to: they only served to find the entries."""
        self._memo = {key: summary for key, summary in self._memo.items() if summary in live}
        self._provisional.clear()
        self._finals.clear()

    def reset(self) -> None:
        """Forget what was under way, after a run ended in an exception."""
        self.under_way.clear()
        self._outside.clear()
        self._provisional.clear()

    def _give_up(self, function: Function, reason: str) -> None:
        """Note, once, what was not followed as it is."""
        self.gave_up.setdefault((function, reason))

    # -- values that live outside functions ------------------------------------------------------------

    def global_value(self, module: Module, name: str, asker: Asker) -> Value | None:
        """What a name means at the top level of a module, on the asking run's class of ranks."""
        return self._outside.global_value(module, name, asker)

    def class_attribute(self, cls: Class, attr: str) -> Value | None:
        """The value of a class variable."""
        return self._outside.class_attribute(cls, attr)

    def instance_attribute(self, cls: Class, attr: str, asker: Asker) -> Value | None:
        """What the methods of a class assign to `self.attr`: the join over all of them."""
        return self._outside.instance_attribute(cls, attr, asker)

    def flag(self, cls: Class, attr: str, value: Value | None) -> Value | None:
        """The value of an attribute of a class, as a signal handler may have changed it."""
        return self._outside.flag(cls, attr, value)


def _fill(source: SummarySource, summary: Summary, given: Given) -> None:
    """Follow the function of a run that is under way."""
    variables = follow(source, summary, *given)
    summary.environment = variables if summary.function.is_module_body else {}
