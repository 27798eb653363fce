"""Numbers of ranks that a function computes with before it makes the group, and sets right behind it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.program.definitions import dotted_name
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.nodes import last_name
from distlint.records import dataclass
from distlint.repairs.group import made_below

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function, Module

_SIZES = frozenset({"get_world_size", "get_dist_info"})
"""Calls that tell how many ranks there are."""
_SCALES = (ast.Mult, ast.Div, ast.FloorDiv)


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """A length that is multiplied or divided by, what makes the group, and where the length becomes that of the ranks."""

    function: Function
    length: ast.Call
    made: CallSite
    again: ast.Assign


def counted_before(model: Model, module: Module) -> Iterator[Counted]:
    """Lengths that stand for the number of ranks, in numbers that are computed while the group is not there.

    flatformer 31dc5a9 tools/train.py:128: `lr * len(cfg.gpu_ids) / 8`, above `init_dist()` and `cfg.gpu_ids =
    range(world_size)`, as in mmdet's scripts.
    """
    if not any(name in module.source.text for name in _SIZES):
        return
    for function in module.all_functions:
        told: set[str] = set()
        for again in _set_again(function):
            name = dotted_name(again.targets[0])
            for length in _lengths(function, name, again.lineno) if name not in told else ():
                made = made_below(model, function, length.lineno)
                if (
                    made is not None
                    and made.function is function
                    and made.node.lineno < again.lineno
                ):
                    told.add(name)
                    yield Counted(function, length, made, again)
                    break


def _set_again(function: Function) -> Iterator[ast.Assign]:
    """Where a function makes an attribute as long as there are ranks: `cfg.gpu_ids = range(world_size)`."""
    for node in own_nodes(function, ast.Assign):
        match node:
            case ast.Assign(
                targets=[ast.Attribute()],
                value=ast.Call(func=ast.Name(id="range"), args=[size])
                | ast.Call(
                    func=ast.Name(id="list"),
                    args=[ast.Call(func=ast.Name(id="range"), args=[size])],
                ),
            ) if _counts_ranks(function, size):
                yield node


def _counts_ranks(function: Function, size: ast.expr) -> bool:
    """Whether a number is the world size, as the group tells it."""
    given = (
        [size] if isinstance(size, ast.Call) else assignments(function).get(dotted_name(size), [])
    )
    return bool(given) and all(
        isinstance(value, ast.Call) and last_name(value.func) in _SIZES for value in given
    )


def _lengths(function: Function, name: str, line: int) -> Iterator[ast.Call]:
    """The lengths of an attribute by which something above a line is multiplied or divided."""
    for node in own_nodes(function, ast.BinOp):
        if node.lineno < line and isinstance(node.op, _SCALES):
            for side in (node.left, node.right):
                match side:
                    case ast.Call(func=ast.Name(id="len"), args=[counted]) if (
                        dotted_name(counted) == name
                    ):
                        yield side
