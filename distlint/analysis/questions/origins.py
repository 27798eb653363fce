"""Which calls the value of an expression comes from, by syntax: through variables, helpers, attributes, arguments.

For functions that are not followed, since they do not speak of ranks themselves.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import Class, Function, dotted_name, last_name
from distlint.analysis.program.handed import argument_of, callers_by_name
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import own_nodes, record_fields
from distlint.analysis.questions.keywords import changes
from distlint.knowledge.conventions import SAME_MODEL_METHODS
from distlint.knowledge.shares import APPENDS
from distlint.records import dataclass

if TYPE_CHECKING:
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Definition
    from distlint.analysis.program.program import Program

_DEPTH: Final = 8
_Path = tuple[int | str, ...]
_ANY: Final = "*"
"""Where a variable says which element is read: `loaders[phase]`."""
_DICTS_OF_DATA: Final = frozenset({"load_dataset", "load_from_disk"})
"""Calls of libraries whose dict holds data sets that are all made alike (datasets 4.0.0 load.py)."""


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """A call of something that is not followed further: a library's function, a class or a generator of the program."""

    function: Function
    call: ast.Call
    meaning: Definition | None


def origins(
    live: LiveProgram,
    function: Function,
    node: ast.expr,
    depth: int = _DEPTH,
    path: _Path = (),
) -> list[Origin | None]:
    """The calls that may have made the value of an expression; with None where anything else may.

    Args:
        live: the program.
        function: where the expression stands.
        node: the expression.
        depth: how many steps back are gone.
        path: which element of the value is meant: numbers in tuples, and lists, and texts that are keys of dicts.
    """
    if not depth:
        return [None]
    match node:
        case ast.Call(func=ast.Attribute(attr=attr, value=inner)) if (
            attr in SAME_MODEL_METHODS and live.resolve(function.module, node.func) is None
        ):
            return origins(live, function, inner, depth - 1, path)
        case ast.Call(
            func=ast.Attribute(attr="get", value=inner), args=[ast.Constant(value=str(key))]
        ) if live.resolve(function.module, node.func) is None:
            return origins(live, function, inner, depth, (key, *path))
        case ast.Call():
            return _of_call(live, function, node, depth, path)
        case ast.Subscript(value=value, slice=ast.Constant(value=int() | str() as at)) if (
            isinstance(at, str) or at >= 0
        ):
            return origins(live, function, value, depth, (at, *path))
        case ast.Subscript(value=value, slice=ast.Name()):
            return origins(live, function, value, depth, (_ANY, *path))
        case ast.IfExp(body=body, orelse=orelse):
            return [
                found
                for each in (body, orelse)
                for found in origins(live, function, each, depth - 1, path)
            ]
        case ast.Name(id=name):
            return _of_name(live, function, name, depth, path)
        case ast.Attribute(value=base, attr=attr):
            return _of_attribute(live, function, base, attr, depth, path)
    held = _written_out(node, path[0]) if path else []
    return [found for each in held for found in origins(live, function, each, depth, path[1:])] or [
        None
    ]


def _written_out(node: ast.expr, at: int | str) -> list[ast.expr]:
    """What a tuple or dict that is written out may hold at a place."""
    match node:
        case ast.Tuple(elts=elements) | ast.List(elts=elements) if at == _ANY:
            return elements
        case ast.Tuple(elts=elements) | ast.List(elts=elements) if isinstance(at, int):
            return elements[at : at + 1]
        case ast.Dict(keys=keys, values=values) if isinstance(at, str):
            return [v for k, v in zip(keys, values, strict=True) if _may_be(k, at)]
        case ast.DictComp(value=value) if isinstance(at, str):
            return [value]
    return []


def _may_be(key: ast.expr | None, index: str) -> bool:
    """Whether what stands under a key of a dict, or what is merged into it, may be what another key reads."""
    return index == _ANY or not isinstance(key, ast.Constant) or key.value == index


def _of_call(
    live: LiveProgram, function: Function, call: ast.Call, depth: int, path: _Path
) -> list[Origin | None]:
    meaning: Definition | None = live.resolve(function.module, call.func)
    match call.func:
        case ast.Attribute(value=ast.Name(id="self"), attr=attr) if function.cls is not None:
            meaning = live.program.find_method(function.cls, attr) or meaning
        case ast.Attribute(value=ast.Name() | ast.Attribute() as base, attr=attr) if (
            meaning is None and attr in _methods(live.program)
        ):
            # `data_module.train_dataloader()`
            made = _maker(live, function, base, depth)
            if made is not None and isinstance(made.meaning, Class):
                meaning = live.program.find_method(made.meaning, attr)
    if not isinstance(meaning, Function) or meaning.is_generator:
        of_texts = any(isinstance(at, str) for at in path)
        if of_texts and last_name(call.func) not in _DICTS_OF_DATA:
            return [None]
        return [Origin(function, call, meaning)]
    return _returned(live, meaning, depth, path)


def _returned(
    live: LiveProgram, function: Function, depth: int, path: _Path
) -> list[Origin | None]:
    given = [n.value for n in own_nodes(function, ast.Return)]
    if not given or None in given:
        return [None]
    return [
        found
        for value in given
        if value is not None
        for found in origins(live, function, value, depth - 1, path)
    ]


def _of_name(
    live: LiveProgram, function: Function, name: str, depth: int, path: _Path
) -> list[Origin | None]:
    written = _written(function, name)
    kept = _kept_in(function, name, path)
    found = [
        each
        for value, at in written
        if not (kept and _is_empty(value))
        for each in origins(live, function, value, depth - 1, path if at < 0 else (at, *path))
    ]
    found += _of_kept(live, function, kept, depth, path)
    if written:
        return found
    if name in function.parameters:
        return _of_parameter(live, function, name, depth, path)
    body = function.module.body
    return _of_name(live, body, name, depth, path) if function is not body else [None]


