"""The ranks divide the work, and only one rank's results are written.

## What it does
Follows what a loop over this rank's share (a loader that was prepared or has a distributed sampler, a slice
by rank) puts into a list, dict or table, and reports where rank 0 alone writes it to a file, or every rank
writes it to the same one, though nothing gathered it. Also a list that all ranks gather, and into which rank 0
alone has put what it made of its share, and a loop over its share that rank 0 alone goes through, to evaluate or to
write results.

## Why it is bad
What the other ranks computed is thrown away: on eight GPUs seven eighths of the predictions, captions or
embeddings are missing from the file, and nothing says so. A score computed from it is that of a part.

## Example
```python
for batch in loader:  # loader has a DistributedSampler
    results += model.generate(batch)
if rank == 0:
    json.dump(results, file)
```

## Use instead
```python
for batch in loader:
    results += model.generate(batch)
every = [None] * dist.get_world_size()
dist.all_gather_object(every, results)
if rank == 0:
    json.dump([result for part in every for result in part], file)
```

## Fix safety
Shown only: gathered parts come in the order of the ranks, and with the samples that fill the last batch up.

## Known limits
A list that is returned to code outside the program is not reported, nor a file whose name holds the rank:
there each rank keeps its part. Nor is what a loop comes to that trains on the share, a loss of the training, in a record
of what an evaluation has found or in a curve of its progress, nor what a training writes of its present batch.

## References
- torch 2.13.0 torch/distributed/distributed_c10d.py, `all_gather_object`
- nanodet issue 248: the score of the outputs of one rank
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.model import Model, place_of, related
from distlint.analysis.questions.alone import on_main_alone
from distlint.analysis.questions.reported import (
    goes_to_own_file,
    is_metric,
    is_of_training,
    writes,
)
from distlint.analysis.questions.shares.program import shares
from distlint.analysis.questions.shares.values import Kind
from distlint.findings import Finding, Severity
from distlint.nodes import last_name
from distlint.patterns import pattern
from distlint.rule import Status

from .gathered import Gathered, gathered_of_main
from .of_training import is_checkpoint, is_of_training_batch
from .unshared import Unshared, gone_through_by_main

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Module
    from distlint.analysis.questions.shares.values import Held

CODE = "DL611"
NAME = "partial-result-kept"
SEVERITY = Severity.ERROR
STATUS = Status.PREVIEW
LITERALS = ()

_PROGRESS: Final = pattern(
    r"(?:^|_)(?:steps?|seen|consumed|processed|iters?|iterations?|epochs?)(?:_|$)"
)
"""Names of counters from which a training goes on."""


def check(model: Model) -> Iterator[Finding]:
    """Each result of one rank's share that is written as if it were of all."""
    known = model.answer(shares)
    for function in known.functions(model.modules):
        for gathered in gathered_of_main(known, function):
            yield _gathered(function.module, gathered)
        for unshared in gone_through_by_main(model, known, function):
            yield _unshared(function.module, unshared)
        for call, written in writes(function):
            held = known.of(written)
            if not held.is_share or not _is_result(held) or not on_main_alone(model, call):
                continue
            if isinstance(written, ast.Call) and last_name(written) == "state_dict":
                continue  # of a scheduler that counts its share's batches: EleutherAI/sparsify 9d3b136 trainer.py:663
            if is_checkpoint(model, function, written) or goes_to_own_file(model, function, call):
                continue
            if is_of_training_batch(known, function, call, held):
                continue
            text = ast.unparse(written)
            yield Finding(
                CODE,
                NAME,
                SEVERITY,
                f"rank 0 writes `{text}` of its own share of the data, and what the other ranks computed "
                "is lost. Gather the parts first, on all ranks.",
                place_of(function.module, call),
                held.began,
            )


def _gathered(module: Module, found: Gathered) -> Finding:
    """A list that is empty on all ranks but the first when it is gathered."""
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        "rank 0 alone keeps what it made of its share of the data: the other ranks gather empty lists at line "
        f"{found.gather.lineno}, and what they computed is lost. Keep it on every rank.",
        place_of(module, found.test),
        (*found.held.began, related(module, found.gather, "gathered here")),
    )


def _unshared(module: Module, found: Unshared) -> Finding:
    """A loop over a share, in which the other ranks are not."""
    who = "the first rank of each machine" if found.of_each_machine else "rank 0"
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"{who} alone goes over its own share of the data: nobody looks at what the other ranks were given. Give it "
        "all of the data, or let every rank do its part and put the results together.",
        place_of(module, found.loop.iter),
        found.held.began,
    )


def _is_result(held: Held) -> bool:
    """Whether a value is something that was collected, rather than a loader, its settings or how far a training is.

    GaLore 2cc66f8 torchrun_main.py:465: `global_step`, and `tokens_seen` as this rank's count times the world size. Nor is a
    loss of the training one, in a record of an evaluation: offsite-tuning 4a67ffa offsite_tuning/run_clm.py:484. What a loop
    comes to that trains on the share is how the training goes: miread 466022e finetune_scibert.py:166.
    """
    if held.source is not None and held.source.trained:
        return False
    fields = held.fields or {}
    own = [name for name, value in fields.items() if value.is_share]
    beside = any(is_metric(n) and not is_of_training(n) for n in fields.keys() - {*own})
    return held.kind is not Kind.LOADER and not (
        own and all(_PROGRESS.search(name) or (beside and is_of_training(name)) for name in own)
    )
