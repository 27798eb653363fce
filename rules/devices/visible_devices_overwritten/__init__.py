"""CUDA_VISIBLE_DEVICES is set to the rank's own number, whatever devices the process was given.

## What it does
Finds `os.environ["CUDA_VISIBLE_DEVICES"] = …` where the value is made of the rank (`rank % 8`, `LOCAL_RANK`,
`SLURM_LOCALID`, the index of a worker) and the file has not looked at the variable before.

## Why it is bad
The number counts the GPUs of the machine from 0. A job that was given GPUs 4 to 7, by Slurm or by hand, then
computes on GPUs 0 to 3, which belong to others, and two jobs on one machine share GPUs while others idle.
With a written-out number of GPUs (`rank % 8`), on machines with 4 of them ranks 4 to 7 see no device.

## Errors you may see
- `CUDA out of memory`
- `No CUDA GPUs are available`

## Example
```python
os.environ["CUDA_VISIBLE_DEVICES"] = str(rank % 8)
```

## Use instead
```python
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
```
or, where each process shall see one device, the entry of its own:
`os.environ["CUDA_VISIBLE_DEVICES"].split(",")[local_rank]`.

## Fix safety
Shown only: what else reads the number of the device is not known.

## Known limits
Silent where the variable is tested or read further up, where a list that somebody gave is indexed, for the
environment of a child process, and where CUDA has started before: then it changes nothing (DL502).

## References
- openai/guided-diffusion 22e0df8 guided_diffusion/dist_util.py:27
- facebookresearch/ijepa 52c1ae9 src/train.py:16
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.model import Model, place_of
from distlint.analysis.program.definitions import last_name
from distlint.analysis.program.environment import Access, Use, accesses
from distlint.analysis.questions.devices_set_late import set_too_late
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.knowledge.devices import VISIBLE_DEVICES
from distlint.knowledge.ranks import ENVIRONMENT
from distlint.nodes import walk
from distlint.patterns import pattern
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Module

CODE = "DL512"
NAME = "visible-devices-overwritten"
SEVERITY = Severity.WARNING
STATUS = Status.STABLE
LITERALS = (b"CUDA_VISIBLE_DEVICES",)

_RANK = pattern(r"(?:get_?)?(?:(?:local|global)_?)?rank|process_index", re.IGNORECASE)
_NUMBERS = frozenset({"rank", "local_rank"})
_FORMATS = (
    ast.BinOp, ast.BoolOp, ast.Call, ast.JoinedStr, ast.FormattedValue, ast.operator,
    ast.Name, ast.Attribute, ast.Constant, ast.expr_context,
)  # fmt: skip
"""What a number is made into a text with; an index would take an entry of a list that was given."""


def check(model: Model) -> Iterator[Finding]:
    """Each list of visible devices that the rank's number replaces."""
    for module in model.modules:
        if not any(f"{name}" in module.source.text for name in VISIBLE_DEVICES):
            continue
        found = [a for a in accesses(model.program, module) if a.name in VISIBLE_DEVICES]
        for access in found:
            if (
                access.use is Use.WRITE
                and access.value is not None
                and _is_number(model, module, access)
                and not any(_looks(other, access) for other in found)
                and set_too_late(model, module, access) is None
            ):
                yield _finding(module, access)


def _looks(other: Access, access: Access) -> bool:
    """Whether the file has asked further up what devices there are."""
    return other.use is not Use.WRITE and other.node.lineno <= access.node.lineno


def _is_number(model: Model, module: Module, access: Access) -> bool:
    """Whether a value is the number of the rank, formatted: `str(rank % 8)`, `os.environ["LOCAL_RANK"]`."""
    assert access.value is not None
    asked = [
        a.node
        for a in accesses(model.program, module)
        if a.statement is access.statement and ENVIRONMENT.get(a.name) in _NUMBERS
    ]
    inside = {id(n) for node in asked for n in walk(node)}
    rest = [n for n in walk(access.value) if id(n) not in inside]
    if not all(isinstance(n, _FORMATS) for n in rest):
        return False
    return bool(asked) or any(
        isinstance(n, ast.Name | ast.Attribute) and _RANK.fullmatch(last_name(n)) for n in rest
    )


def _finding(module: Module, access: Access) -> Finding:
    advice = "Choose among them with `torch.cuda.set_device(local_rank)`"
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"`{access.name}` becomes the number of the rank: a job that was given other devices computes on "
        f"those of somebody else, or on none. {advice}.",
        place_of(module, access.statement),
        (),
        Fix(Applicability.DISPLAY, advice),
    )
