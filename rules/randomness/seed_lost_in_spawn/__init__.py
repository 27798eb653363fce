"""The seed is set in the process that spawns the ranks, and does not reach them.

## What it does
Finds `torch.manual_seed(seed)`, `set_seed(seed)` and the like above `mp.spawn(worker)`, in the function or the block for
`__name__ == "__main__"`, which the ranks do not run, in each that calls it, or in the constructor of its object, where
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
A generator in a variable of its own is another one than those that dropout and `shuffle` draw from. Silent where the parent itself draws between the two, by the names of what it calls, and where the worker, or a
function or class of the program that it names, has a call with a seed in its name (other than of NumPy and `random` alone),
and where a file seeds at its top, which the ranks import again. Information where the worker
goes through data without gradients, and nothing that it names trains or draws samples.

## References
- python 3.11 library/multiprocessing: "spawn: The parent process starts a fresh Python interpreter process."
- pytorch/examples imagenet/main.py, line 90
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.model import Model, place_of, related, source_of
from distlint.analysis.program.definitions import Class, Function, last_name
from distlint.analysis.program.handed import calls_of
from distlint.analysis.program.linked import imported_below
from distlint.analysis.program.named import run_on_import
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.analysis.questions.evaluating import evaluates
from distlint.analysis.questions.seeding import is_helper
from distlint.analysis.questions.training import goes_backward
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.knowledge import randomness
from distlint.nodes import walk
from distlint.patterns import pattern
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Module

CODE = "DL407"
NAME = "seed-lost-in-spawn"
SEVERITY = Severity.WARNING
STATUS = Status.STABLE
LITERALS = ()
NEEDS_RANKS = False  # the process that starts them is meant, and that it does is known

_SPAWN: Final = "torch.multiprocessing.spawn"
_WORDS: Final = ("seed", "determin", "reproduc", "set_rng_state")
_OF_OTHERS: Final = ("torch.cuda.", "numpy.random.", "random.")
"""Seeds of other generators than that of the CPU, which shuffles and makes weights."""
_DRAWS: Final = ("rand", "shuffle", "sample", "split", "permutation")
"""Parts of the names of calls that draw."""
_TRAINS: Final = pattern(
    r"optim|backward|^fit$|^train(?!ing$)|^(?:generate|sample)$", re.IGNORECASE
)
"""Names of what changes weights, or draws what comes out."""
_DEPTH: Final = 5
_CALLERS: Final = 2
_DEFINITIONS: Final = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_TO_THE_END: Final = sys.maxsize


def check(model: Model) -> Iterator[Finding]:
    """The first seed above each spawn whose ranks seed nothing; one that is above several, once."""
    for module in model.modules:
        if "spawn" not in module.source.text:
            continue
        found = [
            finding
            for function in module.all_functions
            for spawn in own_nodes(function, ast.Call)
            if (finding := _lost_at(model, function, spawn)) is not None
        ]
        found.sort(key=lambda each: each.severity is Severity.INFO)
        told = {each.place: each for each in reversed(found)}
        yield from sorted(told.values(), key=lambda each: each.place.line)


def _lost_at(model: Model, function: Function, spawn: ast.Call) -> Finding | None:
    given = [*spawn.args[:1], *(k.value for k in spawn.keywords if k.arg == "fn")]
    if not given or model.resolve(function.module, spawn.func) != _SPAWN:
        return None
    if any(k.arg == "start_method" for k in spawn.keywords):
        return None  # a fork has the parent's generators
    worker = _meaning(model, function, given[0])
    lost = _lost_above(model, function, spawn.lineno, _CALLERS)
    if lost is None or not isinstance(worker, Function):
        return None
    reached = _reached(model, worker, _DEPTH, {})
    imported = imported_below(model.program, function.module)
    if any(_seeds(model, each) for each in reached) or any(
        _seeds_on_import(model, each) for each in imported
    ):
        return None
    severity = Severity.INFO if _only_evaluates(reached) else SEVERITY
    return _finding(function.module, *lost, spawn, worker, severity)


def _finding(
    module: Module,
    where: Module,
    seed: ast.Call,
    spawn: ast.Call,
    worker: Function,
    severity: Severity,
) -> Finding:
    advice = f"Seed in `{worker.name}()`, which each rank runs"
    return Finding(
        CODE,
        NAME,
        severity,
        f"`{source_of(where, seed.func)}()` seeds the process that spawns the ranks: these are fresh "
        f"interpreters, and each runs with random numbers of its own, whatever the seed. {advice}.",
        place_of(where, seed),
        (
            related(module, spawn, "starts fresh interpreters"),
            related(worker.module, worker.node, "seeds nothing"),
        ),
        Fix(Applicability.DISPLAY, advice),
    )


def _lost_above(
    model: Model, function: Function, line: int, depth: int
) -> tuple[Module, ast.Call] | None:
    """The seed in front of a line of a function, in what constructs its object, or above all calls of it, with its file;
    None where the parent draws something itself in between.

    Uni-Mol 90f52c4 unimol_tools/unimol_tools/tasks/trainer.py:54: a method that the constructor calls seeds, and
    `fit_predict()` spawns.
    """
    seed, drawn = _seed_above(model, function, line)
    if seed is not None or drawn:
        return (function.module, seed) if seed is not None and not drawn else None
    made = function.cls.methods.get("__init__") if function.cls is not None else None
    for maker in _run_by(made) if made is not None and made is not function else ():
        seed, drawn = _seed_above(model, maker, _TO_THE_END)
        if seed is not None:
            return None if drawn else (maker.module, seed)
    users = [
        (user, call)
        for user, call in calls_of(model.program, function)
        if model.resolve(user.module, call.func) is function
    ]
    lost = [_lost_above(model, user, call.lineno, depth - 1) for user, call in users if depth]
    return lost[0] if lost and all(each is not None for each in lost) else None


def _run_by(made: Function) -> list[Function]:
    """A constructor, and the methods of its class that it calls."""
    assert made.cls is not None
    called = (node.func for node in own_nodes(made, ast.Call))
    names = dict.fromkeys(
        func.attr
        for func in called
        if isinstance(func, ast.Attribute) and ast.unparse(func.value) == "self"
    )
    return [made, *(made.cls.methods[name] for name in names if name in made.cls.methods)]


def _seed_above(model: Model, function: Function, line: int) -> tuple[ast.Call | None, bool]:
    """The first seed that a function sets above a line, and whether it draws something itself, behind the seed where there is one."""
    found, drawn = None, False
    calls = [node for node in own_nodes(function, ast.Call) if node.lineno < line]
    for call in sorted(calls, key=lambda node: node.lineno):
        if _is_seed(_meaning(model, function, call.func)):
            found, drawn = found or call, drawn and found is not None
        elif any(word in last_name(call.func) for word in _DRAWS):
            drawn = True
    return found, drawn


def _meaning(model: Model, function: Function, node: ast.expr) -> object:
    """What an expression of a function means; a method of its own object as well."""
    match node:
        case ast.Attribute(value=ast.Name(id="self"), attr=name) if function.cls is not None:
            return model.program.find_method(function.cls, name)
    return model.resolve(function.module, node)


def _seeds_on_import(model: Model, module: Module) -> bool:
    """Whether a file seeds where it is imported, which the ranks do as well: at its top, not in the block of a script."""
    return "seed" in module.source.text and any(
        _is_seed(_meaning(model, module.body, call.func))
        for _, statement in run_on_import(module)
        if not isinstance(statement, _DEFINITIONS)
        for call in walk(statement, ast.Call)
    )


def _is_seed(meaning: object) -> bool:
    """Whether a function seeds torch."""
    row = randomness.SEEDINGS.get(meaning) if isinstance(meaning, str) else None
    return (row is not None and "torch" in row.streams) or (
        isinstance(meaning, Function) and is_helper(meaning)
    )


def _seeds(model: Model, function: Function) -> bool:
    """Whether a call seeds torch, by the name of what is called.

    GloCo_ProCo 3772ce4 dataset/imbalance_cifar.py:14: the data set of the worker calls `np.random.seed(…)`, which is another generator.
    """
    for node in walk(function.node, ast.Call):
        meaning = model.resolve(function.module, node.func)
        name = meaning if isinstance(meaning, str) else last_name(node.func)
        if (
            any(word in name.lower() for word in _WORDS)
            and not name.startswith(_OF_OTHERS)
            and not _is_of_generator(function, node)
        ):
            return True
    return False


def _is_of_generator(function: Function, call: ast.Call) -> bool:
    """Whether a call seeds a generator that a variable holds: `g = torch.Generator()`, `g.manual_seed(rank)`."""
    match call.func:
        case ast.Attribute(value=ast.Name(id=name)):
            values = assignments(function).get(name, ())
            return any(isinstance(v, ast.Call) and last_name(v.func) == "Generator" for v in values)
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
    match _meaning(model, function, node.func):
        case Function() as meaning:
            found.append(meaning)
        case Class() as meaning:
            found += meaning.methods.values()
    return found
