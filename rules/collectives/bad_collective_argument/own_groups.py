"""Groups of which each rank makes its own alone: all ranks have to make each."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.interpreter.values import Variance
from distlint.analysis.program.syntax import assignments

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.interpreter.values import Value
    from distlint.analysis.model import Model

_NEW_GROUP: Final = "torch.distributed.new_group"
_LOCALLY: Final = "use_local_synchronization"
"""With it the members alone make a group, whose name is made of its ranks (torch 2.13.0 distributed_c10d.py)."""


def own_groups(model: Model) -> Iterator[tuple[CallSite, ast.expr, Value]]:
    """The calls that make a group of ranks which follow from the rank that calls, those ranks, and their value.

    FSDP-Training b7a4635 train_sp_tp_fsdp_real.py:125: the block of `tp_size` ranks in which a rank is.
    """
    for call in model.calls(_NEW_GROUP):
        site = call.site
        ranks, value = site.argument_node(0, "ranks"), site.argument(0, "ranks")
        if ranks is None or value is None or value.variance is not Variance.RANK_DEPENDENT:
            continue
        locally = site.argument_node(None, _LOCALLY)
        if locally is not None and not (
            isinstance(locally, ast.Constant) and locally.value is False
        ):
            continue
        if not _is_one_rank(site, ranks):
            yield site, ranks, value


def _is_one_rank(site: CallSite, ranks: ast.expr) -> bool:
    """Whether a group has the rank alone that makes it: it waits for nobody."""
    given = [ranks, *assignments(site.function).get(ast.unparse(ranks), ())]
    return any(isinstance(each, ast.List) and len(each.elts) == 1 for each in given)
