"""Each rank trains a model of its own: nothing wraps it, and nothing else adds the gradients up.

## What it does
Finds `loss.backward()` in the training loop of a program that makes a process group and gives each rank its part of
the data with `DistributedSampler`, in which no model is wrapped and no gradient or parameter is sent to other ranks. Also
a model that a loss goes through and an optimizer steps beside another one that is wrapped or prepared: a student
beside its teacher, a loss function with parameters of its own; what `torch.autograd.grad` gives for the parameters of
a model in DDP, where it is put into `.grad`; and launches of several processes of a program that trains and
in which nothing joins them: no process group is made, or only where there is one, no framework that makes one is imported, and
no rank is asked for.

## Why it is bad
Every rank steps with the gradient of its own part of the data. The replicas drift apart from the first step on, and
what rank 0 saves is a model that has seen one part in eight of the data: eight GPUs do the work of one, without an
error.

## Example
```python
sampler = DistributedSampler(data)
model = Network().to(local_rank)
for batch in DataLoader(data, sampler=sampler):
    model(batch).sum().backward()
    optimizer.step()
```

## Use instead
```python
sampler = DistributedSampler(data)
model = DistributedDataParallel(Network().to(local_rank))
for batch in DataLoader(data, sampler=sampler):
    model(batch).sum().backward()
    optimizer.step()
```

## Fix safety
Shown only: what reads attributes of the model or saves it needs `unwrap` from then on.

## Known limits
Of a program started without a group, silent where it imports a file that is not there, or a package that is not known to join
no processes, runs what a configuration names, starts processes itself, or wraps a model whether there is a group or not; and
where its argument parser ends it on the local rank that torch's old launcher and DeepSpeed's pass. Otherwise
silent where any file of the program names a wrapper or a framework that wraps and no model is wrapped where this one
is trained, and where code that is not seen is handed the model or the optimizer. DataParallel does not count: it joins the GPUs of one process.

## References
- torch 2.13.0 torch/nn/parallel/distributed.py: DDP averages the gradients, the process group alone does nothing
- torch 2.13.0 torch/nn/parallel/distributed.py: "This module doesn't work with torch.autograd.grad"
- CodeT5 a2a8dfb CodeT5/run_gen.py:246
- EnCodec_Trainer c0df846 README.md:19: `torchrun --nproc_per_node=4 train.py`, and the group is made in train_multi_gpu.py
"""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.model import Model, place_of, related
from distlint.analysis.program.syntax import own_nodes
from distlint.analysis.questions.accelerating import steps_optimizer
from distlint.analysis.questions.training import Backward, sent_backward, training_loops
from distlint.findings import Applicability, Finding, Fix, Related, Severity
from distlint.launch.project import LaunchFiles
from distlint.nodes import walk
from distlint.rule import Status

from .apart import started_apart
from .beside import Beside, trained_beside
from .synchronised import hands_model_on, synchronises
from .unseen import Unseen, unseen_gradients

if TYPE_CHECKING:
    from distlint.analysis.live.summaries import CallGroup
    from distlint.analysis.program.definitions import Function

CODE = "DL621"
NAME = "gradients-never-synchronised"
SEVERITY = Severity.ERROR
STATUS = Status.PREVIEW
LITERALS = ()

_SHOWN = 4
_SAMPLER = "torch.utils.data.DistributedSampler"
_GROUP = "torch.distributed.init_process_group"


def check(model: Model) -> Iterator[Finding]:
    """The way back of each training loop whose ranks share the data out and nothing else, and the models left out."""
    yield from map(_left_out, trained_beside(model))
    yield from map(_unseen, unseen_gradients(model))
    yield from _never(model)


def check_launch(files: LaunchFiles) -> Iterator[Finding]:
    """The first launch of each program that several processes run, each by itself."""
    for found in started_apart(files):
        name = posixpath.basename(found.path)
        advice = "Start it with `python`, or make a process group and wrap the model"
        first, *more = found.places
        yield Finding(
            CODE,
            NAME,
            SEVERITY,
            f"nothing in `{name}` joins the processes that are started here: each trains a model of its own on all of the data, "
            f"and writes the files of the others. {advice}.",
            first,
            (
                Related(found.backward, "each goes backward by itself"),
                *(Related(each, "and here") for each in more[:_SHOWN]),
            ),
            Fix(Applicability.DISPLAY, advice),
        )


