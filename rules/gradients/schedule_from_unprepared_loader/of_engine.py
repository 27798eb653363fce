"""Schedules that DeepSpeed's engine steps once for all ranks, made for as many steps as one rank alone would take."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from distlint.analysis.program.definitions import dotted_name
from distlint.analysis.program.syntax import assignments
from distlint.analysis.questions.lengths import counts_processes
from distlint.nodes import last_name, walk
from distlint.patterns import pattern

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function

_OF_ONE_RANK: Final = pattern(r"micro_batch|per_gpu|per_device")
"""Names of batches of one rank: the key `train_micro_batch_size_per_gpu` (deepspeed 0.19.8 deepspeed/runtime/constants.py)."""
_DEPTH: Final = 4


class OfEngine(NamedTuple):
    """A division of the length of the data by the batch of one rank, and the call that gets the schedule and the data."""

    function: Function
    steps: ast.BinOp
    initialized: ast.Call


def of_engines(model: Model) -> Iterator[OfEngine]:
    """The schedules that `deepspeed.initialize` gets beside the data that it divides between the ranks.

    UniAfford 0b457f7 train_ds.py:699.
    """
    for call in model.calls("deepspeed.initialize"):
        function, node = call.site.function, call.site.node
        given = {keyword.arg: keyword.value for keyword in node.keywords}
        data, schedule = given.get("training_data"), given.get("lr_scheduler")
        if data is None or schedule is None or not dotted_name(data):
            continue
        parts = list(_made_of(function, schedule, _DEPTH))
        if any(
            counts_processes(last_name(p)) for p in parts if isinstance(p, ast.Name | ast.Attribute)
        ):
            continue
        divided = [p for p in parts if isinstance(p, ast.BinOp) and _divides(p, ast.unparse(data))]
        if divided:
            yield OfEngine(function, divided[0], node)


def _made_of(function: Function, value: ast.expr, depth: int) -> Iterator[ast.AST]:
    """The parts of a value, and of what the variables in it are assigned."""
    for part in walk(value):
        yield part
        if isinstance(part, ast.Name) and depth:
            for made in assignments(function).get(part.id, ()):
                yield from _made_of(function, made, depth - 1)


def _divides(node: ast.BinOp, data: str) -> bool:
    """Whether a division is of the length of the data by the batch of one rank: `len(data) // micro_batch_size`."""
    match node:
        case ast.BinOp(
            left=ast.Call(func=ast.Name(id="len"), args=[counted]),
            op=ast.Div() | ast.FloorDiv(),
            right=batch,
        ) if ast.unparse(counted) == data:
            return any(
                _OF_ONE_RANK.search(last_name(part))
                for part in walk(batch, ast.Name, ast.Attribute)
            )
    return False
