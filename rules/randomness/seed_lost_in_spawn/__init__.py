"""The seed is set in the process that spawns the ranks, and does not reach them.

## What it does
Finds `torch.manual_seed(seed)`, `set_seed(seed)` and the like above `mp.spawn(worker)` in one function, where
neither the worker nor anything that it calls seeds.

## Why it is bad
`spawn` starts fresh interpreters: they inherit nothing of the generators of the process that starts them. The ranks
run with numbers of their own, and two runs with one `--seed` differ: the option does nothing where there are
several GPUs.

## Example
```python
torch.manual_seed(args.seed)
mp.spawn(worker, nprocs=8, args=(args,))
```

## Use instead
```python
mp.spawn(worker, nprocs=8, args=(args,))


def worker(rank, args):
    torch.manual_seed(args.seed)
```

## Fix safety
Shown only: what is drawn before the models are equal needs one seed on all ranks, what is drawn in training a seed
of each rank's own.

## Known limits
Silent where the parent itself draws between the two, by the names of what it calls, and where the worker, or a
function or class of the program that it names, has a call with a seed in its name. Information where the worker
goes through data without gradients, and nothing that it names trains or draws samples.

## References
- python 3.11 library/multiprocessing: "spawn: The parent process starts a fresh Python interpreter process."
- pytorch/examples imagenet/main.py, line 90
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.model import Model, place_of, related, source_of
from distlint.analysis.program.definitions import Class, Function, last_name
from distlint.analysis.program.syntax import own_nodes
from distlint.analysis.questions.evaluating import evaluates
from distlint.analysis.questions.seeding import is_helper
from distlint.analysis.questions.training import goes_backward
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.knowledge import randomness
from distlint.nodes import walk
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Module

CODE = "DL407"
NAME = "seed-lost-in-spawn"
SEVERITY = Severity.WARNING
STATUS = Status.STABLE
LITERALS = ()

_SPAWN: Final = "torch.multiprocessing.spawn"
_WORDS: Final = ("seed", "determin", "reproduc", "set_rng_state")
_OF_DEVICE: Final = "torch.cuda."
"""Seeds of the GPU alone: the generator of the CPU, which shuffles and makes weights, is another."""
_DRAWS: Final = ("rand", "shuffle", "sample", "split", "permutation")
"""Parts of the names of calls that draw."""
_TRAINS: Final = re.compile(
    r"optim|backward|^fit$|^train(?!ing$)|^(?:generate|sample)$", re.IGNORECASE
)
"""Names of what changes weights, or draws what comes out."""
_DEPTH: Final = 5


def check(model: Model) -> Iterator[Finding]:
    """The first seed above each spawn whose ranks seed nothing."""
    for module in model.modules:
        if "spawn" not in module.source.text:
            continue
        for function in module.all_functions:
            calls = list(own_nodes(function, ast.Call))
            calls.sort(key=lambda node: node.lineno)
            for spawn in calls:
                if not spawn.args or model.resolve(module, spawn.func) != _SPAWN:
                    continue
                worker = model.resolve(module, spawn.args[0])
                lost = _seed_above(model, module, calls, spawn)
                if lost is None or not isinstance(worker, Function):
                    continue
                reached = _reached(model, worker, _DEPTH, {})
                if not any(_seeds(model, each) for each in reached):
                    severity = Severity.INFO if _only_evaluates(reached) else SEVERITY
                    yield _finding(module, lost, spawn, worker, severity)


def _finding(
    module: Module, seed: ast.Call, spawn: ast.Call, worker: Function, severity: Severity
) -> Finding:
    advice = f"Seed in `{worker.name}()`, which each rank runs"
    return Finding(
        CODE,
        NAME,
        severity,
        f"`{source_of(module, seed.func)}()` seeds the process that spawns the ranks: these are fresh "
        f"interpreters, and each runs with random numbers of its own, whatever the seed. {advice}.",
        place_of(module, seed),
        (
            related(module, spawn, "starts fresh interpreters"),
            related(worker.module, worker.node, "seeds nothing"),
        ),
        Fix(Applicability.DISPLAY, advice),
    )


def _seed_above(
    model: Model, module: Module, calls: list[ast.Call], spawn: ast.Call
) -> ast.Call | None:
    """The seed that a function sets before it spawns; None where it draws something itself before it does."""
    found = None
    for call in calls:
        if call.lineno >= spawn.lineno:
            break
        meaning = model.resolve(module, call.func)
        row = randomness.SEEDINGS.get(meaning) if isinstance(meaning, str) else None
        if (row is not None and "torch" in row.streams) or _is_helper(meaning):
            found = found or call
        elif found is not None and any(word in last_name(call.func) for word in _DRAWS):
            return None
    return found


def _is_helper(meaning: object) -> bool:
    return isinstance(meaning, Function) and is_helper(meaning)


def _seeds(model: Model, function: Function) -> bool:
    """Whether a call seeds, by the name of what is called."""
    for node in walk(function.node, ast.Call):
        meaning = model.resolve(function.module, node.func)
        name = meaning if isinstance(meaning, str) else last_name(node.func)
        if any(word in name.lower() for word in _WORDS) and not name.startswith(_OF_DEVICE):
            return True
    return False


def _only_evaluates(reached: Iterable[Function]) -> bool:
    """Whether ranks go through data without gradients, and nothing there trains: no seed changes what they find.

    Parametric-Contrastive-Learning fe56535 GPaCo/LT/paco_lt_ensemble.py:399: the worker ends with `validate(…)`.
    """
    functions = list(reached)
    return any(map(evaluates, functions)) and not any(
        goes_backward(function.node)
        or any(_TRAINS.search(last_name(node.func)) for node in walk(function.node, ast.Call))
        for function in functions
    )


def _reached(
    model: Model, function: Function, depth: int, seen: dict[Function, None]
) -> dict[Function, None]:
    """A function, and those that it calls or names, some steps down."""
    if depth and function not in seen:
        seen[function] = None
        for node in walk(function.node):
            for each in _called(model, function, node) if isinstance(node, ast.Call) else ():
                _reached(model, each, depth - 1, seen)
    return seen


def _called(model: Model, function: Function, node: ast.Call) -> list[Function]:
    call = model.call_at(node)
    callee = call.site.callee if call is not None else None
    found = [callee] if callee is not None else []
    match model.resolve(function.module, node.func):
        case Function() as meaning:
            found.append(meaning)
        case Class() as meaning:
            found += meaning.methods.values()
    return found
