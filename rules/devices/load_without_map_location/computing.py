"""What of a checkpoint is computed with where it was loaded, instead of copied into a module."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.syntax import own_nodes
from distlint.nodes import last_name, walk
from distlint.patterns import pattern

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite

_NUMBER: Final = pattern(
    r"epoch|step|iter|round|count|num_|best|score|acc|loss|pred|metric|time|version|seed|arg|conf|cfg|param|opt",
    re.IGNORECASE,
)
"""Names of what a checkpoint holds beside tensors of several numbers. A number is at home everywhere, also one that was
saved from a GPU: PyTorch-Encoding ac74841 experiments/segmentation/train_dist.py:224, `best_pred`."""
_IN_PLACE: Final = pattern(r"(?:add|mul|sub|div|lerp|addcmul)_")


def computed_with(site: CallSite) -> ast.expr | None:
    """A tensor out of the loaded file that the script computes with: on the CPU it would meet those of the rank's device."""
    names = {
        target.id
        for statement in own_nodes(site.function, ast.Assign)
        if statement.value is site.node
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
    kept = {
        last_name(target): statement.value
        for statement in own_nodes(site.function, ast.Assign)
        if _is_part(statement.value, names)
        for target in statement.targets
        if _NUMBER.search(ast.unparse(statement.value)) is None
        and _NUMBER.search(last_name(target)) is None
    }
    operands = (
        part.value if isinstance(part, ast.Subscript) else part
        for node in (walk(site.module.source.tree) if kept else ())
        for part in _operands(node)
    )
    used = (last_name(o) for o in operands if isinstance(o, ast.Name | ast.Attribute))
    return next((kept[name] for name in used if name in kept), None)


def _is_part(node: ast.expr, names: set[str]) -> bool:
    """Whether an expression takes something out of the result: `checkpoint["mean"]`, `checkpoint.get("mean")`."""
    match node:
        case ast.Subscript(value=ast.Name(id=name)):
            return name in names
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="get" | "pop")):
            return name in names
    return False


def _operands(node: ast.AST) -> Iterator[ast.expr]:
    """What is computed with in one operation."""
    match node:
        case ast.BinOp(left=left, right=right):
            yield from (left, right)
        case ast.AugAssign(target=target, value=value):
            yield from (target, value)
        case ast.Compare(left=left, ops=[ast.Gt() | ast.GtE() | ast.Lt() | ast.LtE()]):
            yield from (left, *node.comparators)
        case ast.Call(func=ast.Attribute(value=owner, attr=attr)) if _IN_PLACE.fullmatch(attr):
            yield from (owner, *node.args)
