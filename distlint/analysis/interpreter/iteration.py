"""What iterating over a value gives: the element, and loops whose number of turns differs."""

from __future__ import annotations

import ast
from typing import Final

from distlint.analysis.interpreter.frame import Frame
from distlint.analysis.interpreter.ir import (
    Loop,
    Step,
)
from distlint.analysis.interpreter.values import (
    UNKNOWN,
    Value,
    Variance,
    variance_of,
)

UNEVEN: Final = frozenset({"ragged", "set-order", "local-length", "rank-part"})
"""Tags of values over which ranks iterate a different number of times, or in another order."""


def element_of(iterable: Value, target: ast.AST) -> Value:
    """The loop variable of an iteration over a value."""
    if "enumerate" in iterable.tags and iterable.receiver is not None:
        inner = element_of(iterable.receiver, target)
        return Value(("element", id(target)), items=(Value(("index", id(target))), inner))
    if "zip" in iterable.tags and iterable.receiver is not None and iterable.receiver.items:
        zipped = tuple(element_of(each, target) for each in iterable.receiver.items)
        return Value(
            ("element", id(target)), UNKNOWN, iterable.variance, iterable.origin, items=zipped
        )
    if iterable.items:
        variance, origin, tags = variance_of(iterable.items)
        tags = tags - {"bool-mask"}
        wraps = iterable.items[0].wraps
        return Value(("element", id(target)), UNKNOWN, variance, origin, tags=tags, wraps=wraps)
    variance = iterable.variance
    origin = iterable.origin
    return Value(
        ("element", id(target), iterable.key),
        UNKNOWN,
        variance,
        origin,
        tags=iterable.tags - {"world_size", "bool-mask"},
        # A list of wrapped models: any other iterable that `prepare()` gave back is a loader.
        wraps=iterable.wraps if _is_comprehension(iterable) else (),
    )


def _is_comprehension(value: Value) -> bool:
    return isinstance(value.key, tuple) and value.key[:1] == ("comprehension",)


def loop_over(frame: Frame, node: ast.AST, iterable: Value, body: list[Step]) -> None:
    """A comprehension whose element has steps."""
    key = ("for", id(node), iterable.key)
    local = (
        iterable if iterable.variance is Variance.RANK_LOCAL and iterable.tags & UNEVEN else None
    )
    frame.steps.append(Loop(node, key, local, body, [], volatile={key}))
