"""Tensors made of lists into which a loop puts only some of this rank's elements, by syntax."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.syntax import assignments, mentions_rank, own_nodes, target_names
from distlint.nodes import last_name, walk

from .token_shapes import same_shape

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Function

_MAKES: Final = frozenset(
    {"Tensor", "FloatTensor", "LongTensor", "tensor", "as_tensor", "stack", "cat", "concat"}
)
"""What makes a tensor with as many rows as a list has elements."""
_PUTS: Final = frozenset({"append", "extend"})


def collected(function: Function, node: ast.expr) -> ast.Call | None:
    """The call that puts an element into the list which a tensor is made of, where a test of the element decides it.

    TorchEasyRec 54cac31 tzrec/metrics/grouped_xauc.py:157: `if preds.shape[0] > 1: group_weight.append(…)` in a loop over
    this rank's groups, and `dist.all_gather(buffers, torch.Tensor(group_weight))`.
    """
    if "pad" in ast.unparse(function.node):
        return None
    for name in _lists(function, node):
        values = assignments(function).get(name, ())
        if any(isinstance(value, ast.List) and not value.elts for value in values):
            puts = list(_puts(function, name))
            if puts and all(decided for _, decided in puts):
                return puts[0][0]
    return None


def _lists(function: Function, node: ast.expr) -> Iterator[str]:
    """The lists of which an expression may be a tensor."""
    made = same_shape(node)
    if isinstance(made, ast.IfExp):
        yield from _lists(function, made.body)
        yield from _lists(function, made.orelse)
        return
    values = assignments(function).get(made.id, ()) if isinstance(made, ast.Name) else (made,)
    for value in values:
        match same_shape(value):
            case ast.Call(func=func, args=[ast.Name(id=name), *_]) if last_name(func) in _MAKES:
                yield name


def _puts(function: Function, name: str) -> Iterator[tuple[ast.Call, bool]]:
    """The calls that put something into a list, and whether each stands in a loop under a test of what the loop goes
    through, whose other arm puts nothing there."""
    for loop in own_nodes(function):
        if not isinstance(loop, ast.For):
            continue
        for node in walk(loop, ast.Call):
            if _is_put(node, name):
                yield (
                    node,
                    any(
                        not mentions_rank(test.test)
                        and _reads(test.test, _bound(loop))
                        and any(each is node for statement in test.body for each in walk(statement))
                        and not any(
                            isinstance(each, ast.Call) and _is_put(each, name)
                            for statement in test.orelse
                            for each in walk(statement)
                        )
                        for test in walk(loop, ast.If)
                    ),
                )


def _is_put(node: ast.Call, name: str) -> bool:
    match node.func:
        case ast.Attribute(attr=attr, value=ast.Name(id=owner)):
            return attr in _PUTS and owner == name
    return False


def _bound(loop: ast.For) -> set[str]:
    """The variables of a loop, and what is assigned in it."""
    assigned = (n for node in walk(loop, ast.Assign) for n in node.targets)
    return {name for target in (loop.target, *assigned) for name in target_names(target)}


def _reads(test: ast.expr, names: set[str]) -> bool:
    return any(node.id in names for node in walk(test, ast.Name))
