"""CUDA_VISIBLE_DEVICES is set after CUDA has started, and changes nothing.

## What it does
Finds assignments to CUDA_VISIBLE_DEVICES below a call that starts CUDA, in the same block, the blocks
around it, or at the top of a file that is imported before: `torch.cuda.is_available()`, `set_device`,
`model.cuda()`, `tensor.to("cuda")`.

## Why it is bad
The driver reads the variable once, at its first call. What is written later reaches child processes only:
this process keeps the GPUs that it saw, each rank computes on `cuda:0` of all of them, and the memory of the
first GPU fills up while the others idle.

## Errors you may see
- `Cannot re-initialize CUDA in forked subprocess`
- `invalid device ordinal`

## Example
```python
if torch.cuda.is_available():
    os.environ["CUDA_VISIBLE_DEVICES"] = str(local_rank)
```

## Use instead
```python
torch.cuda.set_device(local_rank)
```
or the variable in the environment of the launcher, before the process starts.

## Fix safety
Shown only: setting the device instead changes which numbers the rest of the program has to use.

## Known limits
Calls through functions of the program are not followed, nor what importing a library does. An assignment that child
processes are meant to inherit is not reported where the function starts one below it.

## References
- CUDA C++ Programming Guide, "CUDA Environment Variables"
- torch 2.13.0 torch/cuda/__init__.py:169, `is_available`

Not proven: needs a CUDA driver, which alone reads the variable once.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.model import Model, place_of, related
from distlint.analysis.program.environment import (
    Access,
    Use,
    accesses,
    evaluated_here,
    statements,
)
from distlint.analysis.program.syntax import target_names
from distlint.analysis.questions.cuda_start import (
    evaluated_before,
    started_on_import,
    starts_cuda,
)
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.knowledge.devices import VISIBLE_DEVICES
from distlint.nodes import last_name
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Module

CODE = "DL502"
NAME = "cuda-visible-devices-set-late"
SEVERITY = Severity.WARNING
STATUS = Status.STABLE
LITERALS = (b"CUDA_VISIBLE_DEVICES",)

_STARTS_CHILD = frozenset(
    {"Popen", "Process", "spawn", "start_processes", "system", "check_call", "check_output"}
)


def check(model: Model) -> Iterator[Finding]:
    """Each assignment that comes too late."""
    for module in model.modules:
        if "CUDA_VISIBLE_DEVICES" not in module.source.text:
            continue
        for access in accesses(model.program, module):
            if (
                access.use is not Use.WRITE
                or access.name not in VISIBLE_DEVICES
                or _restores(access)
                or _renames(access)
                or _for_children(model, module, access)
            ):
                continue
            started_by = next(
                (
                    node
                    for node in evaluated_before(
                        module, access.function, access.above, access.statement
                    )
                    if node.lineno <= access.node.lineno and starts_cuda(model, module, node)
                ),
                None,
            )
            started = (
                (module, started_by)
                if started_by is not None
                else started_on_import(model, module, access.statement, access.function)
            )
            if started is not None:
                where, started_by = started
                advice = "Set it before the process starts, or choose the device by `set_device`"
                yield Finding(
                    CODE,
                    NAME,
                    SEVERITY,
                    f"CUDA has started at {_line(module, where, started_by)} and has read {access.name}: this "
                    f"changes nothing for this process, and each rank keeps all GPUs. {advice}.",
                    place_of(module, access.node),
                    (related(where, started_by, "CUDA starts here"),),
                    Fix(Applicability.DISPLAY, advice),
                )


def _restores(access: Access) -> bool:
    """Whether the value is put back in a clean-up."""
    return any(isinstance(s, ast.Try) for s in access.above)


def _renames(access: Access) -> bool:
    """Whether the devices are those that another variable of the kind has named, before CUDA started.

    verl 0.9.1 verl/single_controller/base/worker.py:253: what HIP_VISIBLE_DEVICES held.
    """
    function = access.function
    values = [access.value] if access.value is not None else []
    if isinstance(access.value, ast.Name) and function is not None:
        values += [
            statement.value
            for statement, _ in statements(function.body)
            if isinstance(statement, ast.Assign)
            and any(access.value.id in target_names(target) for target in statement.targets)
        ]
    return any("VISIBLE_DEVICES" in ast.unparse(value) for value in values)


def _line(module: Module, where: Module, node: ast.expr) -> str:
    return f"line {node.lineno}" + ("" if where is module else f" of `{where.name}`")


def _for_children(model: Model, module: Module, access: Access) -> bool:
    """Whether the function starts a process below the assignment, which inherits the variable."""
    body = access.function.body if access.function is not None else module.source.tree.body
    return any(
        statement.lineno > access.node.lineno and _starts_child(model, module, node)
        for statement, _ in statements(body)
        for node in evaluated_here(statement)
        if isinstance(node, ast.Call)
    )


def _starts_child(model: Model, module: Module, call: ast.Call) -> bool:
    name = last_name(call.func)
    meaning = model.resolve(module, call.func)
    return (
        name in _STARTS_CHILD
        or "launch" in name
        or (isinstance(meaning, str) and meaning.startswith("subprocess."))
    )
