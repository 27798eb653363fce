"""What the syntax of one function says of its names: assignments, loop variables, `if` statements."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distlint.analysis.program.definitions import Function, dotted_name
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.nodes import children


@remembered
def own_nodes(function: Function) -> tuple[ast.AST, ...]:
    """The nodes of a function's body, without those of functions and classes defined in it."""
    found: list[ast.AST] = []
    stack: list[ast.AST] = list(function.body)
    while stack:
        node = stack.pop()
        found.append(node)
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            stack.extend(children(node))
    return tuple(found)


@remembered
def assignments(function: Function) -> dict[str, list[ast.expr]]:
    """What each name of a function is assigned, in no order; of `a, b = x` both are assigned `x`.

    An attribute goes by its whole path: `self.rank = …` says nothing of `self.log_dir`.
    """
    assigned: dict[str, list[ast.expr]] = {}
    for node in own_nodes(function):
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    for name in target_names(target):
                        assigned.setdefault(name, []).append(value)
            case (
                ast.AnnAssign(target=target, value=ast.expr() as value)
                | ast.AugAssign(target=target, value=value)
                | ast.NamedExpr(target=target, value=value)
            ):
                for name in target_names(target):
                    assigned.setdefault(name, []).append(value)
            case ast.For(target=target, iter=iterable) | ast.AsyncFor(target=target, iter=iterable):
                # Two values, so that a loop variable never counts as assigned once.
                for name in target_names(target):
                    assigned.setdefault(name, []).extend((iterable, iterable))
    return assigned


def target_names(target: ast.expr) -> Iterator[str]:
    """The names and attribute paths that a target binds, or puts something into (`x[i] = …`)."""
    match target:
        case ast.Name(id=name):
            yield name
        case ast.Attribute():
            path = dotted_name(target)
            if path:
                yield path
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            for element in elements:
                yield from target_names(element)
        case ast.Starred(value=value) | ast.Subscript(value=value):
            yield from target_names(value)


def element_names(function: Function) -> set[str]:
    """The names that hold an element of some collection; counters and written-out lists give none."""
    found: set[str] = set()
    for node in own_nodes(function):
        match node:
            case (
                ast.For(target=target, iter=iterable)
                | ast.AsyncFor(target=target, iter=iterable)
                | ast.comprehension(target=target, iter=iterable)
            ):
                found.update(_elements(target, iterable))
    return found


def _elements(target: ast.expr, iterable: ast.expr) -> Iterator[str]:
    match iterable:
        case ast.List() | ast.Tuple() | ast.Set() | ast.Dict():
            return
        case ast.Call(func=ast.Name(id="range")):
            return
        case ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]) if (
            isinstance(target, ast.Tuple) and len(target.elts) == 2
        ):
            yield from _elements(target.elts[1], inner)
        case _:
            yield from target_names(target)


@remembered
def asked_for_none(function: Function) -> frozenset[str]:
    """The names that a function compares with None."""
    return frozenset(
        node.left.id
        for node in own_nodes(function)
        if isinstance(node, ast.Compare)
        and isinstance(node.left, ast.Name)
        and isinstance(node.ops[0], (ast.Is, ast.IsNot))
        and isinstance(node.comparators[0], ast.Constant)
        and node.comparators[0].value is None
    )


def statement_with_test(function: Function, test: ast.expr) -> ast.If | None:
    """The `if` statement of a function whose condition is this node."""
    for node in own_nodes(function):
        if isinstance(node, ast.If) and node.test is test:
            return node
    return None


def assigned_names(node: ast.AST) -> frozenset[str]:
    """Names and attribute paths that statements inside a node assign."""
    known: frozenset[str] | None = getattr(node, "_distlint_assigned", None)
    if known is not None:
        return known
    names: set[str] = set()
    stack = list(children(node))
    while stack:
        child = stack.pop()
        match child:
            case ast.Name():
                if not isinstance(child.ctx, ast.Load):
                    names.add(child.id)
                continue
            case ast.Attribute():
                if not isinstance(child.ctx, ast.Load):
                    path = dotted_name(child)
                    if path:
                        names.add(path)
                    continue
            case (
                ast.Constant()
                | ast.Load()
                | ast.FunctionDef()
                | ast.AsyncFunctionDef()
                | ast.Lambda()
                | ast.ClassDef()
            ):
                continue
            case ast.Expr(value=ast.Call()):
                # Only a walrus in the arguments could assign.
                stack.append(child.value)
                continue
        stack.extend(children(child))
    found = frozenset(names)
    node._distlint_assigned = found  # type: ignore[attr-defined]
    return found
