"""CUDA_VISIBLE_DEVICES is deleted, and every rank sees all GPUs of the machine.

## What it does
Finds `del os.environ["CUDA_VISIBLE_DEVICES"]`, `os.environ.pop(...)` and `os.unsetenv(...)` of it, also
through a constant or a loop over names, and deletions that are taken back later where nothing failed.

## Why it is bad
The variable says which GPUs this process may use: the scheduler wrote it, or the user did. Without it
each process sees every GPU of the machine. Ranks that the scheduler had given one GPU each all compute on
`cuda:0`, in the memory of each other and of other people's jobs, until one of them runs out of memory.
Once CUDA has started the deletion does nothing here, but every child process inherits it.

## Errors you may see
- `CUDA out of memory`
- `Duplicate GPU detected : rank`

## Example
```python
if "CUDA_VISIBLE_DEVICES" in os.environ:
    del os.environ["CUDA_VISIBLE_DEVICES"]
```

## Use instead
Nothing: leave the variable alone, and choose the device by the local rank. A child process that must not
have it gets its own environment: `subprocess.run(..., env=...)`; for a stretch of this process there is
`with temporary_env(CUDA_VISIBLE_DEVICES=None):`, which puts it back also when the work fails.

## Fix safety
Safe where the statement only deletes: a process without the variable does as before; and where the deletion
is put back later in the same block: what ran without the variable still does, and it comes back also when
that fails. Unsafe where the same file chooses GPUs by number, which are counted among those that are
visible, and where the program keeps the value.

## Known limits
Copies (`env = os.environ.copy()`) are not reported: they are meant for child processes. Nor are deletions
that `finally` takes back, functions that give a server numbers of GPUs counted from the rank below (`base_gpu_id`), variables that the file sets again at once, also from a dict that has it, and files that use Ray, which writes
the variable into each actor itself, also where the actor starts processes that need other GPUs.

## References
- CUDA C++ Programming Guide, "CUDA Environment Variables": read when the driver starts
- torch 2.13.0 torch/cuda/__init__.py: `_parse_visible_devices` counts all devices without it
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.model import Model, place_of, related, source_of, span_of
from distlint.analysis.program.environment import Access, Use, accesses
from distlint.edits import Delete, Edit, Replace, WrapInWith
from distlint.findings import Applicability, Finding, Fix, Related, Severity
from distlint.nodes import last_name, walk
from distlint.patterns import pattern
from distlint.rule import Status

from .restoring import (
    Restored,
    put_anew,
    restored_later,
    saved_in,
)

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Module
    from distlint.analysis.program.program import Program

CODE = "DL501"
NAME = "cuda-visible-devices-deleted"
SEVERITY = Severity.WARNING
STATUS = Status.STABLE
LITERALS = (b"CUDA_VISIBLE_DEVICES",)

_VARIABLE = "CUDA_VISIBLE_DEVICES"
_GPU_NUMBER = pattern(r"gpu_ids?$|gpu_indices$")
_BY_NUMBER = pattern(r"set_device\(|cuda:[{\d]|device_count\(|device_ids=|max_memory")
_HARM = (
    "Without CUDA_VISIBLE_DEVICES every rank sees all GPUs of the machine: ranks that were given one "
    "GPU each meet on `cuda:0`, and so do other jobs"
)


def check(model: Model) -> Iterator[Finding]:
    """Each deletion of the variable from this process's environment."""
    for module in model.modules:
        if _VARIABLE not in module.source.text or _uses_ray(module):
            continue
        uses = [a for a in accesses(model.program, module) if a.name == _VARIABLE]
        for access in uses:
            if access.use in (Use.REMOVE, Use.READ_AND_REMOVE) and not _in_finally(access):
                yield from _findings(model.program, module, access, uses)


def _uses_ray(module: Module) -> bool:
    return any(name.partition(".")[0] == "ray" for name in module.imports.values())


