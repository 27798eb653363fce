"""The run of accelerate's trackers, which the main process alone opens, used where the others come as well."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from distlint.analysis.model import Model
from distlint.analysis.program.definitions import Function
from distlint.analysis.program.environment import statements
from distlint.analysis.program.syntax import assignments, literals, mentions_rank, own_nodes
from distlint.analysis.questions.wrapped import catches_attribute_error
from distlint.nodes import walk

_OPENS: Final = "accelerate.Accelerator.init_trackers"
_OF_MAIN: Final = frozenset({"run", "writer", "active_run", "task", "tracker"})
"""Attributes that `start()` sets on the main process (accelerate 1.15.0 tracking.py:209, 319, 446, 529, 615, 769), and
the property that gives them."""
_ASKS: Final = frozenset({"hasattr", "getattr"})


def runs_of_main(model: Model) -> Iterator[tuple[Function, ast.Attribute, ast.Call]]:
    """Each use of a run by all ranks behind their `init_trackers()`, with that call."""
    for opened in model.calls(_OPENS):
        site = opened.site
        if not opened.by_all or any(mentions_rank(g.node) for g in site.guards):
            continue
        for node in own_nodes(site.function, ast.Attribute):
            if (
                node.attr in _OF_MAIN
                and node.lineno > site.node.lineno
                and _is_tracker(site.function, node.value)
                and not _is_asked(site.function, node)
            ):
                yield site.function, node, site.node


def _is_tracker(function: Function, node: ast.expr) -> bool:
    """Whether an expression is one of an Accelerator's trackers: by place, by name, or found among them."""
    match node:
        case ast.Name(id=name):
            values = assignments(function).get(name, [])
            return len(values) == 1 and not isinstance(values[0], ast.Name) and _gives(values[0])
        case ast.Call() | ast.Subscript():
            return _gives(node)
    return False


def _gives(node: ast.expr) -> bool:
    match node:
        case ast.Subscript(value=ast.Attribute(attr="trackers")):
            return True
        case ast.Call(func=ast.Attribute(attr="get_tracker"), keywords=[]):
            return True
        case ast.Call(args=args):
            return any(isinstance(a, ast.Attribute) and a.attr == "trackers" for a in args)
    return False


def _is_asked(function: Function, node: ast.Attribute) -> bool:
    """Whether a test of the rank or of the attribute, or a handler of the error, stands around a use or ends before it."""
    for statement, above in statements(function.body):
        if not any(n is node for n in walk(statement)):
            before = statement.lineno < node.lineno and not above
            if before and isinstance(statement, ast.If | ast.Assert) and _leaves(statement):
                return True
            continue
        around = (statement, *above)
        if any(isinstance(s, ast.If | ast.While) and _tells(s.test) for s in around):
            return True
        if any(isinstance(s, ast.Try) and catches_attribute_error(s) for s in around):
            return True
    return any(
        any(i is node for i in walk(n)) and _tells(n)
        for n in own_nodes(function, ast.IfExp, ast.BoolOp)
    )


def _tells(test: ast.expr) -> bool:
    return mentions_rank(test) or any(
        isinstance(n, ast.Name) and n.id in _ASKS
        for part, _ in literals(test, True)
        for n in walk(part)
    )


def _leaves(statement: ast.If | ast.Assert) -> bool:
    """Whether some ranks, or those without the attribute, come no further."""
    leaves = isinstance(statement, ast.Assert) or isinstance(
        statement.body[-1], ast.Return | ast.Raise
    )
    return leaves and _tells(statement.test)
