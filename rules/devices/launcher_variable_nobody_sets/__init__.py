"""A script reads a variable that the launcher which starts it does not set.

## What it does
Finds `os.environ["NODE_RANK"]`, `LOCAL_SIZE`, `N_GPU_NODE` and the like, read in a program that is started with
`torchrun`, `torch.distributed.launch` or `accelerate launch`, which call them otherwise, or by `fit` of Lightning on several
devices, where neither the program nor any script or page beside it writes the name. Also `init_process_group()` with rank and world size
in what `torch.multiprocessing.spawn` runs, which reads `MASTER_ADDR` and `MASTER_PORT` where it is given no address, if nothing names these.

## Why it is bad
The names are those of another cluster or launcher: DeepSpeed sets `LOCAL_SIZE`, Azure ML `NODE_RANK`. Under
torchrun every rank ends with `KeyError`. `os.environ.get("LOCAL_SIZE", 1)` does not fail: with eight processes
on the machine each goes on as if it were alone there, and what is divided by it is divided wrong.

## Errors you may see
- `KeyError: 'NODE_RANK'`
- `KeyError: 'LOCAL_SIZE'`
- `ValueError: Error initializing torch.distributed using env:// rendezvous: environment variable MASTER_ADDR expected, but not set`
- `TypeError: int() argument must be a string, a bytes-like object or a real number, not 'NoneType'`

## Example
```python
per_machine = int(os.environ.get("LOCAL_SIZE", 1))
```

## Use instead
```python
per_machine = int(os.environ.get("LOCAL_WORLD_SIZE", 1))
```

| another's | torchrun's |
|---|---|
| `LOCAL_SIZE`, `N_GPU_NODE`, `NPROC_PER_NODE`, `GPUS_PER_NODE` | `LOCAL_WORLD_SIZE` |
| `NODE_RANK`, `NODE_ID` | `GROUP_RANK` |
| `NNODES`, `N_NODES`, `NUM_NODES` | `GROUP_WORLD_SIZE` |

## Fix safety
Unsafe: a cluster of yours may set the variable, and nothing in the project say so.

## Known limits
Only programs of which a script or page shows the launch. Not reported: what is read for another launcher (in a
function or under a condition that names SLURM, MPI, Azure …), behind a test for the variable or in a `try`, and `NODE_RANK`
in files that use Lightning, which sets it itself.

Not proven: what starts a proof is no launch that a project shows; the test suite compares the tables with what
torchrun sets.

## References
- torch 2.13.0 torch/distributed/rendezvous.py: `_env_rendezvous_handler`; torch/multiprocessing/spawn.py sets no variables
- torch 2.13.0 torch/distributed/elastic/agent/server/local_elastic_agent.py: the variables of a worker
- deepspeed 0.19.8 deepspeed/launcher/launch.py: `CROSS_RANK`, `CROSS_SIZE`, `LOCAL_SIZE`
"""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.model import Model, place_of, related, source_of, span_of
from distlint.analysis.program.environment import Access, Use, accesses
from distlint.analysis.questions.launched import roots
from distlint.edits import Replace
from distlint.findings import Applicability, Finding, Fix, Place, Related, Severity
from distlint.knowledge.configuration.launchers import OF_LIGHTNING, SET_BY, TORCHRUN_NAMES
from distlint.nodes import walk
from distlint.patterns import pattern
from distlint.records import dataclass
from distlint.rule import Status

from .rendezvous import without_address

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Module

CODE = "DL514"
NAME = "launcher-variable-nobody-sets"
SEVERITY = Severity.WARNING
STATUS = Status.PREVIEW
LITERALS = (
    b"NODE_RANK",
    b"LOCAL_SIZE",
    b"N_GPU_NODE",
    b"PER_NODE",
    b"_NODES",
    b'NODES"',
    b"MASTER_ADDR",
)

