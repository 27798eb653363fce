"""Loops over a rank's share that rank 0 alone goes through: what the other ranks were given, nobody looks at."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from distlint.analysis.program.syntax import own_nodes
from distlint.analysis.questions.shares.values import Kind
from distlint.analysis.questions.training import goes_backward
from distlint.knowledge.shares import KEEPS
from distlint.nodes import last_name, walk

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function
    from distlint.analysis.questions.shares.values import Held, Whose


class Unshared(NamedTuple):
    """A loop, what it goes over, and whether the first rank of each machine is in it rather than rank 0 alone."""

    loop: ast.For
    held: Held
    of_each_machine: bool


def gone_through_by_main(model: Model, known: Whose, function: Function) -> Iterator[Unshared]:
    """The loops of a function in which rank 0 alone adds something up over its share.

    Oscar 266075f oscar/run_vqa.py:1161: `if args.local_rank in [-1, 0]: test(…)`, and `test()` makes a
    DistributedSampler. A look at a few samples has a `break`.
    """
    for loop in own_nodes(function):
        if not isinstance(loop, ast.For) or goes_backward(loop):
            continue
        held = next((h for h in _loaders(known, loop.iter) if h.is_share), None)
        if held is None or not _collects(loop) or any(walk(loop, ast.Break)):
            continue
        if _takes_examples(function, loop):
            continue
        groups = [model.call_at(n) for n in walk(loop, ast.Call)]
        ranks = {rank for group in groups if group is not None for rank in group.classes}
        if ranks and all(rank.local_rank == 0 for rank in ranks):
            yield Unshared(loop, held, of_each_machine=len(ranks) > 1)


def _loaders(known: Whose, iterable: ast.expr) -> Iterator[Held]:
    for part in walk(iterable):
        if isinstance(part, ast.expr) and known.of(part).kind is Kind.LOADER:
            yield known.of(part)


def _takes_examples(function: Function, loop: ast.For) -> bool:
    """Whether a loop only puts samples into lists of which the first ones are taken: pictures to look at.

    ml-4m cda590f run_training_divae.py:1592: `wandb.Image(make_grid(gt_imgs[:num_logged_images]))`.
    """
    inside = set(map(id, walk(loop)))
    kept = {
        node.func.value.id
        for node in walk(loop, ast.Call)
        if isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and last_name(node) in KEEPS
    }
    outside = [n for n in own_nodes(function) if id(n) not in inside]
    first = {
        id(n.value)
        for n in outside
        if isinstance(n, ast.Subscript)
        and isinstance(n.slice, ast.Slice)
        and n.slice.lower is None
        and n.slice.upper is not None
    }
    counted = {
        id(each)
        for n in outside
        if isinstance(n, ast.Call) and last_name(n) == "len"
        for each in n.args
    }
    read = [
        n
        for n in outside
        if isinstance(n, ast.Name) and n.id in kept and isinstance(n.ctx, ast.Load)
    ]
    return (
        bool(kept)
        and any(id(n) in first for n in read)
        and all(id(n) in first or id(n) in counted for n in read)
        and not any(walk(loop, ast.AugAssign))
    )


def _collects(loop: ast.For) -> bool:
    """Whether a loop adds something up, or keeps what it has made of each batch."""
    return any(
        isinstance(node, ast.AugAssign)
        or (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and last_name(node) in KEEPS
        )
        for node in walk(loop)
    )
