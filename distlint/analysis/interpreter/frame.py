"""Statements of the abstract run: one function, followed by one class of ranks."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from distlint.analysis.interpreter import expressions
from distlint.analysis.interpreter.calls import call_project, deciding_decorator, fails
from distlint.analysis.interpreter.ir import (
    Attempt,
    AttributeSite,
    Branch,
    CallSite,
    Event,
    Guard,
    Layer,
    Leave,
    Loop,
    Run,
    Step,
    Surround,
)
from distlint.analysis.interpreter.ranks import CONSULTED_BY_KIND
from distlint.analysis.interpreter.values import (
    UNKNOWN,
    Closure,
    Origin,
    Spread,
    Value,
    Wrap,
    constant,
    join,
    spread_of,
)
from distlint.analysis.program.definitions import Class, Function, Module, dotted_name
from distlint.analysis.program.nodes import children, walk
from distlint.analysis.program.program import Program
from distlint.knowledge import facts, failures
from distlint.knowledge.schema import Call, Effect

if TYPE_CHECKING:
    from distlint.analysis.interpreter.engine import Engine

_MAX_UNROLL: Final = 8
_DATA_CLASSES: Final = frozenset(
    {"dict", "str", "list", "tuple", "set", "int", "float", "bytes", "Path", "pathlib.Path"}
)
_WITHOUT_GRADIENTS: Final = ("no_grad", "inference_mode")
_UNEVEN: Final = frozenset({"ragged", "set-order", "local-length", "rank-part"})
"""Tags of values over which ranks iterate a different number of times, or in another order."""


class Frame:
    """The state while one run is made: environment, the block being filled, what is in force."""

    def __init__(
        self,
        engine: Engine,
        run: Run,
        bound: dict[str, Value],
        receiver: Value | None,
        captured: dict[str, Value],
    ) -> None:
        self.engine = engine
        self.run = run
        self.function: Function = run.function
        self.module: Module = run.function.module
        self.captured = captured
        self.env: dict[str, Value] = {}
        self._roots: set[str] = set()
        self.steps: list[Step] = run.steps
        self.guards: tuple[Guard, ...] = ()
        self.loops: list[ast.stmt] = []
        self.tries: list[ast.Try] = []
        self.loop_steps: list[Loop] = []
        self.loop_assigned: list[frozenset[str]] = []
        self.control: list[Value] = []
        self.statement: ast.stmt = run.function.body[0] if run.function.body else ast.Pass()
        self.depth = 0
        self.order = 0
        self.handling = 0
        self.handling_alone: Guard | None = None
        self.without_gradients = self.function.has_decorator(*_WITHOUT_GRADIENTS)
        self.signalled = engine.signals.variables.get(self.function)
        self._bind_parameters(bound, receiver)

    # -- names ------------------------------------------------------------------------------------

    def _bind_parameters(self, bound: dict[str, Value], receiver: Value | None) -> None:
        node = self.function.node
        if isinstance(node, ast.Module):
            return
        spec = node.args
        parameters = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]
        first_is_self = self.function.cls is not None and not self.function.has_decorator(
            "staticmethod"
        )
        wrapped = wrapped_parameter(self.engine.program, self.function) if first_is_self else None
        cls = self.function.cls
        outside = self.engine.program.mro(cls)[1] if cls is not None else ()
        for index, parameter in enumerate(parameters):
            name = parameter.arg
            if index == 0 and first_is_self:
                self.env[name] = self._self_value(receiver)
                continue
            key = ("parameter", id(self.function), name)
            value = bound.get(name)
            if value is not None:
                known = value.known or value.target
                self.env[name] = value if known else value.but(key=key, logic=None)
                continue
            type_ = self.engine.annotation_type(
                self.module, parameter.annotation
            ) or facts.parameter_type(outside, name)
            conventional = None if type_ else expressions.convention(self, name, parameter)
            if conventional is not None:
                self.env[name] = conventional
                continue
            wraps: tuple[Wrap, ...] = ()
            if wrapped is not None and name == wrapped[0]:
                wraps = self.wraps((wrapped[1],), parameter)
            self.env[name] = Value(key, type=type_, wraps=wraps)
        for extra in (spec.vararg, spec.kwarg):
            if extra is not None:
                type_ = facts.parameter_type(outside, "**") if extra is spec.kwarg else None
                self.env[extra.arg] = Value(("parameter", id(self.function), extra.arg), type=type_)

    def _self_value(self, receiver: Value | None) -> Value:
        cls = self.function.cls
        assert cls is not None
        type_ = receiver.type if receiver is not None and receiver.type else cls.full_name
        target = cls if self.function.has_decorator("classmethod") else None
        return Value(("self",), type=type_, target=target, truth=True)

    def visible(self) -> dict[str, Value]:
        """The variables that a function defined here can read."""
        return {**self.captured, **self.env}

    def assign(self, target: ast.expr, value: Value) -> None:
        """Bind a target (name, attribute, tuple …) to a value."""
        match target:
            case ast.Name():
                if self.control and value.spread is Spread.UNIFORM:
                    value = value.but(
                        spread=self.control[-1].spread, origin=self.control[-1].origin
                    )
                if self.signalled is not None and target.id in self.signalled:
                    node = self.signalled[target.id]
                    value = self.engine.set_by_signal(value, node, self.module)
                self.env[target.id] = value
                self._forget(target.id)
            case ast.Attribute():
                path = dotted_name(target)
                if path:
                    if not isinstance(target.value, ast.Name):
                        # `model.config.use_cache = False` reads `model.config`.
                        expressions.evaluate(self, target.value)
                    elif (base := self.env.get(target.value.id)) and base.const is None:
                        self.run.absent.append(self.attribute_site(target, base))
                    if self.control and value.spread is Spread.UNIFORM:
                        value = value.but(
                            spread=self.control[-1].spread, origin=self.control[-1].origin
                        )
                    self._forget(path)
                    if target.attr in self.engine.signals.names:
                        value = self._flag(target, value)
                    self.set_path(path, value)
                    if path.startswith("self.") and path.count(".") == 1:
                        if value.given:
                            value = value.but(given=False)  # another method may have put None there
                        old = self.run.self_attributes.get(target.attr)
                        self.run.self_attributes[target.attr] = (
                            value
                            if old is None or not self.guards
                            else join(old, value, ("attr", ("self",), target.attr))
                        )
                else:
                    expressions.evaluate(self, target.value)
            case ast.Subscript():
                base = expressions.evaluate(self, target.value)
                index = expressions.evaluate(self, target.slice)
                path = dotted_name(target.value)
                if path and base.items is not None and path in self.env:
                    self.env[path] = base.but(items=None, const=UNKNOWN)
                if (
                    path
                    and value.spread > base.spread
                    and path in self.env
                    and value.spread is Spread.LOCAL
                ):
                    self.env[path] = base.but(
                        spread=value.spread, origin=value.origin, const=UNKNOWN, items=None
                    )
                del index
            case ast.Tuple() | ast.List():
                self._unpack(target.elts, value)
            case ast.Starred():
                self.assign(target.value, value.but(items=None, const=UNKNOWN))

    def _flag(self, target: ast.Attribute, value: Value) -> Value:
        """A value assigned to an attribute that a signal handler may write at any time afterwards."""
        owner = expressions.evaluate(self, target.value).type
        cls = self.engine.classes.get(owner) if owner is not None else None
        return (self.engine.flag(cls, target.attr, value) if cls is not None else None) or value

    def _unpack(self, targets: list[ast.expr], value: Value) -> None:
        starred = next((i for i, t in enumerate(targets) if isinstance(t, ast.Starred)), None)
        items = value.items
        if items is not None and starred is None and len(items) >= len(targets):
            for element, item in zip(targets, items, strict=False):
                self.assign(element, item)
            return
        for index, element in enumerate(targets):
            self.assign(
                element,
                Value(
                    ("item", value.key, index), UNKNOWN, value.spread, value.origin, tags=value.tags
                ),
            )

    def set_path(self, path: str, value: Value) -> None:
        """Note what a dotted path holds, until something it starts with is bound anew."""
        self.env[path] = value
        self._roots.add(path.partition(".")[0])

    def _forget(self, path: str) -> None:
        if path.partition(".")[0] not in self._roots:
            return
        prefix = path + "."
        stale = [name for name in self.env if name.startswith(prefix)]
        for name in stale:
            del self.env[name]

    def fill(self, expression: ast.expr, value: Value) -> None:
        """A collective has made the contents of an argument equal on all ranks."""
        node = expression
        while isinstance(node, (ast.Subscript, ast.Starred)):
            node = node.value
        path = dotted_name(node)
        if not path:
            return
        known = expressions.evaluate(self, node)
        if known.known and isinstance(known.const, (int, str, bool)):
            return  # a constant handed to a collective stays what it is
        self.set_path(path, Value(value.key, type=known.type, truth=known.truth))

    # -- facts about the rank ----------------------------------------------------------------------

    def consult(self, kind: str) -> None:
        """Note that this run depends on a predicate of this kind."""
        asked = CONSULTED_BY_KIND.get(kind)
        if asked is not None:
            self.run.consulted.add(asked)

    def rank_value(self, kind: str, node: ast.AST, text: str) -> Value:
        """The value of a predicate or number that depends on the rank."""
        self.consult(kind)
        rank = self.run.rank
        fact = rank.fact(kind)
        if kind == "initialized":
            return constant(True)
        if kind in ("world_size", "local_world_size"):
            return constant(fact, tags=frozenset({"world_size"}))
        if kind == "sharded_mode":
            return Value(("mode", text), tags=frozenset({"sharded-mode"}))
        if kind in ("group_size", "not_rank"):
            return Value((kind, text))
        origin = self.origin(node, text)
        tags = frozenset({"rank", f"kind:{kind}"})
        if fact is None:
            # A position inside a subgroup, a node's number: differs, in a way that is not followed.
            return Value((kind, text, rank.rank), UNKNOWN, Spread.RANK, origin, tags=tags)
        return constant(fact, Spread.RANK, origin, tags)

    def origin(self, node: ast.AST, text: str, kind: str = "rank") -> Origin:
        """An origin at a node of this file."""
        return Origin(node, self.module, text, kind)

    def attribute_site(self, node: ast.Attribute, base: Value) -> AttributeSite:
        """An attribute of a value, where the run has come to."""
        return AttributeSite(
            node,
            self.function,
            base,
            self.statement,
            self.guards,
            tuple(self.tries),
            self.tick(),
        )

    def wraps(self, kinds: tuple[str, ...], node: ast.AST) -> tuple[Wrap, ...]:
        """Wrapper layers of these kinds, put on at a node of this file."""
        return tuple(Wrap(kind, node, self.module) for kind in kinds)

    def note_divide(self, node: ast.expr, value: Value, exits: bool) -> None:
        """Remember a condition that the rank decides."""
        truth = value.truthiness()
        if value.spread is Spread.RANK and truth is not None:
            self.run.divides.append(Guard(node, self.module, value, truth, exits))

    # -- steps and sites ----------------------------------------------------------------------------

    def tick(self) -> int:
        """The next number in the order of execution."""
        self.order += 1
        return self.order

    def site(
        self,
        node: ast.Call,
        name: str,
        receiver: Value | None,
        args: list[Value],
        keywords: dict[str, Value],
        rows: tuple[Call, ...],
        callee: Function | None,
    ) -> CallSite:
        """Record a call for the rules."""
        site = CallSite(
            node, self.function, name, receiver, args, keywords, rows, callee, self.statement,
            self.guards, tuple(self.loops), tuple(self.tries), self.tick(),
        )  # fmt: skip
        self.run.calls.append(site)
        return site

    def is_grouped(self, site: CallSite, row: Call) -> bool:
        """Whether a collective is one of a process group other than the default.

        A text is none: lightning's `Strategy.barrier(name)` takes what the barrier is for.
        """
        group = site.argument(row.group, row.group_keyword)
        return (
            group is not None
            and not (group.known and (group.const is None or isinstance(group.const, str)))
            and not (isinstance(group.key, tuple) and group.key[:1] == ("format",))
            and group.key != ("external", "torch.distributed.group.WORLD")
        )

    def event(self, row: Call, layer: Layer, node: ast.AST, site: CallSite) -> None:
        """A collective takes place here."""
        group = site.argument(row.group, row.group_keyword)
        key = group.key if group is not None and self.is_grouped(site, row) else None
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

    def leave(self, kind: str, node: ast.AST) -> None:
        """An exit from the block."""
        last = self.guards[-1] if self.guards else None
        # Only directly under the test of the rank: a raise for another reason ends the whole job
        # (speechbrain 1.1.2 encoder.py, verl 0.9.1 fsdp_checkpoint_manager.py).
        by_rank = (
            last is not None
            and not self.handling
            and last.value.spread is Spread.RANK
            and last.value.truthiness() is not None
        )
        alone = self.handling_alone if kind == "raise" else None
        self.steps.append(Leave(kind, node, by_rank, alone))

    def yielded(self, value: Value) -> None:
        """A generator hands out a value."""
        self.run.returns = (
            value
            if self.run.returns is None
            else join(self.run.returns, value, ("yielded", id(self.function)))
        )

    @contextmanager
    def guarded(self, node: ast.expr, value: Value, taken: bool) -> Iterator[None]:
        """The condition `value` is known to be `taken` inside."""
        outer = self.guards
        self.guards = (*outer, Guard(node, self.module, value, taken))
        try:
            yield
        finally:
            self.guards = outer

    # -- statements ----------------------------------------------------------------------------------

    def start(self) -> None:
        """Follow the function from its first statement; not on ranks that a decorator keeps out."""
        found = deciding_decorator(self, self.function)
        if found is not None:
            decorator, kind = found
            kept = self.rank_value(kind, decorator, f"`@{ast.unparse(decorator)}`")
            truth = kept.truthiness()
            if truth is not None:
                self.run.divides.append(Guard(decorator, self.module, kept, truth))
            if truth is False:
                self.run.returns = constant(None, Spread.RANK, kept.origin)
                return
        self.execute(self.function.body)

    def execute(self, statements: list[ast.stmt]) -> bool:
        """Follow statements in order; returns whether the end of the block is reached."""
        outer = self.guards
        for statement in statements:
            self.statement = statement
            handler = _STATEMENTS.get(type(statement))
            alive = handler(self, statement) if handler is not None else self._plain(statement)
            if not alive:
                self.guards = outer
                return False
        self.guards = outer
        return True

    def _plain(self, statement: ast.stmt) -> bool:
        for child in children(statement):
            if isinstance(child, ast.expr):
                expressions.evaluate(self, child)
        return True

    def _expression(self, statement: ast.Expr) -> bool:
        before = len(self.steps)
        expressions.evaluate(self, statement.value)
        return not any(isinstance(s, Leave) for s in self.steps[before:])

    def _assign(self, statement: ast.Assign) -> bool:
        value = expressions.evaluate(self, statement.value)
        for target in statement.targets:
            self.assign(target, value)
        return True

    def _annotated(self, statement: ast.AnnAssign) -> bool:
        if statement.value is not None:
            value = expressions.evaluate(self, statement.value)
            if value.type is None and not value.known:
                type_ = self.engine.annotation_type(self.module, statement.annotation)
                value = value.but(type=type_) if type_ else value
            self.assign(statement.target, value)
        return True

    def _augmented(self, statement: ast.AugAssign) -> bool:
        load = _as_load(statement.target)
        old = expressions.evaluate(self, load)
        value = expressions.binary(old, expressions.evaluate(self, statement.value), statement.op)
        self.assign(statement.target, value)
        return True

    def _return(self, statement: ast.Return) -> bool:
        value = (
            expressions.evaluate(self, statement.value)
            if statement.value is not None
            else constant(None)
        )
        for guard in self.guards:
            if guard.value.spread > value.spread and guard.value.truthiness() is None:
                value = value.but(spread=guard.value.spread, origin=guard.value.origin)
        run = self.run
        run.returns = (
            value
            if run.returns is None
            else join(run.returns, value, ("returned", id(self.function), run.rank.rank))
        )
        self.leave("return", statement)
        return False

    def _raise(self, statement: ast.Raise) -> bool:
        if statement.exc is not None:
            raised = expressions.evaluate(self, statement.exc)
            if self._is_system_exit(statement.exc, raised):
                self.leave("process", statement)
                return False
        self.leave("raise", statement)
        return False

    def _is_system_exit(self, node: ast.expr, raised: Value) -> bool:
        """Whether a raise ends the process normally: SystemExit, or a class derived from it, uncaught.

        lightning 2.5.1 lightning/pytorch/utilities/exceptions.py: `class SIGTERMException(SystemExit)`.
        """
        name = node.func if isinstance(node, ast.Call) else node
        cls = self.engine.classes.get(raised.type) if raised.type is not None else raised.target
        if isinstance(cls, Class):
            if not any(
                isinstance(base, ast.Name) and base.id == "SystemExit"
                for owner in self.engine.program.mro(cls)[0]
                for base in owner.node.bases
            ):
                return False
        elif not isinstance(name, ast.Name) or name.id != "SystemExit":
            return False
        code = node.args[0] if isinstance(node, ast.Call) and node.args else None
        if code is not None and fails(expressions.evaluate(self, code)):
            return False
        return not any(_catches_exit(h) for t in self.tries for h in t.handlers)

    def _break(self, statement: ast.Break) -> bool:
        self.leave("break", statement)
        return False

    def _continue(self, statement: ast.Continue) -> bool:
        self.leave("continue", statement)
        return False

    def _if(self, statement: ast.If) -> bool:
        test = expressions.evaluate(self, statement.test)
        truth = test.truthiness()
        self.note_divide(statement.test, test, _leaves(statement.body) or _leaves(statement.orelse))
        if truth is not None:
            taken, other = (
                (statement.body, statement.orelse) if truth else (statement.orelse, statement.body)
            )
            ranked = test.spread is Spread.RANK
            outer = self.guards
            self.guards = (*outer, Guard(statement.test, self.module, test, truth))
            if ranked:
                self.control.append(test)
            alive = self.execute(taken)
            if ranked:
                self.control.pop()
            self.guards = outer
            if alive and _leaves(other):
                self.guards = (*outer, Guard(statement.test, self.module, test, truth, exits=True))
            return alive
        return self._fork(statement, statement.test, test, statement.body, statement.orelse)

    def _fork(
        self,
        node: ast.stmt,
        test_node: ast.expr,
        test: Value,
        body: list[ast.stmt],
        orelse: list[ast.stmt],
    ) -> bool:
        outer, before = self.steps, self.env
        self._mark_volatile(test_node, test)
        then: list[Step] = []
        other: list[Step] = []
        if test.spread is not Spread.UNIFORM:
            self.control.append(test)
        self.steps, self.env = then, dict(before)
        self.narrow(test_node, True)
        outside = self.guards
        self.guards = (*outside, Guard(test_node, self.module, test, True))
        then_alive = self.execute(body)
        then_env = self.env
        self.steps, self.env = other, dict(before)
        self.narrow(test_node, False)
        self.guards = (*outside, Guard(test_node, self.module, test, False))
        other_alive = self.execute(orelse)
        self.guards = outside
        other_env = self.env
        if test.spread is not Spread.UNIFORM:
            self.control.pop()
        self.steps = outer
        if then or other:
            outer.append(Branch(test, node, then, other))
        if then_alive and other_alive:
            self.env = merge(then_env, other_env, id(node))
        else:
            self.env = then_env if then_alive else other_env
            if then_alive or other_alive:
                left = Guard(test_node, self.module, test, then_alive, exits=True)
                self.guards = (*self.guards, left)
        return then_alive or other_alive

    def narrow(self, test: ast.expr, taken: bool) -> None:
        """What a plain test on a variable says of it in its arm: `x is None`, `if x`, `isinstance`."""
        match test:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                self.narrow(operand, not taken)
            case ast.BoolOp(op=op, values=operands) if taken is isinstance(op, ast.And):
                for operand in operands:
                    self.narrow(operand, taken)
            case ast.Name(id=name) if taken:
                self._given(name)
            case ast.Compare(
                left=left,
                ops=[ast.Is() | ast.IsNot() as op],
                comparators=[ast.Constant(value=None)],
            ):
                path = dotted_name(left)
                if path and taken is isinstance(op, ast.Is):
                    self.set_path(path, constant(None))
                elif path:
                    self._given(path)
            case ast.Call(
                func=ast.Name(id="hasattr"), args=[subject, ast.Constant(value="module")]
            ):
                path = dotted_name(subject)
                if path and path in self.env and not taken:
                    self.env[path] = self.env[path].but(wraps=())
            case ast.Call(func=ast.Name(id="isinstance"), args=[subject, kinds]):
                path = dotted_name(subject)
                other = _names_data(kinds) if taken else _names_wrapper(kinds)
                if path and path in self.env and other:
                    self.env[path] = self.env[path].but(wraps=())

    def _given(self, path: str) -> None:
        """A variable is not None from here on; attributes may change in any call."""
        value = self.env.get(path)
        if value is None:
            return
        if value.known and value.const is None:
            value = self.env[path] = value.but(const=UNKNOWN)
        if not value.known and not value.given and "." not in path:
            self.env[path] = value.but(given=not self.function.is_module_body)

    def _mark_volatile(self, node: ast.AST, test: Value) -> None:
        for loop, assigned in zip(self.loop_steps, self.loop_assigned, strict=True):
            if _reads(node, assigned):
                loop.volatile |= _symbols(test)

    def _while(self, statement: ast.While) -> bool:
        assigned = assigned_names(statement)
        loop = Loop(
            statement, ("loop", id(statement)), None, [], [], volatile={("loop", id(statement))}
        )
        loop.once = self._holds_at_first(statement.test)
        outer = self.steps
        self._havoc(assigned, statement)
        head: list[Step] = []
        self.steps = head
        test = expressions.evaluate(self, statement.test)
        self.note_divide(statement.test, test, False)
        truth = test.truthiness()
        self.steps = outer
        outer.extend(head)
        if truth is False and test.spread is not Spread.UNIFORM:
            return self.execute(statement.orelse)
        loop.endless = truth is True
        loop.module = self.module
        if truth is None:
            loop.key = ("while", test.key)
            loop.volatile.add(loop.key)
            if test.spread is not Spread.UNIFORM:
                loop.local = test
        self._loop(
            statement,
            loop,
            statement.body,
            assigned,
            statement.orelse,
            tail=head,
            test=(statement.test, test),
        )
        return not loop.endless or _contains_break(statement.body)

    def _holds_at_first(self, test: ast.expr) -> bool:
        """Whether a condition on one variable surely holds where a loop begins."""
        match test:
            case ast.Name(id=name):
                wanted = True
            case ast.UnaryOp(op=ast.Not(), operand=ast.Name(id=name)):
                wanted = False
            case _:
                return False
        value = self.env.get(name)
        return value is not None and value.truthiness() is wanted

    def _for(self, statement: ast.For | ast.AsyncFor) -> bool:
        iterable = expressions.evaluate(self, statement.iter)
        if iterable.items is not None and self._unrollable(iterable, statement):
            for item in iterable.items:
                self.assign(statement.target, item)
                before = len(self.steps)
                if not self.execute(statement.body):
                    last = self.steps[-1] if len(self.steps) > before else None
                    if isinstance(last, Leave) and last.kind == "continue":
                        self.steps.pop()
                        continue
                    if isinstance(last, Leave) and last.kind == "break":
                        self.steps.pop()
                        return True
                    return False
            return self.execute(statement.orelse)
        assigned = assigned_names(statement)
        if iterable.type == "generator" and iterable.receiver is not None:
            return self._for_generator(statement, iterable, assigned)
        key = ("for", id(statement), iterable.key)
        loop = Loop(statement, key, None, [], [], volatile={key})
        if iterable.spread is not Spread.UNIFORM and iterable.tags & _UNEVEN:
            loop.local = iterable
        self._havoc(assigned, statement)
        self._loop(
            statement,
            loop,
            statement.body,
            assigned,
            statement.orelse,
            element=(statement.target, iterable),
        )
        return True

    def _unrollable(self, iterable: Value, statement: ast.For | ast.AsyncFor) -> bool:
        items = iterable.items or ()
        ranked = "world_size" in iterable.tags or iterable.spread is Spread.RANK
        return ranked and len(items) <= _MAX_UNROLL and not _contains_nested_jump(statement.body)

    def _for_generator(
        self, statement: ast.For | ast.AsyncFor, iterable: Value, assigned: frozenset[str]
    ) -> bool:
        """A loop over a project's generator: its body stands at the generator's `yield`."""
        assert iterable.receiver is not None
        outer, self.steps = self.steps, []
        self._havoc(assigned, statement)
        before = dict(self.env)
        self.assign(statement.target, Value(("element", id(statement))))
        self.loops.append(statement)
        self.execute(statement.body)
        self.loops.pop()
        body, self.steps = self.steps, outer
        self.env = merge(before, self.env, id(statement))
        outer.append(Surround(iterable.receiver.const, statement, body))
        return self.execute(statement.orelse)

    def element_of(self, iterable: Value, target: ast.AST) -> Value:
        """The loop variable of an iteration over a value."""
        if "enumerate" in iterable.tags and iterable.receiver is not None:
            inner = self.element_of(iterable.receiver, target)
            return Value(("element", id(target)), items=(Value(("index", id(target))), inner))
        if iterable.items:
            spread, origin, tags = spread_of(iterable.items)
            tags = tags - {"bool-mask"}
            wraps = iterable.items[0].wraps
            return Value(("element", id(target)), UNKNOWN, spread, origin, tags=tags, wraps=wraps)
        spread = iterable.spread
        origin = iterable.origin
        return Value(
            ("element", id(target), iterable.key),
            UNKNOWN,
            spread,
            origin,
            tags=iterable.tags - {"world_size", "bool-mask"},
        )

    def loop_over(self, node: ast.AST, iterable: Value, body: list[Step]) -> None:
        """A comprehension whose element has steps."""
        key = ("for", id(node), iterable.key)
        local = iterable if iterable.spread is Spread.LOCAL and iterable.tags & _UNEVEN else None
        self.steps.append(Loop(node, key, local, body, [], volatile={key}))

    def _havoc(self, assigned: frozenset[str], node: ast.AST) -> None:
        """Variables that a loop assigns have no known value at its head."""
        for name in assigned:
            value = self.env.get(name)
            if value is not None and (value.known or value.items is not None):
                self.env[name] = value.but(
                    key=("loop", id(node), name), const=UNKNOWN, items=None, logic=None, given=False,
                    truth=None, target=value.target if value.const is UNKNOWN else None,
                )  # fmt: skip
            elif value is not None:
                self.env[name] = value.but(
                    key=("loop", id(node), name), truth=None, logic=None, given=False
                )

    def _loop(
        self,
        statement: ast.While | ast.For | ast.AsyncFor,
        loop: Loop,
        body: list[ast.stmt],
        assigned: frozenset[str],
        orelse: list[ast.stmt],
        *,
        element: tuple[ast.expr, Value] | None = None,
        tail: list[Step] | None = None,
        test: tuple[ast.expr, Value] | None = None,
    ) -> None:
        for enclosing in self.loop_steps:
            enclosing.volatile.add(loop.key)
        outer = self.steps
        head_env = dict(self.env)
        marks = (
            len(self.run.calls),
            len(self.run.attributes),
            len(self.run.divides),
            len(self.run.children),
        )
        for attempt in (1, 2):
            self.env = dict(head_env)
            self.steps = loop.body = []
            self.loops.append(statement)
            self.loop_steps.append(loop)
            self.loop_assigned.append(assigned)
            if element is not None:
                self.assign(element[0], self.element_of(element[1], element[0]))
            guard = test is not None and test[1].truthiness() is None
            outside = self.guards
            if guard and test is not None:
                self.guards = (*outside, Guard(test[0], self.module, test[1], True))
            alive = self.execute(body)
            self.guards = outside
            if alive and tail:
                loop.body.extend(tail)
            self.loops.pop()
            self.loop_steps.pop()
            self.loop_assigned.pop()
            after = merge(head_env, self.env, id(statement))
            if attempt == 1 and any(_grew(head_env.get(n), after.get(n)) for n in assigned):
                # A variable came round the loop knowing more than at its head: follow the body again.
                for name in assigned:
                    if name in after:
                        head_env[name] = after[name].but(
                            const=UNKNOWN, items=None, truth=None, given=False
                        )
                for items, mark in zip(
                    (self.run.calls, self.run.attributes, self.run.divides, self.run.children),
                    marks,
                    strict=True,
                ):
                    del items[mark:]  # type: ignore[attr-defined]
                continue
            break
        self.steps = outer
        self.env = merge(head_env, self.env, id(statement))
        if orelse:
            self.steps = loop.orelse
            self.execute(orelse)
            self.steps = outer
        if loop.body or loop.orelse:
            outer.append(loop)

    def _try(self, statement: ast.Try) -> bool:
        outer, before = self.steps, dict(self.env)
        attempt = Attempt(statement, [], [], [], [], expects_lack_of_memory(statement))
        self.steps = attempt.body
        if statement.handlers:
            self.tries.append(statement)
        alive = self.execute(statement.body)
        if statement.handlers:
            self.tries.pop()
        failed_env = merge(before, self.env, id(statement))
        if alive:
            self.steps = attempt.orelse
            alive = self.execute(statement.orelse)
        ends = [self.env] if alive else []
        outside = self.handling_alone
        if statement.handlers and outside is None:
            self.handling_alone = self._alone()
        for handler in statement.handlers:
            self.env = dict(failed_env)
            if handler.name:
                self.env[handler.name] = Value(
                    ("exception", id(handler)), tags=frozenset({"exception"})
                )
            block: list[Step] = []
            self.steps = block
            self.handling += 1
            if self.execute(handler.body):
                ends.append(self.env)
            self.handling -= 1
            attempt.handlers.append(block)
        self.handling_alone = outside
        self.env = ends[0] if ends else failed_env
        for end in ends[1:]:
            self.env = merge(self.env, end, id(statement))
        self.steps = attempt.final
        final_alive = self.execute(statement.finalbody)
        self.steps = outer
        if attempt.body or attempt.orelse or attempt.final or any(attempt.handlers):
            outer.append(attempt)
        return bool(ends) and final_alive

    def _alone(self) -> Guard | None:
        """The innermost condition on the rank that lets this class of ranks come here."""
        for guard in reversed(self.guards):
            if guard.value.spread is Spread.RANK and guard.value.truthiness() is not None:
                return guard
        return None

    def _with(self, statement: ast.With | ast.AsyncWith) -> bool:
        return self._with_items(statement, list(statement.items))

    def _with_items(self, statement: ast.With | ast.AsyncWith, items: list[ast.withitem]) -> bool:
        if not items:
            return self.execute(statement.body)
        item = items[0]
        if not self.without_gradients and _turns_gradients_off(item.context_expr):
            self.without_gradients = True
            try:
                return self._with_items(statement, items)
            finally:
                self.without_gradients = False
        value = expressions.evaluate(self, item.context_expr)
        row = self._context_row(item.context_expr)
        if item.optional_vars is not None:
            self.assign(item.optional_vars, value)
        outer = self.steps
        run: Run | None = (
            value.receiver.const
            if value.type == "generator" and value.receiver is not None
            else None
        )
        if run is not None:
            if item.optional_vars is not None and run.returns is not None:
                self.assign(item.optional_vars, run.returns)
            body: list[Step] = []
            self.steps = body
            alive = self._with_items(statement, items[1:])
            self.steps = outer
            if body or run.steps:
                outer.append(Surround(run, statement, body))
            return alive
        suppress = _suppresses(item.context_expr)
        attempt = Attempt(statement, [], [[]] if suppress else [], [], [])
        if row is not None:
            self._enter_context(row, item.context_expr, attempt)
        methods = self._context_methods(value)
        if methods is not None:
            self._call_context_method(methods[0], value, item, outer)
            if item.optional_vars is not None:
                self.assign(item.optional_vars, value)
        self.steps = attempt.body
        alive = self._with_items(statement, items[1:])
        self.steps = outer
        if methods is not None:
            self._call_context_method(methods[1], value, item, attempt.final)
        if attempt.final or suppress:
            outer.append(attempt)
        else:
            outer.extend(attempt.body)
        return alive or suppress

    def _context_methods(self, value: Value) -> tuple[Function, Function] | None:
        cls = self.engine.classes.get(value.type) if value.type else None
        if cls is None:
            return None
        enter = self.engine.program.find_method(cls, "__enter__")
        leave = self.engine.program.find_method(cls, "__exit__")
        return (enter, leave) if enter is not None and leave is not None else None

    def _call_context_method(
        self, method: Function, value: Value, item: ast.withitem, into: list[Step]
    ) -> None:
        saved, self.steps = self.steps, into
        call_project(self, Closure(method, {}, value), [], {}, item.context_expr, None)
        self.steps = saved

    def _context_row(self, expression: ast.expr) -> Call | None:
        if not isinstance(expression, ast.Call):
            return None
        for site in reversed(self.run.calls[-4:]):
            if site.node is expression:
                return next((row for row in site.rows if row.context), None)
        return None

    def _enter_context(self, row: Call, expression: ast.expr, attempt: Attempt) -> None:
        """The enter and exit halves of a library's context manager."""
        site = next((s for s in reversed(self.run.calls) if s.node is expression), None)
        if site is None or row.effect not in (
            Effect.COLLECTIVE,
            Effect.SHARDED_COLLECTIVE,
            Effect.WRAPPED_COLLECTIVE,
        ):
            return
        layer = {Effect.COLLECTIVE: Layer.ALWAYS, Effect.SHARDED_COLLECTIVE: Layer.SHARDED}.get(
            row.effect, Layer.WRAPPED
        )
        if row.first:
            # The first rank runs the body and then meets the others in the barrier; they wait before it.
            kind = "is_main" if row.first == "main" else "is_local_main"
            self.consult(kind)
            first = bool(self.run.rank.fact(kind))
            target, self.steps = self.steps, attempt.final if first else self.steps
            self.event(row, layer, expression, site)
            self.steps = target
            return
        self.event(row, layer, expression, site)
        if row.exit_too:
            target, self.steps = self.steps, attempt.final
            self.event(row, layer, expression, site)
            self.steps = target

    def _match(self, statement: ast.Match) -> bool:
        subject = expressions.evaluate(self, statement.subject)
        before, outer = dict(self.env), self.steps
        ends: list[dict[str, Value]] = []
        rest: list[Step] = outer
        exhaustive = False
        for index, case in enumerate(statement.cases):
            self.env = dict(before)
            for name in _captures(case.pattern):
                self.env[name] = Value(
                    ("match", id(case), name), UNKNOWN, subject.spread, subject.origin
                )
            block: list[Step] = []
            self.steps = block
            if case.guard is not None:
                expressions.evaluate(self, case.guard)
            if self.execute(case.body):
                ends.append(self.env)
            exhaustive = (
                isinstance(case.pattern, ast.MatchAs)
                and case.pattern.pattern is None
                and case.guard is None
            )
            if exhaustive:
                rest.extend(block)
                break
            following: list[Step] = []
            condition = Value(
                ("case", id(statement), index, subject.key), UNKNOWN, subject.spread, subject.origin
            )
            rest.append(Branch(condition, statement, block, following))
            rest = following
        if not exhaustive:
            ends.append(before)
        self.steps = outer
        self.env = ends[0] if ends else before
        for end in ends[1:]:
            self.env = merge(self.env, end, id(statement))
        return bool(ends)

    def _define(self, statement: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
        for decorator in statement.decorator_list:
            expressions.evaluate(self, decorator)
        function = self.function.nested.get(statement.name)
        if function is None or function.node is not statement:
            function = self.engine.function_of(statement)
        if function is not None and not self.function.is_module_body:
            self.env[statement.name] = Value(
                ("function", id(statement)), target=Closure(function, self.visible())
            )
        return True

    def _class(self, statement: ast.ClassDef) -> bool:
        cls = self.engine.class_of(statement)
        if cls is not None and not self.function.is_module_body:
            self.env[statement.name] = Value(("class", id(statement)), target=cls)
        return True

    def _delete(self, statement: ast.Delete) -> bool:
        for target in statement.targets:
            path = dotted_name(target)
            if path:
                self.env.pop(path, None)
                self._forget(path)
            else:
                expressions.evaluate(self, _as_load(target))
        return True

    def _assert(self, statement: ast.Assert) -> bool:
        test = expressions.evaluate(self, statement.test)
        self.note_divide(statement.test, test, True)
        if test.spread is Spread.RANK and test.truthiness() is False:
            self.leave("raise", statement)
            return False
        self.narrow(statement.test, True)
        return True

    def _nothing(self, statement: ast.stmt) -> bool:
        return True


def wrapped_parameter(program: Program, function: Function) -> tuple[str, str] | None:
    """The parameter in which a trainer hands a method a wrapped model, and the wrapper's kind."""
    if function.cls is None:
        return None
    own, outside = program.mro(function.cls)
    names = (*outside, *(facts.canonical_name(c.full_name) for c in own[1:]))
    return facts.model_parameter(names, function.name)


def merge(a: dict[str, Value], b: dict[str, Value], place: Hashable) -> dict[str, Value]:
    """The environment where two paths meet."""
    if a is b:
        return a
    merged: dict[str, Value] = {}
    for name, value in a.items():
        other = b.get(name)
        if other is None:
            if "." not in name:
                merged[name] = value
        else:
            merged[name] = value if value is other else join(value, other, ("join", place, name))
    for name, value in b.items():
        if name not in a and "." not in name:
            merged[name] = value
    return merged


def assigned_names(node: ast.AST) -> frozenset[str]:
    """Names and attribute paths that statements inside a node assign."""
    known: frozenset[str] | None = getattr(node, "_distlint_assigned", None)
    if known is not None:
        return known
    names: set[str] = set()
    stack = list(children(node))
    while stack:
        child = stack.pop()
        match child:
            case ast.Name():
                if not isinstance(child.ctx, ast.Load):
                    names.add(child.id)
                continue
            case ast.Attribute():
                if not isinstance(child.ctx, ast.Load):
                    path = dotted_name(child)
                    if path:
                        names.add(path)
                    continue
            case (
                ast.Constant()
                | ast.Load()
                | ast.FunctionDef()
                | ast.AsyncFunctionDef()
                | ast.Lambda()
                | ast.ClassDef()
            ):
                continue
            case ast.Expr(value=ast.Call()):
                # Only a walrus in the arguments could assign.
                stack.append(child.value)
                continue
        stack.extend(children(child))
    found = frozenset(names)
    node._distlint_assigned = found  # type: ignore[attr-defined]
    return found


def _as_load(target: ast.expr) -> ast.expr:
    if isinstance(target, ast.Name):
        return ast.copy_location(ast.Name(target.id, ast.Load()), target)
    if isinstance(target, ast.Attribute):
        return ast.copy_location(ast.Attribute(target.value, target.attr, ast.Load()), target)
    if isinstance(target, ast.Subscript):
        return ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()), target)
    return target


