"""`.module` is read from a model that is wrapped on some launches only.

## What it does
Finds `model.module` where the model came from `Accelerator.prepare()`, from Trainer, or from a wrap under a
condition (`if world_size > 1: model = DDP(model)`), and nothing asks whether there is a wrapper.

## Why it is bad
On one process, and under FSDP2, nothing is wrapped: the model has no attribute `module`, and the line
raises AttributeError. Debugging on one device fails where the run on eight works.

## Errors you may see
- `object has no attribute 'module'`

## Example
```python
model = accelerator.prepare(model)
model.module.save_pretrained(path)
```

## Use instead
```python
model = accelerator.prepare(model)
unwrap(model).save_pretrained(path)
```

## Fix safety
Safe: `unwrap` gives what `.module` gives where there is a wrapper, without `torch.compile` around it too, and
the model itself where there is none. Shown only where the project has a class of its own that keeps the model it
is handed as `module`: `unwrap` goes by the class, and would leave that one on; and where another call fills the
parameter with what is no model.

## Known limits
Silent where the wrap is known to take place always, under a condition on the launch or the class, where the other
arm or the line above makes something else that has a `module` (DataParallel, a class of the project, one of another library
that takes the place of the model it is handed), where a flag wraps the model and
whoever reads `.module`, or all that call it, enters a collective of the default group as well, where `prepare()` does,
`torchrun` starts all that leads there, or else all of the project, and whoever reads it enters one in some step without asking whether there is a group
(or, where nothing speaks of an engine that shards, under no condition but on the number of the step), or has called what torch
refuses without a group (a collective, `get_rank()` in the `forward` of the model) on its way, where the model is bare for a local rank of -1 alone and all that lead to the read meet the others then, where the function makes the object that wraps and tells it to, where an option for the CPU alone
leaves the model bare and whoever reads `.module` moves data to a GPU, and on values of unknown origin,
since a network may own a part called `module`.

## References
- accelerate 1.15.0, `accelerate/accelerator.py`, `prepare_model`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from distlint.analysis.model import Model, place_of, related, source_of, span_of
from distlint.analysis.program.rank_settings import set_for_one_rank
from distlint.analysis.questions.no_model import may_be_no_model
from distlint.analysis.questions.put_on import as_put_on
from distlint.analysis.questions.stand_ins import (
    asks_for_group_alone,
    ends_where_bare,
    fails_without_group,
    made_to_wrap,
    meets_in_some_step,
    module_on_every_path,
    needs_gpu,
    needs_group,
    wrapped_above,
    wrapped_in_each_way,
)
from distlint.analysis.questions.without_group import always_in_group
from distlint.analysis.questions.wrapped import (
    BY_LAUNCH,
    asked_by_callers,
    call_of_wrap,
    has_own_wrapper,
    is_guarded,
    under_condition,
    wrapped_by_nobody,
)
from distlint.edits import Replace
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.knowledge.wrappers import WRAPPERS
from distlint.repairs.unwrapping import asked_for_its_class
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import AttributeSite
    from distlint.analysis.interpreter.ranks import RankClass
    from distlint.analysis.interpreter.values import Wrap
    from distlint.analysis.program.definitions import Function

CODE = "DL204"
NAME = "hard-coded-module"
SEVERITY = Severity.WARNING
STATUS = Status.PREVIEW
LITERALS = ()
NEEDS_RANKS = False

_SHOWN = 5
"""So many other reads of a model are shown beside the first: the rest are counted."""
_SHOW_LAUNCH = frozenset({"world_size", "initialized"})
_WHERE_THERE_IS_ONE = frozenset({"averaged", "fabric", "strategy"})
"""Layers that are read for what they are. A copy beside the model: where there is no average, there is nothing of that
name (pytorch-lightning 2.6.6, callbacks/weight_averaging.py, sets it up for `fit` alone). What Lightning's strategy puts
on, one process too (strategies/ddp.py:185), as Fabric's `setup()` does (lightning_fabric/fabric.py:229)."""


