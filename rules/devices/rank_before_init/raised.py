"""Questions that raise, since the program makes its process group further down."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.knowledge import facts
from distlint.records import dataclass
from distlint.repairs.group import GROUP_QUESTIONS, made_below

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function

_ASKED = (*sorted(GROUP_QUESTIONS), "torch.distributed.barrier")


@dataclass(frozen=True, slots=True, eq=False)
class Raised:
    """A call that raises on every rank, and the one behind it that makes the group."""

    asked: CallSite
    made: CallSite


def raised_before(model: Model) -> Iterator[Raised]:
    """Calls that need the group, each the first of its function, on the way from a script's start to what makes it.

    ProphetNet 5cf70eb GENIE/Genie_Finetune.py:131: `if dist.get_rank() == 0:` in `main()`, above `setup_env(args)`.
    """
    told: set[Function] = set()
    for call in model.calls(*_ASKED):
        site = call.site
        if (
            site.function in told
            or site.guards
            or site.tries
            or not _is_start(model, site.function)
        ):
            continue
        made = made_below(model, site.function, site.node.lineno)
        if made is not None and made.function is site.function and _makes_surely(made):
            told.add(site.function)
            yield Raised(site, made)


def _is_start(model: Model, function: Function) -> bool:
    """Whether a function is the body of a script, or nothing but such a body calls it."""
    if function.is_module_body:
        return function.module.is_script
    callers = model.callers.get(function, ())
    return bool(callers) and all(
        site.function.is_module_body and site.module.is_script for site in callers
    )


def _makes_surely(made: CallSite) -> bool:
    """Whether a call makes the group by torch's function or a project's setup: a wrapper may find one and take it."""
    return made.name in facts.GROUP_STARTS or made.callee is not None
