"""A call that becomes a collective when the model is sharded, made by some ranks only.

## What it does
Reports what DL101 reports, for calls that are collectives only under FSDP, DeepSpeed ZeRO or tensor
parallelism, or on a model inside DDP: `get_state_dict`, `save_state`, `save_checkpoint`, `state_dict`,
`generate` and the forward of a wrapped model, `from_pretrained` under ZeRO-3. An error where the program
shows that the model is sharded, or that rank 0 alone calls a model in DDP that has buffers, a warning where it may be.
The forward of a model of which no buffer is seen and that is in another file or not in DDP, or that other ranks than 0
are to wait in, is only listed (information) where no launch and no engine of the project shards, as are `save_pretrained` and `from_pretrained` of a model of which nothing more is known, and calls on a DeepSpeed
engine in a program that says nothing of ZeRO's stages. Silent where an engine cannot shard: around DDP, or where
`loss.backward()` and `optimizer.step()` train past it.

## Why it is bad
The script works with DDP, where these calls touch this rank alone. Launched with FSDP or DeepSpeed, the
same call gathers parameters from all ranks: rank 0 waits in it for ranks that never come.

## Errors you may see
- `Watchdog caught collective operation timeout`

## Example
```python
if accelerator.is_main_process:
    torch.save(accelerator.get_state_dict(model), path)
```

## Use instead
```python
save(model, path)
```
All ranks call `save`; the state is gathered from all of them, and rank 0 writes. Where the library has a
call of its own for it (`accelerator.save_state`, `engine.save_checkpoint`, `trainer.save_model`), all
ranks make that call: it chooses the writing rank itself.

## Fix safety
Unsafe: other ranks now hold a state in memory or write files of their own. It is shown only where a
person has to decide, as for DL101, and where a number that each rank has for itself goes into the path: a loss that is
not reduced.

## Known limits
Whether a model will be sharded is often decided by the launcher's configuration. Where a launch beside the code shards
it (accelerate with FSDP, DeepSpeed with stage 3), the message names the first. Where every launch of the program
that stands beside the code keeps it whole (accelerate with MULTI_GPU, one process), the finding is information, as it
is where neither the code nor a script or configuration beside it has a word of FSDP, DeepSpeed or tensor parallelism.
Silent where hooks stand on the parameters before `prepare`, only LoRA's layers are prepared, or an average
of the whole model is made before, where each step averages `param.grad` by hand and a model is prepared alone (which
DeepSpeed refuses), and where the training steps call methods of the model past its wrapper and nothing
is prepared together with its optimizer: no sharded mode runs with these. Silent on calls of a model that the same
function wraps below, on a copy of the model from before `prepare`, and on an evaluation of DDP without gradients behind
which the next that ranks come to is a training step of the same model: it makes the one broadcast that stands between
two steps, and the step leaves its own out (not so behind the first step of all); nor on one that comes behind another evaluation on its rank.
Information where rank 0 alone calls a model in DDP whose whole class is seen and keeps no buffer: nothing is broadcast.
A model that is not sharded yet (before `prepare`, or inside a branch that excludes it) is told apart only
where the branch asks for the mode.

## References
- accelerate 1.15.0 accelerate/accelerator.py: `get_state_dict` gathers under ZeRO-3 and FSDP
- torch 2.13.0 torch/distributed/fsdp/fully_sharded_data_parallel.py: `state_dict`, collective
- torch 2.13.0 torch/nn/parallel/distributed.py:1841: a forward without gradients turns the next broadcast off
- llamafactory 0.7.1 llamafactory/train/ppo/trainer.py:472: under `if self.args.should_save`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.interpreter.ir import Layer
from distlint.analysis.interpreter.ranks import MAIN
from distlint.analysis.model import place_of, related
from distlint.analysis.questions.buffers import buffer_of, has_no_buffers
from distlint.analysis.questions.evaluation_forwards import follows_another, meets_next_step
from distlint.analysis.questions.sharding import BARE_MODEL, is_engine, never_sharded, shown
from distlint.analysis.traces.witness import absence, event_text, related_places, waiting, witness
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.launch.engines import SHARDING, Engine
from distlint.repairs.hoisting import hoist
from distlint.rule import Status

from .by_hand import averages_by_hand
from .modes import (
    cannot_be_sharded,
    copied_before,
    launched_whole,
    not_trained_yet,
    not_wrapped_yet,
    waits_before,
)
from .own_path import own_number
from .past_wrapper import trains_past_wrapper

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import Guard
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Module
    from distlint.analysis.traces.divergence import Divergence
    from distlint.launch.engines import Start

CODE = "DL106"
NAME = "sharded-collective-not-on-all-ranks"
SEVERITY = Severity.WARNING
STATUS = Status.STABLE
LITERALS = ()

_SHARDING = ("deepspeed.", "torch.distributed.fsdp.", "torch.distributed.checkpoint.")
_SHARDED = frozenset({"fsdp1", "fsdp2", "colossalai"})
"""Wrappers of a sharded model. A DeepSpeed engine is sharded in ZeRO-3, which its configuration asks for."""
_BY_LAUNCH = frozenset({"accelerate", "ddp"})
"""Wrappers that are DDP wherever the launch asks for nothing else."""
_IN_DDP = "with the model inside DDP, whose forward broadcasts its buffers, in evaluation as well,"
_OF_ALL_RANKS: Final = frozenset({"save_state", "save_checkpoint"})
"""Their libraries want them on all ranks in every mode: each rank leaves a file of its own."""


def check(model: Model) -> Iterator[Finding]:
    """Every call that only a sharded or wrapped model makes a collective, missing on some ranks."""
    divergences = [d for d in model.divergences() if d.kind == "rank" and d.missing]
    always = {id(d.anchor) for d in divergences if d.layer is Layer.ALWAYS}
    # Ranks that have left miss everything below: DL101 has said so of that exit already.
    exits = {id(g.node) for d in divergences if d.layer is Layer.ALWAYS for g in _exits(d)}
    told = [
        (divergence, buffer)
        for divergence in divergences
        if divergence.layer is not Layer.ALWAYS
        and id(divergence.anchor) not in always
        and not any(id(guard.node) in exits for guard in _exits(divergence))
        for buffer in _missed(model, divergence)
    ]
    left = {id(guard.node) for each, _ in told if each.left for guard in _exits(each)}
    for divergence, buffer in told:
        # What ranks do on their way out says less than that they leave (CodeBERT c0de43d CodeReviewer/code/run_finetune_cls.py:241).
        if not divergence.left and any(id(guard.node) in left for guard in divergence.guards):
            continue
        fix = _fix(model, divergence)
        start = _start(model, divergence) if buffer is None else None
        when = _when(divergence, start) if buffer is None else _IN_DDP
        yield Finding(
            CODE,
            NAME,
            _severity(model, divergence, buffer is not None),
            f"{when} {waiting(divergence)}; {absence(divergence)}. {fix.message}.",
            place_of(divergence.module, divergence.anchor),
            (
                *related_places(divergence),
                *([related(*buffer, "a buffer")] if buffer else ()),
                *(start.related() if start is not None else ()),
            ),
            fix,
            witness(divergence),
        )


def _missed(model: Model, divergence: Divergence) -> Iterator[tuple[Module, ast.AST] | None]:
    """The buffer for which the ranks wait, or None for what the launch decides; nothing where no rank is missed."""
    site = divergence.event.site
    if site is not None and is_engine(site) and never_sharded(site):
        return
    harmless = meets_next_step(model.graphs, divergence) or follows_another(model, divergence)
    if harmless and divergence.layer is Layer.WRAPPED:
        return
    buffer = None if harmless else _buffer(model, divergence)
    if (buffer is None and _depends_on_launch(divergence)) and (
        cannot_be_sharded(model, divergence.function)
        or waits_before(divergence.function, divergence.anchor)
        or trains_past_wrapper(model, divergence.function)
        or averages_by_hand(divergence.function)
    ):
        return
    if not (not_wrapped_yet(model, site) or not_trained_yet(site) or copied_before(site)):
        yield buffer


def _exits(divergence: Divergence) -> list[Guard]:
    return [guard for guard in divergence.guards if guard.exits]


def _is_sharded(divergence: Divergence) -> bool:
    site = divergence.event.site
    if site is None:
        return False
    owner = site.receiver
    return site.name.startswith(_SHARDING) or (
        owner is not None and any(w.kind in _SHARDED for w in owner.wraps)
    )


def _depends_on_launch(divergence: Divergence) -> bool:
    """Whether the model is sharded only where the job is launched so."""
    return divergence.layer is not Layer.WRAPPED and not _is_sharded(divergence)


def _severity(model: Model, divergence: Divergence, buffered: bool) -> Severity:
    """By what shows that the call is a collective in the mode that its ranks run in.

    Of forwards of a model of which no buffer is seen, but by rank 0 alone in the file in which the ranks part, eight of eleven causes were false at first sight (waves 17 to 28): a
    module that nothing wraps (UniTok bb8012e main.py:148, LPIPS), or ranks that only log, and come to the same call
    (Retrieval-based-Voice-Conversion-WebUI 4338f12 train/train.py:299; hallo 8fd7c57 scripts/train_stage2.py:989, whose
    other ranks wait while rank 0 writes).
    """
    if _is_sharded(divergence):
        return Severity.ERROR
    if divergence.event.op == "forward" and not _shards_as_started(model, divergence):
        alone = divergence.left or divergence.waiters is MAIN
        in_ddp = divergence.layer is Layer.WRAPPED and divergence.in_one_file
        if not alone or not (buffered or in_ddp) or _has_no_buffers(model, divergence):
            return Severity.INFO
        return Severity.ERROR if buffered else Severity.WARNING
    if _depends_on_launch(divergence) and (
        launched_whole(model, divergence.module)
        or (divergence.event.op not in _OF_ALL_RANKS and not model.may_shard)
    ):
        return Severity.INFO
    # What accelerate wraps is sharded as the launch says; an engine only where its program asks for it.
    engine = is_engine(divergence.event.site) and divergence.layer is not Layer.WRAPPED
    if divergence.event.op in BARE_MODEL or (engine and not model.answer(shown)):
        return Severity.INFO
    return Severity.WARNING


def _has_no_buffers(model: Model, divergence: Divergence) -> bool:
    site = divergence.event.site
    return site is not None and site.receiver is not None and has_no_buffers(model, site.receiver)


def _shards_as_started(model: Model, divergence: Divergence) -> bool:
    """Whether the model is sharded in a launch beside the code, or by the engine's own configuration in it."""
    if not _depends_on_launch(divergence):
        return False
    if is_engine(divergence.event.site):
        return bool(model.answer(shown))
    return _start(model, divergence) is not None


