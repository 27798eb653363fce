"""The class of the objects in a list or dict: `for meter in self.meters.values(): meter.flush()`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from distlint.analysis.program.definitions import Class, Function, dotted_name
from distlint.analysis.program.handed import argument_of, callers_by_name
from distlint.analysis.program.memory import all_remembered, remembered
from distlint.analysis.program.program import Program
from distlint.analysis.program.syntax import assignments, own_nodes, target_names
from distlint.nodes import last_name, walk

_DEPTH: Final = 3
"""Functions through which a container, or what is put into it, is handed on."""
_COPIES: Final = frozenset({"list", "tuple", "reversed", "sorted", "iter", "set"})
_HOLDERS: Final = frozenset({"dict", "OrderedDict", "deque", "ModuleList", "ModuleDict", *_COPIES})
_PUTS: Final = frozenset({"append", "add", "insert", "setdefault", "appendleft"})
"""Methods whose last argument a container then holds."""
_PUTS_ALL: Final = frozenset({"update", "extend"})
"""Methods whose argument holds what the container then holds, too."""


def method_of_element(program: Program, function: Function, call: ast.Call) -> Function | None:
    """The method that a call means on what a container of the project's objects holds; None where that is not known.

    Objects of several classes have one method only where all inherit it. What goes into the container and is not
    followed is left out: those that are known are in it all the same.
    """
    return _method_in(program, function, call) if _containers(function, call) else None


@remembered
def _method_in(program: Program, function: Function, call: ast.Call) -> Function | None:
    name = last_name(call)
    if name not in _methods(program):
        return None
    classes = dict.fromkeys(
        cls
        for container in _containers(function, call)
        for cls in _contents(program, function, dotted_name(container), _DEPTH)
    )
    found = {program.find_method(cls, name) for cls in classes}
    return found.pop() if len(found) == 1 else None


@remembered
def _methods(program: Program) -> frozenset[str]:
    """The names of the methods that the project's classes have."""
    return frozenset(
        name for m in program.modules.values() for cls in m.all_classes for name in cls.methods
    )


@all_remembered
def _containers(function: Function, call: ast.Call) -> Iterator[ast.expr]:
    """The containers of which what a method is called on is an element."""
    match call.func:
        case ast.Attribute(value=ast.Name() | ast.Subscript() as owner):
            yield from _held_in(function, owner, call)


def _held_in(function: Function, owner: ast.expr, call: ast.Call) -> Iterator[ast.expr]:
    """The containers of which what a call is made on is an element."""
    match owner:
        case ast.Subscript(slice=ast.Slice()):
            return
        case ast.Subscript(value=container):
            yield container
        case ast.Name(id=name) if name not in function.parameters:
            loops = _iterated(function)
            values = [v for v in assignments(function).get(name, ()) if v not in loops]
            if all(isinstance(v, ast.Subscript) for v in values):
                around = _turns(function).get((call, name))
                yield from [around] if around is not None else []
                for value in values:
                    yield from _held_in(function, value, call)


@remembered
def _iterated(function: Function) -> frozenset[ast.expr]:
    """What the loops of a function go through."""
    return frozenset(n.iter for n in own_nodes(function, ast.For, ast.AsyncFor))


@remembered
def _turns(function: Function) -> dict[tuple[ast.AST, str], ast.expr | None]:
    """For the calls in a loop, what the innermost one that binds a name iterates over: names are used again.

    None where that is no container by itself.
    """
    found: dict[tuple[ast.AST, str], ast.expr | None] = {}
    for node in own_nodes(function):
        match node:
            case ast.For(target=target, iter=iterable, body=body):
                inside: list[ast.AST] = [*body]
                bound = [(target, iterable)]
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                inside = [node]
                bound = [(g.target, g.iter) for g in node.generators]
            case _:
                continue
        names: dict[str, ast.expr | None] = {}
        for target, iterable in bound:
            names.update(dict.fromkeys(target_names(target)))
            names.update(_bound(target, iterable))
        for inner in (n for each in inside for n in walk(each, ast.Call)):
            found.update(((inner, name), container) for name, container in names.items())
    return found


def _bound(target: ast.expr, iterable: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    match iterable:
        case ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]):
            if isinstance(target, ast.Tuple) and len(target.elts) == 2:
                yield from _bound(target.elts[1], inner)
        case ast.Call(func=ast.Name(id=copy), args=[inner, *_]) if copy in _COPIES:
            yield from _bound(target, inner)
        case ast.Call(func=ast.Attribute(attr="items", value=container), args=[]):
            if isinstance(target, ast.Tuple) and len(target.elts) == 2:
                yield from _bound(target.elts[1], container)
        case ast.Call(func=ast.Attribute(attr="values", value=container), args=[]):
            yield from _bound(target, container)
        case ast.Name() | ast.Attribute():
            if isinstance(target, ast.Name):
                yield target.id, iterable


@remembered
def _contents(program: Program, function: Function, path: str, depth: int) -> tuple[Class, ...]:
    """The classes of the objects that a container which a function calls `path` is seen to hold."""
    return tuple(dict.fromkeys(_seen_in(program, function, path, depth)))


def _seen_in(program: Program, function: Function, path: str, depth: int) -> Iterator[Class]:
    if not depth or not path:
        return
    if path.startswith("self.") and path.count(".") == 1 and function.cls is not None:
        for method in _methods_around(program, function.cls):
            yield from _put(program, method, path, depth)
    elif "." not in path:
        yield from _put(program, function, path, depth)
        if path in function.parameters:
            for user, call in callers_by_name(program, function):
                argument = argument_of(call, function, path)
                if argument is not None:
                    yield from _contents(program, user, dotted_name(argument), depth - 1)


