"""What signal handlers write: flags of one rank alone, since the operating system signals processes, not jobs.

By syntax, in the files that register a handler: what is registered is followed through variables, lists,
`functools.partial`, callable objects and parameters of the file's own functions to the functions that run
when the signal comes, and what these (and what they call) assign is noted.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import field

from distlint.analysis.interpreter.values import UNKNOWN, Origin, Value, Variance
from distlint.analysis.program.definitions import Class, Function, Module, dotted_name
from distlint.analysis.program.program import Program
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.knowledge import failures
from distlint.nodes import walk
from distlint.records import dataclass


@dataclass(slots=True, eq=False)
class SignalWrites:
    """What handlers write, each with the node that writes it: attributes by the class that owns them,
    variables by the function (or body of a module) whose they are."""

    attributes: dict[Class, dict[str, ast.AST]] = field(default_factory=dict)
    variables: dict[Function, dict[str, ast.AST]] = field(default_factory=dict)

    handlers: set[Function] = field(default_factory=set)
    """The functions that run when a signal comes, and those that they call in the same file."""

    names: frozenset[str] = frozenset()
    """All names written: functions that hold one may part the ranks."""


def signal_writes(program: Program) -> SignalWrites:
    """What the signal handlers of a program write."""
    writes = SignalWrites()
    for module in program.modules.values():
        text = module.source.text
        if "signal" in text and any(word in text for word in failures.SIGNAL_REGISTRATIONS):
            _Registrations(program, module, writes).follow()
    tables = (*writes.attributes.values(), *writes.variables.values())
    writes.names = frozenset(name for table in tables for name in table)
    return writes


class _Registrations:
    """The handlers that one file registers, and what they write."""

    def __init__(self, program: Program, module: Module, writes: SignalWrites) -> None:
        self.program = program
        self.module = module
        self.writes = writes
        self._seen: set[tuple[int, int]] = set()
        self._ran: set[int] = set()

    def follow(self) -> None:
        for function in self.module.all_functions:
            for call in _calls(function):
                position = self._position_of_handler(call)
                if position is not None and position < len(call.args):
                    self._flows(call.args[position], function)

    def _position_of_handler(self, call: ast.Call) -> int | None:
        meaning = self.program.resolve_dotted(self.module, dotted_name(call.func))
        if isinstance(meaning, str) and meaning in failures.SIGNAL_HANDLERS:
            return failures.SIGNAL_HANDLERS[meaning]
        if isinstance(call.func, ast.Attribute):
            return failures.SIGNAL_HANDLERS.get(f".{call.func.attr}")
        return None

    # -- from what is registered to the functions that run ---------------------------------------------

    def _flows(self, value: ast.expr, function: Function) -> None:
        """`value`, an expression of `function`, is or holds a handler."""
        if (id(value), id(function)) in self._seen:
            return
        self._seen.add((id(value), id(function)))
        match value:
            case ast.Lambda():
                self._runs(value, function)
            case ast.Name(id=name):
                self._name(name, function)
            case ast.Attribute():
                method = self._method(value, function)
                if method is not None:
                    self._runs(method.node, method)
            case ast.Call():
                self._made(value, function)
            case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.BoolOp(values=elements):
                for element in elements:
                    self._flows(element, function)
            case ast.IfExp(body=body, orelse=orelse):
                self._flows(body, function)
                self._flows(orelse, function)
            case ast.Starred(value=inner):
                self._flows(inner, function)

    def _name(self, name: str, function: Function) -> None:
        owner: Function | None = function
        while owner is not None:
            if name in owner.nested:
                self._runs(owner.nested[name].node, owner.nested[name])
                return
            values = assignments(owner).get(name, [])
            for value in values:
                self._flows(value, owner)
            if values:
                for call in _calls(owner):
                    match call.func:
                        case ast.Attribute(value=ast.Name(id=held), attr="append") if held == name:
                            for argument in call.args:
                                self._flows(argument, owner)
                return
            if name in owner.parameters:
                for argument, caller in self._arguments(owner, name):
                    self._flows(argument, caller)
                return
            owner = owner.parent
        meaning = self.program.member(self.module, name)
        if isinstance(meaning, Function):
            self._runs(meaning.node, meaning)
        else:
            for value in assignments(self.module.body).get(name, []):
                self._flows(value, self.module.body)

    def _made(self, call: ast.Call, function: Function) -> None:
        """A handler that a call makes: `partial(f, x)`, an object with `__call__`, a factory."""
        meaning = self._meaning(call.func, function)
        if isinstance(meaning, Class):
            method = self.program.find_method(meaning, "__call__")
            if method is not None:
                self._runs(method.node, method)
        if isinstance(meaning, Function):
            for node in own_nodes(meaning, ast.Return):
                if node.value is not None:
                    self._flows(node.value, meaning)
        else:
            for argument in call.args:
                self._flows(argument, function)

    def _arguments(self, function: Function, parameter: str) -> Iterator[tuple[ast.expr, Function]]:
        """What the calls in this file hand to a parameter of one of its functions."""
        position = function.parameters.index(parameter)
        if function.cls is not None and not function.has_decorator("staticmethod"):
            position -= 1
        for caller in self.module.all_functions:
            for call in _calls(caller):
                if dotted_name(call.func).rpartition(".")[2] != function.name:
                    continue
                for keyword in call.keywords:
                    if keyword.arg == parameter:
                        yield keyword.value, caller
                if 0 <= position < len(call.args):
                    yield call.args[position], caller

    def _meaning(self, node: ast.expr, function: Function) -> object:
        if isinstance(node, ast.Attribute):
            method = self._method(node, function)
            if method is not None:
                return method
        return self.program.resolve_dotted(self.module, dotted_name(node))

    def _method(self, node: ast.Attribute, function: Function) -> Function | None:
        """The method that `self.name` or `variable.name` means."""
        owner = self._class_of(node.value, function)
        return self.program.find_method(owner, node.attr) if owner is not None else None

    def _class_of(self, node: ast.expr, function: Function) -> Class | None:
        """The class of `self`, or of a variable that holds a new object of the project."""
        if not isinstance(node, ast.Name):
            return None
        scope: Function | None = function
        while scope is not None:
            if scope.cls is not None and scope.parameters[:1] == [node.id]:
                return scope.cls
            if node.id in scope.parameters:
                return None
            found = self._constructed(assignments(scope).get(node.id, []))
            if found is not None:
                return found
            scope = scope.parent
        meaning = self.program.member(self.module, node.id)
        if isinstance(meaning, Class):
            return meaning
        return self._constructed(assignments(self.module.body).get(node.id, []))

    def _constructed(self, values: list[ast.expr]) -> Class | None:
        for value in values:
            if isinstance(value, ast.Call):
                meaning = self.program.resolve_dotted(self.module, dotted_name(value.func))
                if isinstance(meaning, Class):
                    return meaning
        return None

    # -- from a function that runs to what it writes ---------------------------------------------------

    def _runs(self, body: ast.AST, function: Function) -> None:
        """A function (or a lambda in `function`) runs when the signal comes."""
        if id(body) in self._ran or function.module is not self.module:
            return
        self._ran.add(id(body))
        if not isinstance(body, ast.Lambda):
            self.writes.handlers.add(function)
        nodes = walk(body.body) if isinstance(body, ast.Lambda) else own_nodes(function)
        for node in nodes:
            match node:
                case ast.Assign(targets=targets):
                    for target in targets:
                        self._writes(target, function)
                case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
                    self._writes(target, function)
                case ast.Call():
                    self._calls(node, function)

    def _calls(self, call: ast.Call, function: Function) -> None:
        """What a handler calls or hands on runs as well; `event.set()` and `setattr` write."""
        match call:
            case ast.Call(func=ast.Attribute(value=held, attr="set"), args=[]):
                self._changes(held, function, call)
            case ast.Call(
                func=ast.Name(id="setattr"), args=[held, ast.Constant(value=str(attr)), _]
            ):
                self._attribute(held, attr, function, call)
        for value in (call.func, *call.args):
            match value:
                case ast.Attribute():
                    method = self._method(value, function)
                    if method is not None:
                        self._runs(method.node, method)
                case ast.Name(id=name):
                    meaning = self.program.member(self.module, name)
                    if isinstance(meaning, Function):
                        self._runs(meaning.node, meaning)

    def _writes(self, target: ast.expr, function: Function) -> None:
        match target:
            case ast.Attribute(value=held, attr=attr):
                self._attribute(held, attr, function, target)
            case ast.Subscript(value=held):
                self._changes(held, function, target)
            case ast.Name(id=name):
                if _declares(function, name):
                    self._variable(name, function, target)
            case ast.Tuple(elts=elements):
                for element in elements:
                    self._writes(element, function)

    def _changes(self, held: ast.expr, function: Function, node: ast.AST) -> None:
        """The object that an expression means is changed in place."""
        match held:
            case ast.Attribute(value=owner, attr=attr):
                self._attribute(owner, attr, function, node)
            case ast.Name(id=name):
                self._variable(name, function, node)

    def _attribute(self, held: ast.expr, attr: str, function: Function, node: ast.AST) -> None:
        owner = self._class_of(held, function)
        if owner is not None:
            self.writes.attributes.setdefault(owner, {}).setdefault(attr, node)

    def _variable(self, name: str, function: Function, node: ast.AST) -> None:
        """A variable of an enclosing function or of the module is written."""
        owner: Function | None = function
        while owner is not None:
            if _binds(owner, name):
                self.writes.variables.setdefault(owner, {}).setdefault(name, node)
                return
            owner = owner.parent
        if name in self.module.assigned:
            self.writes.variables.setdefault(self.module.body, {}).setdefault(name, node)


def _calls(function: Function) -> Iterator[ast.Call]:
    return (node for node in own_nodes(function, ast.Call))


def _declares(function: Function, name: str) -> bool:
    """Whether a function says `global` or `nonlocal` of a name."""
    return any(name in node.names for node in own_nodes(function, ast.Global, ast.Nonlocal))


def _binds(function: Function, name: str) -> bool:
    """Whether a name is a variable of this very function (`name[key] = x` does not make it one)."""
    return not _declares(function, name) and any(
        node.id == name and isinstance(node.ctx, ast.Store)
        for node in own_nodes(function, ast.Name)
    )


def set_by_signal(value: Value, node: ast.AST, module: Module) -> Value:
    """A value as it may be at any time after a signal handler was registered that writes it."""
    origin = Origin(node, module, "a flag that this rank's signal handler sets", "signal")
    return value.replace(
        const=UNKNOWN, truth=None, items=None, entries=None, logic=None, variance=Variance.RANK_LOCAL,
        origin=origin,
        key=value.key if not value.known else ("signal", id(node)), tags=value.tags | {"signal"},
    )  # fmt: skip