def _buffer(model: Model, divergence: Divergence) -> tuple[Module, ast.Call] | None:
    """Where the model gets a buffer whose forward some ranks call: DDP, which every launch on several processes has
    unless it shards, then broadcasts in evaluation as well."""
    site = divergence.event.site
    wrapped = site.receiver if site is not None and divergence.event.op == "forward" else None
    if wrapped is None or wrapped.wraps[-1].kind not in _BY_LAUNCH:
        return None
    if launched_whole(model, divergence.module) or model.starts_in_engine(divergence.module):
        return None
    return buffer_of(model, wrapped)


def _start(model: Model, divergence: Divergence) -> Start | None:
    """The first launch in the project that shards the model: not one of which only the class is known."""
    if not _depends_on_launch(divergence) or divergence.event.op in BARE_MODEL:
        return None
    engines = {Engine.ZERO3} if is_engine(divergence.event.site) else SHARDING
    return model.start_in(engines, divergence.module)


def _when(divergence: Divergence, start: Start | None) -> str:
    if divergence.layer is Layer.WRAPPED:
        return "with the model inside DDP,"
    if _is_sharded(divergence):
        return "with this sharded model,"
    if start is not None:
        return f"{start.words()},"
    return "when the model is sharded (FSDP, DeepSpeed ZeRO-3),"


def _fix(model: Model, divergence: Divergence) -> Fix:
    name = event_text(divergence.event)
    own = own_number(model, divergence.event.site)
    if own is not None:
        advice = f"Let all ranks call `{name}`, and with one path: each rank has a `{own}` of its own, and would make a folder of its own"
        return Fix(Applicability.DISPLAY, advice)
    hoisted = hoist(model, divergence)
    if hoisted is not None:
        return Fix(Applicability.UNSAFE, hoisted.text, hoisted.edits)
    return Fix(
        Applicability.DISPLAY,
        f"Let all ranks call `{name}`, and keep only what one rank is to write under the guard",
    )