@remembered
def _methods_around(program: Program, cls: Class) -> tuple[Function, ...]:
    """The methods of a class, of those that it inherits from and of those that inherit from it."""
    own, _ = program.mro(cls)
    family = dict.fromkeys((*own, *program.subclasses(cls)))
    return tuple(method for each in family for method in each.methods.values())


@remembered
def _put(program: Program, function: Function, path: str, depth: int) -> tuple[Class, ...]:
    """The classes of what a function puts into a container that it calls `path`, and those do that it hands it to."""
    found: dict[Class, None] = {}
    for value in assignments(function).get(path, ()):
        found.update(dict.fromkeys(_listed(program, function, value, depth)))
    for node in _touching(function).get(path, ()):
        found.update(dict.fromkeys(_added(program, function, node, path, depth)))
    return tuple(found)


@remembered
def _touching(function: Function) -> dict[str, list[ast.AST]]:
    """The statements and calls of a function that may put something into a container, by what they call it."""
    found: dict[str, list[ast.AST]] = {}
    for node in own_nodes(function):
        match node:
            case ast.Call(func=func, args=args):
                owners = args
                if isinstance(func, ast.Attribute) and (
                    func.attr in _PUTS or func.attr in _PUTS_ALL
                ):
                    owners = [*args, func.value]
            case ast.Assign(targets=targets):
                owners = [t.value for t in targets if isinstance(t, ast.Subscript)]
            case _:
                continue
        for path in {dotted_name(owner) for owner in owners}:
            if path:
                found.setdefault(path, []).append(node)
    return found


def _added(
    program: Program, function: Function, node: ast.AST, path: str, depth: int
) -> Iterator[Class]:
    match node:
        case ast.Assign(targets=targets, value=value):
            if any(isinstance(t, ast.Subscript) and dotted_name(t.value) == path for t in targets):
                yield from _made(program, function, value, depth)
        case ast.Call(func=ast.Attribute(attr=attr, value=owner), args=[*_, last]) if (
            attr in _PUTS and dotted_name(owner) == path
        ):
            yield from _made(program, function, last, depth)
        case ast.Call(func=ast.Attribute(attr=attr, value=owner), args=[more]) if (
            attr in _PUTS_ALL and dotted_name(owner) == path
        ):
            yield from _listed(program, function, more, depth)
        case ast.Call(args=given) if depth > 1 and any(dotted_name(g) == path for g in given):
            callee = _callee(program, function, node)
            if callee is None:
                return
            for parameter in callee.parameters:
                argument = argument_of(node, callee, parameter)
                if argument is not None and dotted_name(argument) == path:
                    yield from _put(program, callee, parameter, depth - 1)


def _callee(program: Program, function: Function, call: ast.Call) -> Function | None:
    """The function or own method that a call means."""
    match call.func:
        case ast.Attribute(attr=name, value=ast.Name(id="self")) if function.cls is not None:
            return program.find_method(function.cls, name)
    meaning = program.resolve_dotted(function.module, dotted_name(call.func))
    return meaning if isinstance(meaning, Function) else None


def _listed(program: Program, function: Function, node: ast.expr, depth: int) -> Iterator[Class]:
    """The classes of what a display, a comprehension or a call that makes a container holds."""
    match node:
        case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements):
            for element in elements:
                yield from _made(program, function, element, depth)
        case ast.Dict(values=values):
            for value in values:
                yield from _made(program, function, value, depth)
        case ast.ListComp(elt=element) | ast.SetComp(elt=element) | ast.GeneratorExp(elt=element):
            yield from _made(program, function, element, depth)
        case ast.DictComp(value=value):
            yield from _made(program, function, value, depth)
        case ast.BinOp(op=ast.Mult(), left=left):
            yield from _listed(program, function, left, depth)
        case ast.Call(func=func, args=[maker, *_]) if last_name(func) == "defaultdict":
            body = maker.body if isinstance(maker, ast.Lambda) else None
            if body is not None:
                yield from _made(program, function, body, depth)
            else:
                yield from _class(program, function, maker)
        case ast.Call(func=func, args=[inner, *_]) if last_name(func) in _HOLDERS:
            yield from _listed(program, function, inner, depth)


def _made(program: Program, function: Function, node: ast.expr, depth: int) -> Iterator[Class]:
    """The class of an object, by the call that makes it.

    One that is told False leaves out what a method asks it for: `Meter(name, reduce=False)`.
    """
    match node:
        case ast.Call(func=func, args=args, keywords=keywords):
            given = (*args, *(k.value for k in keywords))
            if not any(isinstance(g, ast.Constant) and g.value is False for g in given):
                yield from _class(program, function, func)
        case ast.IfExp(body=body, orelse=orelse):
            yield from _made(program, function, body, depth)
            yield from _made(program, function, orelse, depth)
        case ast.Name(id=name) if depth > 1:
            for value in assignments(function).get(name, ()):
                yield from _made(program, function, value, depth - 1)
            if name in function.parameters:
                for user, call in callers_by_name(program, function):
                    argument = argument_of(call, function, name)
                    if argument is not None:
                        yield from _made(program, user, argument, depth - 1)


def _class(program: Program, function: Function, node: ast.expr) -> Iterator[Class]:
    meaning = program.resolve_dotted(function.module, dotted_name(node))
    if isinstance(meaning, Class):
        yield meaning
