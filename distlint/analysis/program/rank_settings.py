"""Which settings of a script a file asks for as one asks for a rank: `args.rank`, which may be that of a matrix."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from distlint.analysis.program.definitions import Module, dotted_name
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import own_nodes
from distlint.knowledge.ranks import AMBIGUOUS_ARGUMENT_ATTRIBUTES, ARGUMENT_NAMES

_NO_SIZES: Final = frozenset({-1, 0})
"""What a rank is compared with: no matrix has such a rank."""
_EQUAL: Final = (ast.Eq, ast.NotEq, ast.In, ast.NotIn)
_BOUNDS: Final[dict[type[ast.cmpop], int]] = {ast.Gt: 0, ast.LtE: 0, ast.Lt: 1, ast.GtE: 1}
"""Comparisons that part rank 0 from the others; one alone may ask whether there is a matrix at all."""
_TURNED: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Gt: ast.Lt, ast.Lt: ast.Gt, ast.GtE: ast.LtE, ast.LtE: ast.GtE,
}  # fmt: skip


@remembered
def rank_settings(module: Module) -> frozenset[str]:
    """The settings that are compared with 0 or -1 in a file, or with both bounds between rank 0 and the others.

    P-tuning-v2 b1520c9 PT-Retrieval/colbert/colbert/training/training.py:41: `args.rank not in [-1, 0]`, 36 lines
    above `args.rank == 0`.
    """
    surely: set[str] = set()
    bounds: dict[str, set[type[ast.cmpop]]] = {}
    if not any(f".{attr}" in module.source.text for attr in AMBIGUOUS_ARGUMENT_ATTRIBUTES):
        return frozenset()
    for name, op, numbers in _comparisons(module):
        if issubclass(op, _EQUAL) and numbers and numbers <= _NO_SIZES:
            surely.add(name)
        elif _BOUNDS.get(op) in numbers:
            bounds.setdefault(name, set()).add(op)
    return frozenset({*surely, *(name for name, ops in bounds.items() if len(ops) > 1)})


def is_ambiguous(node: ast.Attribute) -> bool:
    """Whether an expression reads a setting that may be a rank, or a size."""
    owner = dotted_name(node.value).rpartition(".")[2]
    return node.attr in AMBIGUOUS_ARGUMENT_ATTRIBUTES and owner in ARGUMENT_NAMES


def _comparisons(module: Module) -> Iterator[tuple[str, type[ast.cmpop], frozenset[int]]]:
    for function in module.all_functions:
        for node in own_nodes(function):
            match node:
                case ast.Compare(left=left, ops=[op], comparators=[right]):
                    if isinstance(left, ast.Attribute) and is_ambiguous(left):
                        yield dotted_name(left), type(op), _numbers(right)
                    elif isinstance(right, ast.Attribute) and is_ambiguous(right):
                        yield dotted_name(right), _TURNED.get(type(op), type(op)), _numbers(left)


def _numbers(node: ast.expr) -> frozenset[int]:
    """The whole numbers that are written there, alone or in a list; none where anything else is."""
    match node:
        case ast.Constant(value=int() as number) if not isinstance(number, bool):
            return frozenset({number})
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as number)):
            return frozenset({-number})
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
            found = [_numbers(part) for part in parts]
            return frozenset().union(*found) if all(found) else frozenset()
    return frozenset()
