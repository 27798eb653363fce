"""The same line is printed by every rank.

## What it does
Reports `print()` calls that all ranks make with the same text, where the program shows that several ranks come there.
Advice: shown with `--select DL703` only.

## Why it is bad
The log of eight ranks holds every line eight times, in any order, and lines of several ranks may stand in one another.

## Example
```python
dist.init_process_group("nccl")
print(f"epoch {epoch}")
```

## Use instead
```python
dist.init_process_group("nccl")
print_on_main(f"epoch {epoch}")
```

## Fix safety
Safe: on one process the same is printed, and on many only rank 0 prints. The ranks do not wait for each other.

## Known limits
Silent where the text follows from the rank or from values of its own, and where the program replaces `builtins.print`.

Not proven: what is printed too often harms nobody.

## References
- accelerate 1.15.0, `accelerate/accelerator.py`: `print`
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.analysis.interpreter.values import Variance
from distlint.analysis.live.joint_entry import ranked
from distlint.analysis.model import Model, place_of, span_of
from distlint.edits import Replace
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.patterns import pattern
from distlint.rule import Status

CODE = "DL703"
NAME = "print-on-every-rank"
SEVERITY = Severity.INFO
STATUS = Status.PREVIEW
LITERALS = ()

_REPLACED = pattern(r"\b_*builtins?_*\.print\s*=")
"""`print` that only rank 0 still does: MAE, DETR and what took their util/misc.py over."""


def check(model: Model) -> Iterator[Finding]:
    """Prints that all ranks make."""
    if any(_REPLACED.search(module.source.text) for module in model.modules):
        return
    for call in model.calls("builtins.print"):
        site = call.site
        if len(call.classes) < 2 or ranked(site) or model.joint_entry_at(call) is None:
            continue
        values = [
            value for _, each in call.sites for value in (*each.args, *each.keywords.values())
        ]
        if any(value.variance is not Variance.UNIFORM for value in values):
            continue
        text = "Every rank prints this line. Print it on rank 0 with `print_on_main()`."
        edit = Replace(span_of(site.node.func), "$print_on_main")
        fix = Fix(Applicability.SAFE, "Print on rank 0", (edit,))
        yield Finding(CODE, NAME, SEVERITY, text, place_of(site.module, site.node), (), fix)
