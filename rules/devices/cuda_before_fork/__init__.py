"""CUDA is started in the process that then forks the ranks, which cannot use it.

## What it does
Finds `notebook_launcher()`, and `start_processes(..., start_method="fork")`, after something that starts CUDA in the
same process: `.to("cuda")`, `.cuda()`, `torch.cuda.get_device_name()` … Also a `Process` whose function uses CUDA,
where the program never chooses a start method.

## Why it is bad
A forked process inherits the state of the CUDA driver, and the driver does not work in it. The ranks raise at their
first use of the device; `notebook_launcher` refuses to start any. In a notebook only a restart of the kernel helps.

## Errors you may see
- `Cannot re-initialize CUDA in forked subprocess`
- `CUDA has been initialized before the `notebook_launcher` could create a forked subprocess`

## Example
```python
model = build().to("cuda")
notebook_launcher(train, args=(3,), num_processes=2)
```

## Use instead
```python
model = build()
notebook_launcher(train, args=(3,), num_processes=2)
```
and the device inside of `train`. A script may choose `start_method="spawn"`.

## Fix safety
Shown only: what was put on the device is needed somewhere.

## Known limits
`torch.cuda.is_available()` and `device_count()` are not taken for a start. Functions of the program are not followed
before the fork. Python 3.14 forks no `Process` unless it is told to.

## References
- torch 2.13.0 docs/source/notes/multiprocessing.rst: "CUDA in multiprocessing"
- accelerate 1.15.0 accelerate/launchers.py:209, 265: the ranks are forked, and the error is raised
- accelerate issue 940

Not proven: needs a GPU.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.model import Model, place_of, related
from distlint.analysis.program.definitions import Function
from distlint.analysis.program.environment import evaluated_here, statements
from distlint.analysis.program.syntax import own_nodes
from distlint.analysis.questions.cuda_start import (
    evaluated_before,
    started_on_import,
    starts_cuda,
)
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Module

CODE = "DL513"
NAME = "cuda-before-fork"
SEVERITY = Severity.ERROR
STATUS = Status.PREVIEW
LITERALS = (b"notebook_launcher(", b"start_processes(", b"Process(")

_NOTEBOOK = ("accelerate.notebook_launcher", "accelerate.launchers.notebook_launcher")
_METHOD = ("torch.multiprocessing.start_processes", "torch.multiprocessing.spawn")
_PROCESS = ("torch.multiprocessing.Process", "multiprocessing.Process")
_CHOOSES = ("set_start_method", "get_context", "forkserver")
_ONLY_LOOKS = ("torch.cuda.is_available", "torch.cuda.device_count")


def check(model: Model) -> Iterator[Finding]:
    """Each fork below a start of CUDA."""
    chosen = any(
        word in module.source.text for module in model.program.modules.values() for word in _CHOOSES
    )
    for module in model.modules:
        text = module.source.text
        if not any(word.decode() in text for word in LITERALS):
            continue
        for function in module.all_functions:
            node = function.node
            inner = node if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else None
            body = inner.body if inner is not None else module.source.tree.body
            for statement, above in statements(body):
                for call in evaluated_here(statement):
                    if not isinstance(call, ast.Call) or not _forks(model, module, call, chosen):
                        continue
                    started = _started(model, module, inner, (statement, above))
                    if started is not None:
                        yield _finding(module, call, *started)


def _forks(model: Model, module: Module, call: ast.Call, chosen: bool) -> bool:
    """Whether a call forks processes that use CUDA."""
    meaning = model.resolve(module, call.func)
    given = {k.arg: k.value for k in call.keywords}
    if meaning in _NOTEBOOK:
        number = given.get("num_processes") or (call.args[2] if len(call.args) > 2 else None)
        return not (isinstance(number, ast.Constant) and number.value == 1)
    if meaning in _METHOD:
        method = given.get("start_method")
        return isinstance(method, ast.Constant) and method.value == "fork"
    if meaning in _PROCESS and not chosen:
        target = given.get("target")
        function = model.resolve(module, target) if target is not None else None
        return isinstance(function, Function) and any(
            isinstance(n, ast.expr) and _starts(model, function.module, n)
            for n in own_nodes(function)
        )
    return False


def _starts(model: Model, module: Module, node: ast.expr) -> bool:
    return starts_cuda(model, module, node) and not (
        isinstance(node, ast.Call) and model.resolve(module, node.func) in _ONLY_LOOKS
    )


def _started(
    model: Model,
    module: Module,
    function: ast.FunctionDef | ast.AsyncFunctionDef | None,
    at: tuple[ast.stmt, tuple[ast.stmt, ...]],
) -> tuple[Module, ast.expr] | None:
    """What has started CUDA by the time a statement runs: the file, the call."""
    statement, above = at
    if isinstance(statement, ast.If | ast.For | ast.While | ast.Try):
        return None  # the call is in its header
    for node in evaluated_before(module, function, above, statement):
        if _starts(model, module, node):
            return module, node
    found = started_on_import(model, module, statement, function)
    return found if found is not None and _starts(model, *found) else None


def _finding(module: Module, call: ast.Call, where: Module, started: ast.expr) -> Finding:
    advice = "Start CUDA in the ranks only, or let them be spawned"
    line = f"line {started.lineno}" + ("" if where is module else f" of `{where.name}`")
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"CUDA has started at {line}, and the processes that are forked here cannot use it: they raise. {advice}.",
        place_of(module, call),
        (related(where, started, "CUDA starts here"),),
        Fix(Applicability.DISPLAY, advice),
    )
