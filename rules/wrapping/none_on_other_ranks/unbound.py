"""Variables that a function assigns on some ranks alone, read where the others come as well."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.interpreter.ranks import MAIN
from distlint.analysis.program.environment import statements
from distlint.analysis.program.memory import all_remembered
from distlint.analysis.program.syntax import own_nodes, statement_with_test
from distlint.nodes import last_name, walk

from .settings import is_decided, tests_around

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import Guard
    from distlint.analysis.live.summaries import FunctionSummaries
    from distlint.analysis.program.definitions import Function
    from distlint.analysis.program.program import Program

_ERRORS: Final = frozenset({"NameError", "UnboundLocalError", "Exception", "BaseException"})
_ALL: Final = frozenset({"Exception", "BaseException"})
_SHOW: Final = frozenset({"print_exc", "format_exc", "print_exception", "exception"})


@all_remembered
def unbound_by_rank(
    program: Program, summaries: FunctionSummaries
) -> Iterator[tuple[ast.Name, ast.stmt]]:
    """The reads that raise on other ranks than rank 0, in source order, with what assigns on some alone."""
    function = summaries.function
    on_main = {
        site.node for rank, run in summaries.summaries() if rank is MAIN for site in run.unbound
    }
    reads = {
        site.node: site
        for runs in summaries.contexts.values()
        for rank, run in runs.items()
        if rank is not MAIN
        for site in run.unbound
        if site.node not in ({s.node for s in runs[MAIN].unbound} if MAIN in runs else on_main)
        and not any(map(catches_name_error, site.tries))
    }
    for node, site in sorted(reads.items(), key=lambda r: (r[0].lineno, r[0].col_offset)):
        assigned = _assigned(function, node.id)
        if not assigned or assigned[-1].lineno >= node.lineno:
            continue
        made = frozenset.intersection(*(tests_around(function, each) for each in assigned))
        if any(_is_on_the_other_arm(function, guard, assigned) for guard in site.guards):
            continue
        if all(is_decided(program, guard, made) for guard in site.guards):
            yield node, assigned[0]


def _is_on_the_other_arm(function: Function, guard: Guard, assigned: list[ast.stmt]) -> bool:
    """Whether what holds at a read lets no rank come to any of the assignments: rank 0 has no value there either.

    MoAI a7728a8 datasets/evaluation/hallusionbench_evaluation.py:82, below `if self._distributed: … if not
    is_main_process(): return {}` and an `else` that assigns less.
    """
    block = statement_with_test(function, guard.node)
    if block is None:
        return False
    other = {
        part
        for each in (block.orelse if guard.taken else block.body)
        for part in walk(each, ast.Assign)
    }
    return other.issuperset(assigned)


def catches_name_error(attempt: ast.Try) -> bool:
    """Whether a handler of a `try` takes what a name without a value raises, and not only to tell of it.

    spec2mol b4c404f main.py:137: `except Exception:` around the whole training, with `traceback.print_exc()`.
    """
    return any(
        (h.type is None or last_name(h.type) in _ERRORS) and not _tells(h) for h in attempt.handlers
    )


def _tells(handler: ast.ExceptHandler) -> bool:
    """Whether a handler of all failures raises again, or shows where the failure came from."""
    if handler.type is not None and last_name(handler.type) not in _ALL:
        return False
    return any(
        isinstance(node, ast.Raise) or last_name(node) in _SHOW
        for node in walk(handler, ast.Raise, ast.Call)
    )


def _assigned(function: Function, name: str) -> list[ast.stmt]:
    """The plain assignments of a name, in source order; none where it is bound in another way too.

    distil-whisper training/run_distillation.py:865: one in each arm of what rank 0 alone asks.
    """
    bound = [
        n for n in own_nodes(function, ast.Name) if n.id == name and not isinstance(n.ctx, ast.Load)
    ]
    shared = any(name in n.names for n in own_nodes(function, ast.Global, ast.Nonlocal))
    found: list[ast.stmt] = [
        s
        for s, _ in statements(function.body)
        if isinstance(s, ast.Assign) and any(n in bound for t in s.targets for n in walk(t))
    ]
    return [] if shared or len(bound) != len(found) else found
