"""A decision, or a reported metric, rests on this rank's share of the data.

## What it does
Follows values that come from a rank's share of the data (a loader that was prepared or has a distributed
sampler, a slice by rank, a data set that asks for the rank and takes its part) through arithmetic, lists, meters and functions. Reports where such a value, neither
gathered nor reduced, decides which checkpoint is the best, when to stop, or what the learning rate becomes.
Where it is only logged, that is a warning for a metric of an evaluation, by its name or since a loop that trains nothing gave it, and for one that joins a dict of numbers after
these were reduced, and information for the loss of
a training step, for the number of one batch, to which nothing is added, for what a loop shows of its progress (a bar, a line
every so many batches, or what is reduced below it), for a printed line that says of which rank it is, for lines that all ranks append to a file, and for what a LightningModule
logs of which no watcher is seen. In a LightningModule: what `validation_step`, or a method that it calls, logs without `sync_dist` and a checkpoint or
stopper watches (`self.log(f"{stage}_loss", …)`), by the code, by a configuration for the training that names the module, or by what hydra composes for a run on several devices
of it, which no other module, no test and no Trainer of one device has, and what is logged with `sync_dist=True` beside `rank_zero_only=True`, which turns it off. And a
scheduler that rank 0 alone steps, in a file in which the other ranks train too. And metrics of a single controller's workers (verl), of which it keeps those of the first: information for those of a training step.

## Why it is bad
Each rank has another number. One takes this epoch for the best and another does not, one stops and the others
wait for it in the next collective, learning rates drift apart and with them the weights. Where rank 0 alone
decides or reports, seven eighths of the validation set on eight GPUs were computed for nothing: the number in
the log is that of rank 0's share.

## Errors you may see
- `Watchdog caught collective operation timeout`

## Example
```python
loss = validate(model, loader)  # loader has a DistributedSampler
if loss < best:
    best = loss
    save(model, path)
```

## Use instead
```python
loss = torch.tensor(validate(model, loader), device=device)
dist.all_reduce(loss, op=dist.ReduceOp.AVG)
if loss < best:
    best = loss
    save(model, path)
```
With accelerate, gather inside the loop: `accelerator.gather_for_metrics(loss)`.

## Fix safety
For Lightning unsafe: `sync_dist=True` adds a reduction, and the number is another one. It is shown only for a dict
that another object puts together: NCCL reduces no tensor of the CPU. Elsewhere there is
none: whether the mean, the sum or the worst of the shares decides, and with which weights, is a person's choice.

## Known limits
Losses that go backward, in a training by several ranks, are reported as information where they are logged as they are
on one rank. Else what is not proven to be a share is not reported: results of unknown functions, loaders of unknown origin.
Metrics that put the shares together themselves (torchmetrics, meters whose methods reduce) are not reported, nor is
what goes into a file that each rank has for itself, or to a function of the program that reduces it first. Of Lightning the same holds for variables of what such a metric computed,
or of what was gathered; a class of the program counts where it registers its numbers with `add_state`.
A running minimum or maximum is a decision where its name says best, or where a new one saves something, hands the
model on, or sets a flag or counter.

## References
- trl trainer/ppo_trainer.py, early stop on the KL of one rank: ranks left the loop at different steps
- cybertronai/transformer-xl issue 14: the best checkpoint chosen from the master's part
- accelerate 1.15.0 accelerate/accelerator.py, `gather_for_metrics`
- lightning 2.5.1 lightning/pytorch/trainer/connectors/logger_connector/result.py:92: no operation where
  `rank_zero_only` is set
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.live.several import makes_no_group
from distlint.analysis.model import Model, place_of, related
from distlint.analysis.questions.alone import (
    acts_on_main_alone,
    entered_by_main_alone,
    on_main_alone,
    under_main_alone,
)
from distlint.analysis.questions.decisions import Aim, Decision, decisions
from distlint.analysis.questions.launched import made_without_launcher, stands_without_launcher
from distlint.analysis.questions.reported import (
    goes_to_own_file,
    is_appended_by_each,
    is_of_evaluation,
    is_of_one_batch,
    is_one_of_many,
    is_reduced_below,
    reduces_argument,
    reports,
    says_whose,
    shares_in,
    shows_progress,
)
from distlint.analysis.questions.shares.program import shares
from distlint.analysis.questions.shares.values import Kind
from distlint.analysis.questions.without_group import never_in_one_run
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.nodes import walk
from distlint.repairs.arguments import with_keyword
from distlint.rule import Status

from .beside_reduced import Joined, joined_later
from .first_worker import OfFirst, kept_of_first
from .lightning import Logged, logged, unsynced
from .lightning_losses import logged_losses
from .stepped import stepped_on_main
from .training_log import local_decisions, local_losses

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Function, Module
    from distlint.analysis.questions.reported import Number
    from distlint.analysis.questions.shares.values import Held, Whose
    from distlint.findings import Related

CODE = "DL601"
NAME = "decision-on-local-metric"
SEVERITY = Severity.ERROR
STATUS = Status.PREVIEW
LITERALS = (b".dataset.labels", b".dataset.targets", b".dataset.classes")
"""What a helper asks of a loader that it is handed."""


def check(model: Model) -> Iterator[Finding]:
    """Each decision and each report that rests on one rank's share."""
    known = model.answer(shares)
    stepped = list(stepped_on_main(model))
    said = {id(step) for _, steps in stepped for step in steps}
    seen: set[tuple[str, int]] = set()
    decided: set[int] = set()
    for function in known.functions(model.modules):
        if makes_no_group(model.program, function.module):
            continue
        for decision in decisions(function):
            held = known.of(decision.value)
            on_main = decision.aim is Aim.RATE and id(decision.node) in said
            if (
                held.is_share
                and not on_main
                and not _never_meet(model, function, decision.node, held.began)
                and not stands_without_launcher(function, decision.node)
                and not made_without_launcher(function, decision.value)
                and not reduces_argument(model, function, decision.node, decision.value)
            ):
                decided.add(id(decision.node))
                yield _decided(model, function, decision, held.began)
        for finding in _reported(model, known, function):
            seen.add((finding.place.path, finding.place.line))
            yield finding
    for module, steps in stepped:
        yield _stepped(module, *steps)
    for function, call, number, backward in local_losses(model):
        if (function.module.path, call.lineno) not in seen:
            yield _of_training(function, call, number, backward)
    for function, decision, backward in local_decisions(model):
        if id(decision.node) not in decided | said and not reduces_argument(
            model, function, decision.node, decision.value
        ):
            began = (related(function.module, backward, "each rank trains on its own batch"),)
            yield _decided(model, function, decision, began)
    watched = list(logged(model))
    also = [e for e in logged_losses(model) if all(e.call is not each.call for each in watched)]
    for entry in (*watched, *also):
        yield _monitored(entry)
    for module, call in unsynced(model):
        yield _unsynced(module, call)
    yield from map(_joined, joined_later(model))
    yield from map(_of_first, kept_of_first(model))


