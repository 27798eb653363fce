"""A DistributedSampler is never told the epoch, and every epoch has the same order.

## What it does
Finds a shuffling `DistributedSampler` whose loader is iterated over epochs, in a program where nothing calls
`set_epoch()`.

## Why it is bad
The sampler shuffles with a generator seeded from `seed + epoch`. The epoch stays 0 unless somebody sets it:
each rank sees the same samples in the same order in every epoch, and the same neighbours share a batch for
ever. Nothing fails; the model generalises worse than it would from the same data on one process, where the
plain random sampler shuffles anew.

## Example
```python
sampler = DistributedSampler(data)
loader = DataLoader(data, sampler=sampler)
for epoch in range(epochs):
    for batch in loader:
```

## Use instead
```python
sampler = DistributedSampler(data)
loader = DataLoader(data, sampler=sampler)
for epoch in range(epochs):
    sampler.set_epoch(epoch)
    for batch in loader:
```

## Fix safety
Unsafe: the order of the samples changes. Shown only where the loop is in another function than the sampler.

## Known limits
Silent with `shuffle=False`, for samplers of evaluation by their name, where the loader goes to a framework
that sets the epoch itself (accelerate, Lightning, Fabric, a Trainer's own methods), and where any file that
this one is linked with by imports calls `set_epoch`.

## References
- torch 2.13.0 torch/utils/data/distributed.py:149: "Set the epoch for this sampler"
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distlint.analysis.model import Model, place_of, related
from distlint.analysis.program.definitions import Function, Module
from distlint.analysis.program.environment import statements
from distlint.analysis.program.linked import linked
from distlint.analysis.program.syntax import own_nodes
from distlint.findings import Finding, Severity
from distlint.knowledge import facts, randomness
from distlint.nodes import walk
from distlint.rule import Status

from .repair import holder_of, repaired

CODE = "DL403"
NAME = "missing-set-epoch"
SEVERITY = Severity.ERROR
STATUS = Status.STABLE
LITERALS = (b"DistributedSampler", b"set_epoch")

_SAMPLER = "torch.utils.data.DistributedSampler"
_EVALUATION = ("val", "test", "eval", "infer", "predict", "dev", "feature")
_SETS_EPOCH = (
    "accelerate", "lightning", "pytorch_lightning", "composer", "mmengine", "ignite", "ray", "catalyst",
)  # fmt: skip
"""Libraries that set the epoch of the samplers of loaders that they are given."""


def check(model: Model) -> Iterator[Finding]:
    """Each shuffling sampler that is used over epochs and not told which."""
    for module in model.modules:
        if "DistributedSampler" not in module.source.text:
            continue
        made = [
            (function, call)
            for function in module.all_functions
            for call in own_nodes(function)
            if isinstance(call, ast.Call)
            and model.resolve(module, call.func) == _SAMPLER
            and _shuffles(call)
            and not _for_evaluation(function, call)
            and not _by_framework(model, function)
        ]
        if not made:
            continue
        around = linked(model.program, module)
        if any("set_epoch" in m.source.text or _imports_framework(m) for m in around):
            continue
        for function, call in made:
            found = _epochs(function, around)
            if found is not None:
                yield _finding(module, function, call, *found)


def _shuffles(call: ast.Call) -> bool:
    row = randomness.SAMPLERS[_SAMPLER]
    given = [k.value for k in call.keywords if k.arg == row.shuffle_keyword] or call.args[3:4]
    # An argument (`shuffle=args.shuffle`) may be anything: silent unless it is plainly on.
    return not given or (isinstance(given[0], ast.Constant) and given[0].value is True)


def _for_evaluation(function: Function, call: ast.Call) -> bool:
    names = [function.name, *(n for n in (holder_of(function, call),) if n)]
    names += [ast.unparse(a) for a in call.args[:1]]
    names += [ast.unparse(k.value) for k in call.keywords if k.arg == "dataset"]
    return any(word in name.lower() for name in names for word in _EVALUATION)


def _by_framework(model: Model, function: Function) -> bool:
    return function.cls is not None and facts.is_training_class(model.program.mro(function.cls)[1])


def _imports_framework(module: Module) -> bool:
    return any(name.partition(".")[0] in _SETS_EPOCH for name in module.imports.values())


def _epochs(function: Function, around: set[Module]) -> tuple[Module, ast.For] | None:
    """The loop over epochs: in the sampler's function, else in its file, else in a linked one."""
    own = [n for n in own_nodes(function) if isinstance(n, ast.For) and _is_epochs(n)]
    if own:
        return function.module, min(own, key=lambda n: n.lineno)
    for module in sorted(around, key=lambda m: (m is not function.module, m.path)):
        for node in walk(module.source.tree):
            if isinstance(node, ast.For) and _is_epochs(node):
                return module, node
    return None


def _is_epochs(loop: ast.For) -> bool:
    named = isinstance(loop.target, ast.Name) and "epoch" in loop.target.id.lower()
    return named and any(
        isinstance(s, ast.For) or (isinstance(s, ast.Expr | ast.Assign) and _calls_training(s))
        for s, _ in statements(loop.body)
    )


def _calls_training(statement: ast.Expr | ast.Assign) -> bool:
    value = statement.value
    return isinstance(value, ast.Call) and "train" in ast.unparse(value.func).lower()


def _finding(
    module: Module, function: Function, call: ast.Call, where: Module, loop: ast.For
) -> Finding:
    fix = repaired(function, call, loop)
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        "no one tells this sampler the epoch: every rank sees its samples in the same order in each "
        f"epoch. {fix.message}.",
        place_of(module, call),
        (related(where, loop, "the epochs"),),
        fix,
    )
