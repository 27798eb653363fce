"""Tensors with a dimension as long as the longest sequence of this rank's batch, by syntax.

A model's logits of shape (batch, tokens, vocabulary) show their second dimension where a slice shifts it,
as in `logits[:, :-1, :]`: such a tensor is followed through variables, tuples and the project's functions.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Final

from distlint.analysis.program.definitions import Function, dotted_name
from distlint.analysis.program.syntax import own_nodes

KEEP_SHAPE: Final = frozenset(
    {"float", "to", "detach", "cuda", "cpu", "contiguous", "clone", "long", "log", "exp", "abs"}
)
"""Methods of tensors that give a tensor of the same shape."""

_PADDED: Final = ('padding="max_length"', "padding='max_length'", "pad_to_max_length")
_MAX_STEPS: Final = 12

Found = tuple[Function, ast.Subscript]
Callee = Callable[[ast.Call], Function | None]


def per_token(function: Function, node: ast.expr, callee: Callee) -> Found | None:
    """The slice that shows that an expression of `function` has a dimension of tokens, and where it is.

    Args:
        function: where the expression stands.
        node: the expression.
        callee: the project function that a call means, or None.

    Returns:
        None where nothing shows it, something pads the tensor, or the file pads all sequences to one
        length.
    """
    return _Search(callee).follow(function, node, None, 0)


def same_shape(node: ast.expr) -> ast.expr:
    """What a tensor is made of, without the methods that keep its shape."""
    while (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in KEEP_SHAPE
    ):
        node = node.func.value
    return node


class _Search:
    def __init__(self, callee: Callee) -> None:
        self.callee = callee
        self.seen: set[tuple[Function, str, int | None]] = set()

    def follow(
        self, function: Function, node: ast.expr, index: int | None, steps: int
    ) -> Found | None:
        """Where `node`, or its element `index`, is sliced along its tokens."""
        node = same_shape(node)
        if steps > _MAX_STEPS or any(word in function.module.source.text for word in _PADDED):
            return None
        match node:
            case ast.Subscript() if index is None and _shifts_tokens(node):
                return function, node
            case ast.Subscript(value=value, slice=ast.Slice(lower=lower)) if (
                index is None or lower is None
            ):
                # The first elements of a tuple, or some rows of the batch.
                return self.follow(function, value, index, steps + 1)
            case ast.Tuple(elts=elements) if index is not None and index < len(elements):
                return self.follow(function, elements[index], None, steps + 1)
            case ast.Name(id=name):
                return self._variable(function, name, index, steps)
            case ast.Call():
                called = self.callee(node)
                for returned in _returned(called) if called is not None else ():
                    assert called is not None
                    found = self.follow(called, returned, index, steps + 1)
                    if found is not None:
                        return found
        return None

    def _variable(
        self, function: Function, name: str, index: int | None, steps: int
    ) -> Found | None:
        if (function, name, index) in self.seen:
            return None
        self.seen.add((function, name, index))
        values = list(_assigned(function, name))
        if any(_pads(value) for value, _ in values):
            return None
        for value, position in values:
            if position is None or index is None:
                found = self.follow(
                    function, value, index if position is None else position, steps + 1
                )
                if found is not None:
                    return found
        return None


def _shifts_tokens(node: ast.Subscript) -> bool:
    """`logits[:, :-1, :]` and `logits[..., 1:, :]`: a bound in the dimension before the last of three."""
    if not isinstance(node.slice, ast.Tuple) or "logits" not in dotted_name(node.value).lower():
        return False
    if len(node.slice.elts) != 3:
        return False
    rows, tokens, last = node.slice.elts
    return (
        (isinstance(rows, ast.Slice) or (isinstance(rows, ast.Constant) and rows.value is ...))
        and isinstance(last, ast.Slice)
        and isinstance(tokens, ast.Slice)
        and (tokens.lower is not None or tokens.upper is not None)
    )


def _assigned(function: Function, name: str) -> Iterator[tuple[ast.expr, int | None]]:
    """What a variable is assigned, with its place in the tuple where it is unpacked from one."""
    for node in own_nodes(function):
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            if isinstance(target, ast.Name) and target.id == name:
                yield node.value, None
            elif isinstance(target, ast.Tuple):
                for place, element in enumerate(target.elts):
                    if isinstance(element, ast.Starred):
                        break
                    if isinstance(element, ast.Name) and element.id == name:
                        yield node.value, place


def _returned(function: Function) -> Iterator[ast.expr]:
    for node in own_nodes(function, ast.Return):
        if node.value is not None:
            yield node.value


def _pads(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and "pad" in dotted_name(value.func).rpartition(".")[2]
