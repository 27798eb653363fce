"""A folder is listed while other ranks still write their share of the files into it.

## What it does
Reports a folder into which each rank writes files of its own (its rank, or the samples that it was given, are in the
names), and which is then listed, globbed, removed, scored (`compute_fid`) or given to another program with no collective
between the two. Calls are followed: the writing
and the listing may stand in functions that one function calls one after the other.

## Why it is bad
The first rank that has done its share sees some of the files of the others, and half-written ones among them. Each rank
counts another number of samples: data sets of different lengths, shares that overlap, loops that end at different
steps and wait for one another for ever. What is removed takes with it what another rank has just begun to write.

## Errors you may see
- `No such file or directory`
- `PytorchStreamReader failed`
- `cannot identify image file`

## Example
```python
for index, sample in zip(indices[rank::world_size], samples):
    torch.save(encode(sample), folder / f"{index}.pt")
files = sorted(folder.glob("*.pt"))
```

## Use instead
```python
for index, sample in zip(indices[rank::world_size], samples):
    torch.save(encode(sample), folder / f"{index}.pt")
dist.barrier()
files = sorted(folder.glob("*.pt"))
```

## Fix safety
Shown only: whether all ranks come to the place where a barrier belongs is not looked at.

## Known limits
Paths are compared as written, through variables that are assigned once, through arguments and what a constructor keeps
of them. Any collective, and any call that by its name is one, between the two counts as waiting, also in a branch. What
threads of the process itself still have to write is not looked at.

## References
- torch 2.13.0 torch/distributed/distributed_c10d.py: `barrier`
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.model import place_of, related
from distlint.analysis.questions.shares_of_files import Does, used_early
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.model import Model

CODE = "DL311"
NAME = "listed-before-all-wrote"
SEVERITY = Severity.WARNING
STATUS = Status.PREVIEW
LITERALS = ()

_DOES = {
    Does.LIST: ("listed", "Each rank sees another part of the files"),
    Does.REMOVE: ("moved or removed", "What a slower rank writes is lost"),
}


def check(model: Model) -> Iterator[Finding]:
    """Each folder that is used before all ranks have written into it."""
    for early in model.answer(used_early):
        written, used = early.written, early.used
        if not used.module.source.reported:
            continue
        does, harm = _DOES[used.does]
        advice = "Let all ranks wait in front of it: `dist.barrier()`"
        yield Finding(
            CODE,
            NAME,
            SEVERITY,
            f"the folder is {does} while other ranks still write their share into it "
            f"(line {written.node.lineno}): nothing between makes them wait. {harm}. {advice}.",
            place_of(used.module, used.node),
            (related(written.module, written.node, "each rank writes files of its own"),),
            Fix(Applicability.DISPLAY, advice),
        )
