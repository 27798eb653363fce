"""Flags that ranks have apart in one mode, where the collective is of another."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from distlint.analysis.program.syntax import assignments, literals
from distlint.analysis.questions.arms import Known, arms, known_by

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Function
    from distlint.analysis.traces.divergence import Divergence


def is_one_flag_of_all(divergence: Divergence) -> bool:
    """Whether what parts the ranks is a flag that is one constant wherever the collective is.

    SparseTransformers adffc67 train.py:301: `master_process` is True of all but in DDP, and `if cfg.use_deepspeed:` says that
    it is not DDP.
    """
    site = divergence.event.site
    if site is None or site.function is not divergence.function or not divergence.guards:
        return False
    known = known_by(site.guards, site.function)
    guard = divergence.guards[0]
    alike = [_is_alike(site.function, part, known) for part, _ in literals(guard.node, guard.taken)]
    return True in alike and None not in alike and _of_one_origin(divergence)


def _is_alike(function: Function, part: ast.expr, known: Known) -> bool | None:
    """Whether a part of a condition is one constant where that is known; False of what compares no rank, None elsewhere."""
    if isinstance(part, ast.Compare) and "rank" not in ast.unparse(part).lower():
        return False
    given = arms(function).get(ast.unparse(part), ())
    there = {ast.unparse(arm.value) for arm in given if not arm.is_left(known)}
    constant = all(isinstance(a.value, ast.Constant) for a in given if not a.is_left(known))
    all_given = len(given) == len(assignments(function).get(ast.unparse(part), ()))
    return True if len(there) == 1 and constant and len(given) > 1 and all_given else None


def _of_one_origin(divergence: Divergence) -> bool:
    """Whether all that parts the ranks comes from one read of who they are."""
    origins = [guard.value.origin for guard in divergence.guards]
    return len({id(origin.node) if origin is not None else 0 for origin in origins}) == 1
