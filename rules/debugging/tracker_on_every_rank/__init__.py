"""Every rank opens a run of the experiment tracker.

## What it does
Reports `wandb.init`, `mlflow.start_run`, `SummaryWriter`, `swanlab.init`, `comet_ml.Experiment` and their like where
several ranks make the call with the same arguments.

## Why it is bad
One training run shows up as eight, each with the numbers of one rank; event files of eight processes lie in one folder
and draw zigzag lines. Each rank waits for the tracker's server, and one that cannot reach it ends the job.

## Errors you may see
- `wandb: ERROR Run initialization has timed out`
- `wandb.errors.CommError`

## Example
```python
wandb.init(project="llm")
model = DDP(model)
```

## Use instead
```python
if rank_info().rank == 0:
    wandb.init(project="llm")
model = DDP(model)
```

## Fix safety
No fix: what is logged to the run later needs the same condition. accelerate's `init_trackers` and `log` have it.

## Known limits
Silent where an argument says that the runs belong apart (`group=`, `mode=`), or follows from the rank, and on event
files of one folder where what is logged carries the rank in its name.

Not proven: needs a tracker's server.

## References
- W&B, "Log distributed training experiments"
- accelerate 1.15.0, `accelerate/tracking.py`: `on_main_process`
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.interpreter.values import Variance
from distlint.analysis.live.joint_entry import ranked
from distlint.analysis.model import Model, place_of
from distlint.analysis.program.linked import linked
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.knowledge.debugging import TRACKERS
from distlint.repairs.premises import on_import
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.live.summaries import CallGroup
    from distlint.analysis.program.definitions import Module

CODE = "DL704"
NAME = "tracker-on-every-rank"
SEVERITY = Severity.WARNING
STATUS = Status.PREVIEW
LITERALS = ()

_TAG = re.compile(
    r"""\.(?:add_\w+|log\w*)\(\s*\{?\s*f["'](?=[^"'\n]*\{[^}"'\n]*rank)[^"'\n]*["']\s*[,:]"""
)
"""A name under which something is logged, with the rank in it."""


def check(model: Model) -> Iterator[Finding]:
    """Runs of trackers that several ranks open."""
    for tracker in TRACKERS:
        for call in model.calls(tracker.name):
            if len(call.classes) < 2 or ranked(call.site):
                continue
            # composer 0.32.1 loggers/wandb_logger.py: the mapping holds a group where every rank logs.
            keywords = {keyword.arg for keyword in call.site.node.keywords}
            joint_entry = model.joint_entry_at(call)
            if keywords & {*tracker.apart, None} or _differs(call) or joint_entry is None:
                continue
            if tracker.name.endswith("SummaryWriter") and _tagged_by_rank(model, call.site.module):
                continue
            site = call.site
            text = (
                f"Every rank opens {tracker.what} of its own: one training shows up as many. Open it on "
                f"rank 0 only, and log there."
            )
            fix = on_import(joint_entry) or Fix(
                Applicability.DISPLAY, "Open it, and log to it, under `if rank_info().rank == 0:`"
            )
            yield Finding(CODE, NAME, SEVERITY, text, place_of(site.module, site.node), (), fix)


def _tagged_by_rank(model: Model, module: Module) -> bool:
    """Whether what is logged carries the rank in its name: curves of each rank in one run are meant.

    FunASR 3c58cb5 funasr/train_utils/trainer.py:753: `writer.add_scalar(f"rank{self.rank}_loss/{tag}", …)`. A folder of
    event files is one run, whoever writes into it; `wandb.init` opens a run each.
    """
    return any(_TAG.search(each.source.text) for each in linked(model.program, module))


def _differs(call: CallGroup) -> bool:
    """Whether an argument follows from who the rank is: what each reads from its clock opens a run each."""
    return any(
        value.variance is Variance.RANK_DEPENDENT
        for _, site in call.sites
        for value in (*site.args, *site.keywords.values())
    )
