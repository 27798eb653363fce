"""What of a batch the data decides: whether an image of it has boxes, a text any words."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from distlint.analysis.program.definitions import Function
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import own_nodes, storage_of, target_names
from distlint.nodes import last_name, walk
from distlint.patterns import pattern

_LOADER: Final = pattern(r"load", re.IGNORECASE)


@remembered
def asks_for_empty(function: Function) -> frozenset[int]:
    """The comparisons (by id) that ask whether parts of a batch are empty, each of which has as many elements as it has.

    bezier_curve_text_spotting 3ec0271 maskrcnn_benchmark/engine/trainer.py:62: `any(len(target) < 1 for target in
    targets)`, in the loop over the loader. How many images there are (`len(targets)`) is no such question.
    """
    return frozenset(
        id(node)
        for loop in own_nodes(function, ast.For)
        if _goes_through_loader(loop.iter)
        for node in _asked(loop, set(target_names(loop.target)))
    )


def _goes_through_loader(iterable: ast.expr) -> bool:
    """Whether a loop is over a loader, by its name: `loader`, `enumerate(data_loader)`, `tqdm(self.train_loader)`."""
    match iterable:
        case ast.Call(args=[inner, *_]):
            return _goes_through_loader(inner)
        case ast.Name() | ast.Attribute():
            return _LOADER.search(last_name(iterable)) is not None
    return False


def _asked(loop: ast.For, batch: set[str]) -> Iterator[ast.Compare]:
    for node in walk(loop, ast.GeneratorExp, ast.ListComp, ast.Compare):
        match node:
            case (
                ast.GeneratorExp(elt=ast.Compare() as compared)
                | ast.ListComp(elt=ast.Compare() as compared)
            ) if _is_small(compared) and _counts_parts(node, compared.left, batch):
                yield compared
            case ast.Compare(
                left=ast.Call(
                    func=ast.Name(id="sum"),
                    args=[(ast.GeneratorExp() | ast.ListComp()) as counted],
                )
            ) if _is_small(node) and _counts_parts(counted, counted.elt, batch):
                yield node


def _is_small(compared: ast.Compare) -> bool:
    """Whether a number of elements is compared with none or one."""
    match compared.comparators:
        case [ast.Constant(value=0 | 1)]:
            return True
    return False


def _counts_parts(made: ast.GeneratorExp | ast.ListComp, count: ast.expr, batch: set[str]) -> bool:
    """Whether something is the length of each part of a batch."""
    match made.generators, count:
        case [part], ast.Call(func=ast.Name(id="len"), args=[counted]):
            of_batch, of_part = storage_of(part.iter), storage_of(counted)
            return (
                isinstance(of_batch, ast.Name)
                and of_batch.id in batch
                and isinstance(of_part, ast.Name)
                and of_part.id in set(target_names(part.target))
            )
    return False