_ELSEWHERE = pattern(
    r"slurm|mpi\b|mpirun|ompi|pmi_|azure|_aml|aml_|\baml\b|sagemaker|sm_|kube|k8s|submitit|ray\b|lsf|jsm_"
    r"|philly|itp|polyaxon|cluster|deepspeed",
    re.IGNORECASE,
)
"""What says that another launcher than torchrun started the process."""
_LAUNCHED = pattern(r"\b(?:RANK|LOCAL_RANK|WORLD_SIZE)\b")
_LIGHTNING = ("pytorch_lightning", "import lightning", "from lightning")
_DEVICES = ("trainer.devices", "devices")
"""The options by which a Trainer is told on how many devices `fit` starts a process each."""


@dataclass(frozen=True, slots=True)
class _Start:
    """What starts the processes, where it is told to, and whether torchrun's own variables are there."""

    name: str
    place: Place
    has_own: bool = True


def check(model: Model) -> Iterator[Finding]:
    """Each variable that a launched program reads, and that nothing sets."""
    for module in model.modules:
        yield from (_unmet(*found, module) for found in without_address(model, module))
        text = module.source.text
        if not any(n in text for n in TORCHRUN_NAMES):
            continue
        found = [a for a in accesses(model.program, module) if a.name in TORCHRUN_NAMES]
        for access in found:
            if (
                not (access.name in OF_LIGHTNING and _uses_lightning(module))
                and _is_trusted(access)
                and not _is_for_others(access)
                and not any(
                    a.use is Use.TEST and a.name == access.name and a.function is access.function
                    for a in found
                )
                and not _is_written(model, access.name)
                and not model.is_left_over(module.source.path, access.node.lineno)
                and (start := _started_without(model, module, access.name)) is not None
            ):
                yield _finding(model, module, access, start)


def _unmet(module: Module, made: ast.Call, spawn: ast.Call, spawning: Module) -> Finding:
    advice = "Set both in `os.environ` where the ranks are spawned"
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"nobody sets `MASTER_ADDR` and `MASTER_PORT`, and `spawn()` does not: every rank ends with `ValueError`. {advice}.",
        place_of(module, made),
        (related(spawning, spawn, "starts the ranks"),),
        Fix(Applicability.DISPLAY, advice),
    )


def _uses_lightning(module: Module) -> bool:
    return any(word in module.source.text for word in _LIGHTNING)


def _default(access: Access) -> ast.expr | None:
    """What is taken where the variable is not set."""
    match access.node:
        case ast.Call(args=[_, default]) | ast.Call(keywords=[ast.keyword(value=default)]):
            return default if ast.unparse(default) != "None" else None
    return None


def _is_counted(access: Access) -> bool:
    """Whether a number is made of what is read, and nothing is taken in its place: ClimaX 6d5d354
    src/climax/pretrain/dataset.py:50, `int(os.environ.get("NODES", None))`."""
    return _default(access) is None and any(
        isinstance(each.func, ast.Name) and each.func.id == "int" and each.args == [access.node]
        for each in walk(access.statement, ast.Call)
    )


def _is_trusted(access: Access) -> bool:
    """Whether the process fails without the variable, or counts with a number in its place: of one, or the first."""
    if access.use is not Use.READ or any(isinstance(s, ast.Try) for s in access.above):
        return False
    if isinstance(access.node, ast.Subscript) or _is_counted(access):
        return True
    default = _default(access)
    return (
        access.name == "LOCAL_SIZE"
        and isinstance(default, ast.Constant)
        and str(default.value) == "1"
    )


def _is_for_others(access: Access) -> bool:
    """Whether a read stands in what is for another launcher, or for none."""
    function = access.function
    if function is not None and _ELSEWHERE.search(function.name):
        return True
    inside = {id(access.statement), *map(id, access.above)}
    for outer in (s for s in access.above if isinstance(s, ast.If)):
        test = ast.unparse(outer.test)
        in_else = any(id(each) in inside for each in outer.orelse)
        # Vision-RWKV 0e0e38a classification_internimage/main.py:597 sets it where Slurm has not started it.
        elsewhere = _ELSEWHERE.search(test) and not (in_else and access.use is Use.WRITE)
        if elsewhere or access.name in test or (in_else and _LAUNCHED.search(test)):
            return True
    return any(
        any(part is access.node for part in walk(each))
        for each in walk(access.statement, ast.IfExp)
    )


