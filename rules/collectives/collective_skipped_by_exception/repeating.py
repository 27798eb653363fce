"""Handlers that make the call which has failed once more, with nothing to catch it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.program.environment import statements
from distlint.analysis.program.syntax import own_nodes
from distlint.analysis.questions.caught import is_caught
from distlint.nodes import walk

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Function
    from distlint.analysis.program.program import Program

Arms = frozenset[tuple[str, bool]]
"""The conditions around a statement, with the arm that it stands in."""


def fails_again(program: Program, function: Function, node: ast.AST) -> bool:
    """Whether what failed fails in each handler as well: the exception leaves the function, and ends the rank.

    EasyAnimate c2a70d1 scripts/train.py:1570: `os.listdir(args.output_dir)` in the `try` and in its `except`.
    """
    if not isinstance(node, ast.Call):
        return False
    text = ast.unparse(node)
    for attempt in own_nodes(function):
        if not isinstance(attempt, ast.Try):
            continue
        for failed, arms in _calls(attempt.body, text):
            if failed is node:
                return bool(attempt.handlers) and all(
                    any(again <= arms for _, again in _calls(handler.body, text))
                    and not is_caught(program, function, handler.body[0])
                    for handler in attempt.handlers
                )
    return False


def _calls(body: list[ast.stmt], text: str) -> Iterator[tuple[ast.Call, Arms]]:
    """The calls of some text below a body that no inner handler or function holds, with their conditions."""
    for statement, above in statements(body):
        if any(not isinstance(outer, ast.If | ast.With) for outer in above):
            continue
        arms = frozenset(
            (ast.unparse(outer.test), any(statement in walk(s) for s in outer.body))
            for outer in above
            if isinstance(outer, ast.If)
        )
        if isinstance(statement, ast.Expr | ast.Assign | ast.AnnAssign | ast.Return):
            for node in walk(statement):
                if isinstance(node, ast.Call) and ast.unparse(node) == text:
                    yield node, arms