def _grew(before: Value | None, after: Value | None) -> bool:
    if after is None:
        return False
    if before is None:
        return after.spread > Spread.UNIFORM or bool(after.wraps)
    return (
        after.spread > before.spread
        or len(after.wraps) > len(before.wraps)
        or not after.tags <= before.tags
    )


def _leaves(body: list[ast.stmt]) -> bool:
    """Whether a block ends by leaving (return, raise, continue, break), on its straight path."""
    return bool(body) and (
        isinstance(body[-1], (ast.Return, ast.Raise, ast.Continue, ast.Break))
        or (
            isinstance(body[-1], ast.If)
            and bool(body[-1].orelse)
            and _leaves(body[-1].body)
            and _leaves(body[-1].orelse)
        )
        or (
            isinstance(body[-1], ast.Expr)
            and isinstance(body[-1].value, ast.Call)
            and dotted_name(body[-1].value.func) in ("sys.exit", "exit", "quit", "os._exit")
        )
    )


def _reads(node: ast.AST, names: frozenset[str]) -> bool:
    for child in walk(node):
        if isinstance(child, ast.Call):
            return True
        if isinstance(child, ast.Name) and child.id in names:
            return True
        if isinstance(child, ast.Attribute) and dotted_name(child) in names:
            return True
    return False


