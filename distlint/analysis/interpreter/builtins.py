"""Builtins whose value follows from their arguments."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, Final

from distlint.analysis.interpreter.frame import Frame
from distlint.analysis.interpreter.iteration import EVEN, UNEVEN, advanced, iterated
from distlint.analysis.interpreter.libraries import external, unknown_result
from distlint.analysis.interpreter.members import attribute_of, class_of_instance
from distlint.analysis.interpreter.values import (
    IN_TURN,
    NO_TAGS,
    UNKNOWN,
    Entries,
    Value,
    Variance,
    constant,
    variance_of,
)
from distlint.knowledge import conventions, facts

_COMPUTED: Final[dict[str, Callable[..., Any]]] = {
    "int": int,
    "str": str,
    "float": float,
    "bool": bool,
    "abs": abs,
    "min": min,
    "max": max,
    "len": len,
    "round": round,
}


_MAX_RANGE: Final = 16


def _first_places(value: Value) -> Entries | None:
    """What is known of a tuple of unknown length; of a dict, a list has the keys."""
    known = value.entries is not None and "0" in value.entries.named
    return value.entries if known else None


def _numbers(frame: Frame, node: ast.Call, args: list[Value]) -> Value | None:
    """What `range()` gives, where more is known of it than of other calls."""
    variance, origin, tags = variance_of(args)
    if len(args) in (2, 3):
        frame.note_cut(node, node.args[0], args[0], args[2] if len(args) == 3 else args[0])
    key = ("range", *(a.key for a in args))
    if args and all(isinstance(a.const, int) for a in args) and len(args) <= 3:
        numbers = _range([a.const for a in args])
        if numbers is not None:
            listed = "world_size" in tags or variance is Variance.RANK_DEPENDENT
            in_turn = variance is Variance.UNIFORM and "world_size" in tags
            each = frozenset({IN_TURN}) if in_turn else NO_TAGS
            items = tuple(constant(n, tags=each) for n in numbers) if listed else None
            return Value(key, numbers, variance, origin, tags=tags, items=items)
    if len(args) == 3 and args[0].variance is Variance.RANK_DEPENDENT:
        # `range(rank, n, world_size)`: the first ranks may have one more.
        return Value(key, UNKNOWN, variance, origin, tags=tags | {"local-length"})
    return None


def _dict(node: ast.Call, args: list[Value], keywords: dict[str, Value]) -> Value:
    """`dict(model=model, rank=rank)`, `dict(known, rank=rank)`: as a display of the same entries."""
    variance, origin, tags = variance_of([*args, *keywords.values()])
    parts = [*args[:1], *(v for k, v in keywords.items() if k == "**")]
    named = {name: v for part in parts if part.entries for name, v in part.entries.named.items()}
    named |= {name: value for name, value in keywords.items() if name != "**"}
    others = variance_of(part.entries.rest if part.entries else part for part in parts)
    rest = Value(("dict", id(node), "rest"), UNKNOWN, *others[:2], tags=others[2])
    return Value(
        ("dict", id(node)),
        UNKNOWN,
        variance,
        origin,
        tags=(tags - UNEVEN) | (others[2] & UNEVEN),
        entries=Entries(named, rest),
    )


def builtin(
    frame: Frame, node: ast.Call, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """Builtins whose value follows from their arguments."""
    variance, origin, tags = variance_of([*args, *keywords.values()])
    if name == "range" and (numbers := _numbers(frame, node, args)) is not None:
        return numbers
    if name in ("list", "tuple", "sorted", "set", "frozenset", "iter", "reversed") and args:
        iterated(frame, args[0], node.args[0])
        items = args[0].items if name in ("list", "tuple") else None
        salted = (
            Variance.RANK_LOCAL if name == "set" and variance is Variance.RANK_LOCAL else variance
        )
        return Value(
            (name, args[0].key),
            UNKNOWN,
            salted,
            origin,
            tags=tags,
            items=items,
            truth=args[0].truth,
            wraps=args[0].wraps,
            entries=_first_places(args[0]) if name in ("list", "tuple") else None,
        )
    if name == "dict" and (keywords or (args and args[0].entries is not None)):
        return _dict(node, args, keywords)
    if name == "next" and args:
        advanced(frame, args[0], node)
    if name == "len" and args and args[0].items is not None:
        return constant(len(args[0].items), variance, origin)
    if name == "len" and len(args) == 1 and EVEN in args[0].tags:
        return Value((name, args[0].key))
    if name == "len" and len(args) == 1 and _are_sizes(node.args[0]):
        return Value((name, args[0].key))
    if name in ("isinstance", "issubclass", "hasattr", "callable", "type", "id"):
        return _kind_question(frame, node, name, args)
    if name == "getattr" and len(args) >= 2 and isinstance(args[1].const, str):
        return _getattr(frame, node, args, args[1].const)
    if name == "setattr" and len(args) == 3 and args[0].wraps:
        # A name that is not known stands for any: `questions.wrapped.ANY_ATTRIBUTE`.
        known = args[1].const if isinstance(args[1].const, str) else "*"
        stored = ast.Attribute(value=node.args[0], attr=known, ctx=ast.Store())
        ast.copy_location(stored, node)
        frame.summary.attributes.append(frame.attribute_site(stored, args[0]))
    if name in ("open", "input", "print", "breakpoint", "exit", "quit", "hash"):
        return external(frame, node, f"builtins.{name}", None, args, keywords)
    if name in _COMPUTED and args and all(a.known for a in args) and not keywords:
        try:
            return constant(_COMPUTED[name](*(a.const for a in args)), variance, origin, tags)
        except (TypeError, ValueError, OverflowError):
            return Value((name, tuple(a.key for a in args)), UNKNOWN, variance, origin, tags=tags)
    if name in ("zip", "enumerate", "map", "filter"):
        frame.site(node, f"builtins.{name}", None, args, keywords, (), None)
        written = bool(args) and all(a.items is not None for a in args)
        if name == "zip" and (written or any(a.wraps for a in args)):
            parts = Value((name, "parts"), items=tuple(args))
            key = (name, *(a.key for a in args))
            return Value(key, UNKNOWN, variance, origin, tags=tags | {"zip"}, receiver=parts)
        counted = args[0] if args else keywords.get("iterable")
        if name == "enumerate" and counted is not None:
            return Value(
                (name, counted.key),
                UNKNOWN,
                variance,
                origin,
                tags=tags | {"enumerate"},
                receiver=counted,
            )
    if name in _COMPUTED and args and len(args) == 1:
        return Value((name, args[0].key), UNKNOWN, variance, origin, tags=tags)
    if name in ("any", "all", "sum") and args:
        return Value((name, args[0].key), UNKNOWN, variance, origin, tags=tags)
    site_rows = frame.knowledge.calls.get(f"builtins.{name}", ())
    if site_rows:
        return external(frame, node, f"builtins.{name}", None, args, keywords)
    return unknown_result(frame, node, [*args, *keywords.values()])


def _are_sizes(node: ast.expr) -> bool:
    """Whether an expression gives all sizes of a tensor: `x.shape`, `x.size()`."""
    match node:
        case ast.Attribute(attr=name) | ast.Call(func=ast.Attribute(attr=name), args=[]):
            return name in conventions.SIZES
    return False


def _range(numbers: list[int]) -> tuple[int, ...] | None:
    try:
        values = range(*numbers)
        count = len(values)
    except (ValueError, OverflowError):
        return None
    return tuple(values) if count <= _MAX_RANGE else None


def _getattr(frame: Frame, node: ast.Call, args: list[Value], name: str) -> Value:
    """`getattr()` with a name that is written out; with a default the attribute may be missing."""
    attribute = ast.Attribute(value=node.args[0], attr=name, ctx=ast.Load())
    ast.copy_location(attribute, node)
    if len(args) == 2 and not args[0].wraps:
        return attribute_of(frame, args[0], attribute)
    if args[0].wraps and name == "module":
        frame.site(node, "builtins.getattr", None, args, {}, (), None)
    unwrapped = (
        args[0].replace(wraps=(), tags=args[0].tags | {"unwrapped"})
        if name == "module"
        else args[0].replace(wraps=())
    )
    value = attribute_of(frame, unwrapped, attribute)
    if len(args) < 3 or not value.known or value.variance is not Variance.UNIFORM:
        return value
    if "initialized" in value.tags:
        return value  # several ranks run: the default is for the program of one process
    return value.replace(key=("attr", args[0].key, name), const=UNKNOWN, target=None)


def _kind_question(frame: Frame, node: ast.Call, name: str, args: list[Value]) -> Value:
    """Questions about the kind of an object: the same on all ranks."""
    key: tuple[object, ...] = (name, *(a.key for a in args))
    if name == "isinstance" and len(args) == 2 and args[0].wraps:
        asked = args[1].target
        kinds = {facts.WRAPPER_TYPES.get(w.kind) for w in args[0].wraps[-1:]}
        if isinstance(asked, str) and asked in kinds:
            return constant(True)
    if name == "type" and len(args) == 1 and (cls := class_of_instance(frame, args[0])) is not None:
        return cls
    if len(args) == 2 and args[0].const is None and args[0].known and name == "isinstance":
        return constant(False, args[0].variance, args[0].origin)
    return Value(key)