def _in_finally(access: Access) -> bool:
    """Whether the deletion undoes an assignment: the clean-up half of setting it for a while."""
    inner = access.statement
    for outer in reversed(access.above):
        if isinstance(outer, ast.Try) and any(
            inner is s or inner in walk(s) for s in outer.finalbody
        ):
            return True
    return False


def _findings(
    program: Program, module: Module, access: Access, uses: list[Access]
) -> Iterator[Finding]:
    back = restored_later(module, access, uses)
    if back is not None and back.always:
        return
    if back is None and (_set_again(access, uses) or put_anew(program, module, access)):
        return
    if back is None and _counts_gpus(access):
        return
    places: tuple[Related, ...] = ()
    if back is None:
        fix = _dropped(module, access)
    else:
        fix = _temporary(back)
        places = (related(module, back.restore, "put back only where nothing raised"),)
    yield Finding(
        CODE,
        NAME,
        SEVERITY,
        f"{_HARM}. {fix.message}.",
        place_of(module, access.node),
        places,
        fix,
    )


def _counts_gpus(access: Access) -> bool:
    """Whether the same function says below by number, counted from the rank, which GPUs a server has: it needs to see all.

    InternVideo 3965eef InternVideo3/InternVideo3_sft/xtuner/v1/ray/rollout/sglang.py:137: `args.base_gpu_id = self.rank %
    self.config.gpus_per_node`.
    """
    for node in walk(access.function) if access.function is not None else ():
        match node:
            case ast.Assign(targets=[target], value=value):
                name = last_name(target)
            case ast.keyword(arg=str() as name, value=value):
                pass
            case _:
                continue
        if (
            value.lineno > access.statement.lineno
            and _GPU_NUMBER.search(name)
            and isinstance(value, ast.BinOp | ast.ListComp)
            and "rank" in ast.unparse(value)
        ):
            return True
    return False


def _set_again(access: Access, uses: list[Access]) -> bool:
    """Whether the same function sets or set the variable to a value of the program's own."""
    same = [use for use in uses if use.function is access.function]
    saved = {name for use in same for name in saved_in(use)}
    return any(
        use.use is Use.WRITE and not (isinstance(use.value, ast.Name) and use.value.id in saved)
        for use in same
    )


def _dropped(module: Module, access: Access) -> Fix:
    chosen = _BY_NUMBER.search(module.source.text)
    safety = Applicability.UNSAFE if chosen else Applicability.SAFE
    if access.use is Use.READ_AND_REMOVE:
        advice = "Read it with `os.environ.get` and leave it where it is"
        match access.node:
            case ast.Call(func=ast.Attribute(value=owner), args=[key, *rest]):
                default = source_of(module, rest[0]) if rest else None
                read = f"{source_of(module, owner)}.get({source_of(module, key)}"
                code = f"{read})" if default is None else f"{read}, {default})"
                return Fix(Applicability.UNSAFE, advice, (Replace(span_of(access.node), code),))
        return Fix(Applicability.DISPLAY, advice)
    advice = "Drop the deletion"
    if access.several:
        return Fix(Applicability.DISPLAY, "Take it out of the names that the loop deletes")
    match access.statement:
        case ast.Delete(targets=[_, _, *_] as targets):
            kept = ", ".join(source_of(module, t) for t in targets if t is not access.node)
            edits: tuple[Edit, ...] = (Replace(span_of(access.statement), f"del {kept}"),)
        case ast.Delete() | ast.Expr():
            edits = (Delete(span_of(access.statement), prune=True),)
        case _:
            return Fix(Applicability.DISPLAY, advice)
    return Fix(safety, advice, edits)


def _temporary(back: Restored) -> Fix:
    advice = "Put the work under `with temporary_env(CUDA_VISIBLE_DEVICES=None)`"
    if not back.simple:
        return Fix(Applicability.DISPLAY, advice)
    edits: list[Edit] = [Delete(span_of(s)) for s in back.removed]
    if back.work:
        edits.append(
            WrapInWith(
                span_of(back.work[0]), span_of(back.work[-1]), f"$temporary_env({_VARIABLE}=None)"
            )
        )
    return Fix(Applicability.SAFE, advice, tuple(edits))
