"""Whether two stacks part in exclusive arms of one branch of the source."""

from __future__ import annotations

import ast
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


@lru_cache(maxsize=64)
def _branches(path: str) -> tuple[tuple[tuple[int, int], ...], ...]:
    """For each `if`, conditional expression and `match` of a file, the line ranges of its arms."""
    try:
        tree = ast.parse(Path(path).read_bytes())
    except (OSError, SyntaxError, ValueError):
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
