"""What a function answers on some ranks alone, read by its caller on the others, where it is None or an empty dict."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from distlint.analysis.interpreter.ranks import MAIN
from distlint.analysis.program.environment import blocks_of, statements
from distlint.analysis.program.syntax import assigned_names, own_nodes
from distlint.nodes import walk

from .settings import is_decided, tests_around

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import FailingRead
    from distlint.analysis.live.summaries import FunctionSummaries
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function

_CAUGHT: Final = frozenset({"KeyError", "LookupError", "TypeError", "Exception", "BaseException"})
_ONLY_READ: Final = frozenset({"items", "keys", "values", "get", "copy"})


class Answer(NamedTuple):
    """A read of what a call has answered, which raises on the ranks that got nothing."""

    node: ast.expr
    call: ast.Call
    callee: Function
    empty: ast.Return | None
    """Where the others return; None where they come to the end."""
    error: str


def answered_on_main(model: Model, summaries: FunctionSummaries) -> Iterator[Answer]:
    """The first such read of each variable of a function, in source order.

    Not in what nobody calls: rank 0 alone has the requests of megatron-core 0.19.2
    megatron/core/inference/text_generation_server/endpoints/completions.py:128.
    """
    function = summaries.function
    on_main: set[ast.expr] = set()
    reads: dict[ast.expr, FailingRead[ast.expr]] = {}
    for rank, run in summaries.summaries():
        for site in run.of_nothing:
            if rank is MAIN:
                on_main.add(site.node)
            else:
                reads[site.node] = site
    on_others = reads.keys() - on_main
    if not on_others or not (function.is_module_body or model.callers.get(function)):
        return
    done: set[ast.stmt] = set()
    for node in sorted(on_others, key=lambda n: (n.lineno, n.col_offset)):
        bound = _bound_by(function, node)
        if bound is None or bound in done or not isinstance(bound.value, ast.Call):
            continue
        site = reads[node]
        made = tests_around(function, bound)
        if any(map(_catches, site.tries)) or not all(
            is_decided(model.program, guard, made) for guard in site.guards
        ):
            continue
        group = model.call_at(bound.value)
        callee = group.site.callee if group is not None else None
        if callee is None or not any(map(_is_something, _returned(callee))):
            continue
        empty = next((r for r in _returns(callee) if _is_dict(r.value)), None)
        if empty is not None and _may_fill(function, node, bound):
            continue
        done.add(bound)
        if empty is None:
            empty = next((r for r in _returns(callee) if not _is_something(r.value)), None)
        error = "KeyError" if empty is not None and _is_dict(empty.value) else "TypeError"
        yield Answer(node, bound.value, callee, empty, error)


def _bound_by(function: Function, node: ast.expr) -> ast.Assign | None:
    """The assignment that gives what is read its value: the nearest in front of it, or the one that unpacks."""
    match node:
        case ast.Subscript(value=ast.Name(id=name), ctx=ast.Load()):
            return _nearest(function.body, node, name)
        case ast.Tuple() | ast.List():
            assigns = (s for s, _ in statements(function.body) if isinstance(s, ast.Assign))
            return next((s for s in assigns if s.targets == [node]), None)
    return None


def _nearest(body: Sequence[ast.stmt], node: ast.expr, name: str) -> ast.Assign | None:
    """The last assignment of a name on every way to a place, in the blocks around it."""
    found: ast.Assign | None = None
    for statement in body:
        if node in walk(statement):
            inside = next((b for b in blocks_of(statement) if _holds(b, node)), [])
            return _nearest(inside, node, name) or found
        match statement:
            case ast.Assign(targets=[ast.Name(id=target)]) if target == name:
                found = statement
            case _ if name in assigned_names(statement):
                found = None
    return found


def _holds(block: Sequence[ast.stmt], node: ast.expr) -> bool:
    return any(node in walk(statement) for statement in block)


def _may_fill(function: Function, node: ast.expr, bound: ast.Assign) -> bool:
    """Whether something in between may put entries into an empty dict: a store, a method, whoever is handed it."""
    name = ast.unparse(node.value) if isinstance(node, ast.Subscript) else ""
    read: set[int] = set()
    for part in own_nodes(function, ast.Subscript, ast.Attribute):
        match part:
            case ast.Subscript(value=ast.Name() as subject, ctx=ast.Load()):
                read.add(id(subject))
            case ast.Attribute(value=ast.Name() as subject, attr=attr) if attr in _ONLY_READ:
                read.add(id(subject))
    return any(
        part.id == name and bound.lineno < part.lineno <= node.lineno and id(part) not in read
        for part in own_nodes(function, ast.Name)
    )


def _returns(callee: Function) -> Iterator[ast.Return]:
    return (node for node in own_nodes(callee, ast.Return))


def _returned(callee: Function) -> Iterator[ast.expr | None]:
    return (node.value for node in _returns(callee))


def _is_something(value: ast.expr | None) -> bool:
    none = isinstance(value, ast.Constant) and value.value is None
    return value is not None and not none and not _is_dict(value)


def _is_dict(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Dict) and not value.keys


def _catches(attempt: ast.Try) -> bool:
    return any(
        handler.type is None or any(part.id in _CAUGHT for part in walk(handler.type, ast.Name))
        for handler in attempt.handlers
    )
