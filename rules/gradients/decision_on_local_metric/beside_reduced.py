"""Losses of this rank that join a dict of numbers after these were reduced over the ranks."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.program.syntax import own_nodes, target_names
from distlint.analysis.questions.training import Backward
from distlint.knowledge.shares import SYNCHRONISES
from distlint.nodes import last_name, walk
from distlint.records import dataclass

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function


@dataclass(frozen=True, slots=True, eq=False)
class Joined:
    """A number of this rank in a dict of numbers of all: where it is put in, where the others were reduced, and where it
    was added up."""

    function: Function
    put: ast.Assign
    reduced: ast.Call
    summed: ast.AugAssign


def joined_later(model: Model) -> Iterator[Joined]:
    """The running sums of losses that are put into a dict behind its reduction, and handed on in it.

    OpenRLHF f5c137f openrlhf/trainer/sft_trainer.py:195: `logs_dict["loss_mean"] = loss_sum / …` below
    `logs_dict = self.strategy.all_reduce(logs_dict)`.
    """
    for module in model.modules:
        if "reduce(" in module.source.text or "gather" in module.source.text:
            for function in module.all_functions:
                yield from _in_function(function)


def _in_function(function: Function) -> Iterator[Joined]:
    nodes = own_nodes(function)
    reduced = {name: call for node in nodes for name, call in _reduced(node)}
    sums = {name: node for node in nodes if reduced for name, node in _summed(node)}
    backward = Backward(function) if sums else None
    if not backward:
        return
    for node in nodes:
        match node:
            case ast.Assign(
                targets=[ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str()))],
                value=value,
            ) if name in reduced and reduced[name].lineno < node.lineno:
                summed = _of_sums(value, sums)
                if (
                    summed is not None
                    and _is_differentiated(backward, function, summed.value)
                    and _is_handed_on(function, name, node.lineno)
                ):
                    yield Joined(function, node, reduced[name], summed)


def _reduced(node: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    """A dict that a call puts together from the ranks: `logs = strategy.all_reduce(logs)`."""
    match node:
        case ast.Assign(
            targets=[ast.Name(id=name)], value=ast.Call(args=[ast.Name(id=given), *_]) as call
        ) if name == given and SYNCHRONISES.search(last_name(call)):
            yield name, call


def _summed(node: ast.AST) -> Iterator[tuple[str, ast.AugAssign]]:
    """A running sum of numbers: `loss_sum += loss.item()`."""
    match node:
        case ast.AugAssign(
            target=ast.Name(id=name),
            op=ast.Add(),
            value=ast.Call(func=ast.Attribute(attr="item")),
        ):
            yield name, node


def _of_sums(value: ast.expr, sums: dict[str, ast.AugAssign]) -> ast.AugAssign | None:
    """The sum that a number is, or is a part of by a division; None where anything else may have a part in it."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Div):
        value = value.left
    return sums.get(value.id) if isinstance(value, ast.Name) else None


def _is_differentiated(backward: Backward, function: Function, added: ast.expr) -> bool:
    """Whether what is added up is a part of what goes backward, and was not reduced itself."""
    names = {n.id for n in walk(added, ast.Name)}
    made = [
        node.value
        for node in own_nodes(function, ast.Assign)
        if any(name in names for target in node.targets for name in target_names(target))
    ]
    calls = [n for value in made for n in walk(value, ast.Call)]
    return any(backward.reaches(call) for call in calls) and not any(
        SYNCHRONISES.search(last_name(call)) for call in calls
    )


def _is_handed_on(function: Function, name: str, line: int) -> bool:
    """Whether a dict goes to a call below a line, and to none that puts it together once more."""
    calls = [
        n
        for n in own_nodes(function, ast.Call)
        if n.lineno > line
        and any(
            isinstance(given, ast.Name) and given.id == name
            for given in (*n.args, *(k.value for k in n.keywords))
        )
    ]
    return bool(calls) and not any(SYNCHRONISES.search(last_name(call)) for call in calls)
