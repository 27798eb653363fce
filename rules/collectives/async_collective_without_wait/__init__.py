"""An asynchronous collective that nothing waits for.

## What it does
Reports calls with `async_op=True`, and `isend`/`irecv`, whose work handle is dropped or never used, or
whose tensor is read before `wait()`.

## Why it is bad
The call returns at once. Until `wait()` the contents of the tensor are whatever has arrived so far: the
numbers are wrong now and then, on some ranks, without an error. A handle that is dropped may also free
the buffer that is being sent.

## Example
```python
dist.all_reduce(grad, async_op=True)
optimizer.step()
```

## Use instead
```python
work = dist.all_reduce(grad, async_op=True)
work.wait()
optimizer.step()
```

## Fix safety
Shown only: where the wait belongs depends on what is meant to run meanwhile.

## Known limits
Handles that are stored, returned or handed on count as waited for, and dropped handles of collectives do
in a file that synchronises the whole device (`torch.cuda.synchronize()`). Reads are looked for in the
statements of the same block, up to the wait.

## References
- torch 2.13.0 torch/distributed/distributed_c10d.py: "Async work handle, if async_op is set to True";
  `isend`: "Modifying tensor before the request completes causes undefined behavior"
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.model import place_of, related
from distlint.analysis.program.definitions import Function, dotted_name
from distlint.analysis.program.syntax import own_nodes
from distlint.findings import Applicability, Finding, Fix, Related, Severity
from distlint.nodes import walk
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.model import Model

CODE = "DL109"
NAME = "async-collective-without-wait"
SEVERITY = Severity.ERROR
STATUS = Status.STABLE
LITERALS = ()

_POINT_TO_POINT = ("torch.distributed.isend", "torch.distributed.irecv")


def check(model: Model) -> Iterator[Finding]:
    """Every asynchronous call of torch.distributed whose handle nobody waits for, or too late."""
    for call in model.calls():
        site = call.site
        if not site.name.startswith("torch.distributed.") or not _is_async(site):
            continue
        found = _defect(site)
        if found is None:
            continue
        text, places = found
        fix = Fix(
            Applicability.DISPLAY, "Keep the handle, and call `wait()` before the tensor is used"
        )
        yield Finding(
            CODE,
            NAME,
            SEVERITY,
            f"{text} {fix.message}.",
            place_of(site.module, site.node),
            places,
            fix,
        )


def _is_async(site: CallSite) -> bool:
    flag = site.keywords.get("async_op")
    return site.name in _POINT_TO_POINT or (flag is not None and flag.const is True)


def _defect(site: CallSite) -> tuple[str, tuple[Related, ...]] | None:
    statement, name = site.statement, site.method
    if isinstance(statement, ast.Expr) and statement.value is site.node:
        if site.name not in _POINT_TO_POINT and ".synchronize()" in site.module.source.text:
            # nemo-toolkit 3.0.0 optimizer_with_main_params.py: waits for the whole device instead.
            return None
        return (
            f"the handle of `{name}` is dropped: nothing waits until the tensor has arrived, and it "
            "holds whatever came so far.",
            (),
        )
    match statement:
        case ast.Assign(targets=[ast.Name(id=handle)], value=value) if value is site.node:
            pass
        case _:
            return None
    function = site.function
    if not _is_read(function, handle):
        return (
            f"nothing waits on `{handle}`: the tensor that `{name}` fills or sends is used as it happens "
            "to be.",
            (),
        )
    tensor = dotted_name(site.node.args[0]) if site.node.args else ""
    early = _read_before_wait(function, statement, handle, tensor)
    if early is None:
        return None
    return (
        f"`{tensor}` is read at line {early.lineno}, before `{handle}.wait()`: `{name}` may still be "
        "under way on this rank.",
        (related(site.module, early, "read before the wait"),),
    )


def _is_read(function: Function, name: str) -> bool:
    return any(
        isinstance(n, ast.Name) and n.id == name and not isinstance(n.ctx, ast.Store)
        for part in function.body
        for n in walk(part)
    )


def _read_before_wait(
    function: Function, statement: ast.stmt, handle: str, tensor: str
) -> ast.expr | None:
    """The first read of the tensor in the statements that follow, up to the one that names the handle."""
    if not tensor:
        return None
    names = {tensor}
    for after in _following(function, statement):
        used = {n.id for n in walk(after) if isinstance(n, ast.Name)}
        if handle in used or not isinstance(
            after, (ast.Expr, ast.Assign, ast.AugAssign, ast.Return)
        ):
            return None
        if isinstance(after, ast.Assign) and dotted_name(after.value) in names:
            # A second name for the buffer reads nothing of it: Megatron's `total_input = all_gather_buffer`.
            names.update(dotted_name(target) for target in after.targets)
            continue
        for node in walk(after):
            if (
                isinstance(node, (ast.Name, ast.Attribute))
                and dotted_name(node) in names
                and not isinstance(node.ctx, ast.Store)
            ):
                return None if _is_another_call(after) else node
        if any(dotted_name(t) in names for t in getattr(after, "targets", ())):
            return None
    return None


def _is_another_call(statement: ast.stmt) -> bool:
    """Whether a statement starts another asynchronous call, or asks for nothing but the tensor's form."""
    return any(
        (isinstance(n, ast.keyword) and n.arg == "async_op")
        or (
            isinstance(n, ast.Attribute) and n.attr in ("shape", "dtype", "device", "size", "numel")
        )
        for n in walk(statement)
    )


def _following(function: Function, statement: ast.stmt) -> list[ast.stmt]:
    blocks = [list(function.body)]
    for node in own_nodes(function):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                blocks.append(block)
    for block in blocks:
        if statement in block:
            return block[block.index(statement) + 1 :]
    return []
