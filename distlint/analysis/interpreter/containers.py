"""What a call that wraps its arguments gives back without a wrapper: a mapping, list, record or optimizer.

Source: accelerate 1.15.0, accelerator.py:1398, `_prepare_one`: loaders, modules, optimizers and schedulers are
wrapped, and everything else is returned. What a value is, its class says, or what the same function does with it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distlint.analysis.interpreter.values import Value
from distlint.analysis.program.definitions import Class, Function, dotted_name
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.program import Program
from distlint.knowledge import wrappers
from distlint.nodes import walk


def is_container(program: Program, function: Function, value: Value, expression: ast.expr) -> bool:
    """Whether an argument of `prepare()`, as written in `function`, holds models or parameters and is no model."""
    if value.wraps or value.known:
        return False
    if value.items is not None or value.entries is not None:
        return True
    if value.type is not None:
        return _is_plain(program, value.type)
    paths = _paths(function, expression)
    return any(
        _used_as_mapping(function, path, expression.lineno) or _is_given_parameters(function, path)
        for path in paths
    )


@remembered
def _paths(function: Function, argument: ast.expr) -> frozenset[str]:
    """What an argument is called, and what keeps it as it comes back: `self.nets = accelerator.prepare(nets)`."""
    found = {dotted_name(argument)}
    for node in walk(function.node, ast.Assign):
        match node:
            case ast.Assign(targets=[target], value=ast.Call(args=given)) if argument in given:
                index = given.index(argument)
                if len(given) == 1:
                    found.add(dotted_name(target))
                elif isinstance(target, ast.Tuple) and len(target.elts) == len(given):
                    found.add(dotted_name(target.elts[index]))
    return frozenset(found)


@remembered
def _is_given_parameters(function: Function, path: str) -> bool:
    """Whether a path is what a call makes of a model's parameters: an optimizer, whatever it is called."""
    return bool(path) and any(
        isinstance(node.value, ast.Call)
        and any(dotted_name(target) == path for target in node.targets)
        and any(_are_parameters(argument) for argument in node.value.args)
        for node in walk(function.node, ast.Assign)
    )


def _are_parameters(argument: ast.expr) -> bool:
    match argument:
        case ast.Call(func=ast.Attribute(attr="parameters")):
            return True
    return False


def _is_plain(program: Program, type_: str) -> bool:
    """Whether a class surely derives from no module: all its bases are seen."""
    if type_ in wrappers.CONTAINERS:
        return True
    cls = program.lookup(type_)
    if not isinstance(cls, Class):
        return False
    own, outside = program.mro(cls)
    return set(outside) <= wrappers.CONTAINERS and all(
        len(program.bases(each)) == len(each.node.bases) for each in own
    )


@remembered
def _used_as_mapping(function: Function, path: str, line: int) -> bool:
    """Whether a path is indexed by a key or asked for its keys where it has the value of this line.

    An `nn.ModuleDict` has keys too, and is asked for parameters or moved as a whole somewhere.
    """
    if not path:
        return False
    owners = [function]
    if path.startswith("self.") and function.cls is not None:
        owners, since = list(function.cls.methods.values()), 0
    else:
        since = max((n for n in _assigned_at(function, path) if n < line), default=0)
    nodes = [
        node
        for owner in owners
        for node in walk(owner.node)
        if isinstance(node, ast.expr | ast.comprehension | ast.For)
        and getattr(node, "lineno", line) >= since
    ]
    if any(_as_module(node, path) for node in nodes):
        return False
    keys = {name for node in nodes for name in _keys_of(node, path)}
    return any(_as_mapping(node, path, keys) for node in nodes)


def _assigned_at(function: Function, path: str) -> Iterator[int]:
    """The lines of the assignments to a path."""
    for node in walk(function.node, ast.Name, ast.Attribute):
        match node:
            case ast.Name(ctx=ast.Store()) | ast.Attribute(ctx=ast.Store()):
                if dotted_name(node) == path:
                    yield node.lineno


def _as_module(node: ast.AST, path: str) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr=attr, value=model)):
            return attr in wrappers.MODULE_ATTRIBUTES and dotted_name(model) == path
        case ast.Call(func=called):
            return dotted_name(called) == path
    return False


def _keys_of(node: ast.AST, path: str) -> Iterator[str]:
    """The names that stand for the keys: `for key in models`."""
    match node:
        case (
            ast.For(target=ast.Name(id=name), iter=iterable)
            | ast.comprehension(target=ast.Name(id=name), iter=iterable)
        ) if dotted_name(iterable) == path:
            yield name


def _as_mapping(node: ast.AST, path: str, keys: set[str]) -> bool:
    match node:
        case ast.Subscript(value=value, slice=ast.Constant(value=str())):
            return dotted_name(value) == path
        case ast.Subscript(value=value, slice=ast.Name(id=name)):
            return name in keys and dotted_name(value) == path
        case ast.Call(func=ast.Attribute(attr="keys" | "values" | "items", value=value), args=[]):
            return dotted_name(value) == path
    return False
