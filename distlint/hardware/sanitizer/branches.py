"""What the source says about a stack: which calls it is made of, and in which arm of a branch."""

from __future__ import annotations

import ast
import linecache
from functools import lru_cache
from pathlib import Path

from distlint.hardware.sanitizer.events import Frame, Stack


def are_alternatives(one: Stack, two: Stack) -> bool:
    """Whether, where the stacks first differ, both are in one function, in exclusive arms.

    Stacks are innermost first. Files are parsed, not run; one that cannot be read says no.
    """
    for left, right in zip(reversed(one), reversed(two), strict=False):
        if left == right:
            continue
        if (left.path, left.function) != (right.path, right.function):
            return False
        return _exclusive(left, right)
    return False


def _exclusive(left: Frame, right: Frame) -> bool:
    for arms in _branches(left.path):
        in_arms = [
            {i for i, (first, last) in enumerate(arms) if first <= frame.line <= last}
            for frame in (left, right)
        ]
        if in_arms[0] and in_arms[1] and not in_arms[0] & in_arms[1]:
            return True
    return False


def calls_of(stack: Stack) -> tuple[tuple[str, str, str], ...]:
    """A stack as people see it: for each frame its file, its function and the text of the statement.

    Two arms that hold the same call are the same place then. Where the source cannot be read, the
    line stands for the text.
    """
    return tuple((f.path, f.function, _statement(f.path, f.line)) for f in stack)


@lru_cache(maxsize=1024)
def _statement(path: str, line: int) -> str:
    """The text of the smallest statement on a line; of a compound one, its header's line."""
    tree = _parsed(path)
    if tree is None:
        return str(line)
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    innermost = max(around, key=lambda node: node.lineno, default=None)
    if innermost is None or hasattr(innermost, "body"):
        return linecache.getline(path, line).strip()
    return ast.unparse(innermost)


@lru_cache(maxsize=64)
def _parsed(path: str) -> ast.Module | None:
    try:
        return ast.parse(Path(path).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return None


@lru_cache(maxsize=64)
def _branches(path: str) -> tuple[tuple[tuple[int, int], ...], ...]:
    """For each `if`, conditional expression and `match` of a file, the line ranges of its arms."""
    tree = _parsed(path)
    if tree is None:
        return ()
    found = []
    for node in ast.walk(tree):
        arms: list[tuple[int, int]] = []
        match node:
            case ast.If(body=body, orelse=orelse):
                arms = [_lines(body), *([_lines(orelse)] if orelse else [])]
            case ast.IfExp(body=body, orelse=orelse):
                arms = [_lines([body]), _lines([orelse])]
            case ast.Match(cases=cases):
                arms = [_lines(case.body) for case in cases]
        if len(arms) > 1:
            found.append(tuple(arms))
    return tuple(found)


def _lines(nodes: list[ast.stmt] | list[ast.expr]) -> tuple[int, int]:
    return nodes[0].lineno, nodes[-1].end_lineno or nodes[-1].lineno