def _never_meet(
    model: Model, function: Function, node: ast.AST, began: tuple[Related, ...]
) -> bool:
    """Whether what gives each rank its part is of other runs than what looks at the number."""
    here = (function.module, place_of(function.module, node).line)
    return any(
        never_in_one_run(model.program, here, (module, each.place.line))
        for each in began
        for module in model.program.modules.values()
        if module.path == each.place.path
    )


def _stepped(module: Module, step: ast.Call, *more: ast.Call) -> Finding:
    """A scheduler of which rank 0 alone takes the steps."""
    advice = "Step it on every rank, with a value that all ranks have"
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        "Rank 0 alone changes its learning rate: from then on the ranks step one model by different ones, and its "
        f"copies part. {advice}.",
        place_of(module, step),
        tuple(related(module, each, "and here") for each in more),
        Fix(Applicability.DISPLAY, advice),
    )


def _of_training(
    function: Function, call: ast.Call, number: ast.expr, backward: ast.AST
) -> Finding:
    """A loss that this rank trains on, logged as if it were of all."""
    return Finding(
        CODE,
        NAME,
        Severity.INFO,
        f"`{ast.unparse(number)}` is the loss of this rank's batch, and is logged as if it were of all. Reduce it over "
        "the ranks first.",
        place_of(function.module, call),
        (related(function.module, backward, "each rank trains on its own"),),
    )


def _joined(found: Joined) -> Finding:
    """A number of this rank among numbers of all."""
    module = found.function.module
    return Finding(
        CODE,
        NAME,
        Severity.WARNING,
        f"`{ast.unparse(found.put.value)}` is of this rank's batches, and joins numbers of all ranks after these were put "
        "together. Put it in before, or reduce it too.",
        place_of(module, found.put),
        (
            related(module, found.summed, "added up on each rank"),
            related(module, found.reduced, "the other numbers are put together here"),
        ),
    )


def _of_first(found: OfFirst) -> Finding:
    """Metrics of all workers, of which the controller gets those of one."""
    return Finding(
        CODE,
        NAME,
        Severity.WARNING if found.evaluates else Severity.INFO,
        f"`{ast.unparse(found.kept)}` is the first worker's: the metrics in it are of this worker's part of the batch, and "
        "are logged as if they were of all. Merge those of all workers.",
        place_of(found.function.module, found.kept),
        tuple(
            related(function.module, call, "each worker answers with the metrics of its part")
            for function, call in found.answers
        ),
    )


