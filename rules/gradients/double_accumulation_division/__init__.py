"""The loss is divided by the number of accumulated batches, and `accelerator.backward` divides it again.

## What it does
Finds `accelerator.backward(loss)` where `loss` was divided by `accelerator.gradient_accumulation_steps`, or by
what the Accelerator of the same function was given as `gradient_accumulation_steps`.

## Why it is bad
`accelerator.backward` divides by the same number itself. Accumulating four batches, the gradient is a
quarter of what it should be, and the learning rate is in effect a quarter of what was set; on one batch
nothing is to be seen.

## Example
```python
with accelerator.accumulate(model):
    loss = model(batch).loss / accelerator.gradient_accumulation_steps
    accelerator.backward(loss)
```

## Use instead
```python
with accelerator.accumulate(model):
    loss = model(batch).loss
    accelerator.backward(loss)
```

## Fix safety
Unsafe: gradients become larger, as they were meant to be.

## Known limits
Silent where the Accelerator is not told the number (then the division is right), and where the loss comes
from another function.

## References
- accelerate 1.15.0 accelerate/accelerator.py:2851: `loss = loss / self.gradient_accumulation_steps`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.model import Model, place_of, related, source_of, span_of
from distlint.analysis.program.syntax import own_nodes
from distlint.analysis.questions.accelerating import accelerators
from distlint.edits import Delete, Replace
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.program.definitions import Function

CODE = "DL606"
NAME = "double-accumulation-division"
SEVERITY = Severity.ERROR
STATUS = Status.PREVIEW
LITERALS = ()

_STEPS = "gradient_accumulation_steps"


def check(model: Model) -> Iterator[Finding]:
    """Each loss that is divided before the Accelerator divides it."""
    for call in model.calls("accelerate.Accelerator.backward"):
        site = call.site
        if not site.node.args or not isinstance(site.node.func, ast.Attribute):
            continue
        numbers = {f"{ast.unparse(site.node.func.value)}.{_STEPS}", *_given(site.function)}
        found = _division(site, numbers)
        if found is not None:
            yield _finding(site, *found)


def _given(function: Function) -> Iterator[str]:
    """What the Accelerators of a function, and of those around it, are told to accumulate."""
    for around in function.outward():
        for keyword in (k for call in accelerators(around) for k in call.keywords):
            if keyword.arg == _STEPS and not isinstance(keyword.value, ast.Constant):
                yield ast.unparse(keyword.value)


def _division(site: CallSite, numbers: set[str]) -> tuple[ast.expr, ast.stmt | None] | None:
    """The division that the loss went through, and its statement where that does nothing else."""
    loss = site.node.args[0]
    if _is_division(loss, numbers):
        return loss, None
    if not isinstance(loss, ast.Name):
        return None
    line = site.node.lineno
    written = [
        n
        for n in own_nodes(site.function, ast.Assign, ast.AugAssign)
        if loss.id in _targets(n) and n.lineno < line
    ]
    last = max(written, key=lambda n: n.lineno, default=None)
    match last:
        case ast.Assign(value=value) if _is_division(value, numbers):
            assert isinstance(value, ast.BinOp)
            alone = isinstance(value.left, ast.Name) and value.left.id == loss.id
            return value, last if alone else None
        case ast.AugAssign(op=ast.Div(), value=value) if ast.unparse(value) in numbers:
            return value, last
    return None


def _is_division(node: ast.expr, numbers: set[str]) -> bool:
    match node:
        case ast.BinOp(op=ast.Div(), right=right):
            return ast.unparse(right) in numbers
    return False


def _targets(node: ast.AST) -> set[str]:
    match node:
        case ast.Assign(targets=targets):
            return {t.id for t in targets if isinstance(t, ast.Name)}
        case ast.AugAssign(target=ast.Name(id=name)):
            return {name}
    return set()


def _finding(site: CallSite, division: ast.expr, statement: ast.stmt | None) -> Finding:
    edit: Delete | Replace
    if statement is not None:
        edit = Delete(span_of(statement))
    else:
        assert isinstance(division, ast.BinOp)
        edit = Replace(span_of(division), source_of(site.module, division.left))
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"`{ast.unparse(site.node.func)}` divides the loss by the accumulated batches again, and the "
        "gradient is as many times too small. Drop the division.",
        place_of(site.module, site.node),
        (related(site.module, statement or division, "divided here already"),),
        Fix(Applicability.UNSAFE, "Drop the division", (edit,)),
    )