def _symbols(value: Value) -> set[Hashable]:
    if value.logic is None:
        return {value.key}
    found: set[Hashable] = set()
    for operand in value.logic[1]:
        found |= _symbols(operand)
    return found


def _contains_break(body: list[ast.stmt]) -> bool:
    stack: list[ast.AST] = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Break):
            return True
        if not isinstance(
            node,
            (
                ast.For,
                ast.While,
                ast.AsyncFor,
                ast.FunctionDef,
                ast.AsyncFunctionDef,
                ast.ClassDef,
                ast.Lambda,
            ),
        ):
            stack.extend(children(node))
    return False


def _contains_nested_jump(body: list[ast.stmt]) -> bool:
    """Whether break/continue stand under a condition, so that unrolling would lose where they lead."""
    stack: list[tuple[ast.AST, bool]] = [(s, False) for s in body]
    while stack:
        node, inside = stack.pop()
        if isinstance(node, (ast.Break, ast.Continue)) and inside:
            return True
        if isinstance(
            node,
            (
                ast.For,
                ast.While,
                ast.AsyncFor,
                ast.FunctionDef,
                ast.AsyncFunctionDef,
                ast.ClassDef,
                ast.Lambda,
            ),
        ):
            continue
        for child in children(node):
            stack.append(
                (
                    child,
                    inside
                    or isinstance(node, (ast.Try, ast.With))
                    or (isinstance(node, ast.If) and not _about_rank(node.test)),
                )
            )
    return False


