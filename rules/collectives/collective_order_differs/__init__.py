"""Ranks perform collectives in different order, number or kind.

## What it does
Reports the place where two classes of ranks are in different collectives at the same time, though both
perform both: branches on the rank that hold them in another order, one branch with a collective more
than the other, `broadcast` on one side against `all_reduce` on the other.

## Why it is bad
Ranks do not meet by the name of the call but by its turn. With gloo and NCCL the two different
collectives are paired: the job hangs, fails with a mismatch of sizes, or goes on with the contents of
the wrong tensor.

## Errors you may see
- `Detected mismatch between collectives on ranks`
- `Watchdog caught collective operation timeout`

## Example
```python
if rank == 0:
    dist.broadcast(config, 0)
    dist.barrier()
else:
    dist.barrier()
    dist.broadcast(config, 0)
```

## Use instead
```python
dist.broadcast(config, 0)
dist.barrier()
```

## Fix safety
Shown only: which order is meant is not known.

## Known limits
As for DL101. Where several calls lead to a collective of another file, it is information; so is what is a collective
of a sharded model alone, in a program that shards none or of a model of which only the class is known, and behind
`use_deepspeed or is_main_process` where no launch asks for FSDP. Two calls of the same kind with swapped tensors are not told apart here; `distlint run`
tells them apart by call site.

## References
- torch 2.13.0 torch/distributed/distributed_c10d.py: "collectives ... must be called in the same order"
  on all ranks of a group
- PARCOACH (Huchant, Saillard et al.): control flow that makes MPI collectives differ
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.interpreter.ir import Layer
from distlint.analysis.model import place_of
from distlint.analysis.questions.sharding import BARE_MODEL
from distlint.analysis.traces.witness import absence, event_text, related_places, waiting, witness
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.launch.engines import SHARDING, Engine
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.traces.divergence import Divergence

CODE = "DL102"
NAME = "collective-order-differs"
SEVERITY = Severity.ERROR
STATUS = Status.PREVIEW
LITERALS = ()

_WORDS = {Engine.ZERO3: "deepspeed", Engine.FSDP: "fsdp"}
"""How programs call the modes that shard, in small letters."""


def check(model: Model) -> Iterator[Finding]:
    """Every place where two classes of ranks are in different collectives that both perform."""
    divergences = [d for d in model.divergences() if d.kind == "rank"]
    # What ranks skip by a condition, DL101 says of that condition: Oscar 266075f oscar/run_vqa.py:593.
    told = {id(g.node) for d in divergences if d.missing and d.layer == 0 for g in d.guards}
    for divergence in divergences:
        if divergence.missing or divergence.others is None:
            continue
        if divergence.layer > 0 and any(id(guard.node) in told for guard in divergence.guards):
            continue
        mine, theirs = event_text(divergence.event), event_text(divergence.others)
        advice = f"Put `{mine}` and `{theirs}` in one order on all ranks"
        yield Finding(
            CODE,
            NAME,
            _severity(model, divergence),
            f"{waiting(divergence)} while {absence(divergence)}. {advice}.",
            place_of(divergence.module, divergence.anchor),
            related_places(divergence),
            Fix(Applicability.DISPLAY, advice),
            witness(divergence),
        )


def _severity(model: Model, divergence: Divergence) -> Severity:
    """By whether it is a collective in every mode, and how far away the two are.

    Between files stand conditions that exclude it; through several calls none of three was true: SwissArmyTransformer
    63dc23a sat/model/base_model.py:258, where rank 0 builds a model, whose class might make groups; lerobot
    common/train_utils.py:259, where the two need options that exclude each other.
    """
    if divergence.layer is Layer.SHARDED and not _may_be_sharded(model, divergence):
        return Severity.INFO
    if _in_one_file(divergence):
        return SEVERITY if divergence.layer == 0 else Severity.WARNING
    far = max(len(divergence.chain), len(divergence.other_chain)) > 1
    return Severity.INFO if far else Severity.WARNING


def _may_be_sharded(model: Model, divergence: Divergence) -> bool:
    """Whether the program shards models, and not only the class of this one is known.

    RADIO c0f3701 mmseg/radio.py:41: rank 0 pulls a model and comes to the barrier, behind which the others do.
    """
    events = (divergence.event, divergence.others)
    if not model.may_shard or any(e is not None and e.op in BARE_MODEL for e in events):
        return False
    together = _modes_of_all(divergence)
    left = SHARDING - together
    return not together or model.start_in(left, divergence.module) is not None


def _modes_of_all(divergence: Divergence) -> frozenset[Engine]:
    """The sharded modes in which the condition that parts the ranks lets all of them in.

    CogVideoX-Fun 6c39567 scripts/train.py:1656: `if args.use_deepspeed or accelerator.is_main_process:`. Where rank 0 is
    alone, nothing is sharded but by FSDP, with which no script starts it.
    """
    texts = [
        ast.unparse(part).lower()
        for guard in divergence.guards
        if isinstance(guard.node, ast.BoolOp) and isinstance(guard.node.op, ast.Or)
        for part in guard.node.values
    ]
    return frozenset(
        engine for engine, word in _WORDS.items() if any(word in text for text in texts)
    )


def _in_one_file(divergence: Divergence) -> bool:
    """Whether both collectives are in the file in which the ranks part."""
    other = divergence.others
    return divergence.in_one_file and other is not None and other.module is divergence.module
