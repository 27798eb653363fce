"""What a path is given in the arms of a function's conditions, and which of them fit what is known."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from distlint.analysis.program.definitions import dotted_name, last_name
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import assignments, literals, own_nodes
from distlint.nodes import children
from distlint.records import dataclass

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import Guard
    from distlint.analysis.program.definitions import Function

Known = frozenset[tuple[str, bool]]
"""Flags, and how they came out."""


@dataclass(frozen=True, slots=True)
class Arm:
    """A value that a path is given, the conditions under which it is that one, and what their flags say."""

    value: ast.expr
    held: tuple[tuple[ast.expr, bool], ...]
    statement: ast.stmt
    said: tuple[tuple[ast.expr, bool], ...] = ()

    def is_entered(self, known: Known) -> bool:
        """Whether the arm is that of all runs of which something is known; of an `or` one part is enough."""
        return bool(self.held) and all(
            any((_flag(each), came) in known for each, came in _ways_in(part, holds))
            for part, holds in self.held
        )

    def known(self) -> Known:
        """What its conditions say."""
        return frozenset((_flag(part), holds) for part, holds in self.held)

    def is_left(self, known: Known) -> bool:
        """Whether one of its conditions came out the other way in these runs."""
        return any((_flag(part), not holds) in known for part, holds in (*self.held, *self.said))


def known_by(guards: Iterable[Guard], function: Function | None = None) -> Known:
    """What conditions in force say of their parts, and of the parts of the flags that a function assigns once."""
    parts = [part for g in guards for part in literals(g.node, g.taken)]
    if function is not None:
        parts += [each for part in parts for each in _said_by(function, *part)]
    return frozenset((_flag(part), holds) for part, holds in parts)


def _said_by(
    function: Function, flag: ast.expr, holds: bool, depth: int = 3
) -> Iterator[tuple[ast.expr, bool]]:
    """What a flag says that is assigned once, in the function or one around it.

    SparseTransformers adffc67 train.py:35: `ddp = RANK is set and not cfg.use_deepspeed`.
    """
    if not isinstance(flag, ast.Name) or not depth:
        return
    values = next((v for each in function.outward() if (v := assignments(each).get(flag.id))), ())
    if len(values) == 1:
        for part, came in literals(values[0], holds):
            yield part, came
            yield from _said_by(function, part, came, depth - 1)


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
                for value, tested in _chosen(node.value):
                    conditions = (*held, *tested)
                    said = tuple(e for c in conditions for e in _said_by(function, *c))
                    found.setdefault(path, []).append(Arm(value, conditions, node, said))
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