def _never(model: Model) -> Iterator[Finding]:
    samplers = [c for c in model.calls(_SAMPLER) if _shares(c)]
    if not samplers or not any(True for _ in model.calls(_GROUP)) or model.answer(synchronises):
        return
    for module in model.modules:
        for function in module.all_functions:
            call = _way_back(model, function)
            drawn = next((c for c in samplers if _feeds(model, c, function)), None)
            if call is not None and drawn is not None:
                yield _finding(model, function, call, drawn)


def _shares(call: CallGroup) -> bool:
    """Whether a sampler gives each rank its part of what is trained on: one for evaluation does not shuffle."""
    shuffle = call.site.keywords.get("shuffle")
    return call.by_all and not (shuffle is not None and shuffle.const is False)


def _feeds(model: Model, sampler: CallGroup, function: Function) -> bool:
    """Whether a sampler belongs to what a function trains on: made there, near it, or by one that calls both."""
    maker = sampler.site.function
    return (
        maker is function
        or (maker.cls is not None and maker.cls is function.cls)
        or maker in _called(model, function)
        or function in _called(model, maker)
        or any(
            {maker, function} <= _called(model, caller) for caller in function.module.all_functions
        )
    )


def _called(model: Model, function: Function) -> frozenset[Function]:
    """The functions of the project that a function calls."""
    summaries = model.summaries_of(function)
    runs = summaries.summaries() if summaries is not None else ()
    return frozenset(s.callee for _, run in runs for s in run.calls if s.callee is not None)


def _way_back(model: Model, function: Function) -> ast.Call | None:
    """The `backward()` of a training loop into which several ranks come together."""
    if not any(True for _ in training_loops(function)) or not steps_optimizer(function):
        return None
    if hands_model_on(model, function, _trained(function)):
        return None
    for loop in training_loops(function):
        for node in walk(loop, ast.Call):
            if sent_backward(node) is not None:
                return node if _together(model, function, node) else None
    return None


def _together(model: Model, function: Function, node: ast.Call) -> bool:
    """Whether all ranks come to a call: where the function is not followed, to a call of it."""
    group = model.call_at(node)
    groups = (
        [group]
        if group is not None
        else [c for c in model.calls(module=function.module) if c.site.callee is function]
    )
    return any(g.by_all and model.joint_entry_at(g) is not None for g in groups)


def _trained(function: Function) -> frozenset[str]:
    """What the function calls to compute its loss, models and loss functions, and what it steps."""
    backward = Backward(function)
    calls = own_nodes(function, ast.Call)
    forwards = {
        ast.unparse(c.func)
        for c in calls
        if isinstance(c.func, ast.Name | ast.Attribute) and backward.reaches(c)
    }
    stepped = {
        ast.unparse(c.func.value)
        for c in calls
        if isinstance(c.func, ast.Attribute) and c.func.attr == "step"
    }
    return frozenset(forwards | stepped)


def _left_out(found: Beside) -> Finding:
    advice = f"Wrap `{found.name}` too"
    site = found.wrap.site
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"each rank steps `{found.name}` with the gradient of its own part of the data, as what is wrapped is another "
        f"model: its replicas drift apart, and what is saved has seen one rank's part. {advice}.",
        place_of(found.function.module, found.forward),
        (related(site.module, site.node, "another model is wrapped"),),
        Fix(Applicability.DISPLAY, advice),
    )


def _unseen(found: Unseen) -> Finding:
    site = found.call.site
    advice = "Call `backward()`, or average what `torch.autograd.grad` gives with `all_reduce`"
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"each rank steps `{found.name}` with the gradient of its own part of the data: `torch.autograd.grad` runs none of "
        f"DDP's hooks, and the replicas drift apart. {advice}.",
        place_of(site.module, site.node),
        (related(found.wrap.module, found.wrap.node, "wrapped here"),),
        Fix(Applicability.DISPLAY, advice),
    )


def _finding(model: Model, function: Function, call: ast.Call, sampler: CallGroup) -> Finding:
    fix = Fix(Applicability.DISPLAY, "Wrap the model: `DistributedDataParallel(model)`")
    (group, *_) = model.calls(_GROUP)
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        "each rank steps with the gradient of its own part of the data, as nothing wraps the model: the replicas "
        f"drift apart, and what is saved has seen one rank's part. {fix.message}.",
        place_of(function.module, call),
        (
            related(sampler.site.module, sampler.site.node, "each rank gets its part of the data"),
            related(group.site.module, group.site.node, "the process group"),
        ),
        fix,
    )