def _about_rank(test: ast.expr) -> bool:
    return any(
        isinstance(n, (ast.Name, ast.Attribute)) and "rank" in dotted_name(n).lower()
        for n in walk(test)
    )


def _captures(pattern: ast.AST) -> Iterator[str]:
    for node in walk(pattern):
        name = getattr(node, "name", None) or getattr(node, "rest", None)
        if isinstance(name, str):
            yield name


def _names_wrapper(kinds: ast.expr) -> bool:
    names = [
        dotted_name(n).rpartition(".")[2]
        for n in walk(kinds)
        if isinstance(n, (ast.Name, ast.Attribute))
    ]
    return any(name in facts.WRAPPER_CLASS_NAMES for name in names)


def _catches_exit(handler: ast.ExceptHandler) -> bool:
    caught = handler.type
    names = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return caught is None or any(
        n is not None and dotted_name(n) in ("SystemExit", "BaseException") for n in names
    )


def expects_lack_of_memory(statement: ast.Try) -> ast.ExceptHandler | None:
    """The handler of a `try` that recognises a lack of memory: by its class, or by the text of the error."""
    for handler in statement.handlers:
        caught = handler.type
        names = {
            dotted_name(n).rpartition(".")[2]
            for n in (caught.elts if isinstance(caught, ast.Tuple) else [caught])
            if n is not None
        }
        if names & failures.MEMORY_EXCEPTIONS:
            return handler
        if caught is not None and not names & failures.MEMORY_CARRIERS:
            continue
        for node in walk(handler):
            match node:
                case ast.Constant(value=str(text)) if text in failures.OUT_OF_MEMORY_TEXTS:
                    return handler
                case ast.Call(func=function, args=[argument, *_]) if _mentions(
                    argument, handler.name
                ) and any(w in dotted_name(function).lower() for w in failures.MEMORY_WORDS):
                    return handler
    return None


