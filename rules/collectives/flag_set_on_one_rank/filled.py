"""Options that rank 0 alone fills in, and by which all ranks then go to a collective or past it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from distlint.analysis.live.joint_entry import called, ranked
from distlint.analysis.program.definitions import Function, dotted_name
from distlint.analysis.program.syntax import asks_if_missing, mentions_rank, own_nodes
from distlint.analysis.questions.ordering import Traces
from distlint.knowledge import facts
from distlint.nodes import walk
from distlint.patterns import pattern

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.model import Model

_HANDS_ON: Final = pattern(r"broadcast|bcast|scatter|gather|sync|share", re.IGNORECASE)


class Filled(NamedTuple):
    """An option that rank 0 alone sets, and the branch that leads to a collective by it."""

    option: str
    asked: ast.If
    call: CallSite
    """What the function calls there."""
    collective: CallSite


def filled(
    model: Model, traces: Traces, function: Function, guard: ast.If, options: set[str]
) -> Iterator[Filled]:
    """The first branch for each of the options that a block of rank 0 sets: `cfg.load_path = latest`.

    molmo 793fa38 scripts/train.py:96: rank 0 finds the last checkpoint, and goes into `restore_checkpoint` alone.
    """
    tests = list(own_nodes(function, ast.If))
    for option in sorted(options):
        if any(_mentions_root(statement, option) for statement in guard.orelse):
            continue
        for asked in sorted(tests, key=lambda n: n.lineno):
            if asked.lineno <= (guard.end_lineno or guard.lineno) or not _asks(asked.test, option):
                continue
            if _handed_on(model, function, guard, asked, option):
                break
            if is_inside_rank_test(tests, asked):
                continue
            found = _parted(model, traces, function, asked)
            if found is not None:
                yield Filled(option, asked, *found)
                break


def _asks(test: ast.expr, option: str) -> bool:
    """Whether a condition is, in a part, whether an option is set: `cfg.path is not None`, `not cfg.path`."""
    match test:
        case ast.BoolOp(values=values):
            return any(_asks(value, option) for value in values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _asks(operand, option)
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return asks_if_missing(op, right) is not None and _asks(left, option)
        case ast.Attribute():
            return dotted_name(test) == option
    return False


def is_inside_rank_test(tests: list[ast.If], asked: ast.If) -> bool:
    """Whether a condition, or one around it, asks for the rank."""
    return mentions_rank(asked.test) or any(
        mentions_rank(test.test)
        for test in tests
        if any(
            node is asked for statement in (*test.body, *test.orelse) for node in walk(statement)
        )
    )


def _handed_on(model: Model, function: Function, guard: ast.If, asked: ast.If, option: str) -> bool:
    """Whether something between may give all ranks the option: an assignment, or a call that gets its object."""
    attribute = option.rpartition(".")[2]
    end = guard.end_lineno or guard.lineno
    for node in own_nodes(function):
        if not end < getattr(node, "lineno", 0) < asked.lineno:
            continue
        match node:
            case ast.Attribute(ctx=ast.Store()) | ast.Name(ctx=ast.Store()):
                if f"{option}.".startswith(f"{dotted_name(node)}."):
                    return True
            case ast.Call(func=func) if _mentions_root(node, option):
                callee = model.resolve(function.module, func)
                texts = [ast.unparse(func)]
                if isinstance(callee, Function):
                    texts.append(ast.unparse(callee.node))
                if any(map(_HANDS_ON.search, texts)) or f".{attribute} = " in texts[-1]:
                    return True
    return False


def _mentions_root(node: ast.AST, option: str) -> bool:
    root = option.partition(".")[0]
    return any(part.id == root for part in walk(node, ast.Name))


def _parted(
    model: Model, traces: Traces, function: Function, asked: ast.If
) -> tuple[CallSite, CallSite] | None:
    """A call on one arm of a branch that leads to a collective, where the other arm leads to none."""
    arms = [
        found
        for body in (asked.body, asked.orelse)
        if (found := leads_to_collective(model, traces, function, body)) is not None
    ]
    return arms[0] if len(arms) == 1 else None


def leads_to_collective(
    model: Model, traces: Traces, function: Function, body: list[ast.stmt]
) -> tuple[CallSite, CallSite] | None:
    """A call of a block that leads to a collective which no rank is kept from, and that collective."""
    inside = {id(node) for statement in body for node in walk(statement)}
    summaries = model.summaries_of(function)
    for _, summary in summaries.summaries() if summaries is not None else ():
        children = {id(site): child for site, child in called(summary)}
        for site in summary.calls:
            if id(site.node) not in inside or ranked(site):
                continue
            child = children.get(id(site))
            steps = [step.site for step in traces.of(child)] if child is not None else []
            for each in (site, *steps):
                if facts.is_collective(each.rows) and not ranked(each):
                    return site, each
    return None
