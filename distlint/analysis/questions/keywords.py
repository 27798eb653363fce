"""What a call gives under a name, though it hands a dict on: `DistributedSampler(data, **settings)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from distlint.analysis.program.definitions import Function, dotted_name
from distlint.analysis.program.handed import argument_of, callers_by_name
from distlint.analysis.program.program import Program
from distlint.analysis.program.syntax import assignments, default_of, own_nodes

_DEPTH: Final = 3


def keyword_values(
    program: Program, function: Function, call: ast.Call, name: str
) -> list[ast.expr] | None:
    """What a call gives for a keyword, written out or in a dict that it hands on; nothing where it is left out.

    groundingLMM e74865f train.py:338: `sampler_args = {"shuffle": False}`, and
    `DistributedSampler(data, **sampler_args)`.

    Args:
        program: all files.
        function: where the call stands.
        call: the call.
        name: the keyword.

    Returns:
        The expressions, several where a dict is changed or made in several ways; None where a dict may hold anything.
    """
    found: list[ast.expr] = []
    for keyword in call.keywords:
        if keyword.arg == name:
            return [keyword.value]
        if keyword.arg is None:
            held = _held(program, function, keyword.value, name, _DEPTH)
            if held is None:
                return None
            found += held
    return found


def _held(
    program: Program, function: Function, node: ast.expr, name: str, depth: int
) -> list[ast.expr] | None:
    """What a dict holds under a key."""
    match node:
        case ast.Dict(keys=keys, values=values):
            return _of_dict(program, function, list(zip(keys, values, strict=True)), name, depth)
        case ast.Call(func=ast.Name(id="dict"), args=args, keywords=keywords):
            told = [keyword.value for keyword in keywords if keyword.arg == name]
            if told:  # `dict(x=1, **others)` raises where the others hold an x
                return told
            merged: list[tuple[ast.expr | None, ast.expr]] = [(None, each) for each in args]
            merged += [(ast.Constant(k.arg) if k.arg else None, k.value) for k in keywords]
            return _of_dict(program, function, merged, name, depth)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _of_dict(program, function, [(None, left), (None, right)], name, depth)
        case ast.Call(func=ast.Attribute(value=source, attr="copy"), args=[]):
            return _held(program, function, source, name, depth)
        case ast.IfExp(body=one, orelse=other):
            arms = [_held(program, function, arm, name, depth) for arm in (one, other)]
            return None if None in arms else [each for arm in arms for each in arm or ()]
        case ast.Name() | ast.Attribute() if depth and (path := dotted_name(node)):
            return _of_variable(program, function, path, name, depth - 1)
    return None


def _of_dict(
    program: Program,
    function: Function,
    entries: list[tuple[ast.expr | None, ast.expr]],
    name: str,
    depth: int,
) -> list[ast.expr] | None:
    """Of entries and dicts that are merged, the last that says something; None where one may say anything."""
    for key, value in reversed(entries):
        if key is None:
            held = _held(program, function, value, name, depth)
            if held is None or held:
                return held
        elif not isinstance(key, ast.Constant):
            return None
        elif key.value == name:
            return [value]
    return []


def _of_variable(
    program: Program, function: Function, path: str, name: str, depth: int
) -> list[ast.expr] | None:
    """What is assigned to a variable, a parameter or a name of the module, and what is put into it later."""
    changed = list(changes(function, path))
    if any(value is None for key, value in changed if key in (None, name)):
        return None
    put = [value for key, value in changed if key == name and value is not None]
    stored = {id(value) for _, value in changed}
    made = [each for each in assignments(function).get(path, ()) if id(each) not in stored]
    if len(made) > 1:  # which of them the call gets is not followed
        return None
    whose: list[tuple[Function, ast.expr]] = [(function, each) for each in made]
    if path in function.parameters:
        given = list(_given(program, function, path))
        if not given:
            return None
        whose += given
    elif not made and "." not in path and not function.is_module_body:
        body = function.module.body
        whose = [(body, each) for each in assignments(body).get(path, ())]
    found = [_held(program, user, each, name, depth) for user, each in whose]
    if not found or None in found:
        return None
    return [*put, *(each for held in found for each in held or ())]


def _given(
    program: Program, function: Function, parameter: str
) -> Iterator[tuple[Function, ast.expr]]:
    """What calls hand a function for a parameter, and its default."""
    default = default_of(function, parameter)
    if default is not None:
        yield function, default
    for user, call in callers_by_name(program, function):
        argument = argument_of(call, function, parameter)
        if argument is not None:
            yield user, argument


def changes(function: Function, path: str) -> Iterator[tuple[str | None, ast.expr | None]]:
    """What a function puts into a dict, by key: None for any key, and a value of None for one that is not known."""
    for node in own_nodes(function, ast.Assign, ast.Call):
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    if isinstance(target, ast.Subscript) and dotted_name(target.value) == path:
                        yield _key(target.slice), value
            case ast.Call(
                func=ast.Attribute(value=owner, attr="update"), args=args, keywords=more
            ) if dotted_name(owner) == path:
                for argument in args:
                    yield from _entries(_written_alone(function, argument))
                for keyword in more:
                    yield keyword.arg, keyword.value if keyword.arg else None
            case ast.Call(
                func=ast.Attribute(value=owner, attr="setdefault"), args=[key, value]
            ) if dotted_name(owner) == path:
                yield _key(key), value
            case ast.Call(func=ast.Attribute(value=owner, attr="pop"), args=[key, *_]) if (
                dotted_name(owner) == path
            ):
                yield _key(key), None


def _written_alone(function: Function, node: ast.expr) -> ast.expr:
    """What a variable holds that is assigned once and never changed: `kwargs.update(cuda_kwargs)`."""
    if isinstance(node, ast.Name):
        made = assignments(function).get(node.id, ())
        if len(made) == 1 and isinstance(made[0], ast.Dict) and not _is_changed(function, node.id):
            return made[0]
    return node


def _is_changed(function: Function, name: str) -> bool:
    return any(
        isinstance(node.value, ast.Name)
        and node.value.id == name
        and (isinstance(node, ast.Attribute) or isinstance(node.ctx, ast.Store))
        for node in own_nodes(function, ast.Attribute, ast.Subscript)
    )


def _entries(node: ast.expr) -> Iterator[tuple[str | None, ast.expr | None]]:
    if not isinstance(node, ast.Dict):
        yield None, None
        return
    for key, value in zip(node.keys, node.values, strict=True):
        known = _key(key) if key is not None else None
        yield known, value if known is not None else None


def _key(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
