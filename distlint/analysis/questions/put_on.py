"""Which of the layers that a class may put around a model are there on the objects, and at the place, of a read."""

from __future__ import annotations

import ast
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING

from distlint.analysis.program.definitions import Class
from distlint.analysis.program.inherited import called_on_self_alone, reached, reaching
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.places import place_of_any
from distlint.analysis.program.syntax import assignments
from distlint.analysis.questions.given_another import is_given_another
from distlint.analysis.questions.taken_off import handed_taken_off, is_taken_off
from distlint.nodes import walk

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import AttributeSite
    from distlint.analysis.interpreter.values import Wrap
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Function
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
    """Whether the layer is off where its condition holds, or a method that keeps it never does on an object that is read."""
    call = live.call_at(wrap.node)
    reader = site.function
    if call is not None and (
        is_taken_off(call.site, site, site.node.value)
        or handed_taken_off(live, call.site, site)
        or is_given_another(live, call.site, site)
    ):
        return True
    if call is None or call.site.function.cls is None:
        return False
    writer = call.site.function
    if _made_above(live, site, writer, _kept_as(writer, wrap.node)):
        return True
    if reader.cls is None or not _names(reader, _kept_as(writer, wrap.node)):
        return False
    if writer is reader:
        read, wrapped = place_of_any(site.node), place_of_any(wrap.node)
        return (
            read < wrapped and not _in_loop(writer, site.node) and _runs_once(live.program, writer)
        )
    reads, wraps = reaching(live.program, reader), reaching(live.program, writer)
    return bool(reads) and bool(wraps) and reads.isdisjoint(wraps)


def _made_above(
    live: LiveProgram, site: AttributeSite, writer: Function, kept: frozenset[str]
) -> bool:
    """Whether the function that reads has just made the object, on which it does not call the method that wraps.

    DoRA 7e2f10a image_video_text_understanding/CLIP-ViL/src/tasks/gqa_model.py:28: `self.encoder = LXRTEncoder(…)`, then
    `self.encoder.model`, and others call `encoder.multi_gpu()` later.
    """
    reader, cls = site.function, writer.cls
    # `encoder.model.config`: the attribute that holds the wrapper is `model`, of the object `encoder`.
    held: ast.expr = site.node.value
    if not (isinstance(held, ast.Attribute) and held.attr in kept):
        return False
    owner = ast.unparse(held.value)
    values = assignments(reader).get(owner, [])
    if len(values) != 1 or not isinstance(values[0], ast.Call) or writer.name == "__init__":
        return False
    made = live.resolve(reader.module, values[0].func)
    return (
        isinstance(made, Class)
        and cls in live.program.mro(made)[0]
        and values[0].lineno < site.node.lineno
        and not any(writer is each for each in _constructed(live, made))
        and not any(
            node.attr == writer.name and node.lineno <= site.node.lineno
            for node in walk(reader.node, ast.Attribute)
        )
    )


def _constructed(live: LiveProgram, cls: Class) -> list[Function]:
    """The constructor of a class, and the methods of its own object that it leads to."""
    init = live.program.find_method(cls, "__init__")
    found = [init] if init is not None else []
    for each in found:
        for node in walk(each.node, ast.Attribute):
            match node:
                case ast.Attribute(value=ast.Name(id="self"), attr=name):
                    method = live.program.find_method(cls, name)
                    if method is not None and method not in found:
                        found.append(method)
    return found


@remembered
def _kept_as(writer: Function, wrap: ast.AST) -> frozenset[str]:
    """The attributes of the method's object that an assignment gives what a call wraps."""
    return frozenset(
        target.attr
        for statement in walk(writer.node, ast.Assign)
        if any(node is wrap for node in walk(statement.value))
        for each in statement.targets
        for target in walk(each, ast.Attribute)
        if isinstance(target.value, ast.Name) and target.value.id == "self"
    )


def _names(reader: Function, attributes: frozenset[str]) -> bool:
    return any(
        node.attr in attributes and isinstance(node.value, ast.Name) and node.value.id == "self"
        for node in walk(reader.node, ast.Attribute)
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
            for node in walk(caller.node, ast.Attribute)
            if node.attr == method.name
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
