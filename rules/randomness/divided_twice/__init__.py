"""accelerate divides once more what a DistributedSampler has divided already.

## What it does
Finds a loader with a `DistributedSampler` that is given to `accelerator.prepare()`, in the same function, from a helper,
or kept by the object whose method prepares it. Also a whole number, as that of the epochs, for which the length of a
prepared loader, which counts the batches of one process, is divided by `accelerator.num_processes` once more.

## Why it is bad
`prepare()` does not look at the sampler: it puts a shard of each process around it. On four ranks the sampler gives
each a quarter, and the shard gives each the quarter of its quarter: three of four samples are never trained on in an
epoch, and the progress, the schedule and the number of steps are of a fourth of the data. Nothing fails.

## Example
```python
loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data))
model, loader = accelerator.prepare(model, loader)
```

## Use instead
```python
loader = DataLoader(data, batch_size=8, shuffle=True)
model, loader = accelerator.prepare(model, loader)
```

## Fix safety
Shown only: each epoch has as many more steps as there are ranks, for which the schedule is to be made.

## Known limits
Silent where the loader, or its sampler, may come from somewhere that is not seen, and for a sampler that is told
another number of replicas than there are ranks; on lengths where the Accelerator is made elsewhere or is told how to split batches,
or where the number of processes is multiplied, or added to what counts the steps.

## References
- accelerate 1.15.0 accelerate/data_loader.py:1254: `BatchSamplerShard` around whatever batch sampler there is
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.model import Model, place_of, related
from distlint.analysis.questions.origins import Origin, origins
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.knowledge.conventions import LOADER
from distlint.nodes import last_name
from distlint.patterns import pattern
from distlint.rule import Status

from .rounds import divided_again

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.program.definitions import Function
    from distlint.analysis.questions.lengths import Length

CODE = "DL408"
NAME = "divided-twice"
SEVERITY = Severity.ERROR
STATUS = Status.PREVIEW
LITERALS = (b"DistributedSampler", b"num_processes")

_PREPARE = "accelerate.Accelerator.prepare"
_SAMPLER = "torch.utils.data.DistributedSampler"
_SEVERAL = pattern(r"dist|world|rank|process|gpu", re.IGNORECASE)
"""Words of a test for several ranks."""


def check(model: Model) -> Iterator[Finding]:
    """Each loader over a part of the data that is prepared."""
    functions: dict[Function, None] = {}
    seen: set[ast.Call] = set()
    for call in model.calls(_PREPARE, ".prepare"):
        site = call.site
        if site.name != _PREPARE and not _is_accelerators(site.node.func):
            continue
        functions[site.function] = None
        for argument in site.node.args:
            loaders = _loaders(model, site, argument)
            samplers = [each for made in loaders if (each := _sampler(model, made)) is not None]
            if samplers and samplers[0].call not in seen and not any(map(_has_all, loaders)):
                seen.update(each.call for each in samplers)
                yield _finding(site, argument, samplers[0])
    for function in functions:
        for number, length in divided_again(model, function):
            yield _of_rounds(function, number, length)


def _is_accelerators(called: ast.expr) -> bool:
    """Whether a method is one of what is called the accelerator, whatever made it."""
    return isinstance(called, ast.Attribute) and last_name(called.value) == "accelerator"


def _loaders(model: Model, site: CallSite, argument: ast.expr) -> list[Origin]:
    """The calls that make a loader which is prepared; also where a subclass keeps it.

    align-anything 3f9decc align_anything/trainers/base/supervised_trainer.py:313: each trainer's `init_datasets` keeps
    what `get_dataloaders` of the base class makes.
    """
    found = origins(model, site.function, argument)
    match argument:
        case ast.Attribute(value=ast.Name(id="self"), attr=attr) if site.function.cls is not None:
            for cls in model.program.subclasses(site.function.cls):
                for method in cls.self_assigned.get(attr, ()):
                    found += origins(model, method, argument)
    return [each for each in found if each is not None and each.meaning == LOADER]


def _has_all(made: Origin) -> bool:
    """Whether a loader is surely of the whole data set, as one for accelerate is."""
    return all(k.arg not in (None, "sampler", "batch_sampler") for k in made.call.keywords)


def _sampler(model: Model, made: Origin) -> Origin | None:
    """The sampler of this rank's part that a loader has on several ranks; None where it may have another."""
    given = next((k.value for k in made.call.keywords if k.arg == "sampler"), None)
    if given is None:
        return None
    match given:
        case ast.IfExp(test=test, body=body, orelse=ast.Constant(value=None)) if _SEVERAL.search(
            ast.unparse(test)
        ):
            given = body
    (first, *others) = origins(model, made.function, given)
    if first is None or others or first.meaning != _SAMPLER:
        return None
    counted = (k.value for k in first.call.keywords if k.arg == "num_replicas")
    return None if any(isinstance(each, ast.Constant) for each in counted) else first


def _finding(site: CallSite, argument: ast.expr, sampler: Origin) -> Finding:
    advice = "Give the loader no sampler: `prepare()` divides it"
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"`prepare()` divides `{ast.unparse(argument)}` once more, which a `DistributedSampler` has divided already: "
        f"on four ranks each epoch goes through a quarter of the data. {advice}.",
        place_of(site.module, argument),
        (related(sampler.function.module, sampler.call, "divided here"),),
        Fix(Applicability.DISPLAY, advice),
    )


def _of_rounds(function: Function, number: ast.expr, length: Length) -> Finding:
    module, text = function.module, ast.unparse(length.node)
    advice = "Leave out the number of processes"
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"`{text}` counts the batches of one process already and is divided by the number of processes once more: on four "
        f"processes this number is a quarter of what it is on one. {advice}.",
        place_of(module, number),
        (related(module, length.prepared, "divided between the processes here"),),
        Fix(Applicability.DISPLAY, advice),
    )
