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
Information where nothing shows that several ranks come there together, in a file of distributed code, and where all
curves of a writer stand under a question for the rank, there or in all that call their function, its methods are replaced by some that ask, it is handed on under
one alone, or transformers' `TensorBoardCallback` alone is given it, or nothing is: the other ranks' files are empty. So where what is told of a script's start is
Python alone, and no launcher, and nothing in it speaks of ranks; and where a script imports what makes the process group and
never calls it.
Silent where an argument says that the runs belong apart (`group=`, a `mode=` that is not written out), or follows from
the rank, and where all curves of a writer have the rank in their tags.

Not proven: needs a tracker's server.

## References
- W&B, "Log distributed training experiments"
- accelerate 1.15.0, `accelerate/tracking.py`: `on_main_process`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.interpreter.values import Variance
from distlint.analysis.live.joint_entry import ranked
from distlint.analysis.model import Model, place_of
from distlint.analysis.program.training_arguments import asks_list_for_text
from distlint.analysis.questions.alone import is_flag_of_main, is_given_to_main, is_imported_by_main
from distlint.analysis.questions.entered import is_named_nowhere
from distlint.analysis.questions.possible import is_used, possible
from distlint.analysis.questions.without_group import leaves_group_out
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.knowledge.debugging import OPEN_MODES, TRACKERS, Tracker
from distlint.repairs.premises import on_import
from distlint.rule import Status

from .tags import (
    drawn_on_one,
    handed_to_callback,
    never_drawn,
    silenced_on_others,
    tagged_by_rank,
)

if TYPE_CHECKING:
    from distlint.analysis.live.summaries import CallGroup
    from distlint.analysis.program.definitions import Module

CODE = "DL704"
NAME = "tracker-on-every-rank"
SEVERITY = Severity.WARNING
STATUS = Status.STABLE
LITERALS = ()

_OF_RANKS = ("rank", "spawn", "lightning", "popen", "subprocess", "launcher", "import ray")
"""Words of scripts that tell ranks apart, or start them, themselves or by a library."""


def check(model: Model) -> Iterator[Finding]:
    """Runs of trackers that several ranks open."""
    told: set[int] = set()
    for tracker in TRACKERS:
        for call in model.calls(tracker.name):
            told.add(id(call.site.node))
            if len(call.classes) < 2 or ranked(call.site) or _asks_in_other_runs(call):
                continue
            # composer 0.32.1 loggers/wandb_logger.py: the mapping holds a group where every rank logs.
            joint_entry = model.joint_entry_at(call)
            if _sets_apart(tracker, call.site.node) or _differs(tracker, call):
                continue
            if any(
                guard.taken and is_flag_of_main(model, call.site.function, guard.node)
                for guard in call.site.guards
            ) or is_given_to_main(model, call.site.function, call.site.node):
                continue
            if is_imported_by_main(call.site.function, call.site.node):
                continue
            if call.site.module.is_script and is_named_nowhere(model.program, call.site.function):
                # dot-tokens-communication ac31a23 train_fsdp.py:446: `main_non_fsdp()`, and the script calls `main()`
                continue
            if joint_entry is None:
                told.discard(id(call.site.node))
                continue
            site = call.site
            if tagged_by_rank(model, site):
                continue
            text = (
                f"Every rank opens {tracker.what} of its own: one training shows up as many. Open it on "
                f"rank 0 only, and log there."
            )
            fix = on_import(joint_entry) or Fix(
                Applicability.DISPLAY, "Open it, and log to it, under `if rank_info().rank == 0:`"
            )
            quiet = any(
                asks(model, site)
                for asks in (drawn_on_one, silenced_on_others, handed_to_callback, never_drawn)
            )
            quiet = quiet or _is_started_alone(model, site.module)
            quiet = quiet or leaves_group_out(model.program, site.module, site.node.lineno)
            severity = Severity.INFO if quiet else SEVERITY
            yield Finding(CODE, NAME, severity, text, place_of(site.module, site.node), (), fix)
    yield from _may_open(model, told)


def _asks_in_other_runs(call: CallGroup) -> bool:
    """Whether a condition around a call parts the ranks where they are told who they are: the others are of one process.

    gnr 5f67085 apps/run_genebody.py:158: `train(opt, rank, local_rank)`, and `else: train(opt)`, whose `rank=0` is the default.
    """
    asked = {
        id(guard.node)
        for _, site in call.sites
        for guard in site.guards
        if guard.value.variance is Variance.RANK_DEPENDENT
    }
    return bool(asked) and all(
        any(id(guard.node) in asked for guard in site.guards) for _, site in call.sites
    )


def _is_started_alone(model: Model, module: Module) -> bool:
    """Whether a script that says nothing of ranks is started by Python, as far as that is told, and by no launcher.

    gpt-training-rocm-rx9700 d602d5a run_single_gpu.sh:43: `python3 train_single_gpu.py`, with transformers' Trainer, and torchrun
    for another script.
    """
    text = module.source.text.lower()
    return (
        module.is_script
        and not any(word in text for word in _OF_RANKS)
        and bool(model.launch.alone(module.path, told=True))
        and not model.is_launched(module.path)
    )


def _may_open(model: Model, told: set[int]) -> Iterator[Finding]:
    """Runs of trackers in files of distributed code where nothing shows who opens them."""
    known = {tracker.name: tracker for tracker in TRACKERS}
    for function, node, name, around in possible(model, known):
        tracker = known[name]
        if id(node) in told or _sets_apart(tracker, node) or not is_used(model, function):
            continue
        if any(
            isinstance(statement, ast.If)
            and asks_list_for_text(model.program, function, statement.test) is False
            and any(each in statement.body for each in around)
            for statement in around
        ):
            continue
        text = (
            f"Each rank that comes here opens {tracker.what} of its own, and nothing here asks for the rank: one "
            "training may show up as many. Open it on rank 0 only, and log there."
        )
        yield Finding(CODE, NAME, Severity.INFO, text, place_of(function.module, node))


def _sets_apart(tracker: Tracker, node: ast.Call) -> bool:
    """Whether an argument may say that the ranks' runs belong apart, or that one of them alone is open.

    A mode that is written out is the same on every rank (zigma 37d837b sample_acc.py:237: `mode="online"`).
    """
    return any(
        keyword.arg in (*tracker.apart, None)
        and not (isinstance(keyword.value, ast.Constant) and keyword.value.value in OPEN_MODES)
        for keyword in node.keywords
    )


def _differs(tracker: Tracker, call: CallGroup) -> bool:
    """Whether an argument follows from who the rank is: what each reads from its clock opens a run each.

    Settings that are noted in the run set none apart, the rank among them or not (HLLM 2deed17
    code/REC/utils/wandblogger.py:31: `config=self.config`).
    """
    return any(
        value.variance is Variance.RANK_DEPENDENT
        for _, site in call.sites
        for value in (
            *site.args,
            *(v for name, v in site.keywords.items() if name not in tracker.noted),
        )
    )
