"""A script starts the ranks itself and waits for them in turn: when one ends, nobody ends those that wait for it.

## What it does
Finds loops that start the ranks of a job (`subprocess.Popen` with a RANK in its environment or `--rank` among its
arguments, `Process(target=…)` of a function that calls `init_process_group`), and behind them a loop that waits for each
in turn (`process.wait()`, `processes[i].join()`), in files that end no process and ask of none whether it runs.

## Why it is bad
A rank that fails ends with an error, and the others wait for it in their next collective, or to form the group. The script
waits for rank 0, which is one of them, until its timeout: half an hour by default, ten minutes under NCCL, with all
GPUs held. Where nothing reads the exit codes, the script then ends as if all had gone well. `torchrun` and
`torch.multiprocessing.spawn` look at all ranks, end the rest when one fails, and fail themselves.

## Errors you may see
- `Watchdog caught collective operation timeout`
- `Timed out after 1801 seconds waiting for clients`

## Example
```python
processes = [Process(target=work, args=(rank, size)) for rank in range(size)]
for process in processes:
    process.start()
for process in processes:
    process.join()
```

## Use instead
```python
torch.multiprocessing.spawn(work, args=(size,), nprocs=size)
```

## Fix safety
Shown only: what is called with which arguments changes, and who starts the script may have to start it otherwise.

## Known limits
Both loops are to stand in one function. Silent in a file that names `terminate`, `kill`, `poll`, `is_alive`, `sentinel` or
`exitcode`, where the function makes an object of a class that does, and where a wait has a timeout: it may look after the processes. Silent where each rank joins a group of gloo before anything
else, which tells the others of one that is gone. Arguments of `Popen` count in a script that
hands its own on (`sys.argv`, `training_script`): else nothing shows that what it starts are ranks of one group.

## References
- torch 2.13.0 multiprocessing/spawn.py: ProcessContext.join; distributed/elastic/multiprocessing/api.py
- CPython 3.13 multiprocessing/process.py: `join` of one process
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from distlint.analysis.model import Model, place_of
from distlint.analysis.program.definitions import Class, Function, Module, dotted_name
from distlint.analysis.program.syntax import own_nodes
from distlint.findings import Applicability, Finding, Fix, Related, Severity
from distlint.nodes import last_name, walk
from distlint.patterns import pattern
from distlint.rule import Status

CODE = "DL816"
NAME = "ranks-waited-for-in-turn"
SEVERITY = Severity.WARNING
STATUS = Status.STABLE
LITERALS = (b"subprocess.Popen(", b"os.kill(")
NEEDS_RANKS = False

_WAITS = {"Popen": "wait", "Process": "join"}
_LOOKS_AFTER = pattern(
    r"\.(?:terminate|kill|poll|is_alive|send_signal|sentinel|exitcode|killpg)\b|\bkillpg\b|signal\.signal"
)
_HARMLESS = frozenset({"print", "str", "int", "getpid", "setdefault"})
"""What a rank may call before it joins the group, and does not fail at."""
_DEPTH = 3
"""So many calls below what a process runs are searched for the group."""


def check(model: Model) -> Iterator[Finding]:
    """Loops that wait for ranks in turn, behind those that start them."""
    for module in model.modules:
        text = module.source.text
        if ("Popen(" not in text and "Process(" not in text) or _LOOKS_AFTER.search(text):
            continue
        for function in module.all_functions:
            started = _started(model, function)
            if started and _has_looked_after(model, function):
                continue
            for node in own_nodes(function) if started else ():
                found = _waited(node)
                start = started.get(found[0]) if found is not None else None
                if found is not None and start is not None and last_name(start) == found[1]:
                    instead = "torchrun" if found[1] == "Popen" else "torch.multiprocessing.spawn"
                    advice = f"Start them with `{instead}`, which ends all when one fails"
                    text = (
                        "The ranks are waited for in turn: when one fails, rank 0 waits for it in a collective, this script "
                        f"waits for rank 0, and nobody ends them. {advice}."
                    )
                    places = (Related(place_of(module, start), "started here"),)
                    fix = Fix(Applicability.DISPLAY, advice)
                    yield Finding(CODE, NAME, SEVERITY, text, place_of(module, node), places, fix)


def _started(model: Model, function: Function) -> dict[str, ast.Call]:
    """The lists of a function that hold the processes of ranks, each with the call that starts one."""
    found: dict[str, ast.Call] = {}
    for node in own_nodes(function, ast.Assign, ast.For, ast.While):
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.ListComp(elt=ast.Call() as call)
            ):
                if _starts_rank(model, function, call):
                    found[name] = call
            case ast.For() | ast.While():
                starts = [
                    call for call in walk(node, ast.Call) if _starts_rank(model, function, call)
                ]
                named = {
                    target.id
                    for each in walk(node, ast.Assign)
                    if each.value in starts
                    for target in each.targets
                    if isinstance(target, ast.Name)
                }
                for each in walk(node) if starts else ():
                    match each:
                        case ast.Call(
                            func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[given]
                        ) if given in starts or (isinstance(given, ast.Name) and given.id in named):
                            found[name] = starts[0]
    return found


def _has_looked_after(model: Model, function: Function) -> bool:
    """Whether a function makes an object of the program that ends processes, or hears of their signals.

    PointContrast 47e8682 pretrain/pointcontrast/lib/multiprocessing.py:39: `ErrorHandler(error_queue)` of another file.
    """
    made = (model.resolve(function.module, node.func) for node in own_nodes(function, ast.Call))
    return any(
        isinstance(each, Class) and _LOOKS_AFTER.search(ast.unparse(each.node)) is not None
        for each in made
    )


def _waited(node: ast.AST) -> tuple[str, str] | None:
    """The list whose processes a loop waits for in turn, without a timeout, and what starts such a one."""
    match node:
        case (
            ast.For(target=ast.Name(id=each), iter=ast.Name(id=name))
            | ast.ListComp(
                generators=[ast.comprehension(target=ast.Name(id=each), iter=ast.Name(id=name))]
            )
        ):
            pass
        case ast.For(target=ast.Name(id=each), iter=ast.Call(func=ast.Name(id="range"))):
            return _waited_by_number(node, each)
        case _:
            return None
    for call in walk(node, ast.Call):
        match call:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=waited), attr=attr), args=[], keywords=[]
            ) if waited == each:
                kind = next((kind for kind, wait in _WAITS.items() if wait == attr), None)
                if kind is not None:
                    return name, kind
    return None


def _waited_by_number(loop: ast.For, number: str) -> tuple[str, str] | None:
    """The same where the loop takes the processes by their numbers: `for i in range(n): children[i].join()`.

    Retrieval-based-Voice-Conversion-WebUI 4338f12 train/train.py:134.
    """
    for call in walk(loop, ast.Call):
        match call:
            case ast.Call(
                func=ast.Attribute(
                    value=ast.Subscript(value=ast.Name(id=name), slice=ast.Name(id=index)),
                    attr=attr,
                ),
                args=[],
                keywords=[],
            ) if index == number:
                kind = next((kind for kind, wait in _WAITS.items() if wait == attr), None)
                if kind is not None:
                    return name, kind
    return None


def _starts_rank(model: Model, function: Function, call: ast.Call) -> bool:
    """Whether a call starts one of the ranks of a group."""
    match last_name(call):
        case "Popen":
            return _is_launcher(function)
        case "Process":
            target = next((k.value for k in call.keywords if k.arg == "target"), None)
            return target is not None and _forms_group(
                model, function.module, target, _DEPTH, set()
            )
    return False


def _is_launcher(function: Function) -> bool:
    """Whether a function numbers what it starts: by the variable of a launcher, or for whatever script it is given.

    mellotron d5362cc multiproc.py:12: `argslist = list(sys.argv)[1:]`, and `--rank=…` for each.
    """
    texts = [str(node.value) for node in own_nodes(function, ast.Constant)]
    if "RANK" in texts or "LOCAL_RANK" in texts:
        return True
    handed_on = any(
        node.attr in ("argv", "training_script") for node in own_nodes(function, ast.Attribute)
    )
    return handed_on and any(re.match(r"--(?:local[-_])?rank\b", each) for each in texts)


def _forms_group(
    model: Model, module: Module, called: ast.expr, depth: int, seen: set[Function]
) -> bool:
    """Whether a function of the program initialises the process group, itself or below, and not that of gloo first.

    NVAE 9fc1a28 train.py:446: `Process(target=init_processes, args=(rank, size, main, args))`.
    """
    meaning = model.program.resolve_dotted(module, dotted_name(called))
    if not isinstance(meaning, Function) or meaning in seen or not depth:
        return False
    seen.add(meaning)
    calls = own_nodes(meaning, ast.Call)
    if _joins_gloo_first(model, meaning, depth):
        return False
    return any(last_name(call) == "init_process_group" for call in calls) or any(
        _forms_group(model, meaning.module, call.func, depth - 1, seen) for call in calls
    )


def _joins_gloo_first(model: Model, function: Function, depth: int) -> bool:
    """Whether a function joins a group of gloo before it does anything that may fail, itself or in what it calls.

    monolithic_examples 55fce10 ddp_train.py:172: of a rank that is gone later the others hear "Connection closed by peer".
    """
    for statement in function.body:
        for call in walk(statement, ast.Call):
            if last_name(call) == "init_process_group":
                return _is_of_gloo(call)
            if last_name(call) in _HARMLESS:
                continue
            called = model.program.resolve_dotted(function.module, dotted_name(call.func))
            return (
                depth > 0
                and isinstance(called, Function)
                and _joins_gloo_first(model, called, depth - 1)
            )
        if any(isinstance(each, ast.Raise) for each in walk(statement)):
            return False
    return False


def _is_of_gloo(call: ast.Call) -> bool:
    given = [*call.args[:1], *(each.value for each in call.keywords if each.arg == "backend")]
    return any(isinstance(each, ast.Constant) and each.value == "gloo" for each in given)
