"""Whom a decorator of the program's own lets in, by how it calls what it is given."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from distlint.analysis.program.definitions import Function, last_name
from distlint.analysis.program.syntax import literals, own_nodes
from distlint.knowledge import conventions, ranks
from distlint.knowledge.schema import Kind
from distlint.nodes import walk

_KINDS: Final[dict[str, Kind]] = {
    **conventions.NAMED_RANKS,
    **ranks.ANY_ATTRIBUTES,
    **ranks.ANY_METHODS,
}
"""What a test of the rank asks, by the last name of what it calls or reads."""
_MAINS: Final = {n: kind for n, kind in _KINDS.items() if kind in ("is_main", "is_local_main")}
_OF_FIRST: Final[dict[Kind, Kind]] = {"rank": "is_main", "local_rank": "is_local_main"}
_FIRSTS: Final = {n: _OF_FIRST[kind] for n, kind in _KINDS.items() if kind in _OF_FIRST}
"""What it asks that compares such a number with 0."""


def own_admission(made_by: Function, decorator: ast.expr) -> tuple[Kind, str] | None:
    """Which ranks a decorator lets run a function: the kind of test, and the library's decorator of that kind.

    OpenLRM 3108b69 openlrm/runners/train/base_trainer.py:113: `@control("on_main_process")`, whose wrapper does
    `getattr(self.accelerator, option)(func)`.
    """
    for inner in _inside(made_by):
        wrapped = {name for outer in inner.outward() for name in outer.parameters}
        names = [last_name(each) for each in inner.decorators if inner is not made_by]
        names += [_hands_on(node, made_by, decorator, wrapped) for node in own_nodes(inner)]
        for name in names:
            if name in ranks.ANY_DECORATORS and name not in ranks.DECORATOR_RANKS:
                return ranks.ANY_DECORATORS[name], name
    return _by_test(made_by, decorator)


def _inside(function: Function) -> Iterator[Function]:
    yield function
    for nested in function.nested.values():
        yield from _inside(nested)


def _hands_on(node: ast.AST, made_by: Function, decorator: ast.expr, wrapped: set[str]) -> str:
    """What is handed one of the functions that are `wrapped`, and decorates it: `accelerator.on_main_process(func)`."""
    match node:
        case ast.Call(
            func=ast.Attribute(attr=name) | ast.Name(id=name),
            args=[ast.Name(id=given)],
            keywords=[],
        ) if given in wrapped:
            return name
        case ast.Call(
            func=ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Name(id=option), *_]),
            args=[ast.Name(id=given)],
            keywords=[],
        ) if given in wrapped and isinstance(decorator, ast.Call) and option in made_by.parameters:
            match _given(decorator, made_by, option):
                case ast.Constant(value=str() as name):
                    return name
    return ""


def _given(decorator: ast.Call, made_by: Function, option: str) -> ast.expr | None:
    """What a decorator's call passes for a parameter; in the body of a class there is no `self` before it."""
    place = made_by.parameters.index(option)
    by_place = decorator.args[place : place + 1]
    by_name = [keyword.value for keyword in decorator.keywords if keyword.arg == option]
    return next(iter((*by_name, *by_place)), None)


def _by_test(made_by: Function, decorator: ast.expr) -> tuple[Kind, str] | None:
    """The test that a wrapper makes before it calls what it wraps; None where other ranks call it as well."""
    outer = made_by
    if isinstance(decorator, ast.Call):
        outer = next(iter(made_by.nested.values()), made_by)
    if len(outer.parameters) != 1 or len(outer.nested) != 1:
        return None
    (wrapper,) = outer.nested.values()
    kind = _passed(wrapper.body, outer.parameters[0])
    return None if kind is None else (kind, last_name(decorator))


def _passed(body: list[ast.stmt], wrapped: str) -> Kind | None:
    """The test that has let in a rank wherever the statements call what is wrapped."""
    above: Kind | None = None
    for place, statement in enumerate(body):
        if not isinstance(statement, ast.If):
            if _calls([statement], wrapped):
                return above
            continue
        arms = ((statement.body, True), (statement.orelse, False))
        calling = [taken for arm, taken in arms if _calls(arm, wrapped)]
        if calling:
            alone = len(calling) == 1 and not _calls(body[place + 1 :], wrapped)
            return (_asks(statement.test, calling[0]) or above) if alone else above
        if isinstance(statement.body[-1], ast.Return):
            above = _asks(statement.test, False) or above
    return None


def _calls(body: list[ast.stmt], name: str) -> bool:
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
        for statement in body
        for node in walk(statement)
    )


def _asks(test: ast.expr, taken: bool) -> Kind | None:
    """Which rank gets through a test: the first, or the first of each machine."""
    for part, holds in literals(test, taken):
        match part:
            case ast.Compare(left=left, ops=[ast.Eq()], comparators=[ast.Constant(value=0)]):
                kind = _FIRSTS.get(_name(left)) if holds else None
            case ast.Compare(left=left, ops=[ast.NotEq()], comparators=[ast.Constant(value=0)]):
                kind = None if holds else _FIRSTS.get(_name(left))
            case _:
                kind = _MAINS.get(_name(part)) if holds else None
        if kind is not None:
            return kind
    return None


def _name(node: ast.expr) -> str:
    return last_name(node.func if isinstance(node, ast.Call) else node)
