"""Which methods run on an object of a class: those of a base that is overridden only where something calls them.

A constructor that does not call `super().__init__()` leaves the one of the base undone, and with it what that alone
calls.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.program.definitions import Class, dotted_name
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import own_nodes
from distlint.nodes import last_name, walk

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Function
    from distlint.analysis.program.program import Program


def may_run(program: Program, cls: Class, method: Function) -> bool:
    """Whether a method of a class, or of a base, may run on an object whose class is `cls` itself.

    A setter is run by an assignment, and a name with two underscores means the one of its own class.
    """
    owner = method.cls
    if owner is None or owner is cls or owner.methods.get(method.name) is not method:
        return True
    if method.name.startswith("__") and not method.name.endswith("__"):
        return True
    return method in _running(program, cls)


@remembered
def _running(program: Program, cls: Class) -> frozenset[Function]:
    """The methods that run: what anybody may call, and what these call.

    Amphion e9c08a1 models/tts/naturalspeech2/ns2_trainer.py: the constructor calls no other, and the base's
    `_accelerator_prepare()`, which wraps, is called by the base's constructor alone.
    """
    family = program.mro(cls)[0]
    effective = {name: m for owner in reversed(family) for name, m in owner.methods.items()}
    work = [m for m in effective.values() if not _is_private(m) or m.cls is cls]
    work += [m for m in effective.values() if m not in work and _named_outside(program, cls, m)]
    found = set(work)
    while work:
        for method in _called_on_self(program, cls, effective, work.pop()):
            if method not in found:
                found.add(method)
                work.append(method)
    return frozenset(found)


def _is_private(method: Function) -> bool:
    return method.name.startswith("_") and not method.name.endswith("__")


def _named_outside(program: Program, cls: Class, method: Function) -> bool:
    """Whether code beside the class and its bases names a method, on an object that is not its own `self`."""
    family = set(program.mro(cls)[0])
    return any(
        method.name in module.source.text
        and any(
            isinstance(node, ast.Attribute) and node.attr == method.name and not _is_own(node.value)
            for function in module.all_functions
            if _owner(function) not in family
            for node in own_nodes(function)
        )
        for module in program.modules.values()
    )


def _is_own(receiver: ast.expr) -> bool:
    """Whether an object is that of the method: `self`, `super()`."""
    match receiver:
        case ast.Name(id="self" | "cls") | ast.Call(func=ast.Name(id="super")):
            return True
    return False


def _owner(function: Function) -> Class | None:
    return next((each.cls for each in function.outward() if each.cls is not None), None)


def _called_on_self(
    program: Program, cls: Class, effective: dict[str, Function], method: Function
) -> Iterator[Function]:
    """The methods that a method names: the object's own, and those of its bases that it names as such."""
    family = program.mro(cls)[0]
    for node in walk(method.node):
        match node:
            case ast.Call(func=ast.Name(id="getattr"), args=[_, name, *_]) if not isinstance(
                name, ast.Constant
            ):
                yield from effective.values()
            case ast.Constant(value=str(name)) if name in effective:
                yield effective[name]
            case ast.Attribute(value=ast.Call(func=ast.Name(id="super"), args=given), attr=attr):
                after = method.cls
                if given:
                    named = program.resolve_dotted(method.module, dotted_name(given[0]))
                    after = named if isinstance(named, Class) else after
                found = program.find_method(cls, attr, after=after)
                if found is not None:
                    yield found
            case ast.Attribute(value=base, attr=attr):
                named = (
                    program.resolve_dotted(method.module, dotted_name(base))
                    if last_name(base) in {each.name for each in family}
                    else None
                )
                if isinstance(named, Class) and named in family:
                    found = program.find_method(named, attr)
                    if found is not None:
                        yield found
                elif attr in effective:
                    yield effective[attr]
