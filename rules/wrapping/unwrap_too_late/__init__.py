"""The model is unwrapped after its attribute was read from the wrapper.

## What it does
Finds `unwrap_model(x.policy)` and the like, where `x` is wrapped and its wrapper neither has the attribute
nor passes it on.

## Why it is bad
The argument is evaluated first: `x.policy` raises AttributeError under `DistributedDataParallel` before
anything is unwrapped. Under FSDP1 and DeepSpeed, which pass attributes on, the call gets a module that was
never wrapped and returns it as it is.

## Errors you may see
- `'DistributedDataParallel' object has no attribute`

## Example
```python
with accelerator.unwrap_model(self.model.policy).disable_adapter():
    ...
```

## Use instead
```python
with unwrap(self.model).policy.disable_adapter():
    ...
```

## Fix safety
Safe: what comes out is the same part of the model, now also where there is a wrapper. Unsafe where the
function is a context manager that gathers the shards of what it is given (`unwrap_model_for_generation`).

## Known limits
As for DL201: silent where the code asks for the attribute or the launch first, information where all launches and
configurations ask for FSDP or DeepSpeed, a warning where the program tells DDP how to run as well.

## References
- trl 0.15.0 to 0.26.2, `ppo_trainer.py`, `null_ref_context`
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.model import Model, place_of, related, source_of, span_of
from distlint.analysis.questions.no_model import may_be_no_model
from distlint.analysis.questions.wrapped import (
    BY_LAUNCH,
    is_guarded,
    layer_without,
    set_on_wrappers,
)
from distlint.edits import Replace
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.knowledge import facts
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import AttributeSite, CallSite

CODE = "DL203"
NAME = "unwrap-too-late"
SEVERITY = Severity.ERROR
STATUS = Status.STABLE
LITERALS = ()


def check(model: Model) -> Iterator[Finding]:
    """Each unwrapping call whose argument is read from the wrapper."""
    written = model.answer(set_on_wrappers)
    reads = {id(site.node): site for site, _ in model.attributes()}
    for call in model.calls():
        node = call.site.node
        if not node.args or not facts.is_unwrap(call.site.name):
            continue
        site = reads.get(id(node.args[0]))
        if site is None or is_guarded(site, of_model=True):
            continue
        if layer_without(site.receiver.wraps, site.attr, written) is not None:
            kept = may_be_no_model(model, site.function, site.node.value)
            yield _finding(model, call.site, site, kept)


def _severity(model: Model, site: AttributeSite) -> Severity:
    """An error unless all launches ask for an engine, which passes attributes on.

    V-Express 6814f7d train_stage.sh: `accelerate launch --use_deepspeed train.py`, which tells DDP how to run as well.
    """
    if site.receiver.wraps[-1].kind not in BY_LAUNCH:
        return SEVERITY
    if model.runs_in_engines(site.module):
        return Severity.INFO
    return Severity.WARNING if model.starts_in_engine(site.module) else SEVERITY


def _finding(model: Model, call: CallSite, site: AttributeSite, kept: bool) -> Finding:
    receiver = source_of(site.module, site.node.value)
    text = f"{receiver}.{site.attr}"
    wrap = site.receiver.wraps[-1]
    context = facts.is_unwrapping_context(call.name)
    if context:
        edit = Replace(span_of(site.node), f"$unwrap({receiver}).{site.attr}")
    else:
        edit = Replace(span_of(call.node), f"$unwrap({receiver}).{site.attr}")
    edits = () if kept else (edit,)
    return Finding(
        CODE,
        NAME,
        _severity(model, site),
        f"`{text}` is read from the wrapper before `{call.method}` runs, and raises AttributeError on "
        f"every rank where the model is in DistributedDataParallel. Unwrap first: "
        f"`unwrap({receiver}).{site.attr}`.",
        place_of(call.module, call.node),
        (related(wrap.module, wrap.node, "wrapped here"),),
        Fix(
            Applicability.DISPLAY
            if kept
            else Applicability.UNSAFE
            if context
            else Applicability.SAFE,
            f"Unwrap `{receiver}`, then read `{site.attr}`",
            edits,
        ),
    )
