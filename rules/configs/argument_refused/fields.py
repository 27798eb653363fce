"""The fields of the dataclasses of which options are made, and what the option of each takes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

from distlint.analysis.program.definitions import Class
from distlint.knowledge.configuration.training_arguments import FIELDS
from distlint.nodes import last_name

if TYPE_CHECKING:
    from distlint.analysis.program.program import Program

Given: TypeAlias = dict[str, ast.expr]
"""What an `add_argument` would be given by keyword."""

OPEN: Given = {"nargs": ast.Constant("*")}
"""Of an option of which is not known what it takes."""
_LOOSE: Given = {"action": ast.Constant("loose")}
"""Of an option that takes a value, or none, or several."""
_NO_FIELDS = frozenset({"object", "abc.ABC", "typing.Generic", "typing.Protocol"})
_DATACLASS = frozenset({"dataclass", "add_start_docstrings", "dataclass_transform"})
_NUMBERS = frozenset({"int", "float"})


def fields_of(program: Program, meaning: object) -> Iterator[tuple[str, Given]]:
    """The fields of a class; one without a name where there may be others."""
    if isinstance(meaning, str) and meaning in FIELDS:
        values, others = FIELDS[meaning]
        yield from ((name, {}) for name in values)
        yield from ((name, _LOOSE) for name in others)
        return
    if not isinstance(meaning, Class):
        yield "", {}
        return
    owners, outside = program.mro(meaning)
    own: dict[str, Given] = {}
    for base in outside:
        own.update(fields_of(program, base) if base not in _NO_FIELDS else ())
    for owner in reversed(owners):
        if len(program.bases(owner)) != len(owner.node.bases) or not _is_plain(owner):
            own[""] = {}
        for statement in owner.node.body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                own[statement.target.id] = _taken(statement.annotation)
    yield from own.items()


def _is_plain(owner: Class) -> bool:
    """Whether the fields of a class are those that stand in it, under their names."""
    decorators = {
        last_name(d.func if isinstance(d, ast.Call) else d) for d in owner.node.decorator_list
    }
    return (
        decorators <= _DATACLASS
        and "dataclass" in decorators
        and not any(isinstance(each, (ast.If, ast.Try)) for each in owner.node.body)
        and "aliases" not in ast.unparse(owner.node)
    )


def _taken(annotation: ast.expr) -> Given:
    """What the option of a field takes, by its type: one value, or a value or none."""
    match annotation:
        case ast.Constant(value=str(text)):
            try:
                return _taken(ast.parse(text, mode="eval").body)
            except SyntaxError:
                return OPEN
        case ast.Name(id="bool"):
            return {"action": annotation}
        case ast.Name(id="str"):
            return {}
        case ast.Name(id=name) if name in _NUMBERS:
            return {"type": annotation}
        case ast.Subscript(value=kind, slice=inner):
            members = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            match last_name(kind):
                case "Optional":
                    return _taken(inner)
                case "Union":
                    return _of_union(members)
                case "Literal":
                    return {"choices": ast.Tuple(members, ast.Load())}
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _of_union([left, right])
    return OPEN


def _of_union(members: list[ast.expr]) -> Given:
    taken = [
        _taken(each)
        for each in members
        if not (isinstance(each, ast.Constant) and each.value is None)
    ]
    if len(taken) == 1:
        return taken[0]
    return {} if all(not given.keys() & {"action", "nargs"} for given in taken) else OPEN
