"""The default process group is made where there is one already.

## What it does
Finds `torch.distributed.init_process_group()` behind another call that has made the default group: torch's own, that
of a library or a project's setup, or `Accelerator()`. Through calls at any depth. Also in what Ray's `TorchTrainer` runs
on each worker, which makes the group first.

## Why it is bad
There is one default group, and torch refuses to make it again: the call raises on every rank. What libraries have
(`deepspeed.init_distributed()`, `Accelerator()`) takes the group that is there; torch's own function does not.

## Errors you may see
- `trying to initialize the default process group twice!`

## Example
```python
accelerator = Accelerator()
dist.init_process_group("nccl")
```

## Use instead
```python
accelerator = Accelerator()
```
or
```python
dist.init_process_group("nccl")
accelerator = Accelerator()
```

## Fix safety
Shown only: which of the two chooses backend, timeout and device has to be decided by hand.

## Known limits
Silent where a condition may ask whether there is a group, where a handler may catch what the call raises, and behind
`destroy_process_group()`.

## References
- torch 2.13.0 torch/distributed/distributed_c10d.py, `init_process_group`
- Megatron-LM pull request 521: the call stood behind the test of `is_initialized()`, not in its other arm
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.model import Model, place_of, related
from distlint.analysis.questions.group_life import made_in_workers, made_twice
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.nodes import last_name
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.program.definitions import Module

CODE = "DL113"
NAME = "group-made-twice"
SEVERITY = Severity.ERROR
STATUS = Status.PREVIEW
LITERALS = ()


def check(model: Model) -> Iterator[Finding]:
    """Each call that makes a group where there is one."""
    if not any("init_process_group" in m.source.text for m in model.program.modules.values()):
        return
    for pair in made_twice(model):
        first = pair.first.site
        yield _finding(first.module, first.node, pair.second.site, certain=pair.certain)
    for module, trainer, met in made_in_workers(model):
        yield _finding(module, trainer, met.site, certain=not any(met.guards))


def _finding(module: Module, first: ast.Call, second: CallSite, *, certain: bool) -> Finding:
    where = f"line {first.lineno}"
    if module is not second.module:
        where += f" of {module.path}"
    advice = "Make the group once, or ask `is_initialized()` first"
    return Finding(
        CODE,
        NAME,
        SEVERITY if certain else Severity.WARNING,
        f"`{last_name(first.func)}()` ({where}) has made the process group already: this raises on every rank. {advice}.",
        place_of(second.module, second.node),
        (related(module, first, "the group is made here", needed=True),),
        Fix(Applicability.DISPLAY, advice),
    )
