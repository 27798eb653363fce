"""Attributes that a whole program gives one constant, and nothing can give another."""

from __future__ import annotations

import ast
import re
from dataclasses import field
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.memory import remembered
from distlint.nodes import last_name, walk
from distlint.records import dataclass

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Class, Function, Module
    from distlint.analysis.program.program import Program

NO_CONSTANT: Final = object()
"""What is not known to be one constant."""
_NAMELESS: Final = frozenset({"object", "abc.ABC", "typing.Generic", "typing.Protocol"})


@dataclass(slots=True)
class _Names:
    """How a file uses names.

    given  what it assigns to attributes, by their names; None for what is no plain assignment
    other  names of parameters, keywords, functions and fields, and the words of its texts
    made   variables and parameters by the classes whose objects they are
    open   what attributes are set on under names that the code does not hold
    """

    given: dict[str, list[ast.expr | None]] = field(default_factory=dict)
    other: set[str] = field(default_factory=set)
    made: set[tuple[str, str]] = field(default_factory=set)
    open: set[str] = field(default_factory=set)


def constant_flag(program: Program, function: Function, receiver: ast.expr, attr: str) -> object:
    """The constant that an attribute of an object of the program is whenever it is read; NO_CONSTANT where unknown.

    yolov9 5b1ea9a utils/callbacks.py:31: `self.stop_training = False`, which train.py asks after each batch and
    nothing sets to True.
    """
    value, cls = _constant(program, attr)
    if cls is None:
        return NO_CONSTANT
    if isinstance(receiver, ast.Name) and receiver.id == "self":
        owners = (each.cls for each in function.outward() if each.cls is not None)
        return value if any(cls in program.mro(owner)[0] for owner in owners) else NO_CONSTANT
    made = (last_name(receiver), cls.name)
    return (
        value
        if any(made in _names(each).made for each in _with(program, cls.name))
        else NO_CONSTANT
    )


@remembered
def _constant(program: Program, attr: str) -> tuple[object, Class | None]:
    """What the program assigns to an attribute of this name, and the one class whose methods do."""
    unknown = (NO_CONSTANT, None)
    owners = {
        cls
        for module in _with(program, attr)
        for cls in module.classes.values()
        if attr in cls.self_assigned
    }
    if len(owners) != 1:
        return unknown
    (owner,) = owners
    family = [*program.mro(owner)[0], *program.subclasses(owner)]
    if any(not _NAMELESS.issuperset(program.mro(cls)[1]) for cls in family):
        return unknown
    values: list[ast.expr | None] = []
    for module in _with(program, attr):
        names = _names(module)
        if attr in names.other:
            return unknown
        values += names.given.get(attr, [])
    if _is_open(program, family):
        return unknown
    match values:
        case [ast.Constant(value=first), *more] if all(
            isinstance(each, ast.Constant)
            and type(each.value) is type(first)
            and each.value == first
            for each in more
        ):
            return first, owner
    return unknown


def _is_open(program: Program, family: list[Class]) -> bool:
    """Whether attributes are set on objects of a class under names that the code does not hold."""
    made = {cls.name for cls in family}
    known = [_names(each) for each in program.modules.values()]
    objects = {name for names in known for name, cls in names.made if cls in made}
    return any("self" in _names(cls.module).open for cls in family) or any(
        not objects.isdisjoint(names.open) for names in known
    )


def _with(program: Program, word: str) -> list[Module]:
    return [module for module in program.modules.values() if word in module.source.text]


@remembered
def _names(module: Module) -> _Names:
    found = _Names()
    texts = {
        id(node.value)
        for node in walk(module.source.tree, ast.Expr)
        if isinstance(node.value, ast.Constant)
    }  # docstrings: words about the code
    plain: set[int] = set()
    for node in walk(
        module.source.tree,
        ast.Assign,
        ast.AnnAssign,
        ast.Attribute,
        ast.keyword,
        ast.arguments,
        ast.Call,
        ast.FunctionDef,
        ast.AsyncFunctionDef,
        ast.ClassDef,
        ast.Constant,
    ):
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    if isinstance(target, ast.Attribute):
                        plain.add(id(target))
                        found.given.setdefault(target.attr, []).append(value)
                    if isinstance(target, ast.Name | ast.Attribute):
                        found.made |= {(last_name(target), made) for made in _class_of(value)}
            case ast.AnnAssign(target=ast.Attribute(attr=attr) as target, value=value):
                plain.add(id(target))
                found.given.setdefault(attr, []).append(value)
            case ast.Attribute(attr=attr, ctx=ast.Store() | ast.Del()) if id(node) not in plain:
                found.given.setdefault(attr, []).append(None)
            case ast.keyword(arg=str(name), value=value):
                found.other.add(name)
                found.made |= {(name, made) for made in _class_of(value)}
            case ast.arguments():
                every = [*node.posonlyargs, *node.args]
                found.other |= {each.arg for each in (*every, *node.kwonlyargs)}
                for each, default in zip(
                    every[len(every) - len(node.defaults) :], node.defaults, strict=True
                ):
                    found.made |= {(each.arg, made) for made in _class_of(default)}
            case ast.Call(func=ast.Name(id="setattr"), args=[receiver, name, _]):
                if not isinstance(name, ast.Constant):
                    found.open.add(last_name(receiver))
            case ast.Call(func=ast.Name(id="vars"), args=[receiver]):
                found.open.add(last_name(receiver))
            case ast.Attribute(value=receiver, attr="__dict__"):
                found.open.add(last_name(receiver))
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found.other.add(name)
            case ast.ClassDef(body=body):
                found.other |= {
                    target.id
                    for statement in body
                    if isinstance(statement, ast.Assign | ast.AnnAssign)
                    for target in (
                        statement.targets
                        if isinstance(statement, ast.Assign)
                        else [statement.target]
                    )
                    if isinstance(target, ast.Name)
                }
            case ast.Constant(value=str(text)) if id(node) not in texts:
                found.other |= set(re.findall(r"\w+", text))
    return found


def _class_of(value: ast.expr) -> list[str]:
    """The name of what a value is made with."""
    return [last_name(value.func)] if isinstance(value, ast.Call) and last_name(value.func) else []
