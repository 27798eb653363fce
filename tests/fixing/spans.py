"""Finds the ranges of nodes in the sources of tests, as rules do: with `ast`."""

from __future__ import annotations

import ast

from distlint.edits import Edit, Span
from distlint.fixing.engine import apply_fixes
from distlint.fixing.requests import FixRequest, FixResult


def span(node: ast.stmt | ast.expr | ast.keyword) -> Span:
    assert node.end_lineno is not None and node.end_col_offset is not None
    return Span(node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)


def find(source: str, segment: str, nth: int = 0) -> Span:
    """The range of the nth node whose source is `segment`, or a statement that starts with it."""
    nodes = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.stmt | ast.expr | ast.keyword)
    ]
    nodes.sort(key=lambda node: (node.lineno, node.col_offset))
    found = [node for node in nodes if ast.get_source_segment(source, node) == segment]
    if not found:
        found = [
            node
            for node in nodes
            if isinstance(node, ast.stmt)
            and (ast.get_source_segment(source, node) or "").startswith(segment)
        ]
    if not found:
        raise LookupError(f"{segment!r} is not in the source")
    return span(found[nth])


def fix(source: str | bytes, *edits: Edit, runtime_module: str = "distlint.runtime") -> FixResult:
    """Applies one fix that consists of `edits`."""
    data = source if isinstance(source, bytes) else source.encode()
    request = FixRequest(1, 0, "DL000", edits)
    return apply_fixes(data, [request], runtime_module=runtime_module)


def fixed(source: str, *edits: Edit) -> str:
    """The new text of a fix that must apply."""
    result = fix(source, *edits)
    assert not result.skipped, result.skipped[0].reason
    return result.data.decode()
