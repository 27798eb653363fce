"""A training loop, run on small numbers: which micro-batches are synchronised, and when the optimizer steps.

Counters have values; settings that are not known stay the same for a run, and every choice of them is run. What
cannot be decided ends the replay, and the rule is silent.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import field, replace
from typing import TYPE_CHECKING, Final

from distlint.analysis.questions.shares.reading import holds
from distlint.nodes import last_name
from distlint.records import dataclass

from .shape import FLAG, HOLDS, SETTERS, Shape, stepped, text_of

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Function

LENGTHS: Final = (12, 13)
"""Rounds of the loader: one that every small window divides, and one that none does."""
_ROUNDS: Final = 200
_STATEMENTS: Final = 5_000
"""What one run goes through at most."""
_CHOICES: Final = 12
"""How many choices of the settings are tried: first those that differ in one."""

_ARITHMETIC: Final[dict[type[ast.operator], Callable[[int, int], int]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_NUMBERS: Final[dict[str, Callable[..., int]]] = {"int": int, "min": min, "max": max, "bool": bool}


class Undecided(Exception):
    """The replay met something that it cannot decide."""


class Turn(int):
    """A number that was counted in the loop."""


class Chosen(int):
    """The answer that a run has for a setting that is not known."""


@dataclass(frozen=True, slots=True)
class Free:
    """What is not known, and stays the same during a run: a setting."""

    text: str


@dataclass(frozen=True, slots=True)
class Moving:
    """What is not known, and changes; `turn`: with a counter."""

    turn: bool = False


@dataclass(frozen=True, slots=True)
class Held:
    """A context, or what makes one, under which gradients stay with their rank."""

    site: ast.AST


Value = int | None | Free | Moving | Held


@dataclass(frozen=True, slots=True)
class DirtyStep:
    """A step with gradients that were not synchronised: where they were held back, and what decided the step."""

    site: ast.AST
    step: ast.Call
    guards: tuple[ast.expr, ...]


@dataclass(slots=True)
class Outcome:
    """What one run did."""

    synchronised: int = 0
    held_back: int = 0
    steps: int = 0
    dirty: list[DirtyStep] = field(default_factory=list)
    chosen: bool = False
    """Whether a setting chose that gradients stay."""

    def goes_wrong(self) -> bool | None:
        """Whether replicas drift apart; None where the run says nothing of it."""
        if not self.held_back or not self.steps or (self.chosen and not self.synchronised):
            return None
        return bool(self.dirty)


class _Break(Exception):
    pass


class _Continue(Exception):
    pass


class _Return(Exception):
    def __init__(self, value: Value) -> None:
        self.value = value


@dataclass(frozen=True, slots=True)
class World:
    """The numbers of one run: the window, the rounds of the loader, where counters start that nobody sets."""

    window: int
    length: int
    start: int = 0


def outcomes(
    function: Function, shape: Shape, world: World, other: dict[int, ast.expr]
) -> Iterator[Outcome]:
    """What every choice of settings does; `other` are expressions that stand for those of the code."""
    for start in range(world.window):
        here = replace(world, start=start)
        pending: list[dict[str, bool]] = [{}]
        asked_start = False
        for _ in range(_CHOICES):
            choices = pending.pop(0)
            replay = _Replay(function, shape, here, choices, other)
            yield replay.run()
            asked_start = asked_start or replay.asked_start
            for number, text in enumerate(replay.asked):
                before = dict.fromkeys(replay.asked[:number], True)
                pending.append({**choices, **before, text: False})
            if not pending:
                break
        if not asked_start:
            return


class _Replay:
    """One run of a function's loop."""

    def __init__(
        self,
        function: Function,
        shape: Shape,
        world: World,
        choices: dict[str, bool],
        other: dict[int, ast.expr],
    ) -> None:
        self.choices = dict(choices)
        self.asked: list[str] = []
        self.asked_start = False
        self._function = function
        self._shape = shape
        self._world = world
        self._other = other
        self._env: dict[str, Value] = {}
        self._contexts: list[Held] = []
        self._flags: dict[str, ast.AST] = {}
        self._forward: ast.AST | None = None
        self._dirty: ast.AST | None = None
        self._tests: list[tuple[ast.expr, Value]] = []
        self._left_open = False
        self._depth = 0
        self._count = 0
        self._outcome = Outcome()

    def run(self) -> Outcome:
        """The function once, or as often as a loader has batches where it is what another one's loop calls."""
        rounds = 1 if self._shape.loops else self._world.length
        for number in range(rounds):
            for name in self._shape.numbers:
                self._env[name] = Turn(number)
            with suppress(_Return):
                self._block(self._function.body)
            self._contexts.clear()
        return self._outcome

    # Statements

    def _block(self, body: list[ast.stmt]) -> None:
        for statement in body:
            if self._shape.matters(statement):
                self._count += 1
                if self._count > _STATEMENTS:
                    raise Undecided
                self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.If():
                self._if(node)
            case ast.For() | ast.AsyncFor():
                self._for(node)
            case ast.While():
                self._while(node)
            case ast.With() | ast.AsyncWith():
                self._with(node)
            case ast.Try():
                self._block(node.body)
                self._block(node.orelse)
                self._block(node.finalbody)
            case ast.Assign(targets=targets, value=value):
                self._happens(value)
                for target in targets:
                    self._assign(target, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._happens(value)
                self._assign(target, value)
            case ast.AugAssign(target=target, op=op, value=value):
                self._happens(value)
                made = ast.BinOp(target, op, value)
                now = self._arithmetic(made, self._read(target), self._value(value))
                self._env[text_of(target)] = _as_turn(now)
            case ast.Expr(value=value):
                self._happens(value)
            case ast.Return(value=returned):
                if returned is not None:
                    self._happens(returned)
                raise _Return(None if returned is None else self._value(returned))
            case ast.Break():
                raise _Break
            case ast.Continue():
                raise _Continue

    def _if(self, node: ast.If) -> None:
        value = self._value(node.test)
        leaves = [b for b in (node.body, node.orelse) if b and isinstance(b[-1], _EXITS)]
        if self._by_setting(value) and leaves:
            self._left_open = self._left_open or not isinstance(leaves[0][-1], ast.Raise)
        if isinstance(value, Free | Moving) and leaves:
            self._block(node.orelse if leaves[0] is node.body else node.body)
            return
        if isinstance(value, Moving) and value.turn and not self._shape.has_events(node):
            self._env |= dict.fromkeys(self._shape.changed(node), value)
            return
        taken = self._truth(node.test, value)
        self._tests.append((node.test if taken else _negated(node.test), value))
        self._block(node.body if taken else node.orelse)
        self._tests.pop()

    def _for(self, node: ast.For | ast.AsyncFor) -> None:
        elements = self._elements(node.target, node.iter)
        if not self._shape.goes_backward(node):
            elements = elements[:1] or [{}]
        elif self._shape.is_outer(node):
            elements = elements[:2] or [{}, {}]
        for bound in elements:
            self._env |= dict.fromkeys(self._shape.bound(node.target), Moving()) | bound
            if not self._round(node.body):
                return
        self._block(node.orelse)

    def _while(self, node: ast.While) -> None:
        for _ in range(2 if self._shape.is_outer(node) else self._world.length):
            value = self._value(node.test)
            if value is not None and isinstance(value, int) and not value:
                return
            if not self._round(node.body):
                return

    def _round(self, body: list[ast.stmt]) -> bool:
        """One round of a loop; whether another follows."""
        depth = len(self._tests)
        contexts = len(self._contexts)
        self._left_open = False
        try:
            self._block(body)
        except _Continue:
            pass
        except _Break:
            return False
        finally:
            del self._tests[depth:]
            del self._contexts[contexts:]
        return True

    def _elements(self, target: ast.expr, iterable: ast.expr) -> list[dict[str, Value]]:
        """What a loop binds in each round, as far as it is a number."""
        match target, iterable:
            case ast.Name(id=name), ast.Call(func=ast.Name(id="range"), args=args):
                numbers = [self._value(a) for a in args]
                known = [n for n in numbers if isinstance(n, int)]
                if len(known) == len(numbers):
                    return [{name: Turn(n)} for n in range(*known)[:_ROUNDS]]
                if any(isinstance(n, Moving) for n in numbers):
                    return [{name: Moving(turn=True)} for _ in range(self._world.length)]
                return [{name: Turn(n)} for n in range(self._world.length)]
            case (
                ast.Tuple(elts=[ast.Name(id=name), *_]),
                ast.Call(func=ast.Name(id="enumerate"), args=[_, *rest], keywords=keywords),
            ):
                begin = [*rest, *(k.value for k in keywords)]
                first = self._value(begin[0]) if begin else 0
                offset = first if isinstance(first, int) else 0
                return [{name: Turn(n + offset)} for n in range(self._world.length)]
            case _, ast.Call(args=[inner, *_], func=func) if last_name(func) in _BARS:
                return self._elements(target, inner)
            case _, ast.Name() if (made := self._shape.made_of(iterable)) is not None:
                return self._elements(target, made)
        return [{} for _ in range(self._world.length)]

    def _with(self, node: ast.With | ast.AsyncWith) -> None:
        depth = len(self._contexts)
        for item in node.items:
            value = self._value(item.context_expr)
            if isinstance(value, Held):
                self._contexts.append(value)
        try:
            self._block(node.body)
        finally:
            del self._contexts[depth:]

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Attribute) and target.attr == FLAG:
            self._flag(target.attr, value, target)
            return
        match target, value:
            case ast.Tuple(elts=names), ast.Tuple(elts=given) if len(names) == len(given):
                values = [self._value(each) for each in given]
                self._env |= dict(zip(map(text_of, names), values, strict=True))
                return
        if isinstance(target, ast.Tuple):
            for name in self._shape.bound(target):
                self._env[name] = Moving()
            return
        self._env[text_of(target)] = self._value(value)

    def _flag(self, name: str, value: ast.expr, site: ast.AST) -> None:
        now = self._value(value)
        if self._truth(value, now):
            self._flags.pop(name, None)
        else:
            self._outcome.chosen = self._outcome.chosen or self._by_setting(now)
            self._flags[name] = site

    # Events

    def _happens(self, node: ast.expr) -> None:
        """The calls of an expression, innermost first."""
        for call in _calls(node):
            self._call(call)

    def _call(self, call: ast.Call) -> None:
        shape = self._shape
        if isinstance(call.func, ast.Attribute) and call.func.attr in SETTERS and call.args:
            self._flag(call.func.attr, call.args[0], call)
            return
        if last_name(call.func) == "enter_context" and call.args:
            value = self._value(call.args[0])
            if isinstance(value, Held):
                self._contexts.append(value)
            return
        if shape.is_forward(call):
            self._forward = self._holding()
        callee = shape.followed(call)
        if callee is not None:
            self._inline(callee, call)
        elif shape.is_backward(call):
            self._backward()
        elif stepped(call):
            self._step(call)
        elif last_name(call.func) == "zero_grad":
            self._dirty = None

    def _holding(self) -> ast.AST | None:
        if self._contexts:
            return self._contexts[-1].site
        return next(iter(self._flags.values()), None)

    def _backward(self) -> None:
        site = self._shape.unsynchronised(self._forward, self._holding())
        self._dirty = site
        if site is None:
            self._outcome.synchronised += 1
            return
        self._outcome.held_back += 1
        if any(self._by_setting(value) for _, value in self._tests):
            self._outcome.chosen = True

    def _step(self, call: ast.Call) -> None:
        done = self._outcome
        done.steps += 1
        every = done.steps >= done.synchronised + done.held_back
        opened = self._left_open or any(self._by_setting(value) for _, value in self._tests)
        if self._dirty is not None and not (every and opened):
            guards = tuple(test for test, value in self._tests if isinstance(value, Turn))
            done.dirty.append(DirtyStep(self._dirty, call, guards))

    def _by_setting(self, value: Value) -> bool:
        return isinstance(value, Free | Moving | Chosen)

    def _inline(self, callee: Function, call: ast.Call) -> Value:
        """A function of the project as if it stood here."""
        if self._depth >= _DEPTH:
            raise Undecided
        given = self._shape.bind(callee, call)
        values = {name: self._value(node) for name, node in given.items()}
        outside, before = self._env, self._function
        nested = callee.parent is not None
        kept = outside if nested else {k: v for k, v in outside.items() if k.startswith("self.")}
        self._env = {**kept, **dict.fromkeys(callee.parameters, Moving()), **values}
        contexts, tests = len(self._contexts), len(self._tests)
        self._depth += 1
        self._function = callee
        result: Value = None
        try:
            self._block(callee.body)
        except _Return as returned:
            result = returned.value
        finally:
            inner, self._env = self._env, outside
            self._env |= {k: v for k, v in inner.items() if k.startswith("self.")}
            if nested:
                own = set(callee.parameters)
                self._env |= {k: v for k, v in inner.items() if k in outside and k not in own}
            self._depth -= 1
            self._function = before
            del self._contexts[contexts:]
            del self._tests[tests:]
        return result

    # Values

    def _truth(self, node: ast.expr, value: Value) -> bool:
        match value:
            case None:
                return False
            case int():
                return bool(value)
            case Held():
                return True
            case Moving(turn=True):
                raise Undecided
        text = value.text if isinstance(value, Free) else ast.unparse(node)
        if text not in self.choices:
            self.choices[text] = True
            self.asked.append(text)
        return self.choices[text]

    def _read(self, node: ast.expr) -> Value:
        """What a name or an attribute holds."""
        text = text_of(node)
        value = self._env.get(text, Free(text))
        if isinstance(value, Free) and text in self._shape.windows:
            return self._world.window
        if isinstance(value, Free) and text in self._shape.counters and value.text == text:
            start = self._shape.start(text)
            if start is None:
                self.asked_start = True
                start = self._world.start
            value = self._env[text] = Turn(start)
        return value

    def _value(self, node: ast.expr) -> Value:
        node = self._other.get(id(node), node)
        match node:
            case ast.Constant(value=bool() | int() | None as constant):
                return constant
            case ast.Constant():
                return Free(ast.unparse(node))
            case ast.Attribute(attr=attr) if attr in HOLDS:
                return Held(node)
            case ast.Name() | ast.Attribute() | ast.Subscript():
                return self._read(node)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                value = self._value(operand)
                if isinstance(value, Free | Moving):
                    value = self._decided(operand, value)
                return _like(value, not value)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self._arithmetic(
                    ast.BinOp(ast.Constant(0), ast.Sub(), operand), 0, self._value(operand)
                )
            case ast.BoolOp(op=op, values=values):
                return self._either(isinstance(op, ast.Or), values)
            case ast.BinOp(left=left, right=right):
                return self._arithmetic(node, self._value(left), self._value(right))
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return self._compare(op, self._value(left), self._value(right), node)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self._conditional(test, body, orelse)
            case ast.Call():
                return self._called(node)
        return self._unknown(node, [self._value(n) for n in _parts(node)])

    def _conditional(self, test: ast.expr, body: ast.expr, orelse: ast.expr) -> Value:
        value = self._value(test)
        taken = self._truth(test, value)
        result = self._value(body if taken else orelse)
        if isinstance(result, Held) and self._by_setting(value):
            self._outcome.chosen = True
        return result

    def _decided(self, node: ast.expr, value: Value) -> Value:
        """A setting as the run has it, so that it can stand beside numbers; a counted unknown stays."""
        if isinstance(value, Moving) and value.turn:
            return value
        return Chosen(self._truth(node, value))

    def _either(self, is_or: bool, values: list[ast.expr]) -> Value:
        counted = False
        asked = False
        open_ = False
        result: Value = None
        for node in values:
            result = self._value(node)
            if isinstance(result, Moving) and result.turn:
                open_ = True
                continue
            counted = counted or isinstance(result, Turn)
            asked = asked or self._by_setting(result)
            if self._truth(node, result) == is_or:
                result = int(is_or)
                break
        else:
            if open_:
                return Moving(turn=True)
            result = int(not is_or)
        return Turn(result) if counted else Chosen(result) if asked else result

    def _compare(self, op: ast.cmpop, left: Value, right: Value, node: ast.expr) -> Value:
        if isinstance(left, int) and isinstance(right, int):
            compared = holds(left, op, right)
            if compared is not None:
                return _like(left if isinstance(left, Turn) else right, compared)
        if isinstance(op, ast.Is | ast.IsNot) and left is right is None:
            return int(isinstance(op, ast.Is))
        return self._unknown(node, [left, right])

    def _arithmetic(self, node: ast.BinOp, left: Value, right: Value) -> Value:
        done = _ARITHMETIC.get(type(node.op))
        if done is None or not (isinstance(left, int) and isinstance(right, int)):
            return self._unknown(node, [left, right])
        if isinstance(node.op, ast.FloorDiv | ast.Mod) and right == 0:
            raise Undecided
        return _like(left if isinstance(left, Turn) else right, done(left, right))

    def _called(self, node: ast.Call) -> Value:
        func = self._value(node.func)
        if isinstance(func, Held):
            enabled = next((k.value for k in node.keywords if k.arg == "enabled"), None)
            if enabled is not None and not self._truth(enabled, self._value(enabled)):
                return Moving()
            return func
        name = last_name(node.func)
        if name == "len" and node.args:
            looped = text_of(node.args[0]) in self._shape.loaders
            return self._world.length if looped else self._unknown(node, [])
        values = [self._value(a) for a in node.args]
        if name == "partial" and values and isinstance(values[0], Held):
            return values[0]
        if name in _NUMBERS and values and all(isinstance(v, int) for v in values):
            turned = next((v for v in values if isinstance(v, Turn)), None)
            return _like(turned, _NUMBERS[name](*values))
        callee = self._shape.context_of(node)
        if callee is not None:
            return self._inline(callee, node)
        return self._unknown(node, [*values, *(self._value(k.value) for k in node.keywords)])

    def _unknown(self, node: ast.expr, parts: list[Value]) -> Value:
        """What is made of parts that are not all known."""
        if any(isinstance(p, Turn) or (isinstance(p, Moving) and p.turn) for p in parts):
            return Moving(turn=True)
        if any(isinstance(p, Moving | Held) for p in parts):
            return Moving()
        return Free(ast.unparse(node))


_BARS: Final = ("tqdm", "trange", "iter", "list", "track", "islice", "get_progress_bar")
_EXITS: Final = (ast.Continue, ast.Break, ast.Return, ast.Raise)
_DEPTH: Final = 3


def _like(value: Value, result: int) -> int:
    return type(value)(result) if isinstance(value, Turn | Chosen) else int(result)


def _as_turn(value: Value) -> Value:
    return Turn(value) if isinstance(value, int) else value


def _negated(test: ast.expr) -> ast.expr:
    return ast.copy_location(ast.UnaryOp(ast.Not(), test), test)


def _parts(node: ast.AST) -> Iterator[ast.expr]:
    return (n for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr))


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    """The calls below a node in the order in which they are made."""
    if isinstance(node, ast.Lambda):
        return
    for child in ast.iter_child_nodes(node):
        yield from _calls(child)
    if isinstance(node, ast.Call):
        yield node
