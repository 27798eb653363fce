"""`loss.backward()` where an Accelerator trains: the loss goes past it.

## What it does
Finds `loss.backward()` in a function that also steps an optimizer, beside an Accelerator whose `prepare`,
`accumulate` or `clip_grad_norm_` the function, the functions around it or its class use.

## Why it is bad
`accelerator.backward(loss)` divides the loss by the number of accumulated batches, scales it for fp16, and
hands it to DeepSpeed's engine. Without it gradients are as many times too large as batches are accumulated,
those of fp16 vanish, and under DeepSpeed nothing is trained at all.

## Errors you may see
- `No inf checks were recorded for this optimizer.`
- `Expected all tensors to be on the same device`

## Example
```python
with accelerator.accumulate(model):
    loss = model(**batch).loss
    loss.backward()
    optimizer.step()
```

## Use instead
```python
with accelerator.accumulate(model):
    loss = model(**batch).loss
    accelerator.backward(loss)
    optimizer.step()
```

## Fix safety
Unsafe: gradients change where batches are accumulated or fp16 is used.

## Known limits
Silent where the other arm of an `if` calls `accelerator.backward`, where the gradient is read and no
optimizer steps (guidance, attacks), where a `GradScaler` scales the loss by hand, and where `torchrun` starts all that
leads there, or else all of the project, and no Accelerator of the file is told to accumulate, of fp16 or of an engine: nothing is left out then.
Information where whoever makes the object that trains has set `gradient_accumulation_steps` to 1.

## References
- accelerate 1.15.0 accelerate/accelerator.py:2829: "Should be used in lieu of `loss.backward()`"
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.model import Model, place_of, related, source_of, span_of
from distlint.analysis.program.definitions import last_name
from distlint.analysis.program.handed import namings
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.analysis.questions.accelerating import (
    Training,
    accelerators,
    steps_optimizer,
    training,
)
from distlint.edits import Replace
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.nodes import walk
from distlint.patterns import pattern
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Function, Module

CODE = "DL605"
NAME = "raw-backward"
SEVERITY = Severity.ERROR
STATUS = Status.PREVIEW
LITERALS = ()


_CHANGES = frozenset({"gradient_accumulation_steps", "mixed_precision"})
_CHANGES_NOTHING = frozenset({1, "no", "bf16", None})
_ACCUMULATED = ".gradient_accumulation_steps"
_WAYS = pattern(
    r"accelerator is|is_accelerat|use_accelerat|deepspeed|fp16|apex|\bamp\b|use_amp|scaler"
)
"""Tests that ask how the run goes backward."""


def check(model: Model) -> Iterator[Finding]:
    """Each loss that goes backward past the Accelerator."""
    for module in model.modules:
        if ".backward(" not in module.source.text or "ccelerator" not in module.source.text:
            continue
        for function in module.all_functions:
            losses = [n for n in own_nodes(function) if isinstance(n, ast.Call) and _raw(n)]
            found = training(model, function) if losses else None
            if (
                found is None
                or not steps_optimizer(function)
                or _leaves_nothing_out(model, module, found)
            ):
                continue
            chosen = _chosen(function)
            for call in losses:
                group = model.call_at(call)
                known = group is not None and group.site.name != ".backward"
                if call not in chosen and not known and not _is_over_before(function, call):
                    accumulates = not _made_without_accumulation(model, function)
                    yield _finding(module, found, call, SEVERITY if accumulates else Severity.INFO)


def _leaves_nothing_out(model: Model, module: Module, found: Training) -> bool:
    """Whether `accelerator.backward(loss)` would be `loss.backward()`: nothing accumulates, scales or takes the loss.

    UniVLA 0ab9e9d vla-scripts/finetune_calvin.py:453: `Accelerator(mixed_precision="bf16")`, started by torchrun.
    """
    made = [call for function in module.all_functions for call in accelerators(function)]
    return (
        bool(made)
        and model.starts_by_torch(module)
        and all(_plain(keyword) for call in made for keyword in call.keywords)
        and found.of("accumulate") is None
    )


def _is_over_before(function: Function, call: ast.Call) -> bool:
    """Whether a function makes its Accelerator below the loops in which a loss goes backward.

    Push-T b9cb563 Copy_of_diffusion_policy_vision_pusht_demo.py:1460: to load a state, behind a training without it.
    """
    ends = [
        loop.end_lineno or 0
        for loop in own_nodes(function, ast.For, ast.While)
        if any(each is call for each in walk(loop, ast.Call))
    ]
    made = accelerators(function)
    return bool(made) and min(each.lineno for each in made) > max(ends, default=call.lineno)


def _plain(keyword: ast.keyword) -> bool:
    """Whether an argument of an Accelerator leaves its `backward` as it is."""
    if keyword.arg in _CHANGES:
        return isinstance(keyword.value, ast.Constant) and keyword.value.value in _CHANGES_NOTHING
    return keyword.arg is not None and not keyword.arg.endswith(("plugin", "plugins", "config"))


def _raw(call: ast.Call) -> bool:
    """Whether a call is `loss.backward()` on a name or attribute; engines take the loss as argument."""
    match call.func:
        case ast.Attribute(attr="backward", value=ast.Name() | ast.Attribute() as loss):
            return not call.args and "engine" not in ast.unparse(loss)
    return False


def _chosen(function: Function) -> set[ast.Call]:
    """The calls in an `if` that asks for the way back, or whose other arm hands its loss to something."""
    found: set[ast.Call] = set()
    for node in own_nodes(function):
        if isinstance(node, ast.If):
            calls = [
                c for s in (*node.body, *node.orelse) for c in walk(s) if isinstance(c, ast.Call)
            ]
            handed = any(last_name(c) == "backward" and c.args for c in calls)
            if _WAYS.search(ast.unparse(node.test)) or (node.orelse and handed):
                found.update(calls)
    return found


def _made_without_accumulation(model: Model, function: Function) -> bool:
    """Whether whoever makes the object that trains has set the number of accumulated batches to 1: nothing is to divide.

    gritlm 9710681 gritlm/training/run.py:102: `training_args.gradient_accumulation_steps = 1` where its trainer, which divides
    by its chunks itself, takes the place of the library's.
    """
    cls = next((each.cls for each in function.outward() if each.cls is not None), None)
    calls = namings(model.program, cls.name).calls if cls is not None else ()
    return bool(calls) and all(
        any(
            name.endswith(_ACCUMULATED) and any(map(_is_one, values))
            for name, values in assignments(user).items()
        )
        for user, _ in calls
    )


def _is_one(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value == 1


def _finding(module: Module, found: Training, call: ast.Call, severity: Severity) -> Finding:
    assert isinstance(call.func, ast.Attribute)
    loss = source_of(module, call.func.value)
    options = "".join(f", {source_of(module, k)}" for k in call.keywords)
    right = f"{found.text}.backward({loss}{options})"
    return Finding(
        CODE,
        NAME,
        severity,
        f"`{loss}` goes backward past the Accelerator: it is not divided by the accumulated batches, not "
        f"scaled for fp16, and DeepSpeed never sees it. Call `{right}`.",
        place_of(module, call),
        (related(module, found.calls[0].site.node, "the Accelerator that trains here"),)
        if found.calls[0].site.module is module
        else (),
        Fix(Applicability.UNSAFE, f"Call `{right}`", (Replace(span_of(call), right),)),
    )