def check(model: Model) -> Iterator[Finding]:
    """Each model whose `module` only some launches have: once in a function, at the first read of it."""
    together: dict[tuple[Function, str, Applicability], list[tuple[AttributeSite, Fix]]] = {}
    for read, ranks in model.attributes():
        if read.attr != "module" or not isinstance(read.node.ctx, ast.Load) or is_guarded(read):
            continue
        site = as_put_on(model, read)
        if site is None:
            continue
        wrap = site.receiver.wraps[-1]
        if wrap.kind in _WHERE_THERE_IS_ONE or _is_inside(site.receiver.wraps):
            continue
        sometimes = wrap.kind in BY_LAUNCH or under_condition(
            call_of_wrap(model, site),
            site,
            of_launch=True,
            always=set_for_one_rank(model.program),
        )
        if (
            sometimes
            and not _asks_for_launch(model, site, ranks)
            and not wrapped_above(site)
            and not wrapped_by_nobody(call_of_wrap(model, site), site)
            and not asked_by_callers(model, site, of_model=False)
            and not module_on_every_path(model, call_of_wrap(model, site))
            and not wrapped_in_each_way(model, site, call_of_wrap(model, site))
            and not needs_gpu(model, site, call_of_wrap(model, site))
            and not _needs_group(model, site, wrap)
            and not made_to_wrap(model, site, call_of_wrap(model, site))
        ):
            receiver = source_of(site.module, site.node.value)
            fix = _fix(model, site, receiver)
            together.setdefault((site.function, receiver, fix.applicability), []).append(
                (site, fix)
            )
    for (_, receiver, _), reads in together.items():
        yield _finding(receiver, reads)


def _needs_group(model: Model, site: AttributeSite, wrap: Wrap) -> bool:
    if wrap.kind in BY_LAUNCH:
        meets = model.starts_by_torch(site.module) and meets_in_some_step(model, site.function)
        return meets or fails_without_group(model, site)
    call = call_of_wrap(model, site)
    return (
        needs_group(model, site, call)
        or ends_where_bare(model, site, call)
        or (
            asks_for_group_alone(call)
            and always_in_group(model.program, site.module, site.node.lineno)
        )
    )


def _is_inside(wraps: tuple[Wrap, ...]) -> bool:
    """Whether a layer further in, put on whatever the launch, has the model in `module`.

    LightningDiT 2725fed train.py:180 prepares what line 103 has put into DDP; its resume reads the keys that one of
    the two layers leaves.
    """
    return any(
        wrap.always and wrap.kind not in BY_LAUNCH and "module" in WRAPPERS[wrap.kind].inner
        for wrap in wraps[:-1]
    )


def _asks_for_launch(model: Model, site: AttributeSite, ranks: frozenset[RankClass]) -> bool:
    """Whether a condition on the number of ranks, on a process group or one that all ranks meet alike, is in force.

    Music-Source-Separation-Training utils/model_utils.py:859: `if dist.is_initialized(): save(model.module)`.
    """
    summaries = model.summaries_of(site.function)
    everybody = summaries is not None and ranks == summaries.classes
    return any(
        not _SHOW_LAUNCH.isdisjoint(g.value.tags) or ("rank" in g.value.tags and everybody)
        for g in site.guards
    )


def _finding(receiver: str, reads: list[tuple[AttributeSite, Fix]]) -> Finding:
    (site, fix), *more = sorted(reads, key=lambda each: each[0].order)
    wrap = site.receiver.wraps[-1]
    text = (
        f"`{receiver}.module` raises AttributeError where the launch does not wrap the model, as on one "
        f"process. Use `unwrap({receiver})`."
    )
    if more:
        text += f" {len(more)} more read{'s' * (len(more) > 1)} in this function need{'s' * (len(more) == 1)} the same."
    wrapped = (
        () if wrap.node is site.node.value else (related(wrap.module, wrap.node, "wrapped here"),)
    )
    others = tuple(related(each.module, each.node, "and here") for each, _ in more[:_SHOWN])
    edits = tuple(edit for _, each in reads for edit in each.edits)
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        text,
        place_of(site.module, site.node),
        (*wrapped, *others),
        replace(fix, edits=edits),
    )


def _fix(model: Model, site: AttributeSite, receiver: str) -> Fix:
    advice = f"Unwrap `{receiver}` whatever is around it"
    if model.answer(has_own_wrapper):
        return Fix(Applicability.DISPLAY, advice)  # `unwrap` goes by the class, and leaves it on
    if may_be_no_model(model, site.function, site.node.value):
        return Fix(Applicability.DISPLAY, advice)
    if asked_for_its_class(site.statement, site.node):
        # `isinstance(model.module, DDP)` asks for a layer that `unwrap` would take off, too
        # (nanotron examples/doremi/doremi/trainer.py:100).
        return Fix(Applicability.DISPLAY, advice)
    return Fix(Applicability.SAFE, advice, (Replace(span_of(site.node), f"$unwrap({receiver})"),))
