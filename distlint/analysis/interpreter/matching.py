"""`match` statements whose patterns are values: followed as the chain of `if` that they mean."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distlint.analysis.program.memory import remembered_of_nodes
from distlint.nodes import walk


@remembered_of_nodes
def as_branches(statement: ast.Match) -> ast.If | None:
    """The `if` chain that a `match` means; None where a pattern asks for more than equality.

    `match rank: case 0: … case 1 | 2: … case _: …`: the subject has to be a name, an attribute, a
    subscript or a call without arguments, which may be written once for each case.
    """
    if not _repeatable(statement.subject):
        return None
    chain: list[ast.stmt] = []
    for case in reversed(statement.cases):
        test = _test(statement.subject, case.pattern)
        if test is None:
            return None
        if case.guard is not None:
            test = ast.BoolOp(ast.And(), [test, case.guard])
        branch = ast.If(test=test, body=case.body, orelse=chain)
        for node in walk(branch.test):
            if not hasattr(node, "lineno") and isinstance(node, ast.expr):
                ast.copy_location(node, case.pattern)
        ast.copy_location(branch, case.pattern)
        branch.end_lineno = case.body[-1].end_lineno
        branch.end_col_offset = case.body[-1].end_col_offset
        chain = [branch]
    first = chain[0]
    assert isinstance(first, ast.If)
    return first


def _repeatable(subject: ast.expr) -> bool:
    match subject:
        case ast.Name():
            return True
        case ast.Attribute(value=value):
            return _repeatable(value)
        case ast.Subscript(value=value, slice=ast.Constant()):
            return _repeatable(value)
        case ast.Call(func=function, args=[], keywords=[]):
            return _repeatable(function)
    return False


def _test(subject: ast.expr, pattern: ast.pattern) -> ast.expr | None:
    """The condition under which a pattern takes the subject; None where it is no condition on values."""
    match pattern:
        case ast.MatchValue(value=value):
            return ast.Compare(subject, [ast.Eq()], [value])
        case ast.MatchSingleton(value=constant):
            return ast.Compare(subject, [ast.Is()], [ast.Constant(constant)])
        case ast.MatchAs(pattern=None, name=None):
            return ast.Constant(True)
        case ast.MatchOr(patterns=patterns):
            tests = [_test(subject, each) for each in patterns]
            known = [test for test in tests if test is not None]
            return ast.BoolOp(ast.Or(), list(known)) if len(known) == len(tests) else None
    return None


def captures(pattern: ast.AST) -> Iterator[str]:
    """The names that a pattern binds."""
    for node in walk(pattern):
        name = getattr(node, "name", None) or getattr(node, "rest", None)
        if isinstance(name, str):
            yield name
