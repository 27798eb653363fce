"""Each rank gets its own seed before the model or the sampler that all of them share is built.

## What it does
Finds seeds that depend on the rank (`set_seed(seed + rank)`, `device_specific=True`, a function that adds
the rank) in front of what ranks must build alike: a model that FSDP shards, or a loader with accelerate's
seedable sampler, which transformers' Trainer uses unless told otherwise; the loader that shuffles and that `fit()` of
Lightning or `setup_dataloaders()` of Fabric divides, where `seed_everything` got the seed; or a copy of the model (`ModelEma(model)`) that is made before DDP
gives all ranks the weights of rank 0, and that all ranks evaluate.

## Why it is bad
The weights are drawn from the seeded streams, so each rank builds another model. FSDP then takes each
rank's shard of that rank's model and glues them together, without an error: the training starts from
weights that no initialisation would give. A seedable sampler takes its seed from the stream when it is
prepared; with another one on each rank the permutations differ, and the shards of them repeat samples and
leave others out. Measured with accelerate 1.15.0, 12 samples on 2 ranks: `[0,2,3,4,4,5,6,6,8,9,11,11]`.

## Example
```python
torch.manual_seed(seed + dist.get_rank())
model = FullyShardedDataParallel(Net())
```

## Use instead
```python
seed_everything(seed)
model = FullyShardedDataParallel(Net())
decorrelate(seed)
```

## Fix safety
Unsafe: the numbers change. The ranks start from one seed, and get streams of their own, for noise and
dropout, once everything is wrapped or prepared.

## Known limits
Silent under DDP, which sends rank 0's weights to all, but for such a copy; with `sync_module_states=True`, on the meta device,
under DeepSpeed, and where the weights come from a checkpoint. A model that the caller passes in is not
followed.

## References
- torch 2.13.0 torch/distributed/fsdp/fully_sharded_data_parallel.py: `sync_module_states` is off by default
- accelerate 1.15.0 accelerate/data_loader.py:88: the seedable sampler's seed is `torch.random.initial_seed()`
- pytorch-lightning 2.6.6 pytorch_lightning/trainer/connectors/data_connector.py:239: the seed of the sampler that
  `fit()` makes is what `seed_everything` has kept in PL_GLOBAL_SEED
- transformers 5.23.0 transformers/trainer_pt_utils.py:1508: `use_seedable_sampler` is on by default
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.model import Model, place_of, related, source_of, span_of
from distlint.analysis.questions.hazards import Hazard, shared_after
from distlint.analysis.questions.seeding import Seed, seeds
from distlint.edits import Insert, Replace
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Module

CODE = "DL402"
NAME = "rank-seed-before-init"
SEVERITY = Severity.WARNING
STATUS = Status.STABLE
LITERALS = ()


def check(model: Model) -> Iterator[Finding]:
    """Per-rank seeds in front of what the ranks must build alike; the first in each function."""
    for module in model.modules:
        done: set[object] = set()
        for seed in seeds(model, module):
            function = seed.site.function
            if not seed.per_rank or "torch" not in seed.streams or function in done:
                continue
            hazard = shared_after(model, seed)
            if hazard is not None:
                done.add(function)
                yield _finding(module, seed, hazard)


def _finding(module: Module, seed: Seed, hazard: Hazard) -> Finding:
    fix = _fix(module, seed, hazard)
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"each rank seeds differently here, and {hazard.text}. {fix.message}.",
        place_of(module, seed.site.node),
        (related(module, hazard.node, hazard.place),),
        fix,
    )


def _fix(module: Module, seed: Seed, hazard: Hazard) -> Fix:
    if hazard.statement is None and not hazard.wraps:
        advice = hazard.advice or (
            "Set `data_seed`, or seed all ranks alike and draw the noise from `generator(seed)`"
        )
        return Fix(Applicability.DISPLAY, advice)
    advice = (
        "Seed all ranks alike with `seed_everything(seed)`, and call `decorrelate(seed)` after "
        "everything is wrapped or prepared"
    )
    statement = seed.site.statement
    plain = isinstance(statement, ast.Expr) and statement.value is seed.site.node
    if seed.value is None or hazard.statement is None or not plain:
        return Fix(Applicability.DISPLAY, advice)
    text = source_of(module, seed.value)
    after = f"$decorrelate({text})"
    tests = [g for g in seed.site.guards if not g.exits]
    if any(g.taken is False for g in tests) or len(tests) > 1:
        return Fix(Applicability.DISPLAY, advice)
    if tests:
        after = f"if {source_of(module, tests[0].node)}:\n    {after}"
    return Fix(
        Applicability.UNSAFE,
        advice,
        (
            Replace(span_of(statement), f"$seed_everything({text})"),
            Insert(span_of(hazard.statement), after, after=True),
        ),
    )
