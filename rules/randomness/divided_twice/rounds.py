"""Numbers of rounds for which the length of a prepared loader is divided by the number of processes once more."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import field
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.analysis.questions.accelerating import accelerators
from distlint.analysis.questions.lengths import Length, lengths_in, prepared
from distlint.nodes import last_name, walk
from distlint.records import dataclass

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function

_DEPTH: Final = 4
_PROCESSES: Final = "num_processes"
_ROUNDS: Final = frozenset({"ceil", "floor", "int", "round"})
_SPLIT: Final = frozenset({"split_batches", "dataloader_config", None})
"""Arguments of an Accelerator with which each process may see as many batches as there are."""


@dataclass(slots=True)
class _Factors:
    """What a number is a product of: what multiplies it, and what divides it."""

    above: list[ast.expr] = field(default_factory=list)
    below: list[ast.expr] = field(default_factory=list)

    def add(self, function: Function, node: ast.expr, *, above: bool, depth: int = _DEPTH) -> None:
        match node:
            case ast.BinOp(
                left=left, op=ast.Mult() | ast.Div() | ast.FloorDiv() as op, right=right
            ):
                self.add(function, left, above=above, depth=depth)
                self.add(function, right, above=above == isinstance(op, ast.Mult), depth=depth)
            case ast.Call(args=[argument]) if last_name(node.func) in _ROUNDS:
                self.add(function, argument, above=above, depth=depth)
            case ast.Name() if depth and len(values := assignments(function).get(node.id, [])) == 1:
                self.add(function, values[0], above=above, depth=depth - 1)
            case _:
                (self.above if above else self.below).append(node)


def divided_again(model: Model, function: Function) -> Iterator[tuple[ast.expr, Length]]:
    """The whole numbers of a function in which the length of one process's batches is divided by the processes.

    animate-anything dca2412 train.py:526: `math.ceil(max_train_steps / len(train_dataloader) / accelerator.num_processes)`
    epochs, behind `prepare`. A mean, `total / len(loader) / accelerator.num_processes`, is no whole number.
    """
    made = accelerators(function)
    if not made or any(k.arg in _SPLIT for call in made for k in call.keywords):
        return
    if any(_names_processes(n.value) for n in own_nodes(function, ast.AugAssign)):
        return  # the steps of all processes are counted
    loaders = prepared(model, function)
    for node in _whole(function):
        factors = _Factors()
        factors.add(function, node, above=True)
        if any(map(_names_processes, factors.above)):
            continue
        lengths = [
            length
            for part in (*factors.above, *factors.below)
            if (length := next(lengths_in(part, loaders), None)) is not None and not length.of_all
        ]
        if lengths and [_names_processes(part) for part in factors.below].count(True) == 1:
            yield node, lengths[0]


def _whole(function: Function) -> Iterator[ast.expr]:
    """The divisions of a function that give a whole number."""
    for node in own_nodes(function, ast.Call, ast.BinOp):
        match node:
            case ast.Call(args=[ast.BinOp(op=ast.Div() | ast.FloorDiv()) as divided]):
                if last_name(node.func) in _ROUNDS and _names_processes(divided):
                    yield divided
            case ast.BinOp(op=ast.FloorDiv()) if _names_processes(node):
                yield node


def _names_processes(node: ast.expr) -> bool:
    return any(each.attr == _PROCESSES for each in walk(node, ast.Attribute))
