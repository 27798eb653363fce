"""CUDA_VISIBLE_DEVICES is set after CUDA has started, and changes nothing.

## What it does
Finds assignments to CUDA_VISIBLE_DEVICES below a call that starts CUDA, in the same block, the blocks
around it, or at the top of a file that is imported before: `torch.cuda.is_available()`, `set_device`,
`model.cuda()`, `tensor.to("cuda")`.

## Why it is bad
The driver reads the variable once, at its first call. What is written later reaches child processes only:
this process keeps the GPUs that it saw, each rank computes on `cuda:0` of all of them, and the memory of the
first GPU fills up while the others idle.

## Errors you may see
- `Cannot re-initialize CUDA in forked subprocess`
- `invalid device ordinal`

## Example
```python
if torch.cuda.is_available():
    os.environ["CUDA_VISIBLE_DEVICES"] = str(local_rank)
```

## Use instead
```python
torch.cuda.set_device(local_rank)
```
or the variable in the environment of the launcher, before the process starts.

## Fix safety
Shown only: setting the device instead changes which numbers the rest of the program has to use.

## Known limits
Information where each rank has taken its own device by `set_device` above, which is then all that counts.
Calls through functions of the program are not followed, nor what importing a library does. An assignment that child
processes are meant to inherit is not reported where the function starts one below it, or where it is part of making an object of which another method
spawns ranks.

## References
- CUDA C++ Programming Guide, "CUDA Environment Variables"
- torch 2.13.0 torch/cuda/__init__.py:169, `is_available`

Not proven: needs a CUDA driver, which alone reads the variable once.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.model import Model, place_of, related
from distlint.analysis.program.environment import Use, accesses
from distlint.analysis.questions.devices_set_late import chosen_by_rank, set_too_late
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.knowledge.devices import VISIBLE_DEVICES
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Module

CODE = "DL502"
NAME = "cuda-visible-devices-set-late"
SEVERITY = Severity.WARNING
STATUS = Status.STABLE
LITERALS = (b"CUDA_VISIBLE_DEVICES",)
NEEDS_RANKS = False


def check(model: Model) -> Iterator[Finding]:
    """Each assignment that comes too late."""
    for module in model.modules:
        if "CUDA_VISIBLE_DEVICES" not in module.source.text:
            continue
        for access in accesses(model.program, module):
            if access.use is not Use.WRITE or access.name not in VISIBLE_DEVICES:
                continue
            started = set_too_late(model, module, access)
            if started is not None:
                where, started_by = started
                chosen = chosen_by_rank(model, module, access)
                advice = (
                    "Drop it: `set_device` has chosen the device"
                    if chosen
                    else "Set it before the process starts, or choose the device by `set_device`"
                )
                yield Finding(
                    CODE,
                    NAME,
                    Severity.INFO if chosen else SEVERITY,
                    f"CUDA has started at {_line(module, where, started_by)} and has read {access.name}: this "
                    f"changes nothing for this process, and each rank keeps all GPUs. {advice}.",
                    place_of(module, access.node),
                    (related(where, started_by, "CUDA starts here"),),
                    Fix(Applicability.DISPLAY, advice),
                )


def _line(module: Module, where: Module, node: ast.expr) -> str:
    return f"line {node.lineno}" + ("" if where is module else f" of `{where.name}`")
