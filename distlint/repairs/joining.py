"""A test whose two arms become one: what an edit makes alike in both is written once."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from typing import Final

from distlint.analysis.program.definitions import Function
from distlint.analysis.program.places import span_of
from distlint.analysis.program.syntax import own_nodes
from distlint.edits import Delete, Edit, Insert, Replace
from distlint.nodes import walk
from distlint.patterns import pattern
from distlint.repairs.guarding import source

_WITHOUT_EFFECT: Final = pattern(
    r"(?:not )?(?:torch\.cuda\.is_available\(\)|[\w.]+)(?: (?:is(?: not)?|==|!=) [\w.'\"]+)?"
)
"""Tests that may go with their arms."""


def like_the_other_arm(
    text: str, function: Function, call: ast.Call, keyword: str
) -> tuple[Edit, ...]:
    """The edits for a call that gets a keyword, where the other arm of its `if` ends with it already; else none.

    sam-hq fb181f8 train/train.py:369: `if torch.cuda.is_available(): load(path)`, else the same with
    `map_location="cpu"`. One of the two is enough. Words that both arms say stay where they are.

    Args:
        text: the file.
        function: what holds the call.
        call: the call that lacks the keyword.
        keyword: the argument, for instance ``map_location="cpu"``.
    """
    for test, arm, other in _arms(function):
        if not any(part is call for part in walk(arm[-1])):
            continue
        if _shape(_with(arm[-1], call, keyword)) != _shape(other[-1]):
            return ()
        kept = source(text, other[-1])
        if "#" in source(text, test) or "\n" in kept:
            return ()
        if len(arm) == len(other) == 1:
            plain = _WITHOUT_EFFECT.fullmatch(ast.unparse(test.test))
            return (Replace(span_of(test), kept),) if plain else ()
        if len(arm) > 1 and len(other) > 1:
            ends = sorted((arm[-1], other[-1]), key=lambda s: s.lineno)
            return (*(Delete(span_of(s)) for s in ends), Insert(span_of(test), kept, after=True))
        return ()
    return ()


def _arms(function: Function) -> Iterator[tuple[ast.If, list[ast.stmt], list[ast.stmt]]]:
    """The tests of a function that have two arms, with one arm and the other, either first; no `elif`."""
    tests = [node for node in own_nodes(function, ast.If) if node.orelse]
    chained = {
        id(inner)
        for node in tests
        for inner in node.orelse
        if isinstance(inner, ast.If) and inner.col_offset == node.col_offset
    }
    for node in tests:
        if id(node) not in chained and not any(id(s) in chained for s in node.orelse):
            yield node, node.body, node.orelse
            yield node, node.orelse, node.body


def _with(statement: ast.stmt, call: ast.Call, keyword: str) -> ast.stmt:
    """A copy of a statement in which the call has the keyword."""
    changed = copy.deepcopy(statement, {})
    place = next(i for i, part in enumerate(ast.walk(statement)) if part is call)
    given = next(part for i, part in enumerate(ast.walk(changed)) if i == place)
    assert isinstance(given, ast.Call)
    more = ast.parse(f"f({keyword})", mode="eval").body
    assert isinstance(more, ast.Call)
    given.keywords += more.keywords
    return changed


def _shape(statement: ast.stmt) -> str:
    """A statement without its place, with keywords in one order."""
    alike = copy.deepcopy(statement)
    for part in ast.walk(alike):
        if isinstance(part, ast.Call):
            part.keywords.sort(key=lambda keyword: keyword.arg or "")
    return ast.dump(alike)
