"""Data sets that every rank builds though no call of their constructors is seen: the program makes them by name.

A registry, `eval()` of an option, `getattr()` of a module: what the call makes is not known, but each data set that it
may make is made by all who come to it. So is all that configurations name.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

from distlint.analysis.program.chosen import registries_of, tables_of, takers
from distlint.analysis.program.configured import Candidate, making
from distlint.analysis.program.definitions import Class, Function, Module, dotted_name, last_name
from distlint.analysis.program.handed import reads
from distlint.analysis.program.memory import all_remembered, remembered
from distlint.analysis.program.program import Program
from distlint.analysis.program.syntax import mentions_rank, own_nodes
from distlint.knowledge import facts
from distlint.nodes import walk
from distlint.records import dataclass

_FIRST: Final = ("_first", "_in_turn", "_sequentially")
"""Ends of the names of context managers that let one rank go first."""
_MAX_CALLERS: Final = 4
_ASKED: Final = frozenset({"isinstance", "issubclass", "super", "type"})


@dataclass(frozen=True, slots=True)
class Made:
    """A class, and the call that makes an object of it by its name; or a function, and the call that calls it."""

    what: Candidate
    maker: Function
    node: ast.AST
    by: str


def made_by_name(program: Program, comes: Callable[[Function], bool]) -> Iterator[Made]:
    """The data sets, and what configurations name, that a call makes by their names to which all ranks come.

    `comes` says whether all ranks are known to come to a function. What is also made by its class, or whose makers are
    called, under a test of the rank or in a section of one rank, is left out.
    """
    configured = _configured(program)
    classes: list[Candidate] = [
        c
        for m in program.modules.values()
        for c in m.all_classes
        if c in configured or facts.is_data_set(program.mro(c)[1])
    ]
    classes += [each for each in configured if isinstance(each, Function)]
    for cls in classes:
        makers = list(_makers(program, cls))
        ways = [_all_come(program, maker, node, comes) for maker, node, _ in makers]
        if True in ways and False not in ways and not _made_by_one(program, cls):
            yield Made(cls, *makers[ways.index(True)])


def makes_registered(program: Program, function: Function) -> bool:
    """Whether a function is the constructor of a data set that a decorator registers: a configuration may pass it
    what no call in the code does.

    ULIP f194ddb openpoints/dataset/shapenetpart/shapenetpart.py:384: the file ends with a demo without `presample`.
    """
    cls = function.cls
    return (
        cls is not None
        and function.name == "__init__"
        and bool(cls.node.decorator_list)
        and facts.is_data_set(program.mro(cls)[1])
    )


def run_by_constructor(program: Program, cls: Candidate) -> Iterator[Function]:
    """The constructor of a class and the methods that it calls on itself, those that subclasses fill in among them.

    A function is run by itself.
    """
    if isinstance(cls, Function):
        yield cls
        return
    first = program.find_method(cls, "__init__")
    work = [first] if first is not None else []
    seen = set(work)
    while work:
        method = work.pop()
        yield method
        for node in own_nodes(method):
            called = _on_itself(program, cls, method, node)
            if called is not None and called not in seen and not one_rank(method, node):
                seen.add(called)
                work.append(called)


def _on_itself(program: Program, cls: Class, method: Function, node: ast.AST) -> Function | None:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name)):
            return program.find_method(cls, name)
        case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr=name)):
            return program.find_method(cls, name, after=method.cls)
    return None


@remembered
def _configured(program: Program) -> dict[Candidate, list[tuple[Function, ast.expr]]]:
    """The classes and functions that configurations name, each with the places that make or call one."""
    found: dict[Candidate, list[tuple[Function, ast.expr]]] = {}
    for function, call, candidates in making(program):
        for each in candidates:
            found.setdefault(each, []).append((function, call))
    return found


def _makers(program: Program, cls: Candidate) -> Iterator[tuple[Function, ast.expr, str]]:
    """The places that may make a class by its name, or call a function that a configuration names."""
    for function, node in _configured(program).get(cls, ()):
        yield function, node, "a configuration"
    if isinstance(cls, Function) or not facts.is_data_set(program.mro(cls)[1]):
        return
    for registry in registries_of(program, cls):
        for function, node in takers(program, registry):
            yield function, node, "a registry"
    for table in tables_of(program, cls):
        for function, node in takers(program, table):
            yield function, node, f"the table `{table[1]}`"
    if not (cls.node.decorator_list or program.subclasses(cls) or _is_named(program, cls)):
        for function, node, how, owner in _by_name(program):
            if _sees(program, function, node, owner, cls):
                yield function, node, f"`{how}`"


@remembered
def _by_name(program: Program) -> tuple[tuple[Function, ast.expr, str, ast.expr | None], ...]:
    """The places that take what has the name that they are told, how, and out of which module: None for the own one."""
    return tuple(place for module in program.modules.values() for place in _by_name_in(module))


@all_remembered
def _by_name_in(module: Module) -> Iterator[tuple[Function, ast.expr, str, ast.expr | None]]:
    if any(word in module.source.text for word in ("eval(", "getattr(", "globals()", "vars(")):
        for function in module.all_functions:
            for node in own_nodes(function, ast.Call, ast.Subscript):
                taken = _taken(node)
                if taken is not None:
                    yield function, node, *taken


def _taken(node: ast.expr) -> tuple[str, ast.expr | None] | None:
    owner: ast.expr | None = None
    match node:
        case ast.Call(func=ast.Name(id="eval"), args=[told, *_]):
            how = "eval()"
        case ast.Subscript(value=ast.Call(func=ast.Name(id="globals")), slice=told):
            how = "globals()"
        case ast.Call(func=ast.Name(id="getattr"), args=[owner, told]):
            how = "getattr()"
        case ast.Subscript(value=ast.Call(func=ast.Name(id="vars"), args=[owner]), slice=told):
            how = "vars()"
        case _:
            return None
    return None if isinstance(told, ast.Constant) else (how, owner)


def _sees(
    program: Program, function: Function, node: ast.expr, owner: ast.expr | None, cls: Class
) -> bool:
    """Whether what is taken by a name may be a class: what a file sees, where it is about data, what a module has."""
    home: object = function.module
    if owner is not None:
        home = program.resolve_dotted(function.module, dotted_name(owner))
    elif "data" not in f"{function.name} {ast.unparse(node)}".lower():
        return False  # `eval(args.criterion)`
    return isinstance(home, Module) and program.member(home, cls.name) is cls


@remembered
def _is_named(program: Program, cls: Class) -> bool:
    """Whether code makes a class by the class itself, or hands it on."""
    return any(True for _ in _uses(program, cls))


def _made_by_one(program: Program, cls: Candidate) -> bool:
    """Whether code makes a data set by its class on one rank, or on one rank first."""
    return any(one_rank(function, node) for function, node in _uses(program, cls))


@remembered
def _uses(program: Program, meant: Class | Function) -> tuple[tuple[Function, ast.expr], ...]:
    """The places in functions that name a class or function, but to ask whether something is one."""
    return tuple(
        (function, node)
        for function, node in _named(program, meant.name)
        if program.resolve_dotted(function.module, dotted_name(node)) is meant
    )


@all_remembered
def _named(program: Program, name: str) -> Iterator[tuple[Function, ast.expr]]:
    """The places in functions that read a name, but to ask whether something is one."""
    for module in program.modules.values():
        for function, node in reads(module).get(name, ()):
            if node not in _asked_about(function):
                yield function, node


@remembered
def _asked_about(function: Function) -> frozenset[ast.AST]:
    return frozenset(
        part
        for node in own_nodes(function, ast.Call)
        if last_name(node.func) in _ASKED
        for argument in node.args
        for part in walk(argument)
    )


# Who comes to a maker


def _all_come(
    program: Program, maker: Function, node: ast.AST, comes: Callable[[Function], bool]
) -> bool | None:
    """Whether a function to which all ranks come leads to a call: None where none does, False where something on the
    way lets one rank in, or first."""
    ways = _leading_to(program, maker, node)
    if ways is None:
        return False
    return any(map(comes, ways)) or None


@remembered
def _leading_to(program: Program, maker: Function, node: ast.AST) -> tuple[Function, ...] | None:
    """The functions that lead to a call, its own first; None where something on the way lets one rank in, or first."""
    found = []
    seen = {maker}
    work = [(maker, node, _MAX_CALLERS)]
    while work:
        function, called, depth = work.pop()
        if one_rank(function, called) or function.name == "prepare_data":
            return None
        found.append(function)
        for user, use in _callers(program, function) if depth else ():
            if user not in seen or one_rank(user, use):
                seen.add(user)
                work.append((user, use, depth - 1))
    return tuple(found)


def _callers(program: Program, function: Function) -> Iterator[tuple[Function, ast.expr]]:
    """The places that name a function: a method by a name that no other has, a constructor by its classes."""
    cls = function.cls
    if function.is_module_body:
        return
    if cls is None:
        yield from _uses(program, function)
    elif function.name == "__init__":
        for each in (cls, *program.subclasses(cls)):
            yield from _uses(program, each)
    elif _times_defined(program)[function.name] == 1:
        for user, node in _named(program, function.name):
            if isinstance(node, ast.Attribute):
                yield user, node


@remembered
def _times_defined(program: Program) -> Counter[str]:
    """How many functions of the program have a name."""
    return Counter(function.name for function in program.functions())


def one_rank(function: Function, node: ast.AST) -> bool:
    """Whether a place of a function stands under a test that by its words is one of the rank, or in a first section."""
    line = getattr(node, "lineno", 0)
    return any(
        (leaves and around.lineno < line) or _holds(around, node)
        for around, leaves in _parting(function)
    )


@remembered
def _parting(function: Function) -> list[tuple[ast.stmt | ast.expr, bool]]:
    """The tests of the rank and the first sections of a function, and whether the ranks of a test leave what is behind."""
    found: list[tuple[ast.stmt | ast.expr, bool]] = []
    for around in own_nodes(function, ast.If, ast.IfExp, ast.With, ast.AsyncWith):
        match around:
            case ast.If(test=test, body=body) if mentions_rank(test):
                found.append((around, isinstance(body[-1], ast.Return | ast.Raise | ast.Continue)))
            case ast.IfExp(test=test) if mentions_rank(test):
                found.append((around, False))
            case ast.With(items=items) | ast.AsyncWith(items=items):
                if any(_lets_one_first(item.context_expr) for item in items):
                    found.append((around, False))
    return found


def _holds(around: ast.AST, node: ast.AST) -> bool:
    return any(each is node for each in walk(around))


def _lets_one_first(manager: ast.expr) -> bool:
    called = manager.func if isinstance(manager, ast.Call) else manager
    return (
        last_name(called).endswith(_FIRST)
        or mentions_rank(called)
        or "lock" in last_name(called).lower()
    )
