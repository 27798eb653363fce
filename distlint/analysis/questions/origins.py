"""Which calls the value of an expression comes from, by syntax: through variables, helpers, attributes, arguments.

For functions that are not followed, since they do not speak of ranks themselves.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import Class, Function
from distlint.analysis.program.handed import argument_of, callers_by_name
from distlint.analysis.program.syntax import own_nodes
from distlint.knowledge.conventions import SAME_MODEL_METHODS
from distlint.records import dataclass

if TYPE_CHECKING:
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Definition

_DEPTH: Final = 8


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """A call of something that is not followed further: a library's function, a class or a generator of the program."""

    function: Function
    call: ast.Call
    meaning: Definition | None


def origins(
    live: LiveProgram, function: Function, node: ast.expr, depth: int = _DEPTH, index: int = -1
) -> list[Origin | None]:
    """The calls that may have made the value of an expression; with None where anything else may.

    Args:
        live: the program.
        function: where the expression stands.
        node: the expression.
        depth: how many steps back are gone.
        index: which element of the value is meant, where it is a tuple; -1 for the value itself.
    """
    if not depth:
        return [None]
    match node:
        case ast.Call(func=ast.Attribute(attr=attr, value=inner)) if (
            attr in SAME_MODEL_METHODS and live.resolve(function.module, node.func) is None
        ):
            return origins(live, function, inner, depth - 1, index)
        case ast.Call():
            return _of_call(live, function, node, depth, index)
        case ast.Subscript(value=value, slice=ast.Constant(value=int(at))) if index < 0 <= at:
            return origins(live, function, value, depth - 1, at)
        case ast.Tuple(elts=elements) if 0 <= index < len(elements):
            return origins(live, function, elements[index], depth - 1)
        case ast.IfExp(body=body, orelse=orelse):
            return [
                found
                for each in (body, orelse)
                for found in origins(live, function, each, depth - 1, index)
            ]
        case ast.Name(id=name):
            return _of_name(live, function, name, depth, index)
        case ast.Attribute(value=base, attr=attr) if index < 0:
            return _of_attribute(live, function, base, attr, depth)
    return [None]


def _of_call(
    live: LiveProgram, function: Function, call: ast.Call, depth: int, index: int
) -> list[Origin | None]:
    meaning: Definition | None = live.resolve(function.module, call.func)
    match call.func:
        case ast.Attribute(value=ast.Name(id="self"), attr=attr) if function.cls is not None:
            meaning = live.program.find_method(function.cls, attr) or meaning
    if not isinstance(meaning, Function) or meaning.is_generator:
        return [Origin(function, call, meaning)]
    given = [n.value for n in own_nodes(meaning, ast.Return)]
    if not given or None in given:
        return [None]
    return [
        found
        for value in given
        if value is not None
        for found in origins(live, meaning, value, depth - 1, index)
    ]


def _of_name(
    live: LiveProgram, function: Function, name: str, depth: int, index: int
) -> list[Origin | None]:
    found: list[Origin | None] = []
    written = False
    for value, at in _written(function, name):
        written = True
        if at >= 0 and index >= 0:
            return [None]
        found += origins(live, function, value, depth - 1, max(at, index))
    if written:
        return found
    if name in function.parameters:
        return _of_parameter(live, function, name, depth, index)
    body = function.module.body
    return _of_name(live, body, name, depth, index) if function is not body else [None]


def _written(function: Function, name: str) -> list[tuple[ast.expr, int]]:
    """What a function assigns to a variable, and which element of it; an empty list holds the place of what comes."""
    found = list(_assigned(function, name))
    return [each for each in found if not _is_empty(each[0])] or found


def _is_empty(value: ast.expr) -> bool:
    """Whether a value is `[]`, `()` or `{}`: EfficientDet.Pytorch train.py:172 has it before a choice of data sets."""
    match value:
        case ast.List(elts=[]) | ast.Tuple(elts=[]) | ast.Dict(values=[]):
            return True
    return False


def _assigned(function: Function, name: str) -> Iterator[tuple[ast.expr, int]]:
    for node in own_nodes(function):
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            match target:
                case ast.Name(id=written) if written == name:
                    yield node.value, -1
                case ast.Tuple(elts=elements):
                    for at, element in enumerate(elements):
                        if isinstance(element, ast.Starred):
                            break
                        if isinstance(element, ast.Name) and element.id == name:
                            yield node.value, at


def _of_parameter(
    live: LiveProgram, function: Function, name: str, depth: int, index: int
) -> list[Origin | None]:
    """What the calls of a function hand it: of those whose name means it."""
    wanted = (function, function.cls) if function.name == "__init__" else (function,)
    calls = [
        (user, call)
        for user, call in callers_by_name(live.program, function)
        if live.resolve(user.module, call.func) in wanted
    ]
    found: list[Origin | None] = [] if calls else [None]
    for user, call in calls:
        given = argument_of(call, function, name)
        found += [None] if given is None else origins(live, user, given, depth - 1, index)
    return found


def _of_attribute(
    live: LiveProgram, function: Function, base: ast.expr, attr: str, depth: int
) -> list[Origin | None]:
    """What the methods of the class assign to the attribute of an object."""
    owner: Definition | None
    match base:
        case ast.Name(id="self") if function.cls is not None:
            owner = function.cls
        case _:
            made = origins(live, function, base, depth - 1)
            owner = made[0].meaning if len(made) == 1 and made[0] is not None else None
    if not isinstance(owner, Class):
        return [None]
    found: list[Origin | None] = []
    for cls in live.program.mro(owner)[0]:
        for method in cls.self_assigned.get(attr, ()):
            for node in own_nodes(method, ast.Assign):
                match node:
                    case ast.Assign(targets=targets, value=value) if any(
                        ast.unparse(target) == f"self.{attr}" for target in targets
                    ):
                        found += origins(live, method, value, depth - 1)
                    case ast.Assign(targets=[ast.Tuple(elts=elements)], value=value):
                        for at, element in enumerate(elements):
                            if ast.unparse(element) == f"self.{attr}":
                                found += origins(live, method, value, depth - 1, at)
    return found or [None]
