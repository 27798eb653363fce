"""Every rank puts its tensors on the same GPU.

## What it does
Finds `"cuda:0"`, `.cuda(0)` and `torch.cuda.set_device(0)` in functions that several ranks run together, and bare `"cuda"` or `.cuda()` in
functions that initialise the process group, or that `mp.spawn` runs and that call one which does, in programs that never choose a device for the process, also in what
loaders are given as `collate_fn`. Also
`set_device(args.device)` where the option's default is one device and nothing else is assigned to it.
`torch.cuda.current_device()` at the top of a file that a script imports before it calls `set_device(local_rank)`.

## Why it is bad
All ranks of the machine compute on its first GPU: its memory runs out while the others idle, and NCCL ends
the job, because it does not take two ranks on one device ("Duplicate GPU detected"). A collective over a
tensor on `cuda:0` hangs or fails on every rank but the first, whose device that is.

## Errors you may see
- `Duplicate GPU detected : rank`
- `CUDA out of memory`
- `Expected all tensors to be on the same device`

## Example
```python
dist.init_process_group("nccl")
model = model.to("cuda:0")
```

## Use instead
```python
dist.init_process_group("nccl")
model = model.to(torch.device("cuda", rank_info().local_rank))
```
or `accelerator.device`; or `torch.cuda.set_device(local_rank)` first, after which plain `"cuda"` is right.

## Fix safety
Unsafe: the tensors move. On one process the device is the same.

## Known limits
Plain `"cuda"` is right below what makes the rank's GPU the current one: `Accelerator()`, `PartialState()` and `TrainingArguments(...)`,
also by `HfArgumentParser`, when they are constructed. Silent under a test of the rank, where the group has told that there is one rank alone, under a test for a model that one process has spread over its GPUs, where another
line calls `set_device` in the program, and where the launcher gives each process one GPU by CUDA_VISIBLE_DEVICES in
the same program, and where a file starts one process on each machine (`world_size=num_nodes, rank=node_rank`).

## References
- torch 2.13.0 torch/nn/modules/module.py:1079
- DeepSpeed, commit 0b80ad06, runtime/pipe/module.py: all pipeline stages on `cuda:0`

Not proven: needs two GPUs; a machine without them refuses `cuda:0` on every rank.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set
from typing import TYPE_CHECKING

from distlint.analysis.live.joint_entry import ranked
from distlint.analysis.model import Model, place_of, related, span_of
from distlint.analysis.program.definitions import Function, dotted_name
from distlint.analysis.program.linked import imported_below, linked
from distlint.analysis.program.rank_globals import kind_of_answer
from distlint.analysis.program.syntax import assignments, literals, own_nodes, spawned_by
from distlint.analysis.questions.cuda_start import constant_device
from distlint.analysis.questions.current_device import is_current
from distlint.analysis.questions.launched import one_gpu_each, one_on_each_machine
from distlint.analysis.questions.starting import starts_ranks
from distlint.edits import Replace
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.knowledge.devices import SPREAD_MODELS
from distlint.nodes import last_name, walk
from distlint.rule import Status

from .at_import import Early, fixed_at_import

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.live.joint_entry import JointEntry
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Module

CODE = "DL503"
NAME = "hard-coded-device"
SEVERITY = Severity.WARNING
STATUS = Status.PREVIEW
LITERALS = (b"cuda.current_device()",)

_CHOSEN = ("set_device", "CUDA_VISIBLE_DEVICES", "set_default_device", "cuda.device")
_CHOOSING = frozenset({"set_device", "set_default_device"})
_SETS = "torch.cuda.set_device"
_INIT = "torch.distributed.init_process_group"
_METHODS = frozenset({"to", "cuda"})
_WRITTEN = ast.Constant | ast.IfExp
_COLLATES = frozenset({"collate_fn", "data_collator"})


def check(model: Model) -> Iterator[Finding]:
    """Each constant device that all ranks use; one for each function."""
    if model.answer(one_gpu_each):
        return
    for early in fixed_at_import(model):
        yield _too_early(early)
    reasons: dict[Function, JointEntry] = {}
    for (function, _), joint_entry in model.joint_entries.items():
        if joint_entry.all_ranks:
            reasons.setdefault(function, joint_entry)
    for module in model.modules:
        if "cuda" not in module.source.text or "torch" not in module.source.text:
            continue
        if model.has_device_0_alone(module):
            continue
        yield from _by_option(model, module, reasons)
        if _chooses_device(module) or one_on_each_machine(module):
            continue
        groups = {c.site.function for c in model.calls(_INIT, module=module)}
        workers = _workers(module, groups)
        chosen: bool | None = None
        told: set[Function] = set()
        for call in model.calls(module=module):
            site = call.site
            reason = reasons.get(site.function)
            if reason is None or call.guarded_by_rank or ranked(site) or len(call.classes) < 2:
                continue
            if _has_all_gpus(site) or _is_for_one_rank(site) or starts_ranks(site.function):
                continue
            node, device = _device(site.function, site.node, site.name)
            worker = site.function in workers
            if device is None and (worker or _is_launched(model, module)):
                if site.function in told:
                    continue
                node, device = _with_gpus(site.function, site.node, site.name)
                told |= {site.function} if device is not None else set()
            if device is None or (
                device != "cuda:0" and not worker and site.function not in groups
            ):
                continue
            if device != "cuda:0" and is_current(model, site):
                continue
            if chosen is None:
                chosen = _chosen_around(model, module)
            if not chosen:
                yield _finding(model, module, site, node, device, reason)
        yield from _collated(model, module, reasons)


def _too_early(early: Early) -> Finding:
    advice = "Ask for the device where it is used"
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"`{early.name}` is fixed while this file is imported, before `set_device()`: it is `cuda:0` on every rank. "
        f"{advice}.",
        place_of(early.module, early.node),
        (related(early.script, early.late, "the rank's device is chosen here, after the import"),),
        Fix(Applicability.DISPLAY, advice),
    )


def _chosen_around(model: Model, module: Module) -> bool:
    """Whether a file that is linked to this one gives each process its device; of a script that is launched, one that it imports."""
    program = model.program
    launched = _is_launched(model, module)
    around = imported_below(program, module) if launched else linked(program, module)
    return any(map(_chooses_device, around))


def _workers(module: Module, groups: Set[Function]) -> frozenset[Function]:
    """The functions of a file that it spawns on several ranks, and that make their group themselves or by a function of the file."""
    makers = {function.name for function in groups if function.cls is None}
    return frozenset(
        function
        for function in module.all_functions
        if any(_starts_several(call) for _, call in spawned_by(function))
        and (
            function in groups
            or any(last_name(each.func) in makers for each in own_nodes(function, ast.Call))
        )
    )


def _starts_several(call: ast.Call) -> bool:
    """Whether a call that spawns processes is told their number, and it is none that is written as 1."""
    counts = [*call.args[2:3], *(k.value for k in call.keywords if k.arg == "nprocs")]
    return any(not (isinstance(each, ast.Constant) and each.value == 1) for each in counts)


def _is_launched(model: Model, module: Module) -> bool:
    """Whether a file is a script that a launch starts on several processes."""
    return module.is_script and model.launch.on_several(module.source.path)


def _collated(
    model: Model, module: Module, reasons: dict[Function, JointEntry]
) -> Iterator[Finding]:
    """Constant devices in the functions of a file that put the batches of all ranks together."""
    for call in model.calls(module=module):
        site = call.site
        node = next((k.value for k in site.node.keywords if k.arg in _COLLATES), None)
        reason = reasons.get(site.function)
        if node is None or reason is None or call.guarded_by_rank or len(call.classes) < 2:
            continue
        function = model.resolve(module, node)
        if not isinstance(function, Function) or function.module is not module:
            continue
        for made in _calls_in(function) if function not in reasons else ():
            name = model.resolve(module, made.func)
            place, device = _device(function, made, name if isinstance(name, str) else "")
            if device == "cuda:0":
                if not _chosen_around(model, module):
                    yield _in_batch(module, place, site, reason)
                break


def _calls_in(function: Function) -> list[ast.Call]:
    calls = own_nodes(function, ast.Call)
    return sorted(calls, key=lambda call: (call.lineno, call.col_offset))


def _in_batch(module: Module, node: ast.expr, site: CallSite, reason: JointEntry) -> Finding:
    advice = "Make the batch on the CPU, and move it to the rank's device in the loop"
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"all ranks of a machine put their batches together on `cuda:0`: its memory holds those of all of them. {advice}.",
        place_of(module, node),
        (
            related(module, site.node, "the loader of every rank calls it"),
            related(reason.module, reason.node, reason.text),
        ),
        Fix(Applicability.DISPLAY, advice),
    )


def _by_option(
    model: Model, module: Module, reasons: dict[Function, JointEntry]
) -> Iterator[Finding]:
    """Devices of ranks that an option names: all processes are given the same options."""
    options = model.answer(_device_options) if "set_device" in module.source.text else {}
    for call in model.calls(_SETS, module=module) if options else ():
        site = call.site
        reason = reasons.get(site.function)
        given = site.node.args[0] if site.node.args else None
        if reason is None or call.guarded_by_rank or not isinstance(given, ast.Attribute):
            continue
        if given.attr in options and isinstance(given.value, ast.Name):
            where, option = options[given.attr]
            fix = Fix(
                Applicability.UNSAFE,
                "Use the local rank's device",
                (Replace(span_of(given), "$rank_info().local_rank"),),
            )
            yield Finding(
                CODE,
                NAME,
                SEVERITY,
                f"`{ast.unparse(given)}` is an option, which is the same for all ranks: they all use one device, and "
                f"NCCL takes no two ranks on one device. {fix.message}.",
                place_of(module, given),
                (
                    related(where, option, "the default"),
                    related(reason.module, reason.node, reason.text),
                ),
                fix,
            )


def _device_options(live: LiveProgram) -> dict[str, tuple[Module, ast.expr]]:
    """The options whose default is one device, by name: of programs that assign them nothing and take no rank."""
    found: dict[str, tuple[Module, ast.expr]] = {}
    written: set[str] = set()
    for module in live.program.modules.values():
        for node in walk(module.source.tree) if "add_argument" in module.source.text else ():
            match node:
                case ast.Call(
                    func=ast.Attribute(attr="add_argument"), args=args, keywords=keywords
                ):
                    names = [a.value for a in args if isinstance(a, ast.Constant)]
                    name = max(map(str, names), key=len, default="").lstrip("-").replace("-", "_")
                    default = next((k.value for k in keywords if k.arg == "default"), None)
                    dest = any(k.arg in ("dest", None) for k in keywords)
                    if name in ("rank", "local_rank"):
                        return {}
                    if isinstance(default, ast.Constant) and not dest and _is_one(default):
                        found[name] = (module, default)
    for module in live.program.modules.values() if found else ():
        for node in walk(module.source.tree, ast.Attribute, ast.Call):
            match node:
                case (
                    ast.Attribute(attr=name, ctx=ast.Store())
                    | ast.Call(
                        func=ast.Name(id="setattr"), args=[_, ast.Constant(value=str(name)), *_]
                    )
                ):
                    written.add(name)
    return {name: place for name, place in found.items() if name not in written}


def _is_one(default: ast.Constant) -> bool:
    return isinstance(default.value, str) and default.value.startswith("cuda:")


def _chooses_device(module: Module) -> bool:
    """Whether the code of a file gives each process its device; what comments say does not count."""
    if not any(word in module.source.text for word in _CHOSEN):
        return False
    fixed: set[ast.AST] = set()
    for node in walk(
        module.source.tree, ast.Call, ast.Name, ast.Attribute, ast.alias, ast.Constant
    ):
        match node:
            case ast.Call(func=function, args=[ast.Constant(value=int())]) if (
                last_name(function) == "set_device"
            ):
                fixed.add(function)  # the same device on each
            case _ if node in fixed:
                continue
            case ast.Name(id=name) | ast.Attribute(attr=name) if name in _CHOOSING:
                return True
            case ast.alias(name=name) if name in _CHOOSING:
                return True
            case ast.Constant(value="CUDA_VISIBLE_DEVICES"):
                return True
            case ast.Call(func=ast.Attribute(value=owner, attr="device")) if (
                dotted_name(owner).rpartition(".")[2] == "cuda"
            ):
                return True
    return False


def _has_all_gpus(site: CallSite) -> bool:
    """Whether a condition holds for a model alone that one process has spread over its GPUs, `cuda:0` the first.

    LLaVA-NeXT df17966 trl/trainer/ppo_trainer.py:333: `getattr(self.model, "is_sequential_parallel", False)`.
    """
    return any(
        holds and _asks_for_spread(part)
        for guard in site.guards
        for part, holds in literals(guard.node, guard.taken)
    )


def _is_for_one_rank(site: CallSite) -> bool:
    """Whether a condition holds only where there is one rank, by the number that the group has told.

    MONAI research-contributions 21ed8e5 auto3dseg/algorithm_templates/dints/scripts/search.py:232: the other arm of
    `if world_size > 1`, which is 1 where no group is made.
    """
    given = assignments(site.function)
    for guard in site.guards:
        for part, holds in literals(guard.node, guard.taken):
            match part:
                case ast.Compare(
                    left=ast.Name(id=name), ops=[op], comparators=[ast.Constant(value=1)]
                ) if isinstance(op, ast.Eq if holds else ast.Gt | ast.NotEq):
                    known = [v for v in given.get(name, ()) if not isinstance(v, ast.Constant)]
                    if known and all(kind_of_answer(v) == "world_size" for v in known):
                        return True
    return False


def _asks_for_spread(test: ast.expr) -> bool:
    match test:
        case ast.Call(
            func=ast.Name(id="getattr" | "hasattr"), args=[_, ast.Constant(value=name), *_]
        ):
            return name in SPREAD_MODELS
    return last_name(test) in SPREAD_MODELS


def _device(function: Function, node: ast.Call, name: str) -> tuple[ast.expr, str | None]:
    """The constant device that a call uses, and where that is written."""
    method = last_name(node)
    candidates = [k.value for k in node.keywords if k.arg == "device"]
    if method in _METHODS and isinstance(node.func, ast.Attribute):
        if method == "cuda":
            if not node.args and not node.keywords:
                return node, "cuda"
            match node.args[:1]:
                case [ast.Constant(value=0)]:
                    return node.args[0], "cuda:0"
        candidates += node.args[:1]
    elif name == _SETS:
        match node.args:
            case [ast.Constant(value=0)]:
                return node.args[0], "cuda:0"
    elif name == "torch.device" and len(node.args) == 1:
        candidates += node.args[:1]
    for candidate in candidates:
        device = constant_device(_assigned(function, candidate))
        if device is not None and device.partition(":")[2] in ("", "0"):
            return candidate, device if device.startswith("cuda") else None
    return node, None


def _assigned(function: Function, node: ast.expr) -> ast.expr:
    """The text that a variable of the function holds, where it is assigned once; else the expression itself."""
    values = assignments(function).get(node.id, ()) if isinstance(node, ast.Name) else ()
    return values[0] if len(values) == 1 and isinstance(values[0], _WRITTEN) else node


def _with_gpus(function: Function, call: ast.Call, name: str) -> tuple[ast.expr, str | None]:
    """The constant device that is made where there are GPUs.

    SAMRefer 7964155 validate.py:384: `"cuda:0" if torch.cuda.is_available() else "cpu"`, and scripts/val.sh starts two ranks.
    """
    given = [k.value for k in call.keywords if k.arg == "device"]
    if (name == "torch.device" and len(call.args) == 1) or last_name(call.func) == "to":
        given += call.args[:1]
    for node in given:
        match _assigned(function, node):
            case ast.IfExp(test=test, body=body) if last_name(test) == "is_available":
                return node, constant_device(body)
    return call, None


def _finding(
    model: Model, module: Module, site: CallSite, node: ast.expr, device: str, reason: JointEntry
) -> Finding:
    fix = _fix(model, module, site, node, device)
    shown = "`cuda:0`" if device == "cuda:0" else "the current device, which is `cuda:0`"
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"all ranks of a machine use {shown}: its memory holds what belongs to all of them, and NCCL "
        f"takes no two ranks on one device. {fix.message}.",
        place_of(module, node),
        (related(reason.module, reason.node, reason.text),),
        fix,
    )


def _fix(model: Model, module: Module, site: CallSite, node: ast.expr, device: str) -> Fix:
    accelerators = [
        name
        for name, values in assignments(site.function).items()
        for made in model.calls("accelerate.Accelerator", module=module)
        if len(values) == 1 and values[0] is made.site.node and values[0].lineno < node.lineno
    ]
    if accelerators:
        advice = f"Use `{accelerators[0]}.device`"
        code = f"{accelerators[0]}.device"
        if isinstance(site.node.func, ast.Attribute) and site.method == "cuda":
            return Fix(Applicability.DISPLAY, advice)
        return Fix(Applicability.UNSAFE, advice, (Replace(span_of(node), code),))
    advice = "Use the local rank's device"
    if isinstance(_assigned(site.function, node), ast.IfExp):
        return Fix(Applicability.DISPLAY, advice)
    if device != "cuda:0":
        return Fix(Applicability.DISPLAY, "Call `torch.cuda.set_device(local_rank)` first")
    if site.method == "cuda" or site.name == _SETS:
        code = "$rank_info().local_rank"
    elif isinstance(node, ast.Call):
        code = f'{ast.unparse(node.func)}("cuda", $rank_info().local_rank)'
    elif site.name == "torch.device":
        node = site.node
        code = f'{ast.unparse(site.node.func)}("cuda", $rank_info().local_rank)'
    elif module.imports.get("torch") == "torch":
        code = 'torch.device("cuda", $rank_info().local_rank)'
    else:
        return Fix(Applicability.DISPLAY, advice)
    return Fix(Applicability.UNSAFE, advice, (Replace(span_of(node), code),))
