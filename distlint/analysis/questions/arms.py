"""What a path is given in the arms of a function's conditions, and which of them fit what is known."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from distlint.analysis.program.definitions import dotted_name, last_name
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import literals, own_nodes
from distlint.nodes import children
from distlint.records import dataclass

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import Guard
    from distlint.analysis.program.definitions import Function

Known = frozenset[tuple[str, bool]]
"""Flags, and how they came out."""


@dataclass(frozen=True, slots=True)
class Arm:
    """A value that a path is given, and the conditions under which it is that one."""

    value: ast.expr
    held: tuple[tuple[ast.expr, bool], ...]
    statement: ast.stmt

    def is_entered(self, known: Known) -> bool:
        """Whether the arm is that of all runs of which something is known; of an `or` one part is enough."""
        return bool(self.held) and all(
            any((_flag(each), came) in known for each, came in _ways_in(part, holds))
            for part, holds in self.held
        )

    def is_left(self, known: Known) -> bool:
        """Whether one of its conditions came out the other way in these runs."""
        return any((_flag(part), not holds) in known for part, holds in self.held)


def known_by(guards: Iterable[Guard]) -> Known:
    """What conditions in force say of their parts."""
    return frozenset(
        (_flag(part), holds) for g in guards for part, holds in literals(g.node, g.taken)
    )


@remembered
def arms(function: Function) -> dict[str, list[Arm]]:
    """What each path of a function is given by plain assignments, with the conditions of each."""
    parents = {
        id(child): node
        for node in (function.node, *own_nodes(function))
        for child in children(node)
    }
    found: dict[str, list[Arm]] = {}
    for node in own_nodes(function, ast.Assign):
        held = tuple(_around(node, parents))
        for target in node.targets:
            if path := dotted_name(target):
                found.setdefault(path, []).extend(
                    Arm(value, (*held, *tested), node) for value, tested in _chosen(node.value)
                )
    return found


def _chosen(value: ast.expr) -> Iterator[tuple[ast.expr, tuple[tuple[ast.expr, bool], ...]]]:
    """The values that a conditional expression chooses between."""
    if not isinstance(value, ast.IfExp):
        yield value, ()
        return
    for arm, taken in ((value.body, True), (value.orelse, False)):
        for inner, held in _chosen(arm):
            yield inner, (*literals(value.test, taken), *held)


def _around(node: ast.stmt, parents: dict[int, ast.AST]) -> Iterator[tuple[ast.expr, bool]]:
    """The conditions that a statement stands under in its function."""
    inner: ast.AST = node
    while (outer := parents.get(id(inner))) is not None:
        if isinstance(outer, ast.If):
            yield from literals(outer.test, inner in outer.body)
        inner = outer


def _ways_in(test: ast.expr, holds: bool) -> list[tuple[ast.expr, bool]]:
    """What makes a condition come out one way, each alone: the parts of an `or` that holds."""
    match test:
        case ast.BoolOp(op=ast.Or(), values=values) if holds:
            return [way for value in values for way in _alone(value)]
    return [(test, holds)]


def _alone(test: ast.expr) -> list[tuple[ast.expr, bool]]:
    ways = list(literals(test, True))
    return ways if len(ways) == 1 else []


def _flag(test: ast.expr) -> str:
    """A flag by its own name, whatever object keeps it: `args.distributed` here, `self.cfg.distributed` there."""
    return last_name(test) if dotted_name(test) else ast.unparse(test)
