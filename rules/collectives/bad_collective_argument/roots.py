"""Roots that a collective of one group takes from another group."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import dotted_name, last_name
from distlint.analysis.program.syntax import assignments

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function

_ROOTED: Final = {
    "torch.distributed.broadcast": (1, "src", 2),
    "torch.distributed.broadcast_object_list": (1, "src", 2),
    "torch.distributed.reduce": (1, "dst", 3),
    "torch.distributed.gather": (2, "dst", 3),
    "torch.distributed.gather_object": (2, "dst", 3),
    "torch.distributed.scatter": (2, "src", 3),
    "torch.distributed.scatter_object_list": (2, "src", 3),
}
"""Position and keyword of the root, and position of the group. Source: torch 2.13.0 distributed_c10d.py."""
_FIRST_OF: Final = frozenset({"get_global_rank", "_get_global_rank", "get_process_group_ranks"})
"""Functions that say which of all ranks is one of a group."""


def foreign_roots(model: Model) -> Iterator[tuple[CallSite, ast.expr, str, str]]:
    """Collectives whose root is of a group that is named otherwise than their own: the call, the root, both groups.

    HumanBench f3fd3b3 PATH/core/distributed_utils.py:105: the first rank of each task sends in a group of several tasks.
    """
    for call in model.calls(*_ROOTED):
        site = call.site
        position, keyword, place = _ROOTED[site.name]
        root = site.argument_node(position, keyword)
        group = site.argument_node(place, "group")
        if root is None or group is None:
            continue
        of, own = _group_of(site.function, root), dotted_name(group)
        if of and own and of != own and not _may_be_one(site.function, of, own):
            yield site, root, of, own


def _group_of(function: Function, root: ast.expr) -> str:
    """The path of the group one of whose ranks an expression is; empty where it is another expression."""
    if isinstance(root, ast.Name):
        values = assignments(function).get(root.id, [])
        if len(values) != 1:
            return ""
        root = values[0]
    if isinstance(root, ast.Subscript):
        root = root.value
    match root:
        case ast.Call(args=[group, *_]) if last_name(root.func) in _FIRST_OF:
            return dotted_name(group)
        case ast.Call(keywords=keywords) if last_name(root.func) in _FIRST_OF:
            return next((dotted_name(k.value) for k in keywords if k.arg == "group"), "")
    return ""


def _may_be_one(function: Function, one: str, other: str) -> bool:
    """Whether two paths may name one group: one is assigned from the other, or is that of all ranks."""
    values = {ast.unparse(v) for path in (one, other) for v in assignments(function).get(path, ())}
    return bool(values) or "WORLD" in (one.rpartition(".")[2], other.rpartition(".")[2])


__all__ = ["foreign_roots"]
