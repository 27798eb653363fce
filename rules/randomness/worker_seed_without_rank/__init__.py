"""The workers of all ranks draw the same random numbers: their seed comes from the worker's number alone.

## What it does
Finds a `worker_init_fn` that seeds a generator with the number of the worker, constants and a seed that all
ranks share, in a program that several ranks run. Also one that seeds with `torch.initial_seed()` the workers of a loader
whose `generator` all ranks seed alike: the seeds of the workers are drawn from it.

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
`torch.initial_seed()` in place of the number changes with the epoch too; it differs between ranks where torch, or the
`generator` that the loader is given, is seeded differently on each.

## Fix safety
Shown only: where the function gets the rank from is for a person to say.

## Known limits
Silent where the seed comes from another call, as `torch.initial_seed()` of a loader without a generator, from a parameter whose callers are not in the
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
from distlint.records import dataclass
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
    begins_alike: bool = False
    """Whether `torch.initial_seed()` is the same there on all ranks: it comes from the loader's generator."""


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
    if node is None or isinstance(node, ast.Module):
        return
    parameters = [each.arg for each in node.args.args if each.arg != "self"]
    if len(parameters) != 1:
        return
    generator = _common_generator(model, around, loader)
    start = _Start(function or around, parameters[0], function is not None, generator is not None)
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
        advice = "Add the rank, times the number of workers, to the seed"
        if generator is not None:
            advice = "Add the rank to the seed of the loader's generator"
        yield Finding(
            CODE,
            NAME,
            SEVERITY,
            f"The workers of all ranks draw the same random numbers. {advice}.",
            place_of(start.function.module, alike[0]),
            (
                related(module, loader, "each rank has such workers"),
                *(
                    [
                        related(
                            generator[0],
                            generator[1],
                            "the loaders of all ranks draw their seeds from this",
                        )
                    ]
                    if generator is not None
                    else []
                ),
                *(related(start.function.module, each, "and here") for each in alike[1:]),
            ),
            Fix(Applicability.DISPLAY, advice),
        )


def _is_drawn_from(seeding: object) -> bool:
    """Whether a call seeds a generator that a worker draws from: a worker computes nothing on a GPU.

    SwinBERT 03116f1 src/datasets/vl_dataloader.py:127: `torch.cuda.manual_seed(seed)`, in a worker.
    """
    return (
        isinstance(seeding, str) and seeding in SEEDINGS and SEEDINGS[seeding].streams != ("cuda",)
    )


def _common_generator(
    model: Model, around: Function, loader: ast.Call
) -> tuple[Module, ast.Call] | None:
    """What seeds the generator of a loader, where that is the same on all ranks: from it come the seeds of the workers.

    PersFormer_3DLane 3ed3109 data/Load_Data.py:2545: `generator=g` behind `g.manual_seed(0)`; nougat 5a92920
    lightning_module.py:219: `generator=self.g`, which the constructor seeds.
    """
    path = next((dotted_name(k.value) for k in loader.keywords if k.arg == "generator"), "")
    if not path:
        return None
    functions = [*around.outward(), around.module.body]
    if path.startswith("self.") and around.cls is not None:
        functions = list(around.cls.methods.values())
    seeds = [
        (function, node)
        for function in functions
        for node in own_nodes(function, ast.Call)
        if isinstance(node.func, ast.Attribute)
        and node.func.attr == "manual_seed"
        and node.args
        and (
            dotted_name(node.func.value) == path
            or any(value is node for value in assignments(function).get(path, ()))
        )
    ]
    if not seeds or not all(
        _is_alike(model, _Start(function), node.args[0], frozenset()) for function, node in seeds
    ):
        return None
    return around.module, seeds[0][1]


def _function(model: Model, module: Module, around: Function, given: ast.expr) -> Function | None:
    """The function that starts each worker; None for a lambda."""
    if isinstance(given, ast.Name):
        for outer in around.outward():
            if given.id in outer.nested:
                return outer.nested[given.id]
    match given:
        case ast.Attribute(value=ast.Name(id="self"), attr=name) if around.cls is not None:
            return model.program.find_method(around.cls, name)
    meaning = model.resolve(module, given)
    return meaning if isinstance(meaning, Function) else None


def _is_alike(model: Model, start: _Start, seed: ast.expr, seen: frozenset[str]) -> bool:
    """Whether all ranks compute the same from an expression, as far as names tell."""
    if mentions_rank(seed):
        return False
    calls = list(walk(seed, ast.Call))
    if any(
        dotted_name(call.func) not in _NUMBERS
        and not (start.begins_alike and _is_initial_seed(model, start, call))
        for call in calls
    ):
        return False
    called = {id(part) for call in calls for part in walk(call.func)}
    names = [n for n in walk(seed, ast.Name, ast.Attribute) if id(n) not in called]
    inner = {id(n.value) for n in names if isinstance(n, ast.Attribute)}
    return all(_is_shared(model, start, n, seen) for n in names if id(n) not in inner)


def _is_initial_seed(model: Model, start: _Start, call: ast.Call) -> bool:
    return model.resolve(start.function.module, call.func) == "torch.initial_seed"


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
            there = start if outer is start.function else _Start(outer)
            return all(_is_alike(model, there, value, seen | {path}) for value in values)
        if path in outer.parameters:
            return _is_given_alike(model, outer, path, seen | {path})
    if isinstance(name, ast.Attribute):
        root = path.partition(".")[0]
        own = start.is_own and root in assignments(start.function)
        settings = root != "self" or path.count(".") > 1  # not `self.seed`
        return name.attr == "seed" and settings and not own and not _seed_has_rank(model)
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
