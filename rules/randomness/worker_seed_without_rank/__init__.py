"""The workers of all ranks draw the same random numbers: their seed comes from the worker's number alone.

## What it does
Finds a `worker_init_fn` that seeds a generator with the number of the worker, constants and a seed that all
ranks share, in a program that several ranks run.

## Why it is bad
Worker 0 of rank 0 and worker 0 of rank 7 draw the same crops, flips and noise, in the same order. Augmentation
gets poorer with every GPU, and nothing shows it. In each epoch they draw the same again.

## Example
```python
def seed_worker(worker_id):
    np.random.seed(1234 + worker_id)

loader = DataLoader(data, sampler=DistributedSampler(data), num_workers=4, worker_init_fn=seed_worker)
```

## Use instead
```python
def seed_worker(worker_id):
    np.random.seed(1234 + 4 * rank + worker_id)
```
`torch.initial_seed()` in place of the number changes with the epoch too; it differs between ranks where torch is
seeded differently on each.

## Fix safety
Shown only: where the function gets the rank from is for a person to say.

## Known limits
Silent where the seed comes from a call, as `torch.initial_seed()`, from a parameter whose callers are not in the
program, or from anything that is named after the rank, and where the loader is made for one process, by a test for
`distributed`. One finding for a function, at the first seed of it, however many loaders are given it. Silent on
seeds of CUDA's generators, which no worker draws from.

## References
- torch 2.13.0 torch/utils/data/_utils/worker.py: `_worker_loop` seeds each worker, then calls `worker_init_fn`
- fastMRI issue 123
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from distlint.analysis.model import Model, place_of, related
from distlint.analysis.program.definitions import Function, dotted_name
from distlint.analysis.program.syntax import (
    assignments,
    default_of,
    mentions_rank,
    own_nodes,
)
from distlint.analysis.questions.seeding import is_for_one_process
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.knowledge.randomness import SEEDINGS
from distlint.nodes import last_name, walk
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Module

CODE = "DL406"
NAME = "worker-seed-without-rank"
SEVERITY = Severity.WARNING
STATUS = Status.PREVIEW
LITERALS = ()

_NUMBERS = frozenset({"int", "abs", "hash", "str"})


@dataclass(frozen=True, slots=True)
class _Start:
    """A function in which names are looked up; `number` is its parameter that gets the number of the worker."""

    function: Function
    number: str = ""
    is_own: bool = False
    """Whether the worker runs it, rather than the code that makes the loader."""


def check(model: Model) -> Iterator[Finding]:
    """Each function that seeds workers alike on all ranks, once for all loaders that are given it."""
    seen: set[ast.Call] = set()
    for module in model.modules:
        if "worker_init_fn" not in module.source.text or not model.is_distributed(module):
            continue
        for around in module.all_functions:
            for node in own_nodes(around):
                match node:
                    case ast.Call(keywords=keywords):
                        given = [k.value for k in keywords if k.arg == "worker_init_fn"]
                    case _:
                        continue
                if given and is_for_one_process(around, node):
                    continue
                for function in given:
                    yield from _seeded_alike(model, module, around, node, function, seen)


def _seeded_alike(
    model: Model,
    module: Module,
    around: Function,
    loader: ast.Call,
    given: ast.expr,
    seen: set[ast.Call],
) -> Iterator[Finding]:
    function = _function(model, module, around, given)
    node = given if isinstance(given, ast.Lambda) else function.node if function else None
    if node is None or isinstance(node, ast.Module) or len(node.args.args) != 1:
        return
    start = _Start(function or around, node.args.args[0].arg, function is not None)
    alike = [
        call
        for call in walk(node, ast.Call)
        if _is_drawn_from(model.resolve(start.function.module, call.func))
        and (seed := call.args[0] if call.args else next((k.value for k in call.keywords), None))
        is not None
        and _is_alike(model, start, seed, frozenset())
    ]
    if alike and alike[0] not in seen:
        seen.add(alike[0])
        yield Finding(
            CODE,
            NAME,
            SEVERITY,
            "The workers of all ranks draw the same random numbers. Add the rank, times the number "
            "of workers, to the seed.",
            place_of(start.function.module, alike[0]),
            (
                related(module, loader, "each rank has such workers"),
                *(related(start.function.module, each, "and here") for each in alike[1:]),
            ),
            Fix(Applicability.DISPLAY, "Add the rank to the seed"),
        )


def _is_drawn_from(seeding: object) -> bool:
    """Whether a call seeds a generator that a worker draws from: a worker computes nothing on a GPU.

    SwinBERT 03116f1 src/datasets/vl_dataloader.py:127: `torch.cuda.manual_seed(seed)`, in a worker.
    """
    return (
        isinstance(seeding, str) and seeding in SEEDINGS and SEEDINGS[seeding].streams != ("cuda",)
    )


def _function(model: Model, module: Module, around: Function, given: ast.expr) -> Function | None:
    """The function that starts each worker; None for a lambda."""
    if isinstance(given, ast.Name):
        for outer in around.outward():
            if given.id in outer.nested:
                return outer.nested[given.id]
    meaning = model.resolve(module, given)
    return meaning if isinstance(meaning, Function) else None


def _is_alike(model: Model, start: _Start, seed: ast.expr, seen: frozenset[str]) -> bool:
    """Whether all ranks compute the same from an expression, as far as names tell."""
    if mentions_rank(seed):
        return False
    calls = list(walk(seed, ast.Call))
    if any(dotted_name(call.func) not in _NUMBERS for call in calls):
        return False
    called = {id(call.func) for call in calls}
    names = [n for n in walk(seed, ast.Name, ast.Attribute) if id(n) not in called]
    inner = {id(n.value) for n in names if isinstance(n, ast.Attribute)}
    return all(_is_shared(model, start, n, seen) for n in names if id(n) not in inner)


def _is_shared(
    model: Model, start: _Start, name: ast.Name | ast.Attribute, seen: frozenset[str]
) -> bool:
    path = dotted_name(name)
    if not path or path in seen:
        return False
    if path == start.number:
        return True
    for outer in (*start.function.outward(), start.function.module.body):
        values = assignments(outer).get(path)
        if values:
            there = _Start(outer)
            return all(_is_alike(model, there, value, seen | {path}) for value in values)
        if path in outer.parameters:
            return _is_given_alike(model, outer, path, seen | {path})
    if isinstance(name, ast.Attribute):
        root = path.partition(".")[0]
        own = start.is_own and root in assignments(start.function)
        return name.attr == "seed" and root != "self" and not own and not _seed_has_rank(model)
    return False


def _is_given_alike(model: Model, outer: Function, name: str, seen: frozenset[str]) -> bool:
    """Whether the callers of a function give a parameter the same on all ranks; False where none is known."""
    position = outer.parameters.index(name)
    found = False
    for call in model.calls(f".{outer.name}"):
        if call.site.callee is outer:
            given = call.site.argument_node(position, name) or default_of(outer, name)
            if given is None or not _is_alike(model, _Start(call.site.function), given, seen):
                return False
            found = True
    return found


def _seed_has_rank(model: Model) -> bool:
    """Whether the program puts the rank into a setting called `seed`."""
    return any(
        isinstance(node, (ast.Assign, ast.AugAssign))
        and any(
            last_name(target) == "seed"
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        )
        and mentions_rank(node.value)
        for module in model.program.modules.values()
        if "seed" in module.source.text
        for node in walk(module.source.tree)
    )
