"""Options with which a program does not start several processes: what its checks assert, or raise at."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import literals
from distlint.analysis.questions.launched import says_no_launcher
from distlint.nodes import last_name

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Function, Module
    from distlint.analysis.program.program import Program

Option = tuple[str, str]
"""What an option is kept in, and its name: `cfgs.RUN.interpolation` is `("RUN", "interpolation")`."""
DISTRIBUTED: Final = frozenset(
    {
        "ddp", "distributed", "distributed_data_parallel", "is_ddp", "is_distributed", "multi_gpu",
        "multiprocessing_distributed", "use_ddp", "use_distributed",
    }
)  # fmt: skip
"""Last words of options that ask for several processes, each with one GPU."""
_SIZES: Final = frozenset({"world_size", "num_processes", "nprocs", "num_gpus", "n_gpu", "ngpus"})
"""Last words of options that say how many there are."""


@remembered
def refused_options(program: Program) -> frozenset[Option]:
    """The options that a program refuses wherever it is told to start several processes.

    PyTorch-StudioGAN 947b35e src/config.py:684: `if self.RUN.distributed_data_parallel: assert self.RUN.interpolation +
    self.RUN.tsne_analysis + … == 0`. Not what it refuses under a further condition.
    """
    return frozenset(
        option for module in program.modules.values() for option in _refused_in(module)
    )


@remembered
def _refused_in(module: Module) -> frozenset[Option]:
    text = module.source.text.lower()
    if not ("assert" in text or "raise" in text) or not ("ddp" in text or "distributed" in text):
        return frozenset()
    return frozenset(
        option for function in module.all_functions for option in _refused(function, function.body)
    )


def _refused(
    function: Function, block: list[ast.stmt], known: tuple[tuple[ast.expr, bool], ...] = ()
) -> Iterator[Option]:
    """The options with which a block fails on several processes; `known` is what holds where it stands."""
    for statement in block:
        match statement:
            case ast.Assert(test=ast.BoolOp(op=ast.And(), values=asked)):
                for each in asked:
                    yield from _failing(function, (*known, *literals(each, False)))
            case ast.Assert(test=test):
                yield from _failing(function, (*known, *literals(test, False)))
            case ast.If(test=test, body=body, orelse=orelse):
                there = (*known, *literals(test, True))
                if isinstance(body[-1], ast.Raise):
                    yield from _failing(function, there)
                yield from _refused(function, body, there)
                yield from _refused(function, orelse, (*known, *literals(test, False)))


def _failing(function: Function, failing: tuple[tuple[ast.expr, bool], ...]) -> Iterator[Option]:
    """The options each of which is enough for a failure on several processes."""
    others = [
        (part, holds)
        for part, holds in failing
        if not (_asks_for_several(part, holds) or says_no_launcher(part, not holds, function))
    ]
    if len(others) == 1 and len(failing) > 1:
        for node in _any_of(*others[0]):
            if isinstance(node, ast.Attribute):
                yield last_name(node.value), node.attr


def _asks_for_several(part: ast.expr, holds: bool) -> bool:
    match part:
        case ast.Compare(left=size, ops=[ast.Gt()], comparators=[ast.Constant(value=1)]):
            return holds and last_name(size).lower() in _SIZES
    return holds and last_name(part).lower() in DISTRIBUTED


def _any_of(part: ast.expr, holds: bool) -> Iterator[ast.expr]:
    """What alone makes a condition come out one way: each term of a sum that is not 0, each part of an `or`."""
    match part:
        case ast.BoolOp(op=ast.Or(), values=values) if holds:
            yield from values
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[ast.Constant(value=0)]) if (
            not holds
        ):
            yield from _terms(left)
        case _ if holds:
            yield part


def _terms(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            yield from _terms(left)
            yield from _terms(right)
        case _:
            yield node
