"""Autograd's anomaly detection is switched on for good.

## What it does
Reports `torch.autograd.set_detect_anomaly(True)` and `with torch.autograd.detect_anomaly():` under no condition, and
`Trainer(detect_anomaly=True)` of Lightning, in files that several ranks run.

## Why it is bad
Each forward records a stack for every operation, and each backward checks every gradient for NaN: a training step takes
several times as long, on all ranks. A NaN on one rank, which loss scaling would have skipped, raises there, and the
others wait for it in the next collective.

## Errors you may see
- `Function 'MulBackward0' returned nan values in its 0th output`
- `Anomaly Detection has been enabled. This mode will increase the runtime`

## Example
```python
torch.autograd.set_detect_anomaly(True)
trainer.train()
```

## Use instead
```python
torch.autograd.set_detect_anomaly(args.debug)
trainer.train()
```

## Fix safety
Unsafe: the call goes, and with it the search for NaN that somebody may want. A `with` block is left to a person.

## Known limits
A switch in a configuration file is not followed.

Not proven: it costs time, and hangs only where a gradient is NaN.

## References
- torch 2.13.0, `autograd/anomaly_mode.py`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.model import Model, place_of, span_of
from distlint.analysis.program.syntax import own_nodes
from distlint.edits import Delete
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.live.summaries import CallGroup

CODE = "DL702"
NAME = "anomaly-detection-left-on"
SEVERITY = Severity.WARNING
STATUS = Status.STABLE
LITERALS = ()
NEEDS_RANKS = False

_SWITCH = "torch.autograd.set_detect_anomaly"
_BLOCKS = ("torch.autograd.detect_anomaly", "torch.autograd.anomaly_mode.detect_anomaly")
_TRAINERS = ("lightning.Trainer", "pytorch_lightning.Trainer", "lightning.pytorch.Trainer")


def check(model: Model) -> Iterator[Finding]:
    """Anomaly detection that nothing switches off."""
    names = (_SWITCH, "torch.autograd.anomaly_mode.set_detect_anomaly", *_BLOCKS, *_TRAINERS)
    for call in model.calls(*names):
        site = call.site
        if not model.is_distributed(site.module) or not _is_on(call) or site.guards:
            continue
        text = (
            "Every backward is checked for NaN, and each step takes several times as long. Remove it, or "
            "put it behind a switch."
        )
        place = place_of(site.module, site.node)
        yield Finding(CODE, NAME, SEVERITY, text, place, (), _fix(call))


def _is_on(call: CallGroup) -> bool:
    site = call.site
    if site.name in _BLOCKS:
        node = site.argument_node(1, "check_nan")
        return not (isinstance(node, ast.Constant) and node.value is False)
    if site.name in _TRAINERS:
        switch = site.argument_node(99, "detect_anomaly")
    else:
        switch = site.argument_node(0, "mode")
    return isinstance(switch, ast.Constant) and switch.value is True


def _fix(call: CallGroup) -> Fix:
    for node in own_nodes(call.site.function, ast.Expr):
        match node:
            case ast.Expr(value=only) if only is call.site.node and call.site.name == _SWITCH:
                return Fix(Applicability.UNSAFE, "Switch it off", (Delete(span_of(node)),))
    return Fix(Applicability.DISPLAY, "Put it behind a switch")
