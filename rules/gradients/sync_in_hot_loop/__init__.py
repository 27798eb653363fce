"""The cache of the GPU is emptied in each step of the training.

## What it does
Finds `torch.cuda.empty_cache()` in the innermost loop of a training, under no condition. An advice: information.

## Why it is bad
The allocator keeps what a step has freed, to give it to the next one. Emptied, it waits until the GPU is idle,
hands all of it back to the driver, and asks for it again a moment later, which is slow and waits as well. All
ranks wait for the slowest of them in the next collective. No tensor becomes smaller by it.

## Example
```python
for batch in loader:
    loss = model(batch).mean()
    loss.backward()
    optimizer.step()
    torch.cuda.empty_cache()
```

## Use instead
```python
for batch in loader:
    loss = model(batch).mean()
    loss.backward()
    optimizer.step()
```
Against fragmentation: `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`, or empty it every few hundred steps.

## Fix safety
Unsafe: where memory is fragmented, the emptied cache may be what keeps the training from running out of it.

## Known limits
Only where the call stands in the loop that goes backward. `loss.item()` in each step waits for the GPU too, and
is not reported: it is how a loss is logged.

## References
- torch 2.13.0 torch/cuda/memory.py:216: "`empty_cache` doesn't increase the amount of GPU memory available for
  PyTorch. However, it may help reduce fragmentation of GPU memory in certain cases."

Not proven: needs a GPU; nothing becomes wrong by it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distlint.analysis.model import Model, place_of, related, span_of
from distlint.analysis.questions.training import sent_backward
from distlint.edits import Delete
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.nodes import children
from distlint.rule import Status

CODE = "DL608"
NAME = "sync-in-hot-loop"
SEVERITY = Severity.INFO
STATUS = Status.PREVIEW
LITERALS = ()


def check(model: Model) -> Iterator[Finding]:
    """Each cache that is emptied in each step."""
    for call in model.calls("torch.cuda.empty_cache"):
        site = call.site
        loop = site.loops[-1] if site.loops else None
        if not isinstance(loop, ast.For | ast.While) or site.statement not in loop.body:
            continue
        backward = next(_backwards(loop), None)
        if backward is not None and isinstance(site.statement, ast.Expr):
            advice = "Leave the cache alone, or empty it every few hundred steps"
            yield Finding(
                CODE,
                NAME,
                SEVERITY,
                "in each step this waits for the GPU and gives back memory that the next step asks for again. "
                f"{advice}.",
                place_of(site.module, site.node),
                (related(site.module, backward, "a step of the training"),),
                Fix(
                    Applicability.UNSAFE,
                    "Leave the cache alone",
                    (Delete(span_of(site.statement)),),
                ),
            )


def _backwards(loop: ast.For | ast.While) -> Iterator[ast.AST]:
    """The calls of a loop that send something backward, without those of loops inside it."""
    stack: list[ast.AST] = [*loop.body]
    while stack:
        node = stack.pop()
        if sent_backward(node) is not None:
            yield node
        if not isinstance(node, ast.For | ast.While):
            stack += children(node)
