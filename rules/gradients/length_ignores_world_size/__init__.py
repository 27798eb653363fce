"""A schedule is made for the steps of one process, and a prepared scheduler steps once for each process.

## What it does
Finds a scheduler that `accelerator.prepare` gets and whose number of steps is what the training loop counts to
(`max_train_steps`), comes from the length of a loader that is prepared already, or divides that of one which is
not by the number of processes, and is not multiplied by `accelerator.num_processes`. Also one whose steps are
multiplied and whose warm-up, or what is taken off them, is not. And a prepared `ReduceLROnPlateau` whose patience is
that of one process. With Lightning: `len(loader)` of a plain loader, asked for
before `fit()` divides the loader between the ranks, that `max_epochs`, `max_steps` or the schedule of the module
is computed from.

## Why it is bad
At each step of the optimizer a prepared scheduler takes as many steps as there are processes, since it was
made for the batches of one. On eight GPUs the learning rate is through its warm-up and down at its end after
an eighth of the training; the rest runs with a learning rate of zero, and the loss stays where it was.

## Example
```python
scheduler = get_scheduler("cosine", optimizer, num_warmup_steps=100, num_training_steps=args.max_train_steps)
optimizer, scheduler = accelerator.prepare(optimizer, scheduler)
```

## Use instead
```python
scheduler = get_scheduler(
    "cosine",
    optimizer,
    num_warmup_steps=100 * accelerator.num_processes,
    num_training_steps=args.max_train_steps * accelerator.num_processes,
)
optimizer, scheduler = accelerator.prepare(optimizer, scheduler)
```

## Fix safety
Unsafe: the learning rate changes on several processes, not on one.

## Known limits
A number that is computed only where it was not given (`if max_steps is None`) is reported for the runs that give it,
and repaired by hand. Silent for accelerate's `DummyScheduler`, which DeepSpeed replaces, where the number is a length taken before `prepare`, which counts the batches of all ranks; where the Accelerator gets `split_batches` or `step_scheduler_with_optimizer`; where the prepared
scheduler comes from a helper that has to do with the number of processes; and where `prepare` and loop are in different functions
of no class.

## References
- accelerate 1.15.0 accelerate/scheduler.py:54: `for _ in range(num_processes): self.scheduler.step()`
- pytorch-lightning 2.6.6 pytorch_lightning/trainer/connectors/data_connector.py:211: `fit()` puts a
  DistributedSampler into the loader
- accelerate issues 662, 1398, 2142, 2318, 2773, 2926; diffusers issue 3954
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.model import Model, place_of, related, source_of, span_of
from distlint.analysis.program.definitions import dotted_name, last_name
from distlint.analysis.program.handed import argument_of, callers_by_name
from distlint.analysis.program.syntax import (
    assignments,
    bound_again,
    default_of,
    literals,
    own_nodes,
)
from distlint.analysis.questions.accelerating import accelerators, is_of_deepspeed
from distlint.analysis.questions.lengths import (
    counts_processes,
    expanded,
    lengths,
    mentions_processes,
    prepared,
)
from distlint.edits import Replace
from distlint.findings import Applicability, Finding, Fix, Related, Severity
from distlint.nodes import walk
from distlint.rule import Status

from .elsewhere import made_elsewhere
from .lightning import Uncut, uncut
from .plateau import beside, prepared_plateaus

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.program.definitions import Function, Module

CODE = "DL613"
NAME = "length-ignores-world-size"
SEVERITY = Severity.WARNING
STATUS = Status.STABLE
LITERALS = ()

_STEPS = ("num_training_steps", "total_steps", "T_max", "total_iters", "steps_per_epoch")
_LAMBDA = "LambdaLR"
_ENDLESS = frozenset({"constant", "constant_with_warmup"})
"""Schedules of `get_scheduler` that take no number of steps: transformers 5.23.0 and diffusers 0.42.1 optimization.py."""
_PREPARES = ("accelerate.Accelerator.prepare", "accelerate.Accelerator.prepare_scheduler")
_OTHERWISE = frozenset(
    {"split_batches", "step_scheduler_with_optimizer", "dataloader_config", "even_batches", None}
)


def check(model: Model) -> Iterator[Finding]:
    """Each prepared scheduler that is made for the steps of one process."""
    said: set[int] = set()
    for call in model.calls(*_PREPARES):
        site = call.site
        if not isinstance(site.node.func, ast.Attribute) or _counts_otherwise(site.function):
            continue
        for plateau, step in prepared_plateaus(site):
            yield _impatient(site, plateau, step)
        for argument in site.node.args:
            if isinstance(argument, ast.Name) and argument.id in site.function.parameters:
                yield from _handed_over(model, site, argument.id)
                continue
            made = _made(site.function, argument)
            if made is None:
                yield from _of_helper(model, site, argument, said)
                continue
            steps, function = _steps(made), site.function
            if id(steps) in said:
                continue  # prepared in both arms of a condition
            place = related(site.module, site.node, "prepared here")
            if _is_of_share(model, function, steps) or _is_divided(model, function, steps):
                path = ""
            elif _is_of_one(function, steps) and not _is_of_all(model, function, steps):
                path = next((p for p in _factors(steps) if _filled_in(function, p)), "")
            else:
                continue
            said.add(id(steps))
            processes = f"{source_of(site.module, site.node.func.value)}.num_processes"
            if path:
                yield _where_given(site.module, steps, path, place)
            else:
                yield _finding(
                    site.module, steps, processes, (place,), shown=_may_be_told(function)
                )
    for module in model.modules:
        if "num_processes" in module.source.text and "num_training_steps" in module.source.text:
            for function in module.all_functions:
                for node in own_nodes(function, ast.Call):
                    if any(k.arg in _STEPS for k in node.keywords):
                        yield from _half(module, function, node)
    for found in uncut(model, _STEPS):
        yield _of_all_ranks(found)


def _impatient(site: CallSite, made: ast.Call, step: ast.AST) -> Finding:
    advice = "Leave it unprepared"
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        "a prepared scheduler steps once for each process: one epoch without progress counts as many, and the "
        f"learning rate falls that many times too early. {advice}.",
        place_of(site.module, made),
        (
            related(site.module, site.node, "prepared here"),
            related(site.module, step, "counted once for each process"),
        ),
        Fix(Applicability.DISPLAY, advice),
    )


def _handed_over(model: Model, site: CallSite, parameter: str) -> Iterator[Finding]:
    """The schedulers that callers hand to a function which prepares them.

    finetrainers parallel/accelerate.py:146: `prepare_optimizer(self, optimizer, lr_scheduler)`, of a backend that the
    trainer keeps in an attribute.
    """
    for user, call in callers_by_name(model.program, site.function):
        given = argument_of(call, site.function, parameter)
        made = _made(user, given) if given is not None and user.module.source.reported else None
        if made is None or not _is_of_one(user, steps := _steps(made)):
            continue
        if any(_filled_in(user, path) for path in _factors(steps)):
            continue
        yield _in_another_function(user, steps, site)


def _of_helper(
    model: Model, site: CallSite, argument: ast.expr, said: set[int]
) -> Iterator[Finding]:
    """The scheduler that a helper makes for the function that prepares it."""
    found = made_elsewhere(model, site, argument, _STEPS)
    if found is not None and id(found[1]) not in said and found[0].module.source.reported:
        said.add(id(found[1]))
        yield _in_another_function(*found, site)


def _in_another_function(maker: Function, steps: ast.expr, site: CallSite) -> Finding:
    advice = "Multiply it by the number of processes, or leave the scheduler unprepared"
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"a prepared scheduler steps once for each process, and is through with `{source_of(maker.module, steps)}` "
        f"that many times too early. {advice}.",
        place_of(maker.module, steps),
        (related(site.module, site.node, "prepared here"),),
        Fix(Applicability.DISPLAY, advice),
    )


def _of_all_ranks(found: Uncut) -> Finding:
    """A length that is asked for before Lightning divides the loader."""
    advice = "Divide it by the number of ranks"
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"this length counts the batches of all ranks, `fit()` gives each rank its share of them, and "
        f"`{found.used.arg}` is wrong by the number of ranks. {advice}.",
        place_of(found.module, found.length),
        (
            related(found.module, found.used.value, "each rank trains for so long"),
            related(found.module, found.fit, "divided between the ranks here"),
        ),
        Fix(Applicability.DISPLAY, advice),
    )


def _half(module: Module, function: Function, made: ast.Call) -> Iterator[Finding]:
    """What is not multiplied of a scheduler whose steps are."""
    steps = _steps(made)
    processes = next((n for n in walk(steps, ast.Attribute) if n.attr == "num_processes"), None)
    if processes is None:
        return
    short: list[ast.expr] = []
    match steps:
        case ast.BinOp(left=left, op=ast.Sub(), right=right) if mentions_processes(left):
            if not mentions_processes(right) and _factors(right):
                short.append(right)
    warmup = next((k.value for k in made.keywords if k.arg == "num_warmup_steps"), None)
    if warmup is not None and not mentions_processes(warmup):
        paths = _factors(warmup)
        if paths and not any(path in assignments(function) for path in paths):
            short.append(warmup)
    for each in short:
        yield _finding(module, each, source_of(module, processes), ())


def _counts_otherwise(function: Function) -> bool:
    """Whether the Accelerator that is made here, or by the class of a method, lets a scheduler step once."""
    return any(
        k.arg in _OTHERWISE
        and not _divides_batches_not(each, k.value)
        and not _is_as_usual(each, k)
        for each in beside(function)
        for call in accelerators(each)
        for k in call.keywords
    )


_USUAL: Final = {"split_batches": False, "step_scheduler_with_optimizer": True}
"""What an Accelerator does where it is not told (accelerate 1.15.0 accelerate/accelerator.py)."""


def _is_as_usual(function: Function, setting: ast.keyword) -> bool:
    """Whether a setting is a parameter that changes nothing unless someone gives it: `accelerate_kwargs: dict = dict()`."""
    if not isinstance(setting.value, ast.Name):
        return False
    match default_of(function, setting.value.id):
        case ast.Dict(keys=[]) | ast.Call(func=ast.Name(id="dict"), args=[], keywords=[]):
            return setting.arg is None
        case ast.Constant(value=value):
            return value is not None and _USUAL.get(setting.arg or "") is value
    return False


def _may_be_told(function: Function) -> bool:
    """Whether who makes the object may have the Accelerator count otherwise."""
    return any(
        k.arg in _OTHERWISE and _is_as_usual(each, k)
        for each in beside(function)
        for call in accelerators(each)
        for k in call.keywords
    )


def _divides_batches_not(function: Function, value: ast.expr) -> bool:
    """Whether a configuration of the loaders says that each process has batches of its own."""
    values = assignments(function).get(dotted_name(value), [value])
    return all(
        isinstance(made, ast.Call)
        and any(
            k.arg == "split_batches" and isinstance(k.value, ast.Constant) and not k.value.value
            for k in made.keywords
        )
        for made in values
    )


def _made(function: Function, argument: ast.expr) -> ast.Call | None:
    """The call that makes a scheduler, where a function makes it once."""
    given = [argument]
    path = dotted_name(argument)
    if path and "sched" in last_name(argument).lower():
        given = [
            v
            for v in assignments(function).get(path, [])
            if not any(dotted_name(n) == path for n in walk(v, ast.Name, ast.Attribute))
        ]
    calls = [
        v
        for v in given
        if isinstance(v, ast.Call)
        and (
            any(k.arg in _STEPS for k in v.keywords)
            or (last_name(v.func) == _LAMBDA and len(v.args) == 2 and not v.keywords)
        )
        and not _has_no_end(v)
        and not is_of_deepspeed(v)  # its engine steps once for all processes
    ]
    return calls[0] if len(calls) == 1 else None


def _has_no_end(made: ast.Call) -> bool:
    """Whether a schedule is one that stays as it is.

    diffusers examples/community/sde_drag.py:251: `get_scheduler("constant", …, num_training_steps=lora_step)`.
    """
    return last_name(made.func) == "get_scheduler" and any(
        isinstance(given, ast.Constant) and given.value in _ENDLESS
        for given in (*made.args[:1], *(k.value for k in made.keywords if k.arg == "name"))
    )


def _steps(made: ast.Call) -> ast.expr:
    """The number of steps that a scheduler is made for."""
    given = {k.arg: k.value for k in made.keywords}
    return next((given[name] for name in _STEPS if name in given), None) or made.args[-1]


def _is_of_one(function: Function, steps: ast.expr) -> bool:
    """Whether a number of steps is that of one process: what the loop of the function counts to."""
    return not mentions_processes(steps) and any(
        _is_counted_to(each, path)
        for factor in _factors(steps)
        for path in (factor, *_kept(function, factor))
        for each in (beside(function) if path.startswith("self.") else [function])
    )


def _kept(function: Function, name: str) -> list[str]:
    """The attributes in which a method keeps a parameter, as it is.

    soundstorm-pytorch 8119522 soundstorm_pytorch/trainer.py:119: `T_max = num_train_steps`, which the loop of `train()`
    counts to as `self.num_train_steps`.
    """
    if function.cls is None or name not in function.parameters or name in bound_again(function):
        return []
    return [
        path
        for path, values in assignments(function).items()
        if path.startswith("self.")
        and len(values) == 1
        and isinstance(values[0], ast.Name)
        and values[0].id == name
    ]


def _is_of_share(model: Model, function: Function, steps: ast.expr) -> bool:
    """Whether a number of steps counts the batches of one rank: lengths that are asked for after `prepare`."""
    found = lengths(function, steps, prepared(model, function))
    return bool(found) and not any(length.of_all for length in found or ())


def _is_of_all(model: Model, function: Function, steps: ast.expr) -> bool:
    """Whether a number of steps is written with the length of a loader that is not prepared yet.

    tango mustango/diffusers/examples/unconditional_image_generation/train_unconditional.py:494.
    """
    found = lengths(function, steps, prepared(model, function)) or ()
    return any(length.of_all and length.node in walk(steps) for length in found)


def _is_divided(model: Model, function: Function, steps: ast.expr) -> bool:
    """Whether the batches of all ranks are divided by the number of processes: those of one are left."""
    given = prepared(model, function)
    divided: list[ast.expr] = []
    for node in (n for part in expanded(function, steps) for n in walk(part)):
        match node:
            case ast.BinOp(op=ast.Mult(), left=left, right=right) if any(
                isinstance(n, ast.Name | ast.Attribute) and counts_processes(last_name(n))
                for n in (left, right)
            ):
                return (
                    False  # diffusers: divided for the loop, and multiplied again for the scheduler
                )
            case ast.BinOp(left=left, op=ast.Div() | ast.FloorDiv(), right=right) if isinstance(
                right, ast.Name | ast.Attribute
            ) and counts_processes(last_name(right)):
                divided.append(left)
    found = [length for left in divided for length in lengths(function, left, given) or ()]
    return bool(found) and all(length.of_all for length in found)


def _factors(node: ast.expr) -> list[str]:
    """The names and attributes that a number is made of; none where it is made in another way."""
    match node:
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return [*_factors(left), *_factors(right)]
        case ast.Name() | ast.Attribute():
            return [dotted_name(node)]
    return []


def _is_counted_to(function: Function, path: str) -> bool:
    """Whether the steps of the optimizer are counted up to a number that comes from outside."""
    if not path or _is_assigned(function, path):
        return False
    for node in own_nodes(function, ast.Compare, ast.While, ast.Call):
        match node:
            case ast.Compare(left=left, ops=[ast.GtE() | ast.Gt() | ast.Eq()], comparators=[right]):
                if dotted_name(right) == path and "step" in last_name(left):
                    return True
            case ast.While(test=test):
                if any(_is_below(part, path) for part, holds in literals(test, True) if holds):
                    return True
            case ast.Call(func=ast.Name(id="range"), args=[*_, last]) if dotted_name(last) == path:
                return True
    return False


def _is_below(test: ast.expr, path: str) -> bool:
    """`self.step < self.args.max_steps`"""
    match test:
        case ast.Compare(left=left, ops=[ast.Lt()], comparators=[right]):
            return dotted_name(right) == path and "step" in last_name(left)
    return False


def _is_assigned(function: Function, path: str) -> bool:
    """Whether a function gives a number another value than the one it was given."""
    return len(assignments(function).get(path, ())) > len(_filled_in(function, path))


def _filled_in(function: Function, path: str) -> list[ast.If]:
    """The conditions under which a function computes a number that was not given: `if steps is None: steps = …`.

    diffusers' scripts compute it once more behind `prepare`, `if overrode_max_train_steps:`, which is set where it was
    None (EditAnything 8d2db4a utils/train_dreambooth_lora_inpaint.py:641).
    """
    tests = own_nodes(function, ast.If)
    first = [n for n in tests if ast.unparse(n.test) == f"{path} is None" and _gives(n, path)]
    flags = {
        target.id
        for node in first
        for s in node.body
        if isinstance(s, ast.Assign) and isinstance(s.value, ast.Constant) and s.value.value is True
        for target in s.targets
        if isinstance(target, ast.Name)
    }
    again = [
        n for n in tests if isinstance(n.test, ast.Name) and n.test.id in flags and _gives(n, path)
    ]
    return [*first, *again]


def _gives(node: ast.If, path: str) -> bool:
    """Whether the body of a condition gives a number another value."""
    return any(
        isinstance(s, ast.Assign) and any(dotted_name(t) == path for t in s.targets)
        for s in node.body
    )


def _where_given(module: Module, steps: ast.expr, path: str, place: Related) -> Finding:
    """A number that is right only where it is computed from the loader."""
    advice = f"Multiply `{path}` by the number of processes where it is given"
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"where `{path}` is given, it counts the steps of one process, and a prepared scheduler steps once for each: "
        f"the schedule is through too early. {advice}.",
        place_of(module, steps),
        (place,),
        Fix(Applicability.DISPLAY, advice),
    )


def _finding(
    module: Module,
    steps: ast.expr,
    processes: str,
    places: tuple[Related, ...],
    *,
    shown: bool = False,
) -> Finding:
    text = source_of(module, steps)
    if isinstance(steps, ast.Call):
        return Finding(
            CODE,
            NAME,
            SEVERITY,
            f"a prepared scheduler steps once for each process, and `{text}` counts the steps of one. Leave the "
            "scheduler unprepared, or count the steps of all.",
            place_of(module, steps),
            places,
            Fix(Applicability.DISPLAY, "Leave the scheduler unprepared, or count the steps of all"),
        )
    right = f"({text}) * {processes}" if isinstance(steps, ast.BinOp) else f"{text} * {processes}"
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"a prepared scheduler steps once for each process, and is through with `{text}` that many times "
        f"too early. Write `{right}`.",
        place_of(module, steps),
        places,
        Fix(Applicability.DISPLAY, f"Write `{right}`")
        if shown
        else Fix(Applicability.UNSAFE, f"Write `{right}`", (Replace(span_of(steps), right),)),
    )
