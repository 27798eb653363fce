"""Clipping behind `step()` and `zero_grad()`: there are no gradients left."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from distlint.analysis.program.definitions import dotted_name
from distlint.analysis.program.syntax import own_nodes
from distlint.nodes import walk

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite

_ENDS = ("backward", "step", "zero_grad")


def clears(site: CallSite) -> ast.Call | None:
    """The `zero_grad()` that has cleared what a call clips; None where gradients may be there.

    Amphion d3de90f models/tts/valle/valle_trainer.py:159: `backward()`, `step()` and `zero_grad()`, then the clipping.
    One of another optimizer clears other gradients, and one under a condition perhaps none.
    """
    calls = sorted(
        (
            node
            for node in own_nodes(site.function, ast.Call)
            if isinstance(node.func, ast.Attribute) and node.func.attr in _ENDS
        ),
        key=lambda node: (node.lineno, node.col_offset),
    )
    before = [node for node in calls if node.lineno < site.node.lineno]
    if (cleared_ahead := _begins_anew(site, before, calls[len(before) :])) is not None:
        return cleared_ahead
    last = max((i for i, node in enumerate(before) if _method(node) == "backward"), default=None)
    if last is None:
        return None
    stepped = {_owner(node) for node in before[last:] if _method(node) == "step"}
    cleared = [
        node
        for node in before[last:]
        if _method(node) == "zero_grad"
        and _owner(node) in stepped
        and not _may_be_skipped(site, node)
    ]
    if not cleared or any(
        _method(node) == "step" and _owner(node) != _owner(cleared[-1]) and "opt" in _owner(node)
        for node in calls
        if node.lineno > site.node.lineno
    ):
        return None
    return cleared[-1]


def _begins_anew(site: CallSite, before: list[ast.Call], behind: list[ast.Call]) -> ast.Call | None:
    """The `zero_grad()` in front of a clipping behind which the optimizer's gradients are made and taken.

    sngp-segmentation 83be6ea sngp_segmentation/utils.py:520: `zero_grad()`, the clipping, `backward()`, `step()`.
    """
    if (
        before
        and _method(before[-1]) == "zero_grad"
        and [_method(node) for node in behind[:2]] == ["backward", "step"]
        and _owner(behind[1]) == _owner(before[-1])
        and not _may_be_skipped(site, before[-1])
    ):
        return before[-1]
    return None


def _method(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def _owner(call: ast.Call) -> str:
    return dotted_name(call.func).rpartition(".")[0].lower()


def _may_be_skipped(site: CallSite, clearing: ast.Call) -> bool:
    """Whether a condition holds a call back that lets the clipping through."""
    held = {id(guard.node) for guard in site.guards}
    return any(
        id(node.test) not in held
        and any(part is clearing for each in (*node.body, *node.orelse) for part in walk(each))
        for node in own_nodes(site.function, ast.If)
    )
