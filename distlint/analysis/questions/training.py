"""Which calls of a function gradients flow back through, by syntax."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distlint.analysis.program.definitions import Function
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import own_nodes
from distlint.analysis.questions.wrapped import without_gradients
from distlint.knowledge.conventions import BACKWARD
from distlint.nodes import last_name, walk


def sent_backward(node: ast.AST) -> ast.expr | None:
    """What a call sends backward: its first argument, else what it is a method of; None for other nodes."""
    match node:
        case ast.Call(func=func, args=[loss, *_]) if last_name(func) in BACKWARD:
            return loss
        case ast.Call(func=ast.Attribute(attr=attr, value=owner)) if attr in BACKWARD:
            return owner
    return None


def goes_backward(node: ast.AST) -> bool:
    """Whether a gradient is computed below a node."""
    return any(last_name(n) in BACKWARD for n in walk(node, ast.Call))


@remembered
def training_loops(function: Function) -> tuple[ast.For | ast.While, ...]:
    """The loops of a function in which it computes gradients itself."""
    return tuple(node for node in own_nodes(function, ast.For, ast.While) if goes_backward(node))


def is_optimised(function: Function, name: str) -> bool:
    """Whether the parameters of a model go to an optimizer, and nothing freezes them."""
    passed = frozen = False
    for node in own_nodes(function, ast.Call, ast.Assign):
        match node:
            case ast.Call(func=ast.Attribute(attr="requires_grad_", value=frozen_model)):
                frozen = frozen or ast.unparse(frozen_model).startswith(name)
            case ast.Call(func=ast.Attribute(attr="parameters", value=owner)):
                passed = passed or ast.unparse(owner) == name
            case ast.Assign(targets=[ast.Attribute(attr="requires_grad")]):
                frozen = True
    return passed and not frozen


class Backward:
    """What the `backward()` calls of one function reach.

    Variables are followed by name through assignments, in whatever order they stand.

    Args:
        function: the function.
        returned: whether what it returns counts as what is sent backward, as it is where a caller does so.
    """

    def __init__(self, function: Function, *, returned: bool = False) -> None:
        self._function = function
        self._roots = [
            root for node in walk(function.node) if (root := sent_backward(node)) is not None
        ]
        if returned:
            self._roots += [
                node.value for node in own_nodes(function, ast.Return) if node.value is not None
            ]
        self._assigned = list(_assigned(function)) if self._roots else []
        self._names = self._reached() if self._roots else frozenset()

    def __bool__(self) -> bool:
        return bool(self._roots)

    def reaches(self, call: ast.Call) -> bool:
        """Whether the result of a call of this function is part of what is differentiated."""
        return any(
            part is call for root in self._sources() for part in walk(root)
        ) and not without_gradients(self._function, call)

    def _reached(self) -> frozenset[str]:
        names = {n for root in self._roots for n in _names(root)}
        while True:
            more = {n for v in self._values(frozenset(names)) for n in _names(v)} - names
            if not more:
                return frozenset(names)
            names |= more

    def _sources(self) -> Iterator[ast.expr]:
        yield from self._roots
        yield from self._values(self._names)

    def _values(self, names: frozenset[str]) -> Iterator[ast.expr]:
        return (value for written, value in self._assigned if not names.isdisjoint(written))


def _assigned(function: Function) -> Iterator[tuple[frozenset[str], ast.expr]]:
    """What a function assigns, with the names that stand in the targets."""
    for node in walk(function.node):
        match node:
            case ast.Assign(targets=targets, value=value):
                written = targets
            case (
                ast.AugAssign(target=target, value=value)
                | ast.AnnAssign(target=target, value=ast.expr() as value)
            ):
                written = [target]
            case ast.For(target=target, iter=ast.Call(func=ast.Name(id="zip")) as value):
                # TinyBERT general_distill.py:419: the layers of teacher and student, `for s, t in zip(reps, others)`
                written = [target]
            case _:
                continue
        yield frozenset(n for target in written for n in _names(target)), value


def _names(node: ast.AST) -> Iterator[str]:
    for part in walk(node, ast.Name):
        yield part.id
