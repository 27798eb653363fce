"""What only some ranks make is used by all, and is None on the others.

## What it does
Finds a variable that a function sets to an object on some ranks and to None on the others, and a read,
assignment or call of an attribute of it that the others reach as well. Also one that a function assigns on some
ranks alone, and that the others read, a global that a function sets so and another one calls, an attribute that a constructor makes on some ranks alone, and whose methods
the others call, and a data set that some ranks alone process further (`data = data.map(tokenize)` under a test of
the rank) before all hand it to a loader or a Trainer. Also what a function returns on some ranks alone, where the others get None
or an empty dict, and a key of it is read, or it is unpacked, on all of them. Also the run of one of accelerate's
trackers, read by all ranks, and `wandb.log()` of all ranks where rank 0 alone calls `wandb.init()`.

## Why it is bad
The ranks without the object raise AttributeError: "'NoneType' object has no attribute 'update'". Rank 0 and
a run on one process do not, so that the line passes every test on one GPU. With several the job ends there,
or rank 0 waits in its next collective for ranks that are gone. With a data set as it was loaded, the others miss
columns, or have another number of batches.

## Errors you may see
- `'NoneType' object has no attribute`
- `'NoneType' object is not subscriptable`
- `cannot unpack non-iterable NoneType object`
- `cannot access local variable`
- `referenced before assignment`
- `You must call wandb.init() before wandb.log()`

## Example
```python
average = ModelAverage(model) if rank == 0 else None
average.updates = start_epoch * steps
```

## Use instead
```python
average = ModelAverage(model) if rank == 0 else None
if average is not None:
    average.updates = start_epoch * steps
```

## Fix safety
Shown only: whether the statement belongs under the guard, or the object on every rank, is the author's
decision. What the guard then holds must not be a collective.

## Known limits
A variable is followed within one function, and into those that it is handed to under its parameter's name. An attribute (`self.writer`) is one that the constructor alone sets;
reported is the call of a method of it, in a method of the class that nothing but the rank leads to. Objects that
rank 0 is without are not followed. Silent where the code asks for the object or the rank first, or expects the
AttributeError.

## References
- accelerate 1.15.0 accelerate/tracking.py:315: `start`, which sets `run`, is for the main process only
- wandb 0.31.0 wandb/sdk/lib/preinit.py: without a run in the process, `wandb.log` and its like raise
- The Python Language Reference, 3.2 "None": it has no attributes of other objects
- yolov5, commit da35727c, train.py:167: `ema.updates` where only rank 0 has an `ema`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.interpreter.ranks import MAIN, NODE_MAIN, RankClass
from distlint.analysis.model import Model, place_of, related, source_of
from distlint.analysis.program.handed import argument_of
from distlint.analysis.program.syntax import assignments
from distlint.analysis.questions.machines import on_one_machine
from distlint.analysis.questions.wrapped import catches_attribute_error
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.nodes import walk
from distlint.rule import Status

from .answers import Answer, answered_on_main
from .attributes import Use, absent_attributes
from .global_names import globals_of_main
from .processed import Processed, processed_by_rank
from .runs import runs_of_main_process
from .settings import is_decided
from .trackers import runs_of_main
from .unbound import unbound_by_rank

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite, Guard, Summary
    from distlint.analysis.live.summaries import FunctionSummaries
    from distlint.analysis.program.definitions import Function, Module

CODE = "DL208"
NAME = "none-on-other-ranks"
SEVERITY = Severity.ERROR
STATUS = Status.STABLE
LITERALS = ()


def check(model: Model) -> Iterator[Finding]:
    """The first use of each such variable."""
    for module in model.modules:
        yield from (_processed(module, each) for each in processed_by_rank(model, module))
        for function, read, assigned in globals_of_main(model, module):
            yield _unbound(function, read, assigned, "NameError")
    for summaries in model.functions():
        done: set[str] = set()
        for read, assigned in unbound_by_rank(model.program, summaries):
            if read.id not in done:
                done.add(read.id)
                yield _unbound(summaries.function, read, assigned)
        for answer in answered_on_main(model, summaries):
            yield _answered(summaries.function.module, answer)
        function = summaries.function
        for node, guards in sorted(
            _absent_by_rank(model, summaries).items(), key=lambda n: (n[0].lineno, n[0].col_offset)
        ):
            name = node.value.id if isinstance(node.value, ast.Name) else ""
            if name in done:
                continue
            made, home = _made_by_rank(function, name), function
            if made is None and all(is_decided(model.program, g, frozenset()) for g in guards):
                made, home = _handed_over(model, function, name) or (None, function)
            if made is not None:
                done.add(name)
                yield _finding(function, name, node, (home.module, made))
    for use in absent_attributes(model):
        yield _lacking(use)
    for function, node, opened in runs_of_main(model):
        yield _of_tracker(function, node, opened)
    for site, opener in runs_of_main_process(model):
        yield _without_run(site, opener)


def _answered(module: Module, answer: Answer) -> Finding:
    called = source_of(module, answer.call.func)
    nothing = "an empty dict" if answer.error == "KeyError" else "None"
    fix = Fix(
        Applicability.DISPLAY,
        f"Read it on the ranks that get it, or have `{answer.callee.name}` return the same on every rank",
    )
    other = answer.empty if answer.empty is not None else answer.callee.node
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"`{called}(...)` gives {nothing} on other ranks than rank 0, where `{source_of(module, answer.node)}` raises "
        f"{answer.error}. {fix.message}.",
        place_of(module, answer.node),
        (related(answer.callee.module, other, f"{nothing} on the other ranks"),),
        fix,
    )


def _of_tracker(function: Function, node: ast.Attribute, opened: ast.Call) -> Finding:
    text = source_of(function.module, node)
    fix = Fix(Applicability.DISPLAY, "Put it under `if accelerator.is_main_process:`")
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"the main process alone opens the run of a tracker, and on the others `{text}` raises AttributeError. "
        f"{fix.message}.",
        place_of(function.module, node),
        (related(function.module, opened, "the main process opens the run here"),),
        fix,
    )


def _without_run(site: CallSite, opener: CallSite) -> Finding:
    text = source_of(site.module, site.node.func)
    fix = Fix(
        Applicability.DISPLAY, "Put it under the test of the rank that stands around `wandb.init()`"
    )
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"rank 0 alone opens the run, and on the others `{text}()` raises `wandb.Error`: it needs a run in its own "
        f"process. {fix.message}.",
        place_of(site.module, site.node),
        (related(opener.module, opener.node, "rank 0 opens the run here"),),
        fix,
    )


def _lacking(use: Use) -> Finding:
    name = f"self.{use.attribute.name}"
    fix = Fix(
        Applicability.DISPLAY, f"Call it on the ranks that have `{name}`, or make it on every rank"
    )
    module = use.call.site.module
    made = use.attribute.made
    joint = use.call.site.function.cls
    owner = joint.module if joint is not None else module
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"`{name}` is made on some ranks only, and on the others this call raises AttributeError. {fix.message}.",
        place_of(module, use.node),
        (related(owner, made, "made on some ranks only"),),
        fix,
    )


def _unbound(
    function: Function, read: ast.Name, assigned: ast.stmt, error: str = "UnboundLocalError"
) -> Finding:
    fix = Fix(
        Applicability.DISPLAY,
        f"Move the use under the same condition, or assign `{read.id}` on every rank",
    )
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"`{read.id}` is assigned on some ranks only, and reading it raises {error} on the others. "
        f"{fix.message}.",
        place_of(function.module, read),
        (related(function.module, assigned, "assigned on some ranks only"),),
        fix,
    )


def _processed(module: Module, data: Processed) -> Finding:
    fix = Fix(Applicability.DISPLAY, f"Process `{data.name}` on every rank, rank 0 first")
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"`{data.name}` is processed on some ranks only, and all hand it to `{source_of(module, data.used.func)}(...)`: "
        f"the others go on with the data set as it was, whose columns and length differ. {fix.message}.",
        place_of(module, data.bound),
        (related(module, data.used, "all ranks use it"),),
        fix,
    )


def _absent_by_rank(
    model: Model, summaries: FunctionSummaries
) -> dict[ast.Attribute, tuple[Guard, ...]]:
    """Attributes that some rank class, but not rank 0, asks of None: another machine's where there may be one.

    rNPC d6dfe4b main_ddp.py:228: `local_rank == 0`, of a group that meets at localhost.
    """
    found: dict[ast.Attribute, set[RankClass]] = {}
    guards: dict[ast.Attribute, tuple[Guard, ...]] = {}
    for rank, summary in summaries.summaries():
        for node, held in _absent(summary):
            found.setdefault(node, set()).add(rank)
            guards[node] = (*guards.get(node, ()), *held)
    return {
        node: guards[node]
        for node, ranks in found.items()
        if MAIN not in ranks
        and not (ranks == {NODE_MAIN} and on_one_machine(model, summaries.function))
    }


def _absent(summary: Summary) -> Iterator[tuple[ast.Attribute, tuple[Guard, ...]]]:
    for site in summary.none_accesses:
        if not any(map(catches_attribute_error, site.tries)):
            yield site.node, site.guards
    for call in summary.calls:
        if (
            call.receiver is not None
            and call.receiver.const is None
            and isinstance(call.node.func, ast.Attribute)
            and not any(map(catches_attribute_error, call.tries))
        ):
            yield call.node.func, call.guards


def _handed_over(model: Model, function: Function, name: str) -> tuple[ast.expr, Function] | None:
    """What the callers of a function make on some ranks alone, and hand over for a parameter, with one that does.

    StereoTool f6bb187 stereo/train.py:547: `tb_logger = None` on other ranks, handed to `train()`.
    """
    if name not in function.parameters or name in assignments(function):
        return None
    for call in model.callers.get(function, ()):
        given = argument_of(call.node, function, name)
        made = _made_by_rank(call.function, given.id) if isinstance(given, ast.Name) else None
        if made is not None:
            return made, call.function
    return None


def _made_by_rank(function: Function, name: str) -> ast.expr | None:
    """Where a function makes what it calls by a name, which it also sets to None; else None."""
    values = assignments(function).get(name, [])
    arms = [
        arm for v in values for arm in ((v.body, v.orelse) if isinstance(v, ast.IfExp) else (v,))
    ]
    made = [arm for arm in arms if not _is_none(arm)]
    if len(made) != 1 or len(made) == len(arms):
        return None
    from_itself = any(n.id == name for n in walk(made[0], ast.Name))
    return None if from_itself else made[0]


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _finding(
    function: Function, name: str, node: ast.Attribute, made: tuple[Module, ast.expr]
) -> Finding:
    fix = Fix(Applicability.DISPLAY, f"Ask `if {name} is not None` first, or make it on every rank")
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"`{name}` is made on some ranks only and None on the others, where `{name}.{node.attr}` raises "
        f"AttributeError. {fix.message}.",
        place_of(function.module, node),
        (related(*made, "made on some ranks only"),),
        fix,
    )
