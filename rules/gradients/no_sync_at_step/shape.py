"""What a function that accumulates gradients consists of: its contexts, counters, windows, forwards and steps."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import dotted_name
from distlint.analysis.program.syntax import assignments, own_nodes, target_names
from distlint.analysis.questions.training import Backward, sent_backward
from distlint.nodes import last_name, walk
from distlint.patterns import pattern

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function

HOLDS: Final = frozenset({"no_sync", "no_backward_sync"})
"""Methods that give a context in which gradients stay with their rank: of DDP and FSDP, of Lightning's Fabric."""
FLAG: Final = "require_backward_grad_sync"
SETTERS: Final = frozenset({"set_requires_gradient_sync", "set_is_last_backward"})
"""FSDP2's switches, asked in the backward; DDP's flag is asked in the forward."""

_OPTIMIZER: Final = pattern(r"optim|(^|_)opt(s|\d*)?(_|$)", re.IGNORECASE)
_SCALER: Final = pattern(r"scaler", re.IGNORECASE)
_SENDS: Final = pattern(r"all_?reduce|reduce_scatter|broadcast|all_?gather", re.IGNORECASE)
_BY_HAND: Final = pattern(
    r"(average|sync\w*|(all_?)?reduce|aggregate|merge)_(\w+_)?(grad|param|model|weight)",
    re.IGNORECASE,
)
_SENT: Final = pattern(r"\.grad\b|\.data\b|\bgrads?\b|\bparam|_grads?\b")
_AVERAGES: Final = pattern(
    r"LocalSGD|model_averag|ModelAverager|DiLoCo|hivemind|comm_hook|post_local"
)
"""Words of training in which each rank steps for itself on purpose, and the weights are averaged now and then."""
_ASKS: Final = frozenset({"isinstance", "hasattr", "getattr", "len", "id", "print"})
_TRAINS: Final = "training_step"
"""The method of a base class that is not seen, whose backward comes with it: transformers, Lightning."""
_FUNCTIONS: Final = 20


def text_of(node: ast.AST) -> str:
    """A name, attribute or element as it is written."""
    return (dotted_name(node) if isinstance(node, ast.expr) else "") or ast.unparse(node)


def stepped(call: ast.Call) -> str:
    """The optimizer that a call lets step, as it is written; "" where it is something else."""
    match call:
        case ast.Call(func=ast.Attribute(attr="step", value=owner), args=args):
            if args and _SCALER.search(last_name(owner)):
                return text_of(args[0])
            return text_of(owner) if _OPTIMIZER.search(_last(owner)) else ""
    return ""


def _last(node: ast.expr) -> str:
    return last_name(node.value if isinstance(node, ast.Subscript) else node)


