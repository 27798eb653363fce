"""A model in DistributedDataParallel is trained from a loader that gives every rank the whole data set.

## What it does
Finds a function that wraps a model in DDP or FSDP and trains it in a loop over a plain `DataLoader`: no
sampler, nothing in the data set that depends on the rank, no framework that would split it.

## Why it is bad
Each rank goes through all samples: what one computes, the others compute too, and eight GPUs take as long
for an epoch as one. With one seed on all ranks they even shuffle alike: every rank has the same batch, and
averages the same gradient with itself.

## Example
```python
model = DistributedDataParallel(model)
loader = DataLoader(data, batch_size=8, shuffle=True)
```

## Use instead
```python
model = DistributedDataParallel(model)
sampler = DistributedSampler(data)
loader = DataLoader(data, batch_size=8, sampler=sampler)
```
and `sampler.set_epoch(epoch)` at the start of each epoch.

## Fix safety
Shown only: batch size, learning rate and epoch length mean something else afterwards.

## Known limits
Wrapping, loader and loop have to stand in one function. Silent where the data set is iterable or sharded by
its name, where the file mentions a distributed sampler or seeds each rank differently, and where the loader
goes into another call before the loop.

## References
- torch 2.13.0 torch/utils/data/distributed.py:17
- torch 2.13.0 torch/utils/data/sampler.py:116: the seed comes from torch's default generator
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.model import Model, place_of, related
from distlint.analysis.nodes import walk
from distlint.analysis.seeding import makes_ranks_differ
from distlint.analysis.syntax import assignments, own_nodes
from distlint.analysis.values import Spread
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.knowledge import facts
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.ir import CallSite
    from distlint.analysis.program import Function

CODE = "DL404"
NAME = "missing-distributed-sampler"
SEVERITY = Severity.ERROR
STATUS = Status.STABLE
LITERALS = ()

_WRAPS = frozenset({"ddp", "fsdp1", "fsdp2"})
_LOADER = "torch.utils.data.DataLoader"
_SPLIT = ("sampler", "batch_sampler")
_SHARDED_WORDS = ("iter", "stream", "shard", "rank", "webdataset", "split_dataset_by_node")
_BACKWARD = ("backward", "manual_backward")


def check(model: Model) -> Iterator[Finding]:
    """Each plain loader that feeds a wrapped model."""
    for module in model.modules:
        text = module.source.text
        if "DataLoader" not in text or "DistributedSampler" in text:
            continue
        for call in model.calls(_LOADER, module=module):
            site = call.site
            if call.guarded_by_rank or any(word in site.keywords for word in _SPLIT):
                continue
            if _is_split(site) or makes_ranks_differ(model, module):
                continue
            wrap = _wrap(model, site.function)
            loop = _loop(site.function, site.node)
            if wrap is not None and loop is not None:
                yield Finding(
                    CODE,
                    NAME,
                    SEVERITY,
                    "every rank goes through the whole data set: the ranks repeat one another's "
                    "work, and eight take as long for an epoch as one. Give each its part with "
                    "`DistributedSampler`.",
                    place_of(module, site.node),
                    (
                        related(module, wrap.node, "several ranks train this model"),
                        related(module, loop, "each rank sees every sample here"),
                    ),
                    Fix(Applicability.DISPLAY, "Give each rank its part with `DistributedSampler`"),
                )


def _is_split(site: CallSite) -> bool:
    """Whether the data set may already be this rank's part, or splits itself."""
    data = site.argument(0, "dataset")
    node = site.argument_node(0, "dataset")
    if data is None or node is None or data.spread is not Spread.UNIFORM or "rank" in data.tags:
        return True
    if len(site.node.args) > 3 or any(k.arg is None for k in site.node.keywords):
        return True
    nodes = [node]
    if isinstance(node, ast.Name):
        nodes += assignments(site.function).get(node.id, [])
    return any(word in ast.unparse(n).lower() for n in nodes for word in _SHARDED_WORDS)


def _wrap(model: Model, function: Function) -> CallSite | None:
    """Where the function wraps a model by hand; None where it does not, or prepares with a framework."""
    runs = model.runs_of(function)
    found = None
    for _, run in runs.runs() if runs is not None else ():
        for site in run.calls:
            fact = facts.wrapper(site.name)
            if fact is not None and fact.kinds[0] in _WRAPS:
                found = site
            elif fact is not None and fact.kinds[0] != "compile":
                return None
    return found


def _loop(function: Function, loader: ast.Call) -> ast.For | None:
    """The training loop over the loader: nothing but the loop uses the variable that holds it."""
    name = next(
        (
            s.targets[0].id
            for s in own_nodes(function)
            if isinstance(s, ast.Assign)
            and s.value is loader
            and len(s.targets) == 1
            and isinstance(s.targets[0], ast.Name)
        ),
        None,
    )
    if name is None or len(assignments(function).get(name, [])) != 1:
        return None
    for node in own_nodes(function):
        if isinstance(node, ast.Call) and any(
            isinstance(a, ast.Name) and a.id == name
            for a in (*node.args, *(k.value for k in node.keywords))
            if ast.unparse(node.func) not in ("enumerate", "len", "tqdm", "tqdm.tqdm", "iter")
        ):
            return None
    for node in own_nodes(function):
        if isinstance(node, ast.For) and any(
            isinstance(n, ast.Name) and n.id == name for n in walk(node.iter)
        ):
            for inner in walk(node):
                if (
                    isinstance(inner, ast.Call)
                    and isinstance(inner.func, ast.Attribute)
                    and inner.func.attr in _BACKWARD
                ):
                    return node
    return None
