"""Which of the layers that a class may put around a model are there on the objects, and at the place, of a read."""

from __future__ import annotations

import ast
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING

from distlint.analysis.program.inherited import called_on_self_alone, reached, reaching
from distlint.analysis.program.places import place_of_any
from distlint.nodes import walk

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import AttributeSite
    from distlint.analysis.interpreter.values import Wrap
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Class, Function
    from distlint.analysis.program.program import Program

_LOOPS = ast.For | ast.AsyncFor | ast.While


def as_put_on(live: LiveProgram, site: AttributeSite) -> AttributeSite | None:
    """A read with the layers that may be there; None where none is.

    align-anything 3f9decc align_anything/trainers/base/supervised_trainer.py: one method wraps by DeepSpeed, one by
    `prepare()`, and no trainer calls both.
    """
    before = site.receiver.wraps
    met = (_met(live, site, wrap) for wrap in before)
    wraps = tuple(wrap for wrap in met if wrap is not None)
    if wraps == before:
        return site
    if not wraps:
        return None
    changed = copy(site)
    changed.receiver = site.receiver.replace(wraps=wraps)
    return changed


def _met(live: LiveProgram, site: AttributeSite, wrap: Wrap) -> Wrap | None:
    """A layer that may be there, or the one that another path puts on in its place."""
    other = _met(live, site, wrap.instead) if wrap.instead is not None else None
    if _is_missing(live, site, wrap):
        return other
    return wrap if other is wrap.instead else replace(wrap, instead=other)


def _is_missing(live: LiveProgram, site: AttributeSite, wrap: Wrap) -> bool:
    """Whether a method keeps its wrap in an attribute, and never does on an object that has come to the read."""
    call = live.call_at(wrap.node)
    reader = site.function
    if call is None or call.site.function.cls is None or reader.cls is None:
        return False
    writer = call.site.function
    if not _names(reader, _kept_as(writer, wrap.node)):
        return False
    if writer is reader:
        read, wrapped = place_of_any(site.node), place_of_any(wrap.node)
        return (
            read < wrapped and not _in_loop(writer, site.node) and _runs_once(live.program, writer)
        )
    reads, wraps = reaching(live.program, reader), reaching(live.program, writer)
    return bool(reads) and bool(wraps) and reads.isdisjoint(wraps)


def _kept_as(writer: Function, wrap: ast.AST) -> frozenset[str]:
    """The attributes of the method's object that an assignment gives what a call wraps."""
    return frozenset(
        target.attr
        for statement in walk(writer.node)
        if isinstance(statement, ast.Assign) and any(node is wrap for node in walk(statement.value))
        for each in statement.targets
        for target in walk(each)
        if isinstance(target, ast.Attribute)
        and isinstance(target.value, ast.Name)
        and target.value.id == "self"
    )


def _names(reader: Function, attributes: frozenset[str]) -> bool:
    return any(
        isinstance(node, ast.Attribute)
        and node.attr in attributes
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
        for node in walk(reader.node)
    )


def _runs_once(program: Program, method: Function) -> bool:
    """Whether each object runs a method once at most: its constructor leads to it, by one call of each on the way."""
    classes = reaching(program, method)
    return bool(classes) and all(_once_on(program, cls, method) for cls in classes)


def _once_on(program: Program, cls: Class, method: Function) -> bool:
    seen: set[Function] = set()
    while method.name != "__init__":
        if method in seen or not called_on_self_alone(program, method):
            return False
        seen.add(method)
        calls = [
            (caller, node)
            for caller in reached(program, cls)
            for node in walk(caller.node)
            if isinstance(node, ast.Attribute) and node.attr == method.name
        ]
        if len(calls) != 1 or _in_loop(*calls[0]):
            return False
        method = calls[0][0]
    return True


def _in_loop(function: Function, node: ast.AST) -> bool:
    return any(
        inner is node
        for loop in walk(function.node)
        if isinstance(loop, _LOOPS)
        for inner in walk(loop)
    )