class Shape:
    """The facts of one function, and of those of the project that it calls to go backward or to step."""

    def __init__(self, model: Model, function: Function, kinds: Mapping[int, str]) -> None:
        self._model = model
        self._function = function
        self._kinds = kinds
        self._matters: dict[int, bool] = {}
        self._callees: dict[int, Function] = {}
        self._functions = self._reached()

    # Whether there is anything to replay

    @cached_property
    def is_decidable(self) -> bool:
        """Whether one optimizer steps here after backwards, and nothing else averages gradients or weights."""
        calls = [n for n in self._nodes if isinstance(n, ast.Call)]
        optimizers = {text for call in calls if (text := stepped(call))}
        return (
            len(optimizers) == 1
            and any(self.is_backward(call) for call in calls)
            and not any(last_name(call.func) == "accumulate" for call in calls)
            and not any(_sends(call) for call in calls)
            and not _AVERAGES.search(self._function.module.source.text)
        )

    @cached_property
    def _nodes(self) -> list[ast.AST]:
        return [n for f in self._functions for n in own_nodes(f)]

    def _reached(self) -> list[Function]:
        """The function, and those of the project that it calls for a part of a step; notes which call leads where."""
        found = [self._function]
        for function in found:
            for node in own_nodes(function, ast.Call):
                callee = self._callee(function, node.func)
                if callee is not None and _has_events(callee):
                    self._callees[id(node)] = callee
                    if callee not in found and len(found) < _FUNCTIONS:
                        found.append(callee)
        return found

    def _callee(self, function: Function, func: ast.expr) -> Function | None:
        """The function of the project that a name or a method of the same object means."""
        match func:
            case ast.Name(id=name):
                for around in function.outward():
                    if name in around.nested:
                        return around.nested[name]
                return function.module.functions.get(name)
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                cls = next((f.cls for f in function.outward() if f.cls is not None), None)
                if cls is not None:
                    for each in self._model.program.mro(cls)[0]:
                        if name in each.methods:
                            return each.methods[name]
        return None

    # Calls

    def followed(self, call: ast.Call) -> Function | None:
        """The function of the project that a call leads to, where it goes backward or lets the optimizer step."""
        callee = self._callees.get(id(call))
        return None if callee is None or _gives_context(callee) else callee

    def context_of(self, call: ast.Call) -> Function | None:
        """The function of the project whose outcome is a context: `maybe_no_sync()`."""
        callee = self._callees.get(id(call))
        return callee if callee is not None and _gives_context(callee) else None

    def is_backward(self, call: ast.Call) -> bool:
        """Whether a call goes backward by itself."""
        if sent_backward(call) is not None:
            return self.followed(call) is None
        return (
            isinstance(call.func, ast.Attribute)
            and call.func.attr == _TRAINS
            and id(call) not in self._callees
        )

    def goes_backward(self, node: ast.AST) -> bool:
        """Whether anything below a node goes backward."""
        return any(
            (self.is_backward(n) or (self.followed(n) is not None and self._trains(n)))
            for n in walk(node, ast.Call)
        )

    def _trains(self, call: ast.Call) -> bool:
        callee = self.followed(call)
        return callee is not None and any(self.is_backward(n) for n in own_nodes(callee, ast.Call))

    def is_forward(self, call: ast.Call) -> bool:
        """Whether a call runs the model whose gradients are held back; by the loss where it is not called by name."""
        if self._runs(call):
            return True
        return not self._by_name and self._backward.reaches(call)

    def _runs(self, call: ast.Call) -> bool:
        func = last_name(call.func)
        return func not in _ASKS | HOLDS and (
            text_of(call.func) in self._models or any(text_of(a) in self._models for a in call.args)
        )

    @cached_property
    def _by_name(self) -> bool:
        return any(
            isinstance(n, ast.Call)
            and self._runs(n)
            and sent_backward(n) is None
            and not stepped(n)
            for n in self._nodes
        )

    @cached_property
    def _backward(self) -> Backward:
        return Backward(self._function)

    @cached_property
    def _models(self) -> frozenset[str]:
        """The models whose gradients are held back, as they are written."""
        given = {id(n.func): n.args for n in self._nodes if isinstance(n, ast.Call)}
        for node in self._nodes:  # `partial(accelerator.no_sync, model)`
            if isinstance(node, ast.Call) and node.args and last_name(node.func) == "partial":
                given[id(node.args[0])] = node.args[1:]
        found = set()
        for node in self._nodes:
            if isinstance(node, ast.Attribute) and node.attr in HOLDS | SETTERS | {FLAG}:
                arguments = given.get(id(node), []) if node.attr in HOLDS else []
                found.add(text_of(arguments[0] if arguments else node.value))
        return frozenset(found)

    def unsynchronised(self, forward: ast.AST | None, now: ast.AST | None) -> ast.AST | None:
        """What kept a backward from synchronising: DDP asks in the forward, FSDP in the backward.

        Where it is not known which of them a model is in, both have to agree.
        """
        for site in (forward, now):
            way = self._way(site)
            if way == "ddp":
                return forward
            if way.startswith("fsdp"):
                return now
        return now if forward is not None else None

    def _way(self, site: ast.AST | None) -> str:
        match site:
            case ast.Call():
                return "fsdp"
            case ast.Attribute(attr=attr) if attr == FLAG:
                return "ddp"
        return self._kinds.get(id(site), "")

    def bind(self, callee: Function, call: ast.Call) -> dict[str, ast.expr]:
        """The arguments of a call by the names of the parameters."""
        names = callee.parameters
        if callee.cls is not None and isinstance(call.func, ast.Attribute):
            names = names[1:]
        found = dict(zip(names, call.args, strict=False))
        return found | {k.arg: k.value for k in call.keywords if k.arg is not None}

    # Loops and numbers

    @cached_property
    def loops(self) -> bool:
        """Whether the loop over micro-batches stands here."""
        return any(
            self.goes_backward(n)
            for n in own_nodes(self._function, ast.For, ast.AsyncFor, ast.While)
        )

    def is_outer(self, loop: ast.AST) -> bool:
        """Whether the micro-batches are those of a loop inside of this one."""
        return any(
            n is not loop and self.goes_backward(n)
            for n in walk(loop, ast.For, ast.AsyncFor, ast.While)
        )

    @cached_property
    def numbers(self) -> frozenset[str]:
        """The parameters that count the calls, of a function that a loop elsewhere calls."""
        names = set(self._function.parameters)
        return frozenset(
            n.id for divided in self._divided for n in walk(divided.left, ast.Name) if n.id in names
        )

    @cached_property
    def _divided(self) -> list[ast.BinOp]:
        return [
            n
            for n in self._nodes
            if isinstance(n, ast.BinOp)
            and isinstance(n.op, ast.Mod)
            and not isinstance(n.left, ast.Constant | ast.JoinedStr)
        ]

    @cached_property
    def windows(self) -> frozenset[str]:
        """What counters are divided by, and loops count to: the number of micro-batches of a step."""
        found = {text_of(n.right) for n in self._divided}
        for node in self._nodes:
            match node:
                case ast.For(iter=ast.Call(func=ast.Name(id="range"), args=args)):
                    found |= {t for a in args for t in _texts(a)}
        return self._with_sources(found)

    def _with_sources(self, found: set[str]) -> frozenset[str]:
        """Names with what they are assigned, where that is a name, too."""
        named = ast.Name | ast.Attribute | ast.Subscript
        for name in list(found):
            for value in self._assigned.get(name, ()):
                if isinstance(value, named):
                    found.add(text_of(value))
        return frozenset(found)

    @cached_property
    def _assigned(self) -> dict[str, list[ast.expr]]:
        found: dict[str, list[ast.expr]] = {}
        for function in self._functions:
            for name, values in assignments(function).items():
                found.setdefault(name, []).extend(values)
        return found

    @cached_property
    def counters(self) -> frozenset[str]:
        """What is changed by a number again and again: `step += 1`, `step = (step + 1) % every`."""
        found = set()
        for node in self._nodes:
            match node:
                case ast.AugAssign(target=target, value=ast.Constant(value=int())):
                    found.add(text_of(target))
                case ast.Assign(targets=[target], value=ast.BinOp() as value):
                    if text_of(target) in set(_texts(value)):
                        found.add(text_of(target))
        return frozenset(found)

    def start(self, counter: str) -> int | None:
        """Where a counter of an object starts, if its class says so."""
        cls = next((f.cls for f in self._function.outward() if f.cls is not None), None)
        if cls is None or not counter.startswith("self."):
            return None
        made = cls.methods.get("__init__")
        values = assignments(made).get(counter, []) if made is not None else []
        values += [v for v in [cls.attributes.get(counter.removeprefix("self."))] if v is not None]
        match values:
            case [ast.Constant(value=int() as number)]:
                return number
        return None

    @cached_property
    def loaders(self) -> frozenset[str]:
        """What the loops over micro-batches go through."""
        found: set[str] = set()
        for node in self._nodes:
            if isinstance(node, ast.For | ast.AsyncFor) and self.goes_backward(node):
                found |= set(self._bases(node.iter))
        return self._with_sources(found)

    def _bases(self, iterable: ast.expr) -> Iterator[str]:
        match iterable:
            case ast.Call(func=ast.Name(id="range"), args=args):
                for part in (n for a in args for n in walk(a)):
                    if isinstance(part, ast.Call) and last_name(part.func) == "len" and part.args:
                        yield text_of(part.args[0])
            case ast.Call(args=args):
                for argument in args:
                    yield from self._bases(argument)
            case ast.Name():
                yield iterable.id
                made = self.made_of(iterable)
                if isinstance(made, ast.Call):
                    yield from self._bases(made)
            case ast.Attribute() | ast.Subscript():
                yield text_of(iterable)

    def meaning(self, guard: ast.expr) -> ast.expr:
        """A condition, or what the one assignment of a variable gives it."""
        if isinstance(guard, ast.UnaryOp):
            return ast.UnaryOp(guard.op, self.meaning(guard.operand))
        match self._assigned.get(text_of(guard), []):
            case [value]:
                return value
        return guard

    def made_of(self, name: ast.expr) -> ast.expr | None:
        """What the one assignment of a variable gives it, where that is a call."""
        match self._assigned.get(text_of(name), []):
            case [ast.Call() as value]:
                return value
        return None

    def bound(self, target: ast.expr) -> tuple[str, ...]:
        """The names that a target binds."""
        return tuple(target_names(target))

    # What is to be run

    def matters(self, statement: ast.stmt) -> bool:
        """Whether a statement has a part in what is synchronised and when the optimizer steps."""
        known = self._matters.get(id(statement))
        if known is None:
            known = self._matters[id(statement)] = any(
                self._is_event(n) or not self._relevant.isdisjoint(_written(n))
                for n in walk(statement)
            )
        return known

    def has_events(self, node: ast.AST) -> bool:
        """Whether anything below a node holds gradients back, goes backward, steps or leaves a loop."""
        return any(self._is_event(n) for n in walk(node))

    def changed(self, node: ast.AST) -> frozenset[str]:
        """What is assigned below a node."""
        return frozenset(name for n in walk(node) for name in _written(n))

    def _is_event(self, node: ast.AST) -> bool:
        match node:
            case ast.Break() | ast.Continue() | ast.Return():
                return True
            case ast.Attribute(attr=attr):
                return attr in HOLDS | SETTERS | {FLAG, "zero_grad", "enter_context"}
            case ast.Call():
                return (
                    bool(stepped(node))
                    or self.is_backward(node)
                    or self.followed(node) is not None
                    or self.is_forward(node)
                )
        return False

    @cached_property
    def _relevant(self) -> frozenset[str]:
        """The variables that decide, through any number of assignments."""
        found: set[str] = set()
        for node in self._nodes:
            match node:
                case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
                    if self.has_events(node):
                        found.update(_texts(test))
                case ast.With(items=items):
                    found.update(t for item in items for t in _texts(item.context_expr))
                case ast.Assign(targets=[ast.Attribute(attr=attr)], value=value) if attr == FLAG:
                    found.update(_texts(value))
                case ast.Call(func=func, args=args, keywords=keywords):
                    if last_name(func) in SETTERS | HOLDS or self.followed(node) is not None:
                        given = (*args, *(k.value for k in keywords))
                        found.update(t for a in given for t in _texts(a))
                case ast.Return(value=ast.expr() as value):
                    found.update(_texts(value))
        more = found
        while more:
            more = {t for n in more for v in self._assigned.get(n, ()) for t in _texts(v)} - found
            found |= more
        return frozenset(found)


