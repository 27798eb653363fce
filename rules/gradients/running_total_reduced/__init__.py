"""A running total is reduced over the ranks in each round, and counts what was reduced before again.

## What it does
Finds `dist.all_reduce(total)` in a loop that adds to `total` in each round and never begins it anew.

## Why it is bad
After the first round every rank holds the sum over all ranks. In the second, each adds its own part to that sum,
and `all_reduce` adds these sums up: on eight GPUs the first batch counts eight times, then sixty-four times. The
number grows with every round, and with the number of GPUs.

## Example
```python
for batch in loader:
    total += model(batch).sum()
    dist.all_reduce(total)
```

## Use instead
```python
for batch in loader:
    total += model(batch).sum()
dist.all_reduce(total)
```

## Fix safety
Unsafe: the number is another one, which is what it is about. Shown only where the loop uses the total.

## Known limits
Only sums, in the loop itself: an `all_reduce` under a condition may be that of the last round.

## References
- torch 2.13.0 torch/distributed/distributed_c10d.py: `all_reduce` leaves its outcome in the tensor
- fairchem issue 75
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.model import Model, place_of, related, source_of, span_of
from distlint.analysis.program.syntax import own_nodes, target_names
from distlint.edits import Delete, Insert
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.nodes import walk
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.live.summaries import CallGroup

CODE = "DL620"
NAME = "running-total-reduced"
SEVERITY = Severity.ERROR
STATUS = Status.PREVIEW
LITERALS = ()

_Loop = ast.For | ast.AsyncFor | ast.While


def check(model: Model) -> Iterator[Finding]:
    """Each total that is reduced in the loop which adds to it."""
    for call in model.calls("torch.distributed.all_reduce"):
        total = call.site.argument_node(0, "tensor")
        loop = call.site.loops[-1] if call.site.loops else None
        if not isinstance(total, ast.Name | ast.Attribute) or not isinstance(loop, _Loop):
            continue
        if call.site.statement not in loop.body or not _is_sum(call):
            continue
        added = _added(loop, ast.unparse(total), call.site.node)
        if added is not None and _begins_outside(call, loop, ast.unparse(total)):
            yield _finding(call, loop, total, added)


def _is_sum(call: CallGroup) -> bool:
    operation = call.site.argument_node(1, "op")
    waits = "async_op" not in call.site.keywords
    return waits and (operation is None or ast.unparse(operation).endswith("SUM"))


def _added(loop: _Loop, total: str, reduced: ast.Call) -> ast.stmt | None:
    """Where a loop adds to the total in front of the reduction; None where it also sets it in another way."""
    found: ast.stmt | None = None
    for node in walk(loop, ast.AugAssign, ast.Assign, ast.Call):
        match node:
            case ast.AugAssign(target=target, op=ast.Add()) if ast.unparse(target) == total:
                found = found or (node if node.lineno < reduced.lineno else None)
            case ast.Assign(targets=[target], value=ast.BinOp(op=ast.Add(), left=left)) if (
                ast.unparse(target) == ast.unparse(left) == total
            ):
                found = found or (node if node.lineno < reduced.lineno else None)
            case ast.Assign(targets=targets) if total in {
                name for target in targets for name in target_names(target)
            }:
                return None
            case ast.AugAssign(target=target) if ast.unparse(target) == total:
                return None
            case ast.Call(func=ast.Attribute(attr=attr, value=owner)) if (
                attr.endswith("_") and ast.unparse(owner) == total
            ):
                return None  # `total.zero_()`, `total.div_(world_size)`
    return found


def _begins_outside(call: CallGroup, loop: _Loop, total: str) -> bool:
    """Whether the function begins the total in front of the loop."""
    return any(
        node.lineno < loop.lineno and any(total in target_names(target) for target in node.targets)
        for node in own_nodes(call.site.function, ast.Assign)
    )


def _finding(call: CallGroup, loop: _Loop, total: ast.expr, added: ast.stmt) -> Finding:
    site = call.site
    text = ast.unparse(total)
    uses = [n for n in walk(loop) if isinstance(n, ast.expr) and ast.unparse(n) == text]
    own = {id(n) for statement in (added, site.statement) for n in walk(statement)}
    edits: tuple[Delete | Insert, ...] = ()
    if all(id(n) in own for n in uses) and isinstance(site.statement, ast.Expr):
        edits = (
            Delete(span_of(site.statement)),
            Insert(span_of(loop), source_of(site.module, site.statement), after=True),
        )
    advice = "Reduce it once, behind the loop"
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"what `{text}` holds of earlier rounds is of all ranks already, and is added up over them again. "
        f"{advice}.",
        place_of(site.module, site.node),
        (related(site.module, added, "added to what was reduced"),),
        Fix(Applicability.UNSAFE if edits else Applicability.DISPLAY, advice, edits),
    )