def _is_written(model: Model, name: str) -> bool:
    """Whether the program names the variable otherwise than to read it, or a script or page names it at all."""
    word = re.compile(rf"\b{name}\b")
    for module in model.modules:
        if name not in module.source.text:
            continue
        other = [a for a in accesses(model.program, module) if a.name == name]
        if any(a.use in (Use.WRITE, Use.DEFAULT) and not _is_for_others(a) for a in other):
            return True
        known = {
            id(part) for a in other for part in walk(a.statement if a.use is Use.WRITE else a.node)
        }
        if any(
            node.value == name and id(node) not in known
            for node in walk(module.source.tree, ast.Constant)
        ):
            return True
    return any(word.search(script.text) for script in model.launch.scripts)


def _started_without(model: Model, module: Module, name: str) -> _Start | None:
    """The first launch of what leads to a file, where no launch of it sets the variable."""
    found = model.launches_to(module)
    if not found:
        return _fitted_without(model, module, name)
    if any(name in SET_BY[launch.launcher] for launch in found) or _uses_lightning(module):
        return None
    return _Start(found[0].launcher.value, found[0].place)


def _fitted_without(model: Model, module: Module, name: str) -> _Start | None:
    """The first command of a script or page that has Lightning start processes of what leads to a file, the nearest first."""
    above = [each for each in model.answer(roots)[module] if _uses_lightning(each)]

    def apart(each: Module) -> tuple[int, str]:
        return -len(posixpath.commonpath([each.path, module.path])), each.path

    for each in sorted(above, key=apart) if name not in OF_LIGHTNING else ():
        for _, plain in model.launch.alone(each.path, told=True):
            given = [plain.arguments[option] for option in _DEVICES if option in plain.arguments]
            if any(
                (option.value or "").isdecimal() and int(option.value or 0) > 1 for option in given
            ):
                return _Start("Lightning", plain.place, has_own=False)
    return None


def _is_set_at_all(model: Model, name: str) -> bool:
    """Whether the program sets a variable where another launcher has started it.

    Siamese-Image-Modeling bbdec30 util/misc.py:258, for Slurm, which sets no `LOCAL_WORLD_SIZE`.
    """
    return any(
        access.name == name and access.use in (Use.WRITE, Use.DEFAULT)
        for module in model.modules
        if name in module.source.text
        for access in accesses(model.program, module)
    )


def _either(module: Module, access: Access, own: str) -> str:
    """The variable where it is set, else that of the launcher."""
    assert isinstance(access.node, ast.Subscript)
    environ, read = source_of(module, access.node.value), source_of(module, access.node)
    key = source_of(module, access.node.slice)
    text = f"{environ}.get({key}) or {read.replace(access.name, own)}"
    argument = any(access.node in part.args for part in walk(access.statement, ast.Call))
    return text if argument else f"({text})"


def _finding(model: Model, module: Module, access: Access, start: _Start) -> Finding:
    name, own = access.name, TORCHRUN_NAMES[access.name]
    default = _default(access)
    if default is None:
        kind = "KeyError" if isinstance(access.node, ast.Subscript) else "TypeError"
        harm = f"every rank ends with `{kind}`"
    else:
        harm = f"every rank goes on with {source_of(module, default)}"
    advice = f"Read `{own}`, which it sets" if start.has_own else "Take it from the Trainer"
    key = next(n for n in walk(access.node, ast.Constant) if n.value == name)
    quote = source_of(module, key)[0]
    edit = Replace(span_of(key), f"{quote}{own}{quote}")
    if default is not None:  # a write for another launcher stays of use
        read = source_of(module, access.node).replace(name, own)
        edit = Replace(span_of(default), read)
    elif isinstance(access.node, ast.Subscript) and _is_set_at_all(model, name):
        edit = Replace(span_of(access.node), _either(module, access, own))
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"`{start.name}` does not set `{name}`: {harm}. {advice}.",
        place_of(module, access.node),
        (Related(start.place, "started here"),),
        Fix(Applicability.UNSAFE, advice, (edit,))
        if start.has_own
        else Fix(Applicability.DISPLAY, advice),
    )