def _texts(node: ast.AST) -> Iterator[str]:
    for part in walk(node, ast.Name, ast.Attribute, ast.Subscript):
        yield text_of(part)


def _written(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Assign(targets=targets):
            for target in targets:
                yield from (text_of(target), *target_names(target))
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target) | ast.For(target=target):
            yield from (text_of(target), *target_names(target))


def _has_events(function: Function) -> bool:
    return any(
        (isinstance(n, ast.Attribute) and n.attr in HOLDS | SETTERS | {FLAG})
        or (isinstance(n, ast.Call) and (sent_backward(n) is not None or bool(stepped(n))))
        for n in own_nodes(function)
    )


def _gives_context(function: Function) -> bool:
    """Whether a function returns a context, and neither goes backward nor steps itself."""
    nodes = own_nodes(function)
    return (
        not function.is_generator
        and any(isinstance(n, ast.Attribute) and n.attr in HOLDS for n in nodes)
        and any(isinstance(n, ast.Return) and n.value is not None for n in nodes)
        and not any(isinstance(n, ast.Call) and sent_backward(n) is not None for n in nodes)
    )


def _sends(call: ast.Call) -> bool:
    """Whether a call sends gradients or weights to other ranks by hand."""
    name = last_name(call.func)
    return bool(_BY_HAND.search(name)) or (
        bool(_SENDS.search(name)) and any(_SENT.search(text_of(a)) for a in call.args)
    )
