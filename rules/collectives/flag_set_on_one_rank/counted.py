"""Counters that rank 0 alone advances, and by which all ranks leave the loop that trains."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from distlint.analysis.interpreter.ranks import MAIN
from distlint.analysis.program.syntax import assignments
from distlint.analysis.questions.training import training_loops
from distlint.nodes import last_name, walk
from distlint.repairs.blocks import block_with

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function, Module

_BARS: Final = frozenset({"tqdm", "trange"})
_EXITS: Final = (ast.Continue, ast.Return, ast.Break)


class Counted(NamedTuple):
    """A counter of one rank, where it is advanced, and the test by which the loop ends."""

    module: Module
    counter: str
    advanced: ast.stmt
    asked: ast.expr


def counted(model: Model) -> Iterator[Counted]:
    """The loops that end by what rank 0 alone has counted.

    s3prl ec8064b s3prl/downstream/runner.py:363: `if not is_leader_process(): continue` above `pbar.update(1)`, and
    `while pbar.n < pbar.total` on all ranks.
    """
    for module in model.modules:
        if not model.is_distributed(module):
            continue
        for function in module.all_functions:
            loops = training_loops(function)
            for counter, steps in _advanced(function, loops).items():
                asked = _asked(function, loops, counter, steps)
                if asked is not None and all(_is_of_main(model, function, s) for s in steps):
                    yield Counted(module, counter, steps[0], asked)


def _advanced(
    function: Function, loops: tuple[ast.For | ast.While, ...]
) -> dict[str, list[ast.stmt]]:
    """What the loops count, by name: `step += 1`, `bar.update(1)`; nothing that they set otherwise."""
    found: dict[str, list[ast.stmt]] = {}
    others: set[str] = set()
    for node in {id(n): n for loop in loops for n in walk(loop)}.values():
        match node:
            case ast.AugAssign(target=ast.Name(id=name), op=ast.Add()):
                found.setdefault(name, []).append(node)
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(value=ast.Name(id=bar), attr="update"))
            ):
                if any(last_name(v) in _BARS for v in assignments(function).get(bar, ())):
                    found.setdefault(f"{bar}.n", []).append(node)
            case ast.Assign(targets=targets):
                others.update(ast.unparse(target) for target in targets)
    return {name: steps for name, steps in found.items() if name not in others}


def _asked(
    function: Function,
    loops: tuple[ast.For | ast.While, ...],
    counter: str,
    steps: list[ast.stmt],
) -> ast.expr | None:
    """The test by which a loop ends around all that counts: of a `while`, or in front of a `break`."""
    for loop in loops:
        inside = {id(n) for n in walk(loop)}
        if not all(id(step) in inside for step in steps):
            continue
        tests = [loop.test] if isinstance(loop, ast.While) else []
        tests += [
            n.test for n in walk(loop, ast.If) if any(isinstance(s, ast.Break) for s in n.body)
        ]
        for test in tests:
            match test:
                case ast.Compare(left=left, ops=[ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE()]):
                    if ast.unparse(left) == counter and not _stands_below(function, steps, test):
                        return test
    return None


def _stands_below(function: Function, steps: list[ast.stmt], test: ast.expr) -> bool:
    """Whether only who counts comes to a test, in the same block."""
    return any(n is test for step in steps for s in _beside(function, step) for n in walk(s))


def _beside(function: Function, step: ast.stmt) -> list[ast.stmt]:
    """The statements of a block to which all ranks come that come to one of them: behind the last exit before it."""
    block = block_with(function, step) or [step]
    exits = [
        number
        for number, each in enumerate(block[: block.index(step)])
        if isinstance(each, ast.If) and isinstance(each.body[-1], _EXITS)
    ]
    return block[exits[-1] + 1 if exits else 0 :]


def _is_of_main(model: Model, function: Function, step: ast.stmt) -> bool:
    """Whether rank 0 alone comes to a statement, by the calls that are made beside it."""
    classes = [
        group.classes
        for statement in _beside(function, step)
        if isinstance(statement, ast.Expr | ast.Assign | ast.AugAssign)
        for node in walk(statement, ast.Call)
        if (group := model.call_at(node)) is not None
    ]
    return bool(classes) and all(each == {MAIN} for each in classes)
