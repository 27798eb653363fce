"""One seed for all ranks in place of the rank's own."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from distlint.analysis.model import source_of, span_of
from distlint.analysis.questions.seeding import without_rank
from distlint.edits import Replace
from distlint.findings import Applicability, Fix
from distlint.repairs.arguments import with_keyword

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.program.definitions import Module


def repaired(
    module: Module, site: CallSite, node: ast.expr | None, seed: ast.expr | None, generator: bool
) -> Fix:
    """The fix: `node` is the seed or generator that the rank goes into, `seed` the common one."""
    advice = "Use one seed on all ranks"
    if node is not None and not generator:
        kept = without_rank(node)
        if kept is None or kept is node:
            return Fix(Applicability.DISPLAY, advice)
        return Fix(Applicability.UNSAFE, advice, (Replace(span_of(node), source_of(module, kept)),))
    if seed is None:
        return Fix(Applicability.DISPLAY, advice)
    code = f"$generator({source_of(module, seed)}, per_rank=False)"
    if node is not None:
        return Fix(Applicability.UNSAFE, advice, (Replace(span_of(node), code),))
    edit = with_keyword(module.source.text, site.node, f"generator={code}")
    if edit is None:
        return Fix(Applicability.DISPLAY, advice)
    return Fix(Applicability.UNSAFE, advice, (edit,))
