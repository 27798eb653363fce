"""Whether what the ranks gathered is cut to the length of the data set, by the function that gathers or by a helper."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from distlint.analysis.program.definitions import Function
from distlint.analysis.program.syntax import assignments, own_nodes
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


def read_to_a_cut_length(function: Function, call: ast.Call) -> bool:
    """Whether what a call gathers is read by index alone, up to the length of what `gather_for_metrics` has cut.

    FineGrainedRLHF a1469d4 fgrlhf/ppo.py:377: `eval_v[i]` for each `i` of `range(results["ids"].shape[0])`.
    """
    kept = {name for s in _assigns(function) if s.value is not None for name in _bases(s, call)}
    if len(kept) != 1:
        return False
    (name,) = kept
    cut = {
        n
        for s in _assigns(function)
        if _cuts_duplicates(s.value)
        for t in s.targets
        for n in [last_name(t)]
    }
    within: set[int] = set()
    for loop in own_nodes(function, ast.For):
        match loop:
            case ast.For(
                target=ast.Name(id=index), iter=ast.Call(func=ast.Name(id="range"), args=[count])
            ) if _is_length_of(function, count, cut) and _is_index(loop, index):
                within |= {id(n) for n in walk(loop)}
    read = [
        n
        for n in own_nodes(function, ast.Name)
        if n.id == name and n.lineno > (call.end_lineno or 0)
    ]
    asked = {id(n.value) for n in own_nodes(function, ast.Attribute) if n.attr == "keys"}
    return any(id(n) in within for n in read) and all(
        id(n) in within or id(n) in asked for n in read
    )


def _assigns(function: Function) -> list[ast.Assign]:
    return list(own_nodes(function, ast.Assign))


def _bases(statement: ast.Assign, call: ast.Call) -> set[str]:
    """The variables in which a statement keeps what a call gives, as they are or as a container of it."""
    if not any(n is call for n in walk(statement.value)):
        return set()
    bases = [t.value if isinstance(t, ast.Subscript) else t for t in statement.targets]
    return {b.id if isinstance(b, ast.Name) else "" for b in bases}


def _cuts_duplicates(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and last_name(value) == "gather_for_metrics"


def _is_length_of(function: Function, count: ast.expr, names: set[str]) -> bool:
    """Whether a number is the length of one of some variables, or of what is in it."""
    made = assignments(function).get(count.id, []) if isinstance(count, ast.Name) else [count]
    return (
        len(made) == 1
        and any(
            (isinstance(n, ast.Attribute) and n.attr == "shape")
            or (isinstance(n, ast.Call) and last_name(n) == "len")
            for n in walk(made[0])
        )
        and any(n.id in names for n in walk(made[0], ast.Name))
    )


def _is_index(loop: ast.For, name: str) -> bool:
    return any(
        isinstance(n.slice, ast.Name) and n.slice.id == name for n in walk(loop, ast.Subscript)
    )


def _given_what_was_kept(model: Model, function: Function) -> set[Function]:
    """The functions of the program that are handed a list to which the function appends."""
    calls = list(own_nodes(function, ast.Call))
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
        n.lower is None
        and n.upper is not None
        and any(
            (isinstance(part, ast.Call) and last_name(part.func) == "len")
            or (not to_length and isinstance(part, ast.Call | ast.Name | ast.Attribute))
            for part in walk(n.upper)
        )
        for n in own_nodes(function, ast.Slice)
    )
