"""The state while one run is made, and what the run records: steps, sites, facts about the rank."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Final, Protocol

from distlint.analysis.interpreter.ir import (
    Asker,
    AttributeSite,
    CallSite,
    Cut,
    Event,
    FailingRead,
    Guard,
    Jump,
    JumpKind,
    Layer,
    Step,
    Summary,
)
from distlint.analysis.interpreter.ranks import RANK_KINDS, RankClass
from distlint.analysis.interpreter.scope import Scope
from distlint.analysis.interpreter.signals import SignalWrites
from distlint.analysis.interpreter.values import (
    MODEL_OUTPUT,
    UNKNOWN,
    Closure,
    Origin,
    Value,
    Variance,
    Wrap,
    constant,
    join,
)
from distlint.analysis.interpreter.variables import Variables
from distlint.analysis.program.definitions import Class, Function, Module, dotted_name, last_name
from distlint.analysis.program.handed import asks_cleared_setting, asks_rank_test
from distlint.analysis.program.program import Program
from distlint.analysis.program.syntax import dereferenced
from distlint.knowledge import facts
from distlint.knowledge.facts import Knowledge
from distlint.knowledge.failures import NOT_FINITE
from distlint.knowledge.schema import CallRow
from distlint.nodes import walk

WITHOUT_GRADIENTS: Final = ("no_grad", "inference_mode")


def is_group(value: Value | None) -> bool:
    """Whether an argument is a process group other than the default.

    A text is none: lightning's `Strategy.barrier(name)` takes what the barrier is for.
    """
    return (
        value is not None
        and not (value.known and (value.const is None or isinstance(value.const, str)))
        and not (isinstance(value.key, tuple) and value.key[:1] == ("format",))
        and value.key != ("external", "torch.distributed.group.WORLD")
    )


class SummarySource(Protocol):
    """What following one function asks of all others: their runs, and values that live outside functions."""

    program: Program
    knowledge: Knowledge
    classes: dict[str, Class]
    signals: SignalWrites

    def summary(
        self,
        function: Function,
        rank: RankClass,
        bound: dict[str, Value] | None = None,
        receiver: Value | None = None,
        captured: dict[str, Value] | None = None,
    ) -> Summary:
        """The run of a function on a class of ranks with these arguments."""
        ...

    def is_plain(
        self, function: Function, inputs: Iterable[Value], receiver: Value | None = None
    ) -> bool:
        """Whether a call with these arguments does nothing that concerns any rule."""
        ...

    def function_of(self, node: ast.AST) -> Function | None:
        """The function that a definition statement defines."""
        ...

    def class_of(self, node: ast.AST) -> Class | None:
        """The class that a class statement defines."""
        ...

    def annotation_type(self, module: Module, annotation: ast.expr | None) -> str | None:
        """The class that an annotation names, or None."""
        ...

    def global_value(self, module: Module, name: str, asker: Asker) -> Value | None:
        """What a name means at the top level of a module."""
        ...

    def class_attribute(self, cls: Class, attr: str) -> Value | None:
        """The value of a class variable."""
        ...

    def instance_attribute(self, cls: Class, attr: str, asker: Asker) -> Value | None:
        """What the methods of a class assign to `self.attr`."""
        ...

    def flag(self, cls: Class, attr: str, value: Value | None) -> Value | None:
        """The value of an attribute, as a signal handler may have changed it."""
        ...


class Frame(ABC):
    """The state while one run is made: variables, the block being filled, what is in force.

    The rooms of the interpreter are functions of a frame. They reach one another through `evaluate`,
    `execute` and `call`, which the interpreter dispatches.
    """

    def __init__(
        self, summaries: SummarySource, summary: Summary, captured: dict[str, Value]
    ) -> None:
        self.summaries = summaries
        self.knowledge = summaries.knowledge
        self.summary = summary
        self.function: Function = summary.function
        self.module: Module = summary.function.module
        self.captured = captured
        self.variables = Variables()
        self.steps: list[Step] = summary.steps
        self.scope = Scope(without_gradients=self.function.has_decorator(*WITHOUT_GRADIENTS))
        self.statement: ast.stmt = summary.function.body[0] if summary.function.body else ast.Pass()
        self.operands: dict[ast.BoolOp, list[tuple[ast.expr, Value]]] = {}
        """The operands of each `and` and `or` as they were evaluated last."""
        self.filled: set[str] = set()
        """The parameters that a collective has filled on some way."""
        self.depth = 0
        self.order = 0
        self.signalled = summaries.signals.variables.get(self.function)
        self.used = {} if self.function.is_module_body else dereferenced(self.function)

    @abstractmethod
    def evaluate(self, node: ast.expr) -> Value:
        """The value of an expression; the steps that evaluating it takes are appended."""

    @abstractmethod
    def execute(self, statements: list[ast.stmt]) -> bool:
        """Follow statements in order; returns whether the end of the block is reached."""

    @abstractmethod
    def call(
        self,
        closure: Closure,
        args: list[Value],
        keywords: dict[str, Value],
        node: ast.AST,
        call: ast.Call | None,
    ) -> Value:
        """Call a project function: run it for this class of ranks, take over its steps and result."""

    def run_of(
        self,
        function: Function,
        bound: dict[str, Value],
        receiver: Value | None,
        captured: dict[str, Value],
    ) -> Summary:
        """The run of a function that is called here, for this class of ranks."""
        if self.function.is_module_body:
            self.summary.environment = (
                self.variables.values
            )  # what the function reads of the module
        return self.summaries.summary(function, self.summary.rank, bound, receiver, captured)

    # -- blocks -----------------------------------------------------------------------------------

    def within(self, scope: Scope) -> _Within:
        """Follow something in another scope, then go back to this one."""
        return _Within(self, scope)

    def filling(self, block: list[Step]) -> _Filling:
        """Append the steps of what follows to another block, which `with` gives."""
        return _Filling(self, block)

    def guarded(self, node: ast.expr, value: Value, taken: bool) -> _Within:
        """Follow something where the condition `value` is known to be `taken`."""
        return _Within(self, self.scope.under(self.guard(node, value, taken)))

    def guard(self, node: ast.expr, value: Value, taken: bool, *, exits: bool = False) -> Guard:
        """A condition of this file; `exits` where the arm that is not taken has left the block."""
        cls, program = self.function.cls, self.summaries.program
        if (
            value.variance is Variance.UNIFORM
            and not value.known
            and (
                (cls is not None and asks_rank_test(program, cls, node))
                or asks_cleared_setting(program, node)
            )
        ):
            value = value.replace(tags=value.tags | {"rank"})
        return Guard(node, self.module, value, taken, exits)

    def visible(self) -> dict[str, Value]:
        """The variables that a function defined here can read."""
        return {**self.captured, **self.variables.values}

    # -- facts about the rank ----------------------------------------------------------------------

    def note_dependence(self, kind: str) -> None:
        """Note that this run depends on a predicate of this kind."""
        if kind in RANK_KINDS:
            self.summary.depends_on.add(kind)

    def rank_value(self, kind: str, node: ast.AST, text: str) -> Value:
        """The value of a predicate or number that depends on the rank."""
        self.note_dependence(kind)
        rank = self.summary.rank
        fact = rank.fact(kind)
        if kind == "initialized":
            return constant(True, tags=frozenset({"initialized"}))
        if kind in ("world_size", "local_world_size"):
            return constant(fact, tags=frozenset({"world_size", f"kind:{kind}"}))
        if kind == "sharded_mode":
            return Value(("mode", text), tags=frozenset({"sharded-mode"}))
        if kind == "zero3":
            return Value(("mode", "zero3"), tags=frozenset({"sharded-mode"}))
        if kind in ("group_size", "not_rank"):
            return Value((kind, text))
        origin = self.origin(node, text)
        tags = frozenset({"rank", f"kind:{kind}"})
        if fact is None:
            # A position inside a subgroup, a node's number: differs, in a way that is not followed.
            self.summary.depends_on.add(kind)
            return Value(
                (kind, text, rank.rank), UNKNOWN, Variance.RANK_DEPENDENT, origin, tags=tags
            )
        return constant(fact, Variance.RANK_DEPENDENT, origin, tags)

    def origin(self, node: ast.AST, text: str, kind: str = "rank") -> Origin:
        """An origin at a node of this file."""
        return Origin(node, self.module, text, kind)

    def wraps(self, kinds: tuple[str, ...], node: ast.AST) -> tuple[Wrap, ...]:
        """Wrapper layers of these kinds, put on at a node of this file."""
        return tuple(Wrap(kind, node, self.module) for kind in kinds)

    def note_cut(self, node: ast.expr, asked: ast.expr, place: Value, counted: Value) -> None:
        """Note that a rank chooses a part of a whole."""
        if "rank" in place.tags:
            self.summary.cuts[node] = Cut(node, asked, place, counted, self.scope.guards)

    def note_rank_condition(self, node: ast.expr, value: Value, exits: bool) -> None:
        """Remember a condition that the rank decides."""
        truth = value.truthiness()
        if value.variance is Variance.RANK_DEPENDENT and truth is not None:
            self.summary.rank_conditions.append(self.guard(node, value, truth, exits=exits))

    # -- what the run records -----------------------------------------------------------------------

    def tick(self) -> int:
        """The next number in the order of execution."""
        self.order += 1
        return self.order

    def attribute_site(self, node: ast.Attribute, base: Value) -> AttributeSite:
        """An attribute of a value, where the run has come to."""
        return AttributeSite(
            node,
            self.function,
            base,
            self.statement,
            self.scope.guards,
            self.scope.tries,
            self.tick(),
        )

    def note_nothing(self, node: ast.expr) -> None:
        """Remember what is read from None or from an empty dict, where the run has come to."""
        self.summary.of_nothing.append(FailingRead(node, self.scope.guards, self.scope.tries))

    def site(
        self,
        node: ast.Call,
        name: str,
        receiver: Value | None,
        args: list[Value],
        keywords: dict[str, Value],
        rows: tuple[CallRow, ...],
        callee: Function | None,
    ) -> CallSite:
        """Record a call for the rules."""
        site = CallSite(
            node, self.function, name, receiver, args, keywords, rows, callee, self.statement,
            self.scope.guards, self.scope.loop_statements, self.scope.tries, self.tick(),
        )  # fmt: skip
        self.summary.calls.append(site)
        return site

    def is_grouped(self, site: CallSite, row: CallRow) -> bool:
        """Whether a collective is one of a process group other than the default."""
        return bool(row.implicit_group) or is_group(site.argument(row.group, row.group_keyword))

    def event(self, row: CallRow, layer: Layer, node: ast.AST, site: CallSite) -> None:
        """A collective takes place here."""
        group = site.argument(row.group, row.group_keyword)
        key = group.key if group is not None and is_group(group) else None
        if key is None and row.implicit_group:
            key = ("group", row.implicit_group)
        function = site.node.func
        if (
            key is None
            and site.name.startswith(".")
            and isinstance(function, ast.Attribute)
            and facts.is_group_name(dotted_name(function.value))
        ):
            # trl 0.23.0 trl/extras/vllm_client.py:318 `self.pynccl_comm.group.barrier()`
            key = ("group", dotted_name(function.value))
        self.steps.append(Event(row.op or row.name, layer, node, self.module, key, site))

    def leave(self, kind: JumpKind, node: ast.AST) -> None:
        """An exit from the block."""
        last = self.scope.guards[-1] if self.scope.guards else None
        # Only directly under the test of the rank: a raise for another reason ends the whole job
        # (speechbrain 1.1.2 encoder.py, verl 0.9.1 fsdp_checkpoint_manager.py).
        by_rank = (
            last is not None
            and not self.scope.handling
            and last.value.variance is Variance.RANK_DEPENDENT
            and last.value.truthiness() is not None
        ) or (
            last is not None
            and self.judges_own_loss(last.node, last.value)
            # Rank 0 alone looks at its loss where it prints it, and whoever fails ends the job: tubelet-transformer
            # f610c97 utils/video_action_recognition.py:614.
            and not any(g.value.variance is Variance.RANK_DEPENDENT for g in self.scope.guards)
        )
        alone = self.scope.alone if kind is JumpKind.RAISE else None
        self.steps.append(Jump(kind, node, by_rank, alone))

    def note_way_out(self) -> None:
        """Remember which parameters collectives have filled where the function ends or returns."""
        values = self.variables.values
        here = {n: v for n in self.filled if (v := values[n]).variance is Variance.UNIFORM}
        before = self.summary.filled
        self.summary.filled = (
            here if before is None else {n: v for n, v in here.items() if n in before}
        )

    def judges_own_loss(self, test: ast.expr, value: Value) -> bool:
        """Whether a condition asks of this rank's loss alone whether it is a number.

        Whoever raises then leaves the others in `backward()` until the launcher ends them, or the timeout does
        (deit 7e160fe engine.py:59; sam2 2b90b9f training/trainer.py:874, one task for each GPU under srun).
        """
        own = value.variance is Variance.RANK_LOCAL and MODEL_OUTPUT in value.tags
        return own and any(last_name(node) in NOT_FINITE for node in walk(test, ast.Call))

    def yielded(self, value: Value) -> None:
        """A generator hands out a value."""
        self.summary.returns = (
            value
            if self.summary.returns is None
            else join(self.summary.returns, value, ("yielded", id(self.function)))
        )


class _Within:
    """Puts a scope in force for a block. A generator would cost three times as much, at each branch."""

    __slots__ = ("_frame", "_inner", "_outer")

    def __init__(self, frame: Frame, scope: Scope) -> None:
        self._frame = frame
        self._inner = scope
        self._outer = frame.scope

    def __enter__(self) -> None:
        self._frame.scope = self._inner

    def __exit__(self, *exception: object) -> None:
        self._frame.scope = self._outer


class _Filling:
    """Fills another block of steps."""

    __slots__ = ("_block", "_frame", "_outer")

    def __init__(self, frame: Frame, block: list[Step]) -> None:
        self._frame = frame
        self._block = block
        self._outer = frame.steps

    def __enter__(self) -> list[Step]:
        self._frame.steps = self._block
        return self._block

    def __exit__(self, *exception: object) -> None:
        self._frame.steps = self._outer
