"""Which parameters of a call are a name of the caller: both ask the same when they ask it."""

from __future__ import annotations

import ast
from collections.abc import Hashable

from distlint.analysis.interpreter.frame import Frame
from distlint.analysis.interpreter.ir import Passed
from distlint.analysis.interpreter.values import Value, Variance
from distlint.analysis.program.definitions import Function, dotted_name
from distlint.analysis.program.memory import remembered
from distlint.nodes import walk


def passed_by(
    frame: Frame,
    call: ast.Call | None,
    args: list[Value],
    keywords: dict[str, Value],
    bound: dict[str, Value],
) -> tuple[Passed, ...]:
    """The parameters that a call fills with names and attributes of the caller, none anew in each turn.

    open_clip src/open_clip_train/train.py: `args.fsdp` decides in two functions, one of which calls the other.
    """
    if call is None:
        return ()
    changed = _changed(frame.function)
    named = ((k.value, keywords[k.arg]) for k in call.keywords if k.arg in keywords)
    names: dict[Hashable, str] = {
        value.key: dotted_name(node)
        for node, value in (*zip(call.args, args, strict=False), *named)
        if isinstance(node, (ast.Name, ast.Attribute)) and value.variance is Variance.UNIFORM
    }
    return tuple(
        Passed(parameter, value.key, changed.get(name, frozenset()))
        for parameter, value in bound.items()
        if (name := names.get(value.key)) and not value.known and not _anew(frame, name)
    )


def _anew(frame: Frame, name: str) -> bool:
    """Whether a loop around a call assigns what the call passes."""
    return any(
        name == assigned or name.startswith(f"{assigned}.")
        for open_ in frame.scope.loops
        for assigned in open_.assigned
    )


@remembered
def _changed(function: Function) -> dict[str, frozenset[str]]:
    """The attributes that a function sets, by the name of what has them."""
    found: dict[str, set[str]] = {}
    for node in walk(function.node, ast.Attribute):
        if isinstance(node.ctx, (ast.Store, ast.Del)):
            found.setdefault(dotted_name(node.value), set()).add(node.attr)
    return {name: frozenset(attributes) for name, attributes in found.items()}
