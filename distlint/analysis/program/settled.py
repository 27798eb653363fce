"""Comparisons that a function has settled above: `if n > 1: n = 1`, and then `if n > 1` again."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.program.definitions import dotted_name
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import own_nodes
from distlint.nodes import COMPARISONS, walk

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Function


@remembered
def settled(function: Function) -> frozenset[int]:
    """The comparisons of a function that are false whenever it comes to them, by their ids.

    fastformers 8d9f10b examples/fastformers/run_superglue.py:764: `if args.n_gpu > 1 and …` around DataParallel, below
    `if args.n_gpu > 1: args.n_gpu = 1`.
    """
    settling = [
        each for each in own_nodes(function, ast.If) if not each.orelse and _settles(function, each)
    ]
    return frozenset(
        id(node)
        for each in settling
        for below in _behind(function, each)
        for node in walk(below, ast.Compare)
        if ast.dump(node) == ast.dump(each.test)
    )


def _settles(function: Function, statement: ast.If) -> bool:
    """Whether the arm of an `if` makes its own test false, and nothing of the function changes that below."""
    match statement.test:
        case ast.Compare(
            left=(ast.Name() | ast.Attribute()) as left, ops=[op], comparators=[right]
        ) if type(op) in COMPARISONS:
            path = dotted_name(left)
        case _:
            return False
    if not path:
        return False
    given = next(
        (
            each.value
            for each in statement.body
            if isinstance(each, ast.Assign) and path in map(dotted_name, each.targets)
        ),
        None,
    )
    if given is None:
        return False
    try:
        holds = COMPARISONS[type(op)](ast.literal_eval(given), ast.literal_eval(right))
    except (TypeError, ValueError):
        return False
    return not holds and sum(node.lineno >= statement.lineno for node in _puts(function, path)) == 1


def _puts(function: Function, path: str) -> Iterator[ast.Name | ast.Attribute]:
    """Where a function puts something into a variable, or into what it is an attribute of."""
    for node in own_nodes(function, ast.Name, ast.Attribute):
        if not isinstance(node.ctx, ast.Load):
            put = dotted_name(node)
            if put and (path == put or path.startswith(f"{put}.")):
                yield node


def _behind(function: Function, statement: ast.stmt) -> list[ast.stmt]:
    """The statements of the same block below one, to which no way leads past it."""
    blocks = (
        function.body,
        *(
            block
            for node in own_nodes(function, ast.If, ast.For, ast.While, ast.With)
            for block in (node.body, getattr(node, "orelse", []))
        ),
    )
    block = next((b for b in blocks if any(each is statement for each in b)), [])
    at = next((i for i, each in enumerate(block) if each is statement), len(block))
    return [*block[at + 1 :]]
