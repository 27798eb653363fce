"""Gradients are accumulated by hand, and DDP sends them in each micro-batch.

## What it does
Finds `loss.backward()`, or a scaler that is told by `update_grad=` when to step, in code that lets the optimizer step
once in several of them, where the model is in DDP and `no_sync()` stands nowhere near.

## Why it is bad
DDP adds the gradients up over the ranks in every `backward()`. With eight micro-batches they are sent eight times where
once is enough: the numbers are right, the time on the network is eight times what it needs to be, most of all between
machines.

## Example
```python
model = DistributedDataParallel(model)
for step, batch in enumerate(loader):
    (model(batch).mean() / every).backward()
    if (step + 1) % every == 0:
        optimizer.step()
        optimizer.zero_grad()
```

## Use instead
```python
model = DistributedDataParallel(model)
for step, batch in enumerate(loader):
    last = (step + 1) % every == 0
    with nullcontext() if last else model.no_sync():
        (model(batch).mean() / every).backward()
    if last:
        optimizer.step()
        optimizer.zero_grad()
```

## Fix safety
Shown only: the forward belongs into the block too, and which micro-batch is the last one is for a person to say.

## Known limits
Information: nothing becomes wrong, and a default of one micro-batch costs nothing. Silent where the function, its class,
a caller or what it calls names `no_sync` or a switch of the like, where `accelerator.accumulate()` is used, and for DeepSpeed, Lightning
and a Trainer, which do it themselves. In FSDP `no_sync()` costs the memory of whole gradients, and only models in DDP
and those that `accelerator.prepare` wraps without a word of FSDP or ZeRO in the program are reported.

## References
- torch 2.13.0 torch/nn/parallel/distributed.py, `no_sync`
- accelerate 1.15.0, "Performing gradient accumulation": the slowdown is measured there
- mae efb2a80 engine_pretrain.py:57, SimMIM d3e29bc main_simmim.py:140
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.model import Model, place_of, related
from distlint.analysis.program.syntax import own_nodes
from distlint.analysis.questions.accumulating import accumulations
from distlint.analysis.questions.replicated import wrap_of
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.nodes import last_name
from distlint.patterns import pattern
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.live.summaries import CallGroup
    from distlint.analysis.program.definitions import Function
    from distlint.analysis.questions.accumulating import Accumulation

CODE = "DL623"
NAME = "every-micro-batch-synchronised"
SEVERITY = Severity.INFO
STATUS = Status.PREVIEW
LITERALS = ()

_HOLDS_BACK: Final = pattern(
    r"no_?sync|require_backward_grad_sync|set_requires_gradient_sync|automatic_optimization",
    re.IGNORECASE,
)
"""Names of what keeps gradients on their rank."""


def check(model: Model) -> Iterator[Finding]:
    """Each backward of an accumulation by hand whose model is in DDP."""
    for module in model.modules:
        for function in module.all_functions:
            for found in accumulations(function):
                wrap = wrap_of(model, function, prepared=_by_accelerator(found))
                if wrap is not None and not any(map(_holds_back, _near(model, function))):
                    yield _finding(found, function, wrap)


def _finding(found: Accumulation, function: Function, wrap: CallGroup) -> Finding:
    context = "accelerator.no_sync(model)" if _by_accelerator(found) else "model.no_sync()"
    fix = Fix(
        Applicability.DISPLAY,
        f"Run forward and backward of all but the last micro-batch in `with {context}:`",
    )
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        "DDP sends the gradients to the other ranks in each of these micro-batches, where once in each step of the "
        f"optimizer is enough. {fix.message}.",
        place_of(function.module, found.backward),
        (
            related(function.module, found.every, "what decides on the step of the optimizer"),
            related(wrap.site.module, wrap.site.node, "the model is wrapped"),
        ),
        fix,
    )


def _by_accelerator(found: Accumulation) -> bool:
    return bool(found.backward.args) and last_name(found.backward) == "backward"


def _near(model: Model, function: Function) -> Iterator[Function]:
    """A function, those around it, the methods of its class, those that call it and those that it calls."""
    yield from function.outward()
    if function.cls is not None:
        for cls in (*model.program.mro(function.cls)[0], *model.program.subclasses(function.cls)):
            yield from cls.methods.values()
    for caller in model.callers.get(function, ()):
        yield caller.function
    summaries = model.summaries_of(function)
    for _, run in summaries.summaries() if summaries is not None else ():
        yield from (site.callee for site in run.calls if site.callee is not None)


def _holds_back(function: Function) -> bool:
    """Whether a function names what keeps gradients on their rank, or lets an Accelerator accumulate them."""
    for node in own_nodes(function, ast.Call, ast.Attribute, ast.Name):
        match node:
            case ast.Call(func=ast.Attribute(attr="accumulate")):
                return True
            case ast.Attribute(attr=name) | ast.Name(id=name) if _HOLDS_BACK.search(name):
                return True
    return False