def _unsynced(module: Module, call: ast.Call) -> Finding:
    """A metric that Lightning does not reduce, since rank 0 alone logs it."""
    advice = "Leave out `rank_zero_only=True`"
    return Finding(
        CODE,
        NAME,
        Severity.WARNING,
        f"`{ast.unparse(call.args[0])}` is that of rank 0 alone: beside `rank_zero_only=True` Lightning takes no "
        f"notice of `sync_dist=True`. {advice}.",
        place_of(module, call),
        (),
        Fix(Applicability.DISPLAY, advice),
    )


def _monitored(entry: Logged) -> Finding:
    """A metric of one rank that a checkpoint or stopper of Lightning watches, or may watch."""
    advice = "Log it with `sync_dist=True`"
    if not entry.on_device:
        advice += ", all its values on the model's device"
    if any(keyword.arg == "rank_zero_only" for keyword in entry.call.keywords):
        advice += " in place of `rank_zero_only`"
    edit = with_keyword(entry.module.source.text, entry.call, "sync_dist=True")
    fix = (
        Fix(Applicability.DISPLAY, advice)
        if edit is None or not entry.on_device or entry.shown
        else Fix(Applicability.UNSAFE, advice, (edit,))
    )
    used = (
        "the best checkpoint is chosen by it"
        if entry.monitored
        else "is logged as if it were of all"
    )
    if entry.among:
        used = "the best checkpoint is chosen by what such a dict holds"
    return Finding(
        CODE,
        NAME,
        SEVERITY if entry.monitored else Severity.INFO,
        f"`{ast.unparse(entry.call.args[0])}` is of this rank's share of the data, and {used}. {advice}.",
        place_of(entry.module, entry.call),
        (),
        fix,
    )


def _decided(
    model: Model, function: Function, decision: Decision, began: tuple[Related, ...]
) -> Finding:
    entered = entered_by_main_alone(model, function)
    alone = (
        entered
        or under_main_alone(model, function, decision.node)
        or acts_on_main_alone(model, function, decision.node)
        or any(on_main_alone(model, n) for n in walk(decision.node))
    )
    text = ast.unparse(decision.value)
    who = (
        f"rank 0 decides {decision.aim.value} by its own share of the data alone"
        if alone
        else f"`{text}` is of this rank's share of the data: the ranks disagree on {decision.aim.value}"
    )
    # No other rank comes to a function that rank 0 alone enters: what could be reduced is further out.
    loud = Severity.WARNING if alone else SEVERITY
    return Finding(
        CODE,
        NAME,
        Severity.INFO if entered else loud,
        f"{who}. Reduce it over the ranks first.",
        place_of(function.module, decision.node),
        began,
    )


def _reported(model: Model, known: Whose, function: Function) -> Iterator[Finding]:
    """The numbers of this rank's share that a function logs; one finding for each call, of the gravest."""
    for call, numbers in reports(function):
        own = [
            (number, held)
            for number, held in shares_in(known, numbers)
            if not _never_meet(model, function, call, held.began)
        ]
        if (
            not own
            or goes_to_own_file(model, function, call)
            or stands_without_launcher(function, call)
        ):
            continue
        # One number of a line that is put together below makes the line one of progress.
        quiet = (
            says_whose(call)
            or is_appended_by_each(model, function, call)
            or any(is_reduced_below(function, call, n.node) for n in numbers)
        )
        loud = [] if quiet else [each for each in own if _is_result(known, function, call, *each)]
        number, held = (loud or own)[0]
        why = (
            f"`{number}` divides what is of this rank's share by a number of all ranks"
            if held.kind is Kind.MIXED
            else f"`{number}` is of this rank's share of the data, and is logged as if it were of all"
        )
        yield Finding(
            CODE,
            NAME,
            Severity.WARNING if loud else Severity.INFO,
            f"{why}. Reduce it over the ranks first.",
            place_of(function.module, call),
            held.began,
        )


def _is_put_together(held: Held) -> bool:
    """Whether a number was added up over this rank's share, or divided, rather than being that of one batch.

    encodec ab66070 train_multi_gpu.py:350: the losses of the last batch alone. mca-paper 1883ef8 train_accel_gpu.py:163: a curve
    of each batch of an evaluation. Of 50 such numbers that were judged on waves of unseen code, the 6 of which this
    is not seen were no results.
    """
    return held.source is not None and not (held.source.summed is None and held.source.mean is None)


def _is_result(
    known: Whose, function: Function, call: ast.Call, number: Number, held: Held
) -> bool:
    """Whether a number that is logged is what an evaluation came to, rather than how far it is."""
    return (
        (
            held.kind is Kind.MIXED
            or (is_of_evaluation(number, held, function, call) and _is_put_together(held))
        )
        and not is_of_one_batch(function, number.node)
        and not shows_progress(known, function, call, number.node, held)
        and not is_one_of_many(known, function, call, number.node)
    )
