"""Whether what the ranks gathered is cut to the length of the data set, by the function that gathers or by a helper."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from distlint.analysis.program.definitions import Function
from distlint.analysis.program.syntax import own_nodes
from distlint.nodes import last_name, walk

if TYPE_CHECKING:
    from distlint.analysis.model import Model


def is_cut(model: Model, function: Function) -> bool:
    """Whether a function cuts something to a length: `losses[: len(dataset)]`; or a helper that it gives what it gathered.

    CodeRL ec3c526 transformers/examples/pytorch/question-answering/run_qa_no_trainer.py:633: a function inside `main()`
    fills an array of `len(dataset)` rows with `logits[: len(dataset) - step]` of the list that it is handed.
    """
    return _cuts(function) or any(
        _cuts(callee, to_length=True) for callee in _given_what_was_kept(model, function)
    )


def _given_what_was_kept(model: Model, function: Function) -> set[Function]:
    """The functions of the program that are handed a list to which the function appends."""
    calls = [node for node in own_nodes(function) if isinstance(node, ast.Call)]
    kept = {
        ast.unparse(call.func.value)
        for call in calls
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("append", "extend")
    }
    found: set[Function] = set()
    for call in calls if kept else ():
        given = (*call.args, *(keyword.value for keyword in call.keywords))
        if kept.isdisjoint(map(ast.unparse, given)):
            continue
        inner = function.nested.get(last_name(call.func))
        meaning = inner or model.resolve(function.module, call.func)
        if isinstance(meaning, Function):
            found.add(meaning)
    return found


def _cuts(function: Function, *, to_length: bool = False) -> bool:
    """Whether a function cuts something at its end; `to_length`: to the `len()` of something."""
    return any(
        isinstance(n, ast.Slice)
        and n.lower is None
        and n.upper is not None
        and any(
            (isinstance(part, ast.Call) and last_name(part.func) == "len")
            or (not to_length and isinstance(part, ast.Call | ast.Name | ast.Attribute))
            for part in walk(n.upper)
        )
        for n in own_nodes(function)
    )