def _written(function: Function, name: str) -> list[tuple[ast.expr, int]]:
    """What a function assigns to a variable, and which element of it; an empty list holds the place of what comes."""
    found = _assigned(function).get(name, [])
    return [each for each in found if not _is_empty(each[0])] or found


def _kept_in(function: Function, name: str, path: _Path) -> list[ast.expr | None]:
    """What a function puts into a dict or list where it may be what a path reads; None for what may be anything."""
    found: list[ast.expr | None] = []
    if path and isinstance(path[0], str):
        wanted = (None, path[0])
        found += [v for key, v in changes(function, name) if path[0] == _ANY or key in wanted]
    if path and (path[0] == _ANY or isinstance(path[0], int)):
        for call in own_nodes(function, ast.Call):
            match call:
                case ast.Call(func=ast.Attribute(attr=attr, value=owner), args=args) if (
                    attr in APPENDS and dotted_name(owner) == name
                ):
                    found.append(args[0] if attr == "append" else None)
    return found


def _of_kept(
    live: LiveProgram, function: Function, kept: list[ast.expr | None], depth: int, path: _Path
) -> Iterator[Origin | None]:
    for each in kept:
        if each is None:
            yield None
        else:
            yield from origins(live, function, each, depth - 1, path[1:])


def _is_empty(value: ast.expr) -> bool:
    """Whether a value is `[]`, `()` or `{}`: EfficientDet.Pytorch train.py:172 has it before a choice of data sets."""
    match value:
        case ast.List(elts=[]) | ast.Tuple(elts=[]) | ast.Dict(values=[]):
            return True
        case ast.Call(func=func, args=[], keywords=[]):
            return last_name(func) in ("dict", "OrderedDict")
    return False


@remembered
def _assigned(function: Function) -> dict[str, list[tuple[ast.expr, int]]]:
    """What a function assigns to its variables, and which element of it."""
    found: dict[str, list[tuple[ast.expr, int]]] = {}
    for node in own_nodes(function, ast.Assign):
        for target in node.targets:
            match target:
                case ast.Name(id=name):
                    found.setdefault(name, []).append((node.value, -1))
                case ast.Tuple(elts=elements):
                    for at, element in enumerate(elements):
                        if isinstance(element, ast.Starred):
                            break
                        if isinstance(element, ast.Name):
                            found.setdefault(element.id, []).append((node.value, at))
    return found


@remembered
def _methods(program: Program) -> frozenset[str]:
    """The names of the methods of a program."""
    return frozenset(each.name for each in program.functions() if each.cls is not None)


def _of_parameter(
    live: LiveProgram, function: Function, name: str, depth: int, path: _Path
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
        found += [None] if given is None else origins(live, user, given, depth - 1, path)
    return found


def _maker(live: LiveProgram, function: Function, node: ast.expr, depth: int) -> Origin | None:
    """The call that has made an object, where there is only one."""
    made = origins(live, function, node, depth - 1)
    return made[0] if len(made) == 1 else None


def _of_attribute(
    live: LiveProgram, function: Function, base: ast.expr, attr: str, depth: int, path: _Path
) -> list[Origin | None]:
    """What the methods of the class assign to the attribute of an object or return for it, or its maker gives the field."""
    maker = None
    owner: Definition | None
    match base:
        case ast.Name(id="self") if function.cls is not None:
            owner = function.cls
        case _:
            maker = _maker(live, function, base, depth)
            owner = maker.meaning if maker is not None else None
    if not isinstance(owner, Class):
        return [None]
    if maker is not None and attr in (fields := record_fields(owner)):
        given = dict(zip(fields, maker.call.args, strict=False))
        given |= {keyword.arg: keyword.value for keyword in maker.call.keywords if keyword.arg}
        value = given.get(attr)
        return origins(live, maker.function, value, depth - 1, path) if value else [None]
    got = live.program.find_method(owner, attr)
    if got is not None and got.has_decorator("property", "cached_property"):
        return _returned(live, got, depth, path)
    found: list[Origin | None] = []
    name = f"self.{attr}"
    for cls in live.program.mro(owner)[0]:
        kept = [(m, each) for m in cls.methods.values() if (each := _kept_in(m, name, path))]
        for method in cls.self_assigned.get(attr, ()):
            for value, at in _assigned_to(method, name):
                if not (_is_none(value) or (kept and _is_empty(value))):
                    part = path if at < 0 else (at, *path)
                    found += origins(live, method, value, depth - 1, part)
        for method, each in kept:
            found += _of_kept(live, method, each, depth, path)
    return found or [None]


def _assigned_to(method: Function, name: str) -> Iterator[tuple[ast.expr, int]]:
    """What a method assigns to an attribute, and which element of it."""
    for node in own_nodes(method, ast.Assign):
        match node:
            case ast.Assign(targets=targets, value=value) if any(
                ast.unparse(target) == name for target in targets
            ):
                yield value, -1
            case ast.Assign(targets=[ast.Tuple(elts=elements)], value=value):
                for at, element in enumerate(elements):
                    if ast.unparse(element) != name:
                        continue
                    if isinstance(value, ast.Tuple) and len(value.elts) == len(elements):
                        yield value.elts[at], -1
                    else:
                        yield value, at


def _is_none(value: ast.expr) -> bool:
    """Whether nothing is there yet: `self.train_loader = None`, in a constructor."""
    return isinstance(value, ast.Constant) and value.value is None
