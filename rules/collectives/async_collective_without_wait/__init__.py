"""An asynchronous collective that nothing waits for.

## What it does
Reports calls with `async_op=True`, and `isend`/`irecv`, whose work handle is dropped or never used, or
whose tensor is read before `wait()`. An error where the function reads the tensor behind the call; a warning where
it belongs to others, who may read it, or to a message between two ranks; else information.

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
in a file that synchronises the whole device (`torch.cuda.synchronize()`). Reads in front of a wait are looked for in
the statements of the same block. Silent where a `barrier()` of the same group follows before the
tensor is used: Gloo's waits for all that was started before, NCCL's comes behind it on the stream of the group and
blocks the process. Where another collective of the group is waited for before that, it is information: NCCL runs
them one after the other, Gloo two at a time. So is a tensor of the function's own that nothing reads any more: the
source of a broadcast, which nothing arrives at, or one that only holds a stream up.

## References
- torch 2.13.0 torch/csrc/distributed/c10d/ProcessGroupGloo.cpp: `AsyncBarrierWork` waits for `priorWork`
- torch 2.13.0 torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp: `barrier` is an all-reduce on the group's stream,
  whose `wait()` synchronises with the host
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
from distlint.nodes import children, last_name, walk
from distlint.patterns import pattern
from distlint.rule import Status

from .using import Use, is_only_read, is_own_copy, use_behind

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.model import Model

CODE = "DL109"
NAME = "async-collective-without-wait"
SEVERITY = Severity.ERROR
STATUS = Status.PREVIEW
LITERALS = ()

_POINT_TO_POINT = ("torch.distributed.isend", "torch.distributed.irecv")
_WITH_ROOT_AND_OP = frozenset(
    {"gather", "reduce", "reduce_scatter", "reduce_scatter_tensor", "scatter"}
)
"""Collectives of which the group is the fourth argument; of the others, the third."""
_COLLECTIVES = frozenset(
    {
        "all_reduce",
        "broadcast",
        "all_gather",
        "all_gather_into_tensor",
        "all_to_all",
        "all_to_all_single",
    }
    | _WITH_ROOT_AND_OP
)
_OF_GLOO = pattern(r"init_process_group\([^)]*gloo|backend[\"'],[^\n]*gloo")
_BY_USE = {
    Use.READ: SEVERITY,
    Use.OF_OTHERS: Severity.WARNING,
    Use.NONE: Severity.INFO,
}
_COPIES = frozenset({"cpu", "cuda", "to", "clone", "detach", "item", "tolist", "numpy"})
"""Methods that give a tensor's contents elsewhere, and change nothing (torch 2.13.0 torch/_tensor_docs.py)."""


def check(model: Model) -> Iterator[Finding]:
    """Every asynchronous call of torch.distributed whose handle nobody waits for, or too late."""
    for call in model.calls():
        site = call.site
        if not site.name.startswith("torch.distributed.") or not _is_async(site):
            continue
        found = _defect(model, site)
        if found is None:
            continue
        text, places, severity = found
        fix = Fix(
            Applicability.DISPLAY, "Keep the handle, and call `wait()` before the tensor is used"
        )
        yield Finding(
            CODE,
            NAME,
            severity,
            f"{text} {fix.message}.",
            place_of(site.module, site.node),
            places,
            fix,
        )


def _is_async(site: CallSite) -> bool:
    flag = site.keywords.get("async_op")
    return site.name in _POINT_TO_POINT or (flag is not None and flag.const is True)


def _defect(model: Model, site: CallSite) -> tuple[str, tuple[Related, ...], Severity] | None:
    statement, name = site.statement, site.method
    if site.name not in _POINT_TO_POINT and _barrier_follows(site):
        return None
    if isinstance(statement, ast.Expr) and statement.value is site.node:
        if site.name not in _POINT_TO_POINT and ".synchronize" in site.module.source.text:
            # nemo-toolkit 3.0.0 optimizer_with_main_params.py: waits for the whole device instead. So does DI-engine
            # d0b21d0 ding/utils/pytorch_ddp_dist_helper.py:129, `synchronize = torch.cuda.synchronize`, for who calls it.
            return None
        return (
            f"the handle of `{name}` is dropped: nothing waits until the tensor has arrived, and it "
            "holds whatever came so far.",
            (),
            _harm(model, site),
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
            _harm(model, site),
        )
    tensor = dotted_name(site.node.args[0]) if site.node.args else ""
    early = _read_before_wait(function, statement, handle, tensor)
    if early is None or name == "isend":
        return None  # who sends a tensor may read it meanwhile
    return (
        f"`{tensor}` is read at line {early.lineno}, before `{handle}.wait()`: `{name}` may still be "
        "under way on this rank.",
        (related(site.module, early, "read before the wait"),),
        SEVERITY,
    )


