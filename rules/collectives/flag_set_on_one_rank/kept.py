"""Flags that rank 0 alone sets in a method, and by which a loop of all ranks ends in another function."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from distlint.analysis.interpreter.ranks import MAIN, NODE_MAIN
from distlint.analysis.program.syntax import ends_process, own_nodes
from distlint.analysis.questions.ordering import Traces
from distlint.nodes import walk

from .filled import is_inside_rank_test, leads_to_collective

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function, Module

_FEW: Final = frozenset({MAIN, NODE_MAIN})


class Kept(NamedTuple):
    """An attribute that rank 0 sets, and the condition by which it leaves a loop of all ranks."""

    attr: str
    module: Module
    set_at: ast.Assign
    function: Function
    asked: ast.If
    collective: CallSite
    """Of the loop, or of the method that the loop calls."""


def kept(model: Model) -> Iterator[Kept]:
    """The first condition for each such attribute: `solver.stop`, set by `solver.validate()`.

    De-limiter e15f80b solver_ddp.py:543: `self.stop = self.es.step(score)` under `if args.gpu == 0:`, and train_ddp.py:49 ends
    the epochs by it.
    """
    traces = model.answer(Traces)
    for attr, (function, assign) in sorted(_set_on_main(model).items()):
        for reader, asked in _asking(model, attr):
            loop = _loop_left_by(reader, asked)
            if loop is None or is_inside_rank_test(list(own_nodes(reader, ast.If)), asked):
                continue
            found = leads_to_collective(model, traces, reader, loop.body)
            if found is None and _calls(loop, asked, function):
                found = leads_to_collective(model, traces, function, function.body)
            if found is not None:
                yield Kept(attr, function.module, assign, reader, asked, found[0])
                break


def _calls(loop: ast.For | ast.While, asked: ast.If, method: Function) -> bool:
    """Whether a loop calls a method of the object that it asks for the flag."""
    flag = _flag(asked.test)
    return isinstance(flag, ast.Attribute) and any(
        isinstance(call.func, ast.Attribute)
        and call.func.attr == method.name
        and ast.unparse(call.func.value) == ast.unparse(flag.value)
        for statement in loop.body
        for call in walk(statement, ast.Call)
    )


def _set_on_main(model: Model) -> dict[str, tuple[Function, ast.Assign]]:
    """The attributes of `self` that a method gives a value on rank 0, and that have a constant everywhere else."""
    found: dict[str, tuple[Function, ast.Assign]] = {}
    others: set[str] = set()
    for module in model.program.modules.values():
        for function in (module.body, *module.all_functions):
            for node in own_nodes(function, ast.Assign, ast.AugAssign, ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for target in (t for t in targets if isinstance(t, ast.Attribute)):
                    if not isinstance(node, ast.Assign) or target.attr in found:
                        others.add(target.attr)
                    elif isinstance(node.value, ast.Constant) and not node.value.value:
                        continue
                    elif function.cls is not None and _is_on_main(model, function, node):
                        found[target.attr] = function, node
                    else:
                        others.add(target.attr)
    return {attr: place for attr, place in found.items() if attr not in others}


def _is_on_main(model: Model, function: Function, node: ast.Assign) -> bool:
    """Whether rank 0 alone, of its machine, comes to a statement of a function that all enter, by the calls around it."""
    for test in own_nodes(function, ast.If):
        if test.lineno <= node.lineno <= (test.end_lineno or node.lineno) and any(
            part is node for statement in test.body for part in walk(statement)
        ):
            groups = [
                group
                for statement in test.body
                for call in walk(statement, ast.Call)
                if (group := model.call_at(call)) is not None
            ]
            if groups and all(g.classes <= _FEW and not g.entered_by <= _FEW for g in groups):
                return True
    return False


def _asking(model: Model, attr: str) -> list[tuple[Function, ast.If]]:
    """The conditions that ask for an attribute; none where anything else reads it, which may hand it on."""
    found: list[tuple[Function, ast.If]] = []
    for module in model.program.modules.values():
        if attr not in module.source.text:
            continue
        for function in (module.body, *module.all_functions):
            tests = {id(_flag(n.test)): n for n in own_nodes(function, ast.If)}
            for read in own_nodes(function, ast.Attribute):
                if read.attr == attr and isinstance(read.ctx, ast.Load):
                    if id(read) not in tests:
                        return []
                    found.append((function, tests[id(read)]))
    return found


def _flag(test: ast.expr) -> ast.expr:
    match test:
        case ast.Compare(
            left=left, ops=[ast.Eq() | ast.Is()], comparators=[ast.Constant(value=True)]
        ):
            return left
    return test


def _loop_left_by(function: Function, asked: ast.If) -> ast.For | ast.While | None:
    """The innermost loop that the arm of a condition leaves."""
    loops = [
        loop
        for loop in own_nodes(function, ast.For, ast.While)
        if any(part is asked for statement in loop.body for part in walk(statement))
    ]
    leaves = any(
        isinstance(node, ast.Break | ast.Return)
        or (isinstance(node, ast.Call) and ends_process(node.func))
        for statement in asked.body
        for node in walk(statement, ast.Break, ast.Return, ast.Call)
    )
    return loops[-1] if loops and leaves else None
