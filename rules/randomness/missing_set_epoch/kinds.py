"""What a loader or sampler is an object of, where its class has no `set_epoch` to call."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from distlint.analysis.model import Model
from distlint.analysis.program.definitions import Class, Function
from distlint.analysis.program.syntax import assignments, own_nodes

_PLAIN: Final = frozenset(
    {
        "object", "abc.ABC", "typing.Protocol", "typing_extensions.Protocol", "typing.Generic",
        "collections.abc.Iterable", "collections.abc.Iterator", "torch.utils.data.DataLoader",
    }
)  # fmt: skip
"""Classes of libraries that have no `set_epoch`."""
_OF_DATA: Final = frozenset({"__iter__", "__next__", "__getitem__", "__len__"})
"""Methods of what has samples, or draws them."""
_KEEP: Final = frozenset({"setdefault", "append", "update", "get"})
_DEPTH: Final = 5


def cannot_be_told(model: Model, function: Function, name: str) -> bool:
    """Whether all that a variable holds are objects without `set_epoch`: `hasattr(loader, "set_epoch")` is false.

    openpi 15a9616 scripts/train_pytorch.py:511: the loader that `build_datasets` gives begins anew by itself.
    """
    kinds = list(_held(model, function, name, _DEPTH))
    return bool(kinds) and all(kind is not None and _lacks(model, kind) for kind in kinds)


def _lacks(model: Model, kind: Class | str) -> bool:
    if isinstance(kind, str):
        return kind in _PLAIN
    own, outside = model.program.mro(kind)
    names = {name for each in own for name in each.methods}
    tells = model.program.find_method(kind, "set_epoch")
    told = bool({"__getattr__", "__getattribute__"} & names) or (
        tells is not None and not (_only_counts(tells) and _OF_DATA.isdisjoint(names))
    )
    kept = any("set_epoch" in {*each.attributes, *each.self_assigned} for each in own)
    return not told and not kept and _PLAIN.issuperset(outside)


def _only_counts(method: Function) -> bool:
    """Whether a method calls nothing of another object: it keeps the number.

    ALMTokenizer2 53f7891 utils/reporter.py:301: `self.epoch = epoch`, of what writes the log.
    """
    return not any(
        isinstance(node.func, ast.Attribute) and node.func.attr not in _KEEP
        for node in own_nodes(method, ast.Call)
    )


def _held(model: Model, function: Function, name: str, depth: int) -> Iterator[Class | str | None]:
    """What a variable may be an object of; None for what is not known."""
    values = assignments(function).get(name, ())
    if not values or name in function.parameters:
        yield None
    for value in values:
        yield from _made(model, function, value, place_of_name(function, name, value), depth)


def place_of_name(function: Function, name: str, value: ast.expr) -> int | None:
    """The place of a variable in a target that takes a value apart; None where it takes all."""
    for node in own_nodes(function, ast.Assign):
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=parts)], value=given) if given is value:
                return next(
                    (n for n, p in enumerate(parts) if isinstance(p, ast.Name) and p.id == name),
                    None,
                )
    return None


def _made(
    model: Model, function: Function, value: ast.expr, place: int | None, depth: int
) -> Iterator[Class | str | None]:
    match value:
        case ast.Call(func=func) if depth:
            meaning = model.resolve(function.module, func)
            if isinstance(meaning, Function):
                yield from _returned(model, meaning, place, depth - 1)
                return
            yield meaning if place is None and isinstance(meaning, Class | str) else None
        case ast.Tuple(elts=parts) if place is not None and place < len(parts):
            yield from _made(model, function, parts[place], None, depth)
        case ast.Name(id=name) if depth and place is None:
            yield from _held(model, function, name, depth - 1)
        case _:
            yield None


def _returned(
    model: Model, function: Function, place: int | None, depth: int
) -> Iterator[Class | str | None]:
    given = [n.value for n in own_nodes(function, ast.Return)]
    if not given or any(own_nodes(function, ast.Yield, ast.YieldFrom)):
        yield None
    for value in given:
        if value is None:
            yield None
        else:
            yield from _made(model, function, value, place, depth)
