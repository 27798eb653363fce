"""A schedule is made for the batches of all ranks, and each rank steps it once for each of its own.

## What it does
Finds a scheduler whose number of steps is computed from `len(loader)` before `accelerator.prepare` divides the
loader, where the scheduler itself is not prepared and steps once for each batch. And one that is prepared, of such a
number times the number of processes; where an option may give the number, beside a launch that leaves it out. And one that
`deepspeed.initialize` gets beside the data, made for `len(data)` divided by the batch of one rank alone.

## Why it is bad
After `prepare`, each of eight ranks sees an eighth of the batches, and takes an eighth of the steps that the
schedule was made for. The warm-up goes on for eight epochs in place of one, and the learning rate never comes
down: the training ends in what was meant to be its beginning.

## Example
```python
steps = epochs * len(loader)
scheduler = get_cosine_schedule_with_warmup(optimizer, 100, steps)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for batch in loader:
    ...
    scheduler.step()
```

## Use instead
```python
steps = epochs * len(loader)
scheduler = get_cosine_schedule_with_warmup(optimizer, 100, steps)
model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
```
A prepared scheduler steps once for each process. Or ask for the length after `prepare`.

## Fix safety
Shown only: whether the scheduler is prepared, or the length asked for later, is for a person to say.

## Known limits
Only where length, `prepare` or `initialize`, and loop stand in one function. Silent with `split_batches`.

## References
- accelerate 1.15.0 accelerate/data_loader.py:170: a prepared loader is as long as one rank's share of the batches
- deepspeed 0.19.8 deepspeed/runtime/engine.py, `_take_model_step`: the engine steps the schedule once for each batch of all ranks
- accelerate 1.15.0 accelerate/scheduler.py:54: `for _ in range(num_processes): self.scheduler.step()`
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.model import Model, place_of, related
from distlint.analysis.program.syntax import own_nodes
from distlint.analysis.questions.accelerating import accelerators
from distlint.analysis.questions.lengths import Length, lengths, prepared
from distlint.findings import Applicability, Finding, Fix, Related, Severity
from distlint.nodes import last_name, walk
from distlint.patterns import pattern
from distlint.rule import Status

from .multiplied import Multiplied, multiplied
from .of_engine import OfEngine, of_engines

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Function

CODE = "DL609"
NAME = "schedule-from-unprepared-loader"
SEVERITY = Severity.WARNING
STATUS = Status.PREVIEW
LITERALS = ()

_SCHEDULERS = pattern(r"sched|(?:LR|CosineAnnealing\w*|OneCycle\w*)$", re.IGNORECASE)

_SPLIT = frozenset({"split_batches", "dataloader_config", None})
"""Arguments of an Accelerator with which each rank may see as many batches as there are."""


def check(model: Model) -> Iterator[Finding]:
    """Each schedule that is longer than what a rank steps through."""
    functions = dict.fromkeys(
        call.site.function for call in model.calls("accelerate.Accelerator.prepare")
    )
    for function in functions:
        if any(k.arg in _SPLIT for call in accelerators(function) for k in call.keywords):
            continue
        yield from map(_multiplied, multiplied(model, function))
        given = prepared(model, function)
        for node in own_nodes(function, ast.Assign):
            match node:
                case ast.Assign(targets=[target], value=ast.Call() as made) if (
                    _SCHEDULERS.search(last_name(made.func)) and ast.unparse(target) not in given
                ):
                    yield from _too_long(function, ast.unparse(target), made, given)
    yield from map(_of_engine, of_engines(model))


def _of_engine(found: OfEngine) -> Finding:
    advice = "Divide by the number of ranks too"
    module = found.function.module
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        "this number of steps is that of one rank which sees all of the data, the ranks see a part each, and the engine "
        f"steps the schedule once for all of them: training ends long before the schedule. {advice}.",
        place_of(module, found.steps),
        (related(module, found.initialized, "divides the data between the ranks"),),
        Fix(Applicability.DISPLAY, advice),
    )


def _multiplied(found: Multiplied) -> Finding:
    advice = "Leave out the factor, or divide the length by the number of processes first"
    module = found.function.module
    way = [
        related(module, found.length, "counts the batches of all ranks"),
        related(module, found.prepared, "divided between the ranks here"),
    ]
    if found.launched is not None:
        way.append(Related(found.launched, "this launch leaves the number of steps to it"))
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        "this number of steps counts the batches of all ranks already, and is multiplied by the number of processes: the "
        f"schedule is as many times as long as the training, and the learning rate stays near its start. {advice}.",
        place_of(module, found.steps),
        tuple(way),
        Fix(Applicability.DISPLAY, advice),
    )


def _too_long(
    function: Function, scheduler: str, made: ast.Call, given: dict[str, ast.Call]
) -> Iterator[Finding]:
    for argument in (*made.args, *(k.value for k in made.keywords)):
        for length in lengths(function, argument, given) or ():
            step = _stepped(function, scheduler, length) if length.of_all else None
            if step is not None:
                advice = (
                    f"Prepare `{scheduler}` too, or ask for `len({length.loader})` after `prepare`"
                )
                yield Finding(
                    CODE,
                    NAME,
                    SEVERITY,
                    "this length counts the batches of all ranks, each rank steps through its share of them, "
                    f"and training ends long before the schedule. {advice}.",
                    place_of(function.module, length.node),
                    (
                        related(function.module, length.prepared, "divided between the ranks here"),
                        related(function.module, step, "one step for each batch of this rank"),
                    ),
                    Fix(Applicability.DISPLAY, advice),
                )
                return


def _stepped(function: Function, scheduler: str, length: Length) -> ast.Call | None:
    """Where the scheduler steps, in a loop over the batches of the rank."""
    for loop in own_nodes(function, ast.For):
        if length.loader in map(ast.unparse, _names(loop.iter)):
            for statement in loop.body:
                for node in walk(statement, ast.Call):
                    if ast.unparse(node.func) == f"{scheduler}.step":
                        return node
    return None


def _names(node: ast.expr) -> Iterator[ast.expr]:
    return (n for n in walk(node, ast.Name, ast.Attribute))
