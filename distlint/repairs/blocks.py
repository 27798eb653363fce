"""The blocks of statements that a node holds, and the one that a statement stands in."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distlint.analysis.program.definitions import Function
from distlint.analysis.program.syntax import own_nodes


def blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The lists of statements right below a node."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list):
            yield block


def block_with(function: Function, statement: ast.stmt) -> list[ast.stmt] | None:
    """The block of a function that a statement stands in."""
    if statement in function.body:
        return list(function.body)
    for node in own_nodes(function):
        for block in blocks(node):
            if statement in block:
                return block
    return None
