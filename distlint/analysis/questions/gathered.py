"""Numbers computed from what the ranks gathered: what is not finite on one rank is so on all of them."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

from distlint.analysis.live.joint_entry import called
from distlint.analysis.program.definitions import Function, dotted_name, last_name
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.patterns import pattern

if TYPE_CHECKING:
    from distlint.analysis.live.program import LiveProgram

_GATHERS: Final = pattern(
    r"all_?gather(?!_?obj)|gather_?layer|gather_(?:for_metrics|with_grad)", re.IGNORECASE
)
"""Calls that give each rank the tensors of all, by the usual names of the project's own, too."""
_DEPTH: Final = 8


def is_of_all_ranks(live: LiveProgram, function: Function, number: ast.expr) -> bool:
    """Whether tensors of all ranks go into a number: into each of its terms, where it is a sum.

    microsoft/Cream 4a13c40 TinyCLIP/src/training/train.py:466: the loss of features that `gather_features()` puts
    together, where each row of logits has a column of every rank's.
    """
    return _Way(live).into(function, number, _DEPTH)


class _Way:
    """The way from a number back to a gather; each variable is followed once."""

    def __init__(self, live: LiveProgram) -> None:
        self._live = live
        self._named: dict[tuple[Function, str], bool] = {}
        self._returned: dict[Function, bool] = {}

    def into(self, function: Function, node: ast.AST, depth: int) -> bool:
        """Whether what a gather gave goes into an expression."""
        match node:
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
                terms = [n for n in (left, right) if not isinstance(n, ast.Constant)]
                return bool(terms) and all(self.into(function, term, depth) for term in terms)
            case ast.Call() if self._is_gather(function, node, depth):
                return True
            case ast.Name() | ast.Attribute() if path := dotted_name(node):
                return self._of_name(function, path, depth)
            case ast.Lambda():
                return False
        return any(
            self.into(function, child, depth)
            for child in ast.iter_child_nodes(node)
            if isinstance(child, ast.expr | ast.keyword | ast.comprehension)
        )

    def _of_name(self, function: Function, name: str, depth: int) -> bool:
        key = (function, name)
        if key not in self._named:
            self._named[key] = False
            self._named[key] = name in _filled(function) or any(
                self.into(function, value, depth) for value in assignments(function).get(name, ())
            )
        # `features.mean` is of what `features` is.
        owner = name.rpartition(".")[0]
        return self._named[key] or bool(owner and self._of_name(function, owner, depth))

    def _is_gather(self, function: Function, call: ast.Call, depth: int) -> bool:
        if _GATHERS.search(dotted_name(call.func)) is not None:
            return True
        return depth > 0 and any(
            self._returns(callee, depth - 1) for callee in self._callees(function, call)
        )

    def _callees(self, function: Function, call: ast.Call) -> set[Function]:
        summaries = self._live.summaries_of(function)
        return {
            child.function
            for _, summary in (summaries.summaries() if summaries is not None else ())
            for site, child in called(summary)
            if site.node is call
        }

    def _returns(self, function: Function, depth: int) -> bool:
        if function not in self._returned:
            self._returned[function] = False
            self._returned[function] = any(
                self.into(function, node.value, depth)
                for node in own_nodes(function, ast.Return)
                if node.value is not None
            )
        return self._returned[function]


@remembered
def _filled(function: Function) -> frozenset[str]:
    """The lists and tensors that a gather fills in place: `dist.all_gather(found, mine)`."""
    return frozenset(
        path
        for node in own_nodes(function, ast.Call)
        if _GATHERS.search(last_name(node.func)) and len(node.args) > 1
        for path in (dotted_name(node.args[0]),)
        if path
    )
