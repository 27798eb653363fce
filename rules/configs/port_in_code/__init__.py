"""The port at which the ranks meet is written into the code, or drawn at random.

## What it does
Finds `os.environ["MASTER_PORT"]` that is set to a constant, to a default of the function or to a random number, whatever
it was before, and variables for a port that are drawn at random, in files of distributed code.

## Why it is bad
Two jobs on one machine cannot meet at one port: the second ends at its start, or joins the first. What a launcher has
set is lost. A port drawn at random may be taken, and each rank that draws for itself waits at another.

## Errors you may see
- `EADDRINUSE`
- `Address already in use`
- `The server socket has failed to listen on any local network address`

## Example
```python
os.environ["MASTER_PORT"] = "12355"
mp.spawn(train, nprocs=torch.cuda.device_count())
```

## Use instead
```python
os.environ.setdefault("MASTER_PORT", "12355")
mp.spawn(train, nprocs=torch.cuda.device_count())
```
and `MASTER_PORT=12356 python train.py` for the second job; or `torchrun --standalone`, which finds a free port.

## Fix safety
Shown only: which jobs share a machine is not in the code.

## Known limits
Information: one job on a machine of its own runs well. Silent where the variable is asked for first, where it is only
set if it is missing, for port 0, and in tests. A port that is probed and given free again is not reported.

Not proven: needs two jobs on one machine.

## References
- torch 2.13.0 torch/distributed/run.py: `--standalone`, "starts a local standalone rendezvous backend … on a free port"
- DROID-SLAM 8016d2b train.py:185, sam2 2b90b9f training/train.py:237
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.model import Model, place_of
from distlint.analysis.program.environment import Access, Use, accesses
from distlint.analysis.program.syntax import assignments, default_of, own_nodes, target_names
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.nodes import last_name, walk
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Function, Module

CODE = "DL811"
NAME = "port-in-code"
SEVERITY = Severity.INFO
STATUS = Status.PREVIEW
LITERALS = ()

_PORT: Final = "MASTER_PORT"
_DRAWS: Final = frozenset({"randint", "randrange", "randbelow", "integers"})


def check(model: Model) -> Iterator[Finding]:
    """Each port of the ranks that the code chooses."""
    for module in model.modules:
        text = module.source.text
        if "port" not in text.lower() or "test" in module.path or not model.is_distributed(module):
            continue
        told: set[int] = set()
        for access in _set(model, module):
            function = _around(module, access)
            drawn = access.value is not None and _is_drawn(function, access.value)
            if drawn or (access.value is not None and _is_written(function, access.value)):
                told.add(access.node.lineno)
                yield _finding(module, access.node, drawn=drawn)
        for node in _drawn_ports(module):
            if node.lineno not in told:
                told.add(node.lineno)
                yield _finding(module, node, drawn=True)


def _set(model: Model, module: Module) -> list[Access]:
    """The places where a file sets the port, without asking first."""
    if _PORT not in module.source.text:
        return []
    found = [a for a in accesses(model.program, module) if a.name == _PORT]
    asked = {a.function for a in found if a.use in (Use.READ, Use.TEST, Use.READ_AND_REMOVE)}
    return [a for a in found if a.use is Use.WRITE and a.function not in asked]


def _around(module: Module, access: Access) -> Function:
    node = access.function
    return next((f for f in module.all_functions if f.node is node), module.body)


def _is_drawn(function: Function, value: ast.expr, depth: int = 1) -> bool:
    """Whether a value is drawn at random, here or where the variable got it."""
    for node in walk(value):
        if isinstance(node, ast.Call) and last_name(node.func) in _DRAWS:
            return True
        if depth and isinstance(node, ast.Name):
            values = assignments(function).get(node.id, [])
            if any(_is_drawn(function, each, depth - 1) for each in values):
                return True
    return False


def _is_written(function: Function, value: ast.expr) -> bool:
    """Whether a value is written out: a number, its text, or a parameter that is one by default."""
    match value:
        case ast.Constant(value=str() | int() as port):
            return str(port) not in ("0", "")
        case ast.Call(func=ast.Name(id="str"), args=[given]):
            return _is_written(function, given)
        case ast.Name(id=name) if name in function.parameters:
            default = default_of(function, name)
            return isinstance(default, ast.Constant) and _is_written(function, default)
    return False


def _drawn_ports(module: Module) -> Iterator[ast.expr]:
    """The values that are drawn at random for what is called a port, or an address with one."""
    for function in module.all_functions:
        for node in own_nodes(function, ast.Assign):
            match node:
                case ast.Assign(targets=targets, value=value):
                    named = any("port" in n.lower() for t in targets for n in target_names(t))
                    address = any(
                        str(n.value).startswith("tcp://") for n in walk(value, ast.Constant)
                    )
                    if (named or address) and _is_drawn(function, value, 0):
                        yield value


def _finding(module: Module, node: ast.expr, *, drawn: bool) -> Finding:
    harm = (
        "nothing says that this port is free, and ranks that each draw one never meet"
        if drawn
        else "a second job on this machine finds this port taken, and what a launcher has set is lost"
    )
    advice = f'Take it from outside: `os.environ.setdefault("{_PORT}", …)`, or from torchrun'
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"{harm}. {advice}.",
        place_of(module, node),
        (),
        Fix(Applicability.DISPLAY, advice),
    )