def _mentions(node: ast.expr, name: str | None) -> bool:
    return any(isinstance(n, ast.Name) and n.id == name for n in walk(node))


def _turns_gradients_off(expression: ast.expr) -> bool:
    return isinstance(expression, ast.Call) and (
        dotted_name(expression.func).rpartition(".")[2] in _WITHOUT_GRADIENTS
    )


def _names_data(kinds: ast.expr) -> bool:
    """Whether the classes asked for are none that a model could have: `isinstance(cfg, dict)`."""
    names = kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]
    return all(dotted_name(n) in _DATA_CLASSES for n in names)


def _suppresses(expression: ast.expr) -> bool:
    return isinstance(expression, ast.Call) and dotted_name(expression.func) in (
        "contextlib.suppress",
        "suppress",
    )


_STATEMENTS: Final[dict[type[ast.stmt], Callable[[Frame, Any], bool]]] = {
    ast.Expr: Frame._expression,
    ast.Assign: Frame._assign,
    ast.AnnAssign: Frame._annotated,
    ast.AugAssign: Frame._augmented,
    ast.Return: Frame._return,
    ast.Raise: Frame._raise,
    ast.Break: Frame._break,
    ast.Continue: Frame._continue,
    ast.If: Frame._if,
    ast.While: Frame._while,
    ast.For: Frame._for,
    ast.AsyncFor: Frame._for,
    ast.Try: Frame._try,
    ast.With: Frame._with,
    ast.AsyncWith: Frame._with,
    ast.Match: Frame._match,
    ast.FunctionDef: Frame._define,
    ast.AsyncFunctionDef: Frame._define,
    ast.ClassDef: Frame._class,
    ast.Delete: Frame._delete,
    ast.Assert: Frame._assert,
    ast.Import: Frame._nothing,
    ast.ImportFrom: Frame._nothing,
    ast.Pass: Frame._nothing,
    ast.Global: Frame._nothing,
    ast.Nonlocal: Frame._nothing,
}
if hasattr(ast, "TryStar"):
    _STATEMENTS[ast.TryStar] = Frame._try
