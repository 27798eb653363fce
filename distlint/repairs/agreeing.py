"""From a caught failure of one rank to edits: all ranks hear of it, and go the same way.

What stands behind the failure in its `try` and needs all ranks moves out of it. Decided by the syntax of one
`try` and what the analysis knows of its calls; where ranks could part in another way too, there is no edit.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator, Sequence

from distlint.analysis.interpreter.ranks import MAIN
from distlint.analysis.interpreter.values import Variance
from distlint.analysis.model import Model, span_of
from distlint.analysis.program.definitions import Function
from distlint.analysis.questions.sections import in_turn
from distlint.analysis.traces.divergence import Divergence
from distlint.edits import Delete, Edit, Insert, Replace
from distlint.nodes import walk
from distlint.records import dataclass
from distlint.repairs.asking_all import FLAGS, free_name
from distlint.repairs.blocks import block_with
from distlint.repairs.guarding import LEAVES, dedented, source
from distlint.repairs.premises import meetings_in, ranked_callers


@dataclass(frozen=True, slots=True)
class _Handlers:
    """What the handlers of a `try` become: edits, and the statement that all of them leave by, if they do."""

    edits: tuple[Edit, ...]
    leave: ast.stmt | None


def agreed(model: Model, divergence: Divergence) -> tuple[Edit, ...] | None:
    """How all ranks hear of a failure that one of them caught; None where that needs a person.

    Args:
        model: the analysed project.
        divergence: a failure on one rank, and the collective that waits for it.

    Returns:
        The edits, with `$any_rank()` behind the `try`.
    """
    function, node = divergence.function, divergence.node
    call = model.call_at(node) if isinstance(node, ast.Call) else None
    if call is None or divergence.guards or not _all_come(model, function):
        return None
    site = call.site
    if site.function is not function or not site.tries or in_turn(model, site):
        return None
    if any(guard.value.variance is not Variance.UNIFORM for guard in site.guards):
        return None
    statement, name = site.tries[-1], free_name(function, FLAGS)
    block = block_with(function, statement)
    if statement.orelse or statement.finalbody or block is None or name is None:
        return None
    moved = _behind(statement, site.node, divergence.anchor)
    if moved is None:
        return None
    kept = statement.body[: len(statement.body) - len(moved)]
    if any(isinstance(part, LEAVES) for each in kept for part in walk(each)):
        return None
    handled = [each for handler in statement.handlers for each in handler.body]
    meetings = meetings_in(model, function)
    if any(id(part) in meetings for each in (*kept, *handled) for part in walk(each)):
        return None
    handlers = _marked(statement, name, falls_through=bool(moved))
    if handlers is None or (handlers.leave is None and not moved):
        return None
    text = divergence.module.source.text
    if any("#" in line for line in _lines(text, kept, moved)):
        return None
    behind = _decision(text, handlers.leave, name, moved)
    if behind is None:
        return None
    return (
        Insert(span_of(statement), f"{name} = False"),
        *handlers.edits,
        *(Delete(span_of(each)) for each in moved),
        Insert(span_of(statement), behind, after=True),
    )


def _all_come(model: Model, function: Function) -> bool:
    """Whether every rank runs a function, to its end and at once."""
    runs = model.summaries_of(function)
    if runs is None or MAIN not in runs.classes or len(runs.classes) < 2:
        return False
    plain = isinstance(function.node, ast.FunctionDef | ast.Module) and not function.is_generator
    return plain and not ranked_callers(model, function)


def _behind(statement: ast.Try, failing: ast.Call, anchor: ast.AST) -> Sequence[ast.stmt] | None:
    """The end of a `try` that needs all ranks; empty where they meet elsewhere, None where it cannot move."""
    if not any(part is anchor for part in walk(statement)):
        return ()
    for index, each in enumerate(statement.body):
        parts = list(walk(each))
        if any(part is anchor for part in parts):
            alone = index and not any(part is failing for part in parts)
            return statement.body[index:] if alone else None
    return None


def _marked(statement: ast.Try, name: str, *, falls_through: bool) -> _Handlers | None:
    """The handlers, each of which sets the variable where it catches what only this rank met."""
    edits: list[Edit] = []
    leaves: list[ast.stmt | None] = []
    for handler in statement.handlers:
        *before, last = handler.body
        if any(isinstance(part, LEAVES) for each in before for part in walk(each)):
            return None
        match last:
            case ast.Raise():
                continue
            case ast.Return() | ast.Break() | ast.Continue():
                bound = {handler.name, *_stored(handler.body)}
                if any(n.id in bound for n in walk(last, ast.Name)):
                    return None
                edits.append(Replace(span_of(last), f"{name} = True"))
                leaves.append(last)
            case _ if any(isinstance(part, LEAVES) for part in walk(last)):
                return None
            case ast.Pass() if not before:
                edits.append(Replace(span_of(last), f"{name} = True"))
                leaves.append(None)
            case _:
                edits.append(Insert(span_of(handler.body[0]), f"{name} = True"))
                leaves.append(None)
    ways = {ast.unparse(each) if each is not None else "" for each in leaves}
    if len(ways) != 1 or ("" in ways and not falls_through):
        return None
    return _Handlers(tuple(edits), leaves[0])


def _stored(statements: Sequence[ast.stmt]) -> Iterator[str]:
    for statement in statements:
        for part in walk(statement, ast.Name):
            if isinstance(part.ctx, ast.Store):
                yield part.id


def _lines(text: str, kept: Sequence[ast.stmt], moved: Sequence[ast.stmt]) -> list[str]:
    """The lines of what moves, and those above it: a comment in them would be left behind."""
    return text.split("\n")[kept[-1].end_lineno : moved[-1].end_lineno] if moved else []


def _decision(
    text: str, leave: ast.stmt | None, name: str, moved: Sequence[ast.stmt]
) -> str | None:
    """What stands behind the `try`; None where the statements cannot be written with another indentation."""
    lines = [dedented(text, each) for each in moved]
    if None in lines:
        return None
    rest = "\n".join(line for line in lines if line)
    if leave is not None:
        exit_code = f"if $any_rank({name}):\n    {source(text, leave)}"
        return f"{exit_code}\n{rest}" if rest else exit_code
    return f"if not $any_rank({name}):\n{textwrap.indent(rest, '    ')}"
