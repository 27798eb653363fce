"""A script writes fixed values into the variables that the launcher sets.

## What it does
Finds `RANK`, `WORLD_SIZE`, `LOCAL_RANK`, `MASTER_ADDR` or `MASTER_PORT` set to a constant, whatever they were
before, in a program that does not start its ranks itself.

## Why it is bad
Under torchrun or accelerate every process then believes to be rank 0 of 1: all write the same files, none
averages gradients with another, and the run looks like one that works. A fixed `MASTER_ADDR` makes each
machine wait for itself. In a shell or notebook the values stay behind for what runs next: with them left
over, a plain `python main.py` waits in accelerate for ranks that nobody started (measured, accelerate 1.15.0).

## Errors you may see
- `Timed out after`
- `environment variable MASTER_ADDR expected, but not set`

## Example
```python
os.environ["RANK"] = "0"
os.environ["WORLD_SIZE"] = "1"
```

## Use instead
```python
os.environ.setdefault("RANK", "0")
os.environ.setdefault("WORLD_SIZE", "1")
```
which leaves alone what a launcher has set. Around code that must not see a launcher's traces:
`with clean_distributed_env():`.

## Fix safety
Safe: without a launcher the variables get the same values.

## Known limits
A port beside an address is part of the address's finding. Not reported: one variable alone (`WORLD_SIZE = "1"` keeps a tool from looking for ranks: llm-foundry 0.22.0,
command_utils/data_prep), values that are computed (from SLURM, MPI, arguments), assignments under a condition, workers
that take the rank as a parameter, and files that start ranks (`mp.spawn`, `Process`, Ray), or that put the
variables back. Nor where a group of one is made on purpose: `init_process_group(rank=0, world_size=1)` beside it, all four
variables of rank 0 of 1 above `init_process_group()` in one function, or rank 0 of 1 in a notebook.

## References
- torch 2.13.0 torch/distributed/rendezvous.py: `env://` reads RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from distlint.analysis.model import Model, place_of, related, source_of, span_of
from distlint.analysis.program.environment import Access, Use, accesses
from distlint.analysis.program.syntax import own_nodes
from distlint.edits import Replace
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.nodes import last_name, walk
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Module

CODE = "DL510"
NAME = "launcher-variables-by-hand"
SEVERITY = Severity.WARNING
STATUS = Status.STABLE
LITERALS = (
    *(f"[{q}{n}{q}] =".encode() for n in ("WORLD_SIZE", "MASTER_ADDR") for q in "\"'"),
    b"LOCAL_RANK",
)

_IDENTITY = frozenset({"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"})
_MEETING = frozenset({"MASTER_ADDR", "MASTER_PORT"})
_STARTS_RANKS = (
    "spawn(", "start_processes", "Process(", "nprocs", "import ray", "from ray", "Popen", "subprocess",
    "launcher(", "run_distributed", "MultiProcess", "os.system",
)  # fmt: skip
_FIXTURES = ("test", "mock", "setup_module", "fixture")


def check(model: Model) -> Iterator[Finding]:
    """Each constant that is written over a launcher's variable."""
    for module in model.modules:
        text = module.source.text
        if "environ" not in text or any(word in text for word in _STARTS_RANKS):
            continue
        if not any(name in text for name in _IDENTITY | _MEETING):
            continue
        found = [a for a in accesses(model.program, module) if a.name in _IDENTITY | _MEETING]
        fixed = [
            a for a in found if _is_fixed(a) and not _restored(a, found) and not _asked(a, found)
        ]
        for access in fixed:
            if _is_for_one(module, access, fixed):
                continue
            beside = [a for a in fixed if a.function is access.function and a.name != access.name]
            names = {a.name for a in beside}
            # pytorch3d 9381c40 projects/implicitron_trainer/experiment.py:255: it is the address that parts the machines.
            if beside and not (access.name == "MASTER_PORT" and "MASTER_ADDR" in names):
                ports = [a for a in beside if a.name == "MASTER_PORT"]
                yield _finding(module, access, ports if access.name == "MASTER_ADDR" else [])


