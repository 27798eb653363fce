"""A layer that no forward uses, in a model that DDP wraps.

## What it does
Finds layers that `__init__` makes and nothing that `forward` reaches reads, in a model that
`DistributedDataParallel` gets without `find_unused_parameters=True`. Also layers that `forward` uses only where
a random number says so.

## Why it is bad
DDP waits in each backward for the gradient of every parameter that requires one. Those of the layer never come:
the gradients of the bucket that it shares with other layers are not averaged, and the second forward raises.
Where a random number decides, ranks that draw alike raise after the first step without the layer.

## Errors you may see
- `Expected to have finished reduction in the prior iteration before starting a new one.`
- `Parameter indices which did not receive grad for rank 0`

## Example
```python
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 8)
        self.old_head = nn.Linear(8, 2)

    def forward(self, x):
        return self.body(x)

model = DistributedDataParallel(Net())
```

## Use instead
Take the layer out, or freeze it with `requires_grad_(False)`. Where other inputs do use it:
```python
model = DistributedDataParallel(Net(), find_unused_parameters=True)
```

## Fix safety
Unsafe: DDP looks through the graph after each forward, which takes time.

## Known limits
Only models whose class is in the program, and layers of `torch.nn` that have parameters. Silent where a class
goes through its layers by name or in a loop (`children()`, `getattr`), or freezes any of them.

## References
- torch 2.13.0 torch/nn/parallel/distributed.py:1774: the reducer is asked about the last step before a forward
- pytorch issue 112152, SeqDiffuSeq issue 25
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.model import Model, place_of, related, span_of
from distlint.analysis.program.definitions import Class
from distlint.analysis.questions.built import classes_of, wrapped_classes
from distlint.analysis.questions.layers import Chance, Layer, unused
from distlint.analysis.questions.sharding import shown
from distlint.edits import Replace
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.repairs.arguments import with_keyword
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite

CODE = "DL615"
NAME = "unused-parameters-under-ddp"
SEVERITY = Severity.ERROR
STATUS = Status.PREVIEW
LITERALS = ()

_DDP = "torch.nn.parallel.DistributedDataParallel"
_PREPARE = "accelerate.Accelerator.prepare"
_ASKED = frozenset({"find_unused_parameters", "static_graph"})


def check(model: Model) -> Iterator[Finding]:
    """Each layer without a gradient in a model that DDP wraps."""
    seen: set[int] = set()
    for wrap, cls in _wrapped(model):
        for layer, chance in unused(model, cls):
            if id(layer.node) not in seen and layer.cls.module.source.reported:
                seen.add(id(layer.node))
                yield _finding(wrap, layer, chance)


def _wrapped(model: Model) -> Iterator[tuple[CallSite, Class]]:
    """The calls after which DDP waits for all parameters, each with the one class that the model is of."""
    for call in model.calls(_DDP, _PREPARE):
        site = call.site
        words = {k.arg for k in site.node.keywords if getattr(k.value, "value", None) is not False}
        if None in words or words & _ASKED or "requires_grad" in ast.unparse(site.function.node):
            continue
        if site.name == _DDP:
            kinds = [wrapped_classes(model, site)]
        elif _may_search(model) or shown(model):
            continue
        else:
            kinds = [classes_of(model, site.function, argument) for argument in site.node.args]
        for classes in kinds:
            only = next(iter(classes)) if len(classes) == 1 else None
            if only is not None:
                yield site, only


def _may_search(model: Model) -> bool:
    """Whether the program gives an Accelerator settings for DDP."""
    modules = model.program.modules.values()
    return any("DistributedDataParallelKwargs" in module.source.text for module in modules)


def _finding(wrap: CallSite, layer: Layer, chance: Chance | None) -> Finding:
    advice = "Take the layer out, or give DDP `find_unused_parameters=True`"
    edit: Replace | None = None
    written = next((k for k in wrap.node.keywords if k.arg == "find_unused_parameters"), None)
    if written is not None:
        edit = Replace(span_of(written.value), "True")
    elif wrap.name == _DDP:
        edit = with_keyword(wrap.module.source.text, wrap.node, "find_unused_parameters=True")
    fix = Fix(
        Applicability.UNSAFE if edit else Applicability.DISPLAY, advice, (edit,) if edit else ()
    )
    where = (
        "No forward uses this layer" if chance is None else "A random number leaves this layer out"
    )
    places = [related(wrap.module, wrap.node, "DDP waits for every parameter")]
    if chance is not None:
        places.append(related(chance.function.module, chance.test, "used by chance"))
    return Finding(
        CODE,
        NAME,
        SEVERITY if edit and chance is None else Severity.WARNING,
        f"{where}, DDP waits for its gradient, and the next forward raises. {advice}.",
        place_of(layer.cls.module, layer.node),
        tuple(places),
        fix,
    )