def _harm(model: Model, site: CallSite) -> Severity:
    """How bad it is that nobody waits: by who uses the tensor behind the call, and what has been waited for by then."""
    if site.name in _POINT_TO_POINT:
        # Gloo gives a message up whose handle is gone (torch 2.13.0 ProcessGroupGloo.hpp: `SendWork` owns the buffer);
        # NCCL keeps what it sends, which is wrong only where somebody writes to it: nobody has a name for a copy.
        kept = site.method == "isend" and (is_own_copy(site) or is_only_read(site))
        if kept and not model.answer(_names_gloo):
            return Severity.INFO
        return SEVERITY if use_behind(site) is Use.READ else Severity.WARNING
    if _waits_for_another(site):
        return Severity.INFO
    return _BY_USE[use_behind(site)]


def _names_gloo(live: LiveProgram) -> bool:
    """Whether the ranks' own group may be one of gloo's, by what is written out where it is made."""
    return any(_OF_GLOO.search(each.source.text) for each in live.program.modules.values())


def _waits_for_another(site: CallSite) -> bool:
    """Whether a collective of the same group behind the call is waited for before the next use of the tensor."""
    tensors = {dotted_name(argument) for argument in site.node.args[:1]}
    for after in _following(site.function, site.statement):
        match after:
            case ast.Expr(value=ast.Call() as call) | ast.Assign(value=ast.Call() as call):
                name = last_name(call.func)
                flags = [k.value for k in call.keywords if k.arg == "async_op"]
                handle = after.targets[0] if isinstance(after, ast.Assign) else None
                if (
                    name in _COLLECTIVES
                    and _group(call, _place_of_group(name))
                    == _group(site.node, _place_of_group(site.method))
                    and (not flags or isinstance(handle, ast.Name))
                    and (handle is None or _is_read(site.function, dotted_name(handle)))
                ):
                    return True
        if not all(tensors) or any(dotted_name(n) in tensors for n in walk(after)):
            return False
    return False


def _barrier_follows(site: CallSite) -> bool:
    """Whether the next use of the tensor comes behind a barrier of the group.

    lerobot 7427f31 src/lerobot/policies/vqbet/vqbet_utils.py:1066: broadcasts in a loop, a barrier below it.
    """
    tensors = {dotted_name(argument) for argument in site.node.args[:1]}
    group = _group(site.node, _place_of_group(site.method))
    inner: ast.stmt | None = site.statement
    while inner is not None:
        for after in _following(site.function, inner):
            match after:
                case ast.Expr(value=ast.Call(func=called) as call) if (
                    last_name(called) == "barrier"
                ):
                    return _group(call, 0) == group
            if _is_put_away(after):
                continue
            if not all(tensors) or any(dotted_name(n) in tensors for n in walk(after)):
                return False
        inner = _around(site.function, inner)
    return False


def _place_of_group(name: str) -> int:
    return 3 if name in _WITH_ROOT_AND_OP else 2


def _group(call: ast.Call, place: int) -> str:
    """The group that a call names."""
    named = [keyword.value for keyword in call.keywords if keyword.arg == "group"]
    return "".join(map(ast.unparse, named or call.args[place : place + 1]))


def _around(function: Function, inner: ast.stmt) -> ast.stmt | None:
    """The statement in whose block another stands."""
    return next(
        (n for n in own_nodes(function) if isinstance(n, ast.stmt) and inner in children(n)), None
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
        used = {n.id for n in walk(after, ast.Name)}
        if _is_dropped_copy(after) or (_is_put_away(after) and handle not in used):
            continue
        if handle in used or not isinstance(
            after, (ast.Expr, ast.Assign, ast.AugAssign, ast.Return)
        ):
            return None
        if isinstance(after, ast.Assign) and dotted_name(after.value) in names:
            # A second name for the buffer reads nothing of it: Megatron's `total_input = all_gather_buffer`.
            names.update(dotted_name(target) for target in after.targets)
            continue
        for node in walk(after, ast.Name, ast.Attribute):
            if dotted_name(node) in names and not isinstance(node.ctx, ast.Store):
                return None if _is_another_call(after) else node
        if any(dotted_name(t) in names for t in getattr(after, "targets", ())):
            return None
    return None


def _is_put_away(statement: ast.stmt) -> bool:
    """Whether a statement puts something into a list for later, which reads nothing of it.

    dlrm 090956e extend_distributed.py:234: `gather_list.append(out_tensor)`, whose handles a request waits for.
    """
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="append"), args=[ast.Name()])):
            return True
    return False


def _is_dropped_copy(statement: ast.stmt) -> bool:
    """Whether a statement makes a copy that nothing keeps: what is in it harms nobody.

    fairscale 146f160 fairscale/optim/grad_scaler.py:255: `v_on_cuda.cpu()`, which was meant to be kept.
    """
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(), attr=name))):
            return name in _COPIES
    return False


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
