"""The loss that was gathered or averaged over the ranks is the one that goes backward.

## What it does
Finds `backward` on a loss that `gather`, `gather_for_metrics` or `all_gather` put together from the ranks, or
that was averaged over them in place, or one of whose terms was.

## Why it is bad
A gathered tensor has no history: `backward` raises, or, where something else in the sum requires gradients,
trains that alone. An averaged loss keeps its history, but its gradient is divided by the number of ranks, and
DDP divides once more: on eight GPUs the step is an eighth of what was asked for.

## Errors you may see
- `element 0 of tensors does not require grad and does not have a grad_fn`

## Example
```python
loss = accelerator.gather(model(batch).loss).mean()
accelerator.backward(loss)
```

## Use instead
```python
loss = model(batch).loss
accelerator.backward(loss)
average = accelerator.gather(loss.detach()).mean()  # for the log
```

## Fix safety
Shown only: which variable goes backward and which into the log is for a person to say.

## Known limits
Only losses of data that is shown to be divided between the ranks, gathered or averaged in the same function or
in one that it calls; and terms that `all_reduce` changes and a division by the number of ranks follows, in a program that
wraps in DDP. An `all_reduce` that only adds up leaves the gradient as it was, and is not reported;
gathers of `torch.distributed.nn` carry gradients.

## References
- dopplerchase/cira-diff issue 1: training does nothing on several GPUs
- accelerate 1.15.0 accelerate/utils/operations.py: `gather` and `reduce` call torch.distributed
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distlint.analysis.model import Model, place_of, related
from distlint.analysis.program.definitions import last_name
from distlint.analysis.program.syntax import own_nodes
from distlint.analysis.questions.alone import under_main_alone
from distlint.analysis.questions.shares.program import shares
from distlint.analysis.questions.shares.values import Part
from distlint.analysis.questions.training import sent_backward
from distlint.findings import Finding, Severity
from distlint.rule import Status

from .terms import averaged_terms

CODE = "DL619"
NAME = "reduced-loss-in-backward"
SEVERITY = Severity.ERROR
STATUS = Status.PREVIEW
LITERALS = ()

_OF_ALL = (Part.WHOLE, Part.PADDED)


def check(model: Model) -> Iterator[Finding]:
    """Each loss of all ranks that goes backward."""
    known = model.answer(shares)
    said: set[int] = set()
    for function in known.functions(model.modules):
        for node in own_nodes(function):
            loss = sent_backward(node)
            held = known.of(loss) if loss is not None else None
            if loss is None or held is None or held.part not in _OF_ALL or held.ended is None:
                continue
            if under_main_alone(model, function, node):
                continue  # no other rank has a part in it: align-anything 3f9decc saferlhf.py:496
            by = last_name(held.ended)  # type: ignore[arg-type]
            at = known.seen.get(id(held.ended))
            if (
                "broadcast" in by
                and at is not None
                and "reduce" not in at.function.module.source.text
            ):
                continue  # what one rank told all has been divided by nothing: OrientPlace2 a0691bb orient_agent/ddp_train.py:136
            gathered = "gather" in by
            if gathered and held.learned:
                continue  # with what was gathered it is computed from something that has a gradient
            said.add(id(node))
            text = ast.unparse(loss)
            what = (
                f"`{text}` was gathered from the ranks and has no gradient"
                if gathered
                else f"the gradient of `{text}` is divided by the number of ranks twice"
            )
            yield Finding(
                CODE,
                NAME,
                SEVERITY if gathered else Severity.WARNING,
                f"{what}. Send this rank's own loss backward.",
                place_of(function.module, node),
                known.ended(held, function.module, "of all ranks from here on"),
            )
    for term in averaged_terms(model):
        if id(term.backward) not in said:
            said.add(id(term.backward))
            yield Finding(
                CODE,
                NAME,
                Severity.WARNING,
                f"the gradient of `{term.name}` is divided by the number of ranks twice, here and by DDP. "
                "Send this rank's own loss backward.",
                place_of(term.function.module, term.backward),
                (related(term.function.module, term.reduced, "added up over the ranks in place"),),
            )
