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
One finding for what one function, or the top of a file, sets. Information where it is all of rank 0 of 1 and no script or
page shows a launch of the program: a tool for one process. Not reported: one variable alone (`WORLD_SIZE = "1"` keeps a tool from looking for ranks: llm-foundry 0.22.0,
command_utils/data_prep), values that are computed (from SLURM, MPI, arguments), assignments under a condition, workers
that take the rank as a parameter, and files that start ranks (`mp.spawn`, `Process`, Ray), functions that only processes which another file starts so call, or files
that put the variables back. Nor where a group of one is made on purpose: `init_process_group(rank=0, world_size=1)` beside it, all four
variables of rank 0 of 1 above `init_process_group()` in one function, or rank 0 of 1 in a notebook.

## References
- torch 2.13.0 torch/distributed/rendezvous.py: `env://` reads RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from distlint.analysis.model import Model, place_of, related, source_of, span_of
from distlint.analysis.program.environment import Access, Use, accesses
from distlint.analysis.program.handed import namings, reads
from distlint.analysis.program.syntax import SPAWNERS, own_nodes
from distlint.edits import Replace
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.nodes import last_name, walk
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Function, Module

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
_STARTERS = SPAWNERS | {"Process"}
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
        kept = [each for each in fixed if not _is_for_one(module, each, fixed)]
        for together in _by_function(kept):
            names = {each.name for each in together}
            if len(names) > 1 and not _is_of_workers(model, together[0]):
                lone = _is_lone_first(together) and not model.launches_to(module)
                yield _finding(module, together, lone=lone)


def _is_of_workers(model: Model, access: Access) -> bool:
    """Whether all calls of a function are in what another file starts as processes of its own.

    SUEF 1725670 utils/ddp_utils.py:54: `train_and_val` calls it, and `mp.Process(target=train_and_val, …)` in train_ddp.py.
    """
    if access.function is None:
        return False
    calls, others = namings(model.program, access.function.name)
    return bool(calls) and not others and all(_is_started(user) for user, _ in calls)


def _is_started(function: Function) -> bool:
    return any(
        given is read
        for user, read in reads(function.module).get(function.name, ())
        for call in own_nodes(user, ast.Call)
        if last_name(call.func) in _STARTERS
        for given in (*call.args, *(keyword.value for keyword in call.keywords))
    )


def _by_function(found: list[Access]) -> list[list[Access]]:
    """Assignments by the function that they stand in, and there in the order of the source."""
    groups: dict[int, list[Access]] = {}
    for each in sorted(found, key=lambda access: access.node.lineno):
        groups.setdefault(id(each.function), []).append(each)
    return list(groups.values())


def _is_lone_first(together: list[Access]) -> bool:
    """Whether all of the variables are those of a process that has no others: rank 0 of 1.

    A tool that uses code for several ranks without a launcher, as long as nothing shows one: savanna 0d42c60
    tools/load_checkpoint_from_deepspeed_raw.py:67 puts a checkpoint together.
    """
    return _says_first_of_one(_written(together))


def _written(accesses: Iterable[Access]) -> dict[str, str]:
    """The constants that are written into variables, as the environment keeps them."""
    return {a.name: str(a.value.value) for a in accesses if isinstance(a.value, ast.Constant)}


def _says_first_of_one(values: Mapping[str, str]) -> bool:
    return values.get("RANK") == "0" and values.get("WORLD_SIZE") == "1"


def _is_for_one(module: Module, access: Access, fixed: list[Access]) -> bool:
    """Whether a group of one process is made on purpose beside an assignment: by literals, or by all of a notebook.

    terratorch 85467a9 examples/notebooks/WxCTutorialGravityWave.ipynb: `init_process_group(rank=0, world_size=1)`.
    benchmark 0e83c44 torchbenchmark/canary_models/torchrec_dlrm/__init__.py:46: all four variables of rank 0 of 1, and
    right below the group that they describe.
    """
    notebook = module.source.path.endswith(".ipynb")
    values = _written(a for a in fixed if notebook or a.function is access.function)
    first_of_one = _says_first_of_one(values)
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


def _finding(module: Module, together: list[Access], *, lone: bool) -> Finding:
    """The variables that one function overwrites; `lone` where nothing shows that a launcher ever sets them."""
    first, *others = together
    if any(each.name in _IDENTITY for each in together):
        harm = "under a launcher every process takes itself for the same rank"
    else:
        harm = "under a launcher of several machines each waits for itself"
    *before, last = dict.fromkeys(f"`{each.name}`" for each in together)
    advice = f'Set them where no launcher has: `os.environ.setdefault("{first.name}", …)`'
    fix = Fix(Applicability.DISPLAY, advice)
    edits = [_left_alone(module, each) for each in together]
    if all(edits):
        fix = Fix(Applicability.SAFE, advice, tuple(each for each in edits if each is not None))
    return Finding(
        CODE,
        NAME,
        Severity.INFO if lone else SEVERITY,
        f"{', '.join(before)} and {last} are overwritten: {harm}. {advice}.",
        place_of(module, first.node),
        tuple(related(module, each.node, "and this one") for each in others),
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
