"""Lists that the ranks gather, though rank 0 alone has put its results into them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from distlint.analysis.program.definitions import last_name
from distlint.analysis.program.environment import blocks_of
from distlint.analysis.program.syntax import literals, mentions_rank, own_nodes
from distlint.knowledge.shares import ENDINGS, KEEPS

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Function
    from distlint.analysis.questions.shares.values import Held, Whose

_GATHERS: Final = {
    row.name.rpartition(".")[2]: row.given for row in ENDINGS.values() if "object" in row.name
}
"""The calls that gather objects, with the position of what each rank gives."""


class Gathered(NamedTuple):
    """A list that is gathered: the test by which rank 0 alone fills it, and whose that is."""

    test: ast.expr
    gather: ast.Call
    held: Held


def gathered_of_main(known: Whose, function: Function) -> Iterator[Gathered]:
    """The lists of a function that all ranks gather, and rank 0 alone fills from its share."""
    for node in own_nodes(function):
        given = _GATHERS.get(last_name(node)) if isinstance(node, ast.Call) else None
        if not isinstance(node, ast.Call) or given is None or given >= len(node.args):
            continue
        name = node.args[given]
        if not isinstance(name, ast.Name) or not known.of(name).is_share:
            continue
        # What is put in behind the gather is not what was gathered: voxceleb_trainer f51bab8 SpeakerNet.py:191.
        before = [s for s in function.body if s.lineno <= node.lineno]
        tests = list(_tests(before, name.id, False, None, node.lineno))
        if tests and tests[0] is not None and None not in tests and not _by_main(function, node):
            yield Gathered(tests[0], node, known.of(name))


def _tests(
    body: list[ast.stmt], name: str, looped: bool, test: ast.expr | None, end: int
) -> Iterator[ast.expr | None]:
    """For each place that puts something into a list: the test that leaves rank 0 alone there, in a loop."""
    for statement in (s for s in body if s.lineno <= end):
        match statement:
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=kept))]) if kept == name:
                yield test if looped else None
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(value=ast.Name(id=kept), attr=method))
            ) if kept == name and method in KEEPS:
                yield test if looped else None
            case ast.AugAssign(target=ast.Name(id=kept)) if kept == name:
                yield test if looped else None
            case ast.If(test=asked, body=then, orelse=orelse):
                yield from _tests(then, name, looped, test or _of_main(asked, True), end)
                yield from _tests(orelse, name, looped, test or _of_main(asked, False), end)
                if isinstance(then[-1], ast.Continue) and not orelse:
                    test = test or _of_main(asked, False)
            case _:
                inside = looped or isinstance(statement, ast.For | ast.While)
                for block in blocks_of(statement):
                    yield from _tests(block, name, inside, test, end)


def _by_main(function: Function, call: ast.Call) -> bool:
    """Whether a test of the rank stands around a call."""
    return any(
        mentions_rank(node.test) and node.lineno <= call.lineno <= (node.end_lineno or 0)
        for node in own_nodes(function, ast.If)
    )


def _of_main(test: ast.expr, taken: bool) -> ast.expr | None:
    """A condition that, come out one way, holds on rank 0 alone."""
    return test if any(_says_main(part, holds) for part, holds in literals(test, taken)) else None


def _says_main(test: ast.expr, holds: bool) -> bool:
    match test:
        case ast.Compare(left=left, ops=[operator], comparators=[ast.Constant(value=0)]):
            equal = isinstance(operator, ast.Eq)
            differs = isinstance(operator, ast.NotEq | ast.Gt)
            return mentions_rank(left) and (equal if holds else differs)
        case ast.Name() | ast.Attribute() | ast.Call():
            return holds and "main" in last_name(test) and mentions_rank(test)
    return False
