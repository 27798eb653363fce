"""The optimizer steps after a micro-batch that ran under `no_sync()`.

## What it does
Runs the loop of a function that accumulates gradients on small numbers (windows of 2 to 4 micro-batches, a loader
that they divide and one that they do not), and finds steps of the optimizer whose last backward ran under
`no_sync()`, or with `require_backward_grad_sync` or `set_requires_gradient_sync` off.

## Why it is bad
Gradients are added up over the ranks in the last backward before the step, or not at all. Where that one is held
back, each rank steps with gradients of its own. The replicas drift apart without an error, and what rank 0 saves has
seen one rank's data.

## Example
```python
for i, batch in enumerate(loader):
    with model.no_sync() if i % every != 0 else nullcontext():
        model(batch).mean().backward()
    if (i + 1) % every == 0:
        optimizer.step()
```

## Use instead
```python
for i, batch in enumerate(loader):
    with model.no_sync() if (i + 1) % every != 0 else nullcontext():
        model(batch).mean().backward()
    if (i + 1) % every == 0:
        optimizer.step()
```

## Fix safety
Unsafe: gradients that stayed with their rank are averaged from now on. Shown only where the condition of the step
cannot take the place of the other, or does not make every step right.

## Known limits
Silent where a condition cannot be decided by counting, where several optimizers step in one function, and where
gradients or weights are sent by hand. Loops shorter than one window are not looked at.

## References
- torch 2.13.0 torch/nn/parallel/distributed.py, `no_sync`: gradients are synchronised "in the first forward-backward
  pass exiting the context"
- FunASR funasr/train_utils/trainer.py:414: held back by `batch_idx % accum_grad`, stepped by `(batch_idx + 1) %`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.model import Model, place_of, related, span_of
from distlint.analysis.program.syntax import own_nodes
from distlint.edits import Replace
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.nodes import last_name
from distlint.rule import Status

from .drift import Drift, drift_of, repaired
from .shape import FLAG, HOLDS, SETTERS, Shape, stepped

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Function, Module

CODE = "DL622"
NAME = "no-sync-at-step"
SEVERITY = Severity.ERROR
STATUS = Status.PREVIEW
LITERALS = ()

_WORDS = HOLDS | SETTERS | {FLAG}


def check(model: Model) -> Iterator[Finding]:
    """Each place that holds gradients back up to a step, once."""
    kinds = {
        id(site.node): site.receiver.wraps[-1].kind
        for site, _ in model.attributes()
        if site.attr in HOLDS and site.receiver.wraps
    }
    for module in model.modules:
        text = module.source.text
        if "torch" not in text or not any(word in text for word in _WORDS):
            continue
        seen: set[int] = set()
        for function in _candidates(module):
            shape = Shape(model, function, kinds)
            drift = drift_of(function, shape) if shape.is_decidable else None
            if drift is not None and id(drift.wrong.site) not in seen:
                seen.add(id(drift.wrong.site))
                yield _finding(function, shape, drift)


def _candidates(module: Module) -> list[Function]:
    """The functions that hold gradients back, those around them, and those that call them."""
    holding = [f for f in module.all_functions if any(map(_holds, own_nodes(f)))]
    holding = list(dict.fromkeys(each for f in holding for each in f.outward()))
    names = {f.name for f in holding if not f.is_module_body}
    calling = [
        f
        for f in module.all_functions
        if any(last_name(n.func) in names for n in own_nodes(f, ast.Call))
    ]
    return list(dict.fromkeys((*holding, *calling)))


def _holds(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in _WORDS


def _finding(function: Function, shape: Shape, drift: Drift) -> Finding:
    edit = repaired(function, shape, drift)
    fix = (
        Fix(
            Applicability.UNSAFE,
            "Synchronise by the condition of the step",
            (Replace(span_of(edit.condition), edit.code),),
        )
        if edit is not None
        else Fix(Applicability.DISPLAY, "Synchronise the last micro-batch before each step")
    )
    step = drift.wrong.step
    when = (
        "At the end of a loader whose length the window does not divide, the"
        if drift.at_the_end
        else "The"
    )
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"{when} micro-batch before `{stepped(step)}` steps is not synchronised: each rank steps with gradients "
        f"of its own, and the replicas drift apart. {fix.message}.",
        place_of(function.module, drift.wrong.site),
        (related(function.module, step, "the step"),),
        fix,
    )
