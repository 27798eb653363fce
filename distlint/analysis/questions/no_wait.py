"""Divergences in which nobody waits, or is meant to: a hang that a test provokes, collectives of a world of one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.memory import remembered
from distlint.analysis.questions.caught import calls_of
from distlint.knowledge.collectives import mpi
from distlint.nodes import last_name, walk
from distlint.patterns import pattern

if TYPE_CHECKING:
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Function
    from distlint.analysis.program.program import Program
    from distlint.analysis.traces.divergence import Divergence

_DEPTH: Final = 3
_EXPECTS: Final = pattern(r"raises|assertRaises(Regex)?|assert_raises(_regex)?")
"""Calls whose `with` block is to fail: of pytest, unittest, numpy."""
_TIMEOUT: Final = pattern(r"time_?out", re.IGNORECASE)
_FAILS: Final = frozenset({"fail", "skip", "exit"})
_NUMBERED_BY_TORCH: Final = pattern(r"""["']LOCAL_RANK["']""")
_BY_MPI: Final = pattern(r"mpirun|mpiexec")
_NUMBERED_BY_MPI: Final = pattern(r"""["']RANK["']\] *=[^=]|["']mpi["']""")
_ASKS_MPI: Final = pattern(r"OMPI_|PMI_|MV2_COMM_WORLD")
"""What MPI's launchers set: where a file makes its group. A logger asks for it as well (MDT masked_diffusion/logger.py:406)."""


def hangs_on_purpose(program: Program, divergence: Divergence) -> bool:
    """Whether what calls the function in which ranks part expects that it does not end, or fails.

    InternEvo c628a8c tests/test_utils/test_timeout.py:36: `try: nccl_timeout_func(rank)`, `except TimeoutError:`, and
    `else: assert False`.
    """
    expecting = _expecting(program)
    if not expecting:
        return False
    if id(divergence.anchor) in _expected_to_fail(divergence.function):
        return True
    level, seen = [divergence.function], {divergence.function}
    for _ in range(_DEPTH):
        further: dict[Function, None] = {}
        for function in level:
            for caller, call in calls_of(program, function):
                if caller in expecting and call in _expected_to_fail(caller):
                    return True
                further[caller] = None
        level = [caller for caller in further if caller not in seen and not caller.is_module_body]
        seen.update(level)
    return False


@remembered
def _expecting(program: Program) -> frozenset[Function]:
    """The functions in which something is to fail."""
    return frozenset(
        function
        for module in program.modules.values()
        if _EXPECTS.search(module.source.text) or _TIMEOUT.search(module.source.text)
        for function in module.all_functions
        if _expected_to_fail(function)
    )


@remembered
def _expected_to_fail(function: Function) -> frozenset[int]:
    """The nodes of a function, by their identity, that are to fail: where they do not, a test fails."""
    found: set[int] = set()
    for node in walk(function.node):
        match node:
            case ast.With(items=items, body=body) if any(
                isinstance(item.context_expr, ast.Call)
                and _EXPECTS.fullmatch(last_name(item.context_expr))
                for item in items
            ):
                pass
            case ast.Try(body=body, handlers=handlers, orelse=[*_, last]) if _complains(
                last
            ) and any(
                h.type is not None and _TIMEOUT.search(ast.unparse(h.type)) for h in handlers
            ):
                pass
            case _:
                continue
        found |= {id(inner) for statement in body for inner in walk(statement)}
    return frozenset(found)


def _complains(statement: ast.stmt) -> bool:
    match statement:
        case ast.Raise() | ast.Assert(test=ast.Constant(value=False)):
            return True
        case ast.Expr(value=ast.Call() as call):
            return last_name(call) in _FAILS
    return False


def is_of_one_process(live: LiveProgram, divergence: Divergence) -> bool:
    """Whether what waits is a collective of MPI in a program that torch's launcher starts.

    `MPI.COMM_WORLD` has one process in each of them, and its collectives return at once (MDT 7d26c21
    masked_diffusion/dist_util.py:110: `LOCAL_RANK` and `env://`, which mpirun does not set).
    """
    rows = divergence.event.site.rows if divergence.event.site is not None else ()
    return any(row in mpi.ROWS for row in rows) and live.answer(_numbered_by_torch)


def starts_mpi(scripts: Iterable[str]) -> bool:
    """Whether one of some scripts starts processes by MPI's launcher."""
    return any(map(_BY_MPI.search, scripts))


def _numbered_by_torch(live: LiveProgram) -> bool:
    """Whether a program takes its group and the GPU from what torch's launcher sets, and nothing from MPI's."""
    texts = [module.source.text for module in live.program.modules.values()]
    making = [text for text in texts if "init_process_group(" in text]
    return (
        bool(making)
        and any(_NUMBERED_BY_TORCH.search(text) for text in texts)
        and not any(_BY_MPI.search(text) or _NUMBERED_BY_MPI.search(text) for text in texts)
        and not any(_ASKS_MPI.search(text) for text in making)
    )
