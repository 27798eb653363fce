"""A collective in a loop that ranks go through a different number of times.

## What it does
Reports collectives inside loops whose number of iterations is each rank's own: over every n-th element
(`names[rank::world_size]`, `range(rank, n, world_size)`, `islice`, a comprehension that asks for the rank), over a
rank's part (`split_between_processes`, `array_split(…)[rank]`, `shard`, slices whose size is rounded up), over a
loader of such data, over the elements that a mask left, or `while` a value of this rank holds. Also samplers and streams of
the project that deal out a list in this way and do not fill it up, where a wrapped model is trained (information where the loader
drops a last batch that is not full: few lengths make a difference then). The forward and
the backward of a model in DDP or FSDP are collectives.

## Why it is bad
Ten elements on four ranks make three turns on two of them and two on the others: those with a third
turn wait in its collective for ranks that have left the loop.

## Errors you may see
- `Watchdog caught collective operation timeout`
- `Detected at least one rank that exhausted inputs`

## Example
```python
for prompt in prompts[rank::world_size]:
    accelerator.gather(score(prompt))
```

## Use instead
```python
scores = [score(prompt) for prompt in prompts[rank::world_size]]
accelerator.gather_for_metrics(pad(scores))
```
Collect in the loop and communicate once after it, give all ranks the same number of elements (repeat
some, `split_between_processes(..., apply_padding=True)`), or put the loop in
`torch.distributed.algorithms.Join`.

## Fix safety
Shown only: what the missing turns are to contribute is not known.

## Known limits
Lengths that come from a sampler or a prepared loader count as equal, and so do slices between two bounds of which
none is rounded up, and data that is brought to a multiple of the number of ranks first. Of forwards of DDP without
gradients only the first may wait: loops over them are not reported, nor is a `while` that ends by a count to which each
way through its body adds the same: where ranks part inside a turn, it is DL103.

## References
- torch 2.13.0 torch/distributed/algorithms/join.py: uneven inputs
- accelerate 1.15.0 accelerate/state.py:426: `split_between_processes`, the last ranks may get less
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.interpreter.ir import Layer
from distlint.analysis.model import place_of, related
from distlint.analysis.questions.evaluation_forwards import first_alone_waits
from distlint.analysis.questions.wrapped import without_gradients
from distlint.analysis.traces.witness import event_text, related_places, text_of, where, witness
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.knowledge import facts
from distlint.rule import Status

from .evened import counts_each_turn, ends_before_its_data, is_joined, is_made_even
from .parts import UnevenPart, uneven_parts

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.traces.divergence import Divergence

CODE = "DL104"
NAME = "collective-in-uneven-loop"
SEVERITY = Severity.WARNING
STATUS = Status.PREVIEW
LITERALS = ()

_WHOLE = frozenset({"compile", "peft"})
"""Layers that leave a model whole on each rank."""


def check(model: Model) -> Iterator[Finding]:
    """Every loop of a rank's own length that holds a collective, and samplers that make one."""
    yield from map(_of_part, uneven_parts(model))
    seen: set[int] = set()
    for divergence in model.divergences():
        node = divergence.node
        if divergence.kind != "loop" or node is None or id(node) in seen:
            continue
        if first_alone_waits(divergence) or _of_a_placed_model(model, divergence):
            continue
        if _meets_nobody(model, divergence):
            continue
        seen.add(id(node))
        function = divergence.function
        if is_made_even(model, function, node) or is_joined(function, node):
            continue
        if ends_before_its_data(function, node) or counts_each_turn(node):
            continue
        test = getattr(node, "iter", None) or getattr(node, "test", None) or node
        event = divergence.event
        place = where(event.module, event.node, divergence.module)
        fix = Fix(
            Applicability.DISPLAY,
            "Collect in the loop and communicate after it, or give all ranks as many turns",
        )
        yield Finding(
            CODE,
            NAME,
            SEVERITY,
            f"ranks go through the loop over `{text_of(test)}` a different number of times: those with "
            f"a turn more wait in `{event_text(event)}` ({place}) for ranks that have left it. "
            f"{fix.message}.",
            place_of(divergence.module, divergence.anchor),
            related_places(divergence),
            fix,
            witness(divergence),
        )


def _meets_nobody(model: Model, divergence: Divergence) -> bool:
    """Whether what waits is a forward without gradients of a model that accelerate wraps, where nothing asks for FSDP or ZeRO.

    In DDP the first alone waits, as above: rectified-flow-pytorch 26fbed9 train_value_flow_ppo.py:251, the steps of an episode.
    What generates runs the model inside: ITFormer-ICML25 b80142f inference.py:228.
    """
    event, site = divergence.event, divergence.event.site
    return (
        divergence.layer is Layer.SHARDED
        and not model.may_shard
        and site is not None
        and (
            event.op == "generate"
            or (event.op == "forward" and without_gradients(site.function, site.node))
        )
    )


def _of_part(part: UnevenPart) -> Finding:
    often = "" if not part.whole_batches else ", as where its part is a multiple of the batch,"
    fix = Fix(
        Applicability.DISPLAY, "Repeat some elements, or drop some, until all parts are equal"
    )
    return Finding(
        CODE,
        NAME,
        Severity.INFO if part.whole_batches else SEVERITY,
        f"`{text_of(part.node)}` gives the first ranks one element more where their number does not divide all: "
        f"a rank with a batch more{often} waits in the gradients' reduction for ranks that have ended the epoch. "
        f"{fix.message}.",
        place_of(part.module, part.node),
        (related(*part.trains, "all ranks train here"),),
        fix,
    )


def _of_a_placed_model(model: Model, divergence: Divergence) -> bool:
    """Whether what waits where a model is sharded is of a model that its loader places whole, in a file without a wrapper.

    mosaicml/diffusion 49282fd scripts/batched-llava-caption.py:311: `load_pretrained_model(…, device_map=device)`.
    """
    module = divergence.event.module
    return (
        divergence.layer is Layer.SHARDED
        and "device_map=" in module.source.text
        and not any(
            fact is not None and not _WHOLE.issuperset(fact.kinds)
            for call in model.calls(module=module)
            for fact in (facts.wrapper(call.site.name),)
        )
    )