def _is_for_one(module: Module, access: Access, fixed: list[Access]) -> bool:
    """Whether a group of one process is made on purpose beside an assignment: by literals, or by all of a notebook.

    terratorch 85467a9 examples/notebooks/WxCTutorialGravityWave.ipynb: `init_process_group(rank=0, world_size=1)`.
    benchmark 0e83c44 torchbenchmark/canary_models/torchrec_dlrm/__init__.py:46: all four variables of rank 0 of 1, and
    right below the group that they describe.
    """
    notebook = module.source.path.endswith(".ipynb")
    values = {
        a.name: str(a.value.value)
        for a in fixed
        if isinstance(a.value, ast.Constant) and (notebook or a.function is access.function)
    }
    first_of_one = values.get("RANK") == "0" and values.get("WORLD_SIZE") == "1"
    if notebook and first_of_one:
        return True
    if access.function is None and not notebook:
        parts: Iterable[ast.AST] = own_nodes(module.body)
    else:
        parts = walk(access.function or module.source.tree)
    described = first_of_one and values.keys() >= _MEETING
    return any(
        isinstance(node, ast.Call)
        and last_name(node.func) == "init_process_group"
        and (described or _is_told_of_one(node))
        for node in parts
    )


def _is_told_of_one(start: ast.Call) -> bool:
    """Whether literals tell a process group that this is rank 0 of 1."""
    return {("rank", 0), ("world_size", 1)} <= {
        (keyword.arg, keyword.value.value)
        for keyword in start.keywords
        if isinstance(keyword.value, ast.Constant)
    }


def _is_fixed(access: Access) -> bool:
    """Whether a constant is written under no condition, in code that no rank is passed to."""
    if access.use is not Use.WRITE or not isinstance(access.value, ast.Constant):
        return False
    if any(isinstance(s, ast.If | ast.Try | ast.With | ast.For | ast.While) for s in access.above):
        return False
    function = access.function
    if function is None:
        return True
    names = [a.arg for a in (*function.args.args, *function.args.kwonlyargs)]
    return not any("rank" in n or "world" in n or "port" in n for n in names) and not any(
        word in function.name.lower() for word in _FIXTURES
    )


def _restored(access: Access, found: list[Access]) -> bool:
    """Whether the file removes the variable again, or puts it back."""
    return any(
        other.name == access.name
        and (
            other.use in (Use.REMOVE, Use.READ_AND_REMOVE)
            or (other.use is Use.WRITE and not isinstance(other.value, ast.Constant))
        )
        for other in found
    )


def _asked(access: Access, found: list[Access]) -> bool:
    """Whether the function looks for a launcher first and leaves (`if "RANK" in os.environ: return`)."""
    return any(
        other.use in (Use.TEST, Use.READ)
        and other.function is access.function
        and other.node.lineno < access.node.lineno
        and isinstance(other.statement, ast.If)
        for other in found
    )


def _finding(module: Module, access: Access, ports: list[Access]) -> Finding:
    """A variable that is overwritten; the `ports` that are written beside an address go with it."""
    if access.name in _IDENTITY:
        harm = "under a launcher every process takes itself for the same rank"
    else:
        harm = "under a launcher of several machines each waits for itself"
    advice = f"Set it where no launcher has: `os.environ.setdefault({access.name!r}, …)`".replace(
        "'", '"'
    )
    fix = Fix(Applicability.DISPLAY, advice)
    edits = [_left_alone(module, each) for each in (access, *ports)]
    if all(edits):
        fix = Fix(Applicability.SAFE, advice, tuple(each for each in edits if each is not None))
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"`{access.name}` is overwritten: {harm}. {advice}.",
        place_of(module, access.node),
        tuple(related(module, each.node, "with its port") for each in ports),
        fix,
    )


def _left_alone(module: Module, access: Access) -> Replace | None:
    """The assignment as one that leaves alone what a launcher has set."""
    match access.statement:
        case ast.Assign(targets=[ast.Subscript(value=owner, slice=key)], value=value):
            code = (
                f"{source_of(module, owner)}.setdefault({source_of(module, key)}, "
                f"{source_of(module, value)})"
            )
            return Replace(span_of(access.statement), code)
    return None
