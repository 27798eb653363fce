"""Every rank loads a checkpoint onto the device that it was saved from.

## What it does
Finds `torch.load` of a checkpoint without `map_location`, in a function that several ranks enter together.

## Why it is bad
A tensor comes back to the device that its file names: that of the rank that saved it, nearly always
`cuda:0`. All ranks of a machine put their copy there, before it is copied on to their own GPUs: with eight
ranks, eight checkpoints and eight CUDA contexts in the memory of the first GPU, which then runs out of it,
while the same script works with two.

## Errors you may see
- `CUDA out of memory`
- `Attempting to deserialize object on CUDA device`

## Example
```python
state = torch.load(path)
model.load_state_dict(state)
```

## Use instead
```python
state = torch.load(path, map_location="cpu")
model.load_state_dict(state)
```

## Fix safety
Safe where the result goes to `load_state_dict`, which copies to the device of the parameters; unsafe
elsewhere, since the program then holds tensors on the CPU.

## Known limits
Only what is a checkpoint by the names around it, and only where the program shows that several ranks come
there. A loader that sets `torch.set_default_device` or patches `torch.load` is not known.

## References
- torch 2.13.0 torch/serialization.py:1315
- torch documentation, "Saving and loading models across devices"
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.interpreter.values import Variance
from distlint.analysis.live.joint_entry import ranked
from distlint.analysis.model import Model, place_of, related, source_of
from distlint.analysis.program.definitions import last_name
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.analysis.questions.launched import one_gpu_each, without_launcher
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.nodes import walk
from distlint.repairs.arguments import with_keyword
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.live.joint_entry import JointEntry
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Function

CODE = "DL505"
NAME = "load-without-map-location"
SEVERITY = Severity.WARNING
STATUS = Status.STABLE
LITERALS = ()

_CHECKPOINT = re.compile(
    r"ckpt|checkpoint|snapshot|model|state|weight|optim|resume|\.pth|\.pt\b", re.I
)
_ON_CPU = re.compile(r"scaler|rng|random|args|config|dataset|cache|token|index|metric", re.I)


def check(model: Model) -> Iterator[Finding]:
    """Each load of a checkpoint by several ranks that does not say where to."""
    joint_entries: dict[object, JointEntry] = {}
    for (function, _), joint_entry in model.joint_entries.items():
        joint_entries.setdefault(function, joint_entry)
    for call in model.calls("torch.load"):
        site = call.site
        reason = joint_entries.get(site.function)
        if (
            reason is None
            or not reason.all_ranks
            or call.guarded_by_rank
            or ranked(site)
            or len(call.classes) < 2
            or site.argument(1, "map_location") is not None
            or "mmap" in site.keywords  # maps the file of CPU tensors that a converter has written
            or any(k.arg is None for k in site.node.keywords)
            or any(isinstance(a, ast.Starred) for a in site.node.args)
            or _own_file(site)
            or without_launcher(site.guards, site.function)
            or not _is_checkpoint(site)
            or _file_name(site.node.args[0] if site.node.args else None)
            in model.answer(_saved_from_cpu)
            or model.answer(one_gpu_each)
        ):
            continue
        yield Finding(
            CODE,
            NAME,
            SEVERITY,
            "all ranks load this checkpoint onto the device that it was saved from, in general the "
            'memory of `cuda:0`. Say `map_location="cpu"`.',
            place_of(site.module, site.node),
            (related(reason.module, reason.node, reason.text),),
            _fix(site),
        )


def _saved_from_cpu(live: LiveProgram) -> frozenset[str]:
    """The names of the files into which the program only ever saves tensors that `.cpu()` gave.

    dino 7c446df eval_knn.py:222: `torch.save(features.cpu(), os.path.join(folder, "trainfeat.pth"))`.
    """
    saved: dict[str, bool] = {}
    for function, what, where in _saves(live):
        on_cpu = isinstance(what, ast.Call) and last_name(what.func) == "cpu"
        name = _file_name(where)
        saved[name] = saved.get(name, True) and (on_cpu or _converts(function))
    return frozenset(name for name, on_cpu in saved.items() if name and on_cpu)


def _saves(live: LiveProgram) -> Iterator[tuple[Function, ast.expr, ast.expr]]:
    """What the program saves and where, in functions too that concern no rank and are not followed."""
    for module in live.program.modules.values():
        if "torch.save" not in module.source.text:
            continue
        for function in (module.body, *module.all_functions):
            for node in own_nodes(function):
                match node:
                    case ast.Call(func=called, args=[what, where, *_]) if (
                        live.resolve(module, called) == "torch.save"
                    ):
                        yield function, what, where


def _converts(function: Function) -> bool:
    """Whether a function saves what it has loaded onto the CPU, and moves nothing to another device.

    s1 77272c6 gpt-accelera/scripts/convert_hf_checkpoint.py: `torch.load(…, map_location="cpu")`, renamed keys,
    `torch.save(result, directory / "model.pth")`.
    """
    calls = [node for node in own_nodes(function) if isinstance(node, ast.Call)]
    loads = [node for node in calls if last_name(node.func) == "load" and _on_cpu(node)]
    return bool(loads) and not any(last_name(node.func) in ("to", "cuda") for node in calls)


def _on_cpu(load: ast.Call) -> bool:
    places = [*load.args[1:2], *(k.value for k in load.keywords if k.arg == "map_location")]
    return any("cpu" in ast.unparse(place) for place in places)


def _file_name(path: ast.expr | None) -> str:
    """The name of a file as its path ends, where that is written out; else empty."""
    match path:
        case ast.Constant(value=str(text)):
            return text.rpartition("/")[2]
        case (
            ast.Call(args=[*_, ast.Constant(value=str(text))])
            | ast.BinOp(right=ast.Constant(value=str(text)))
        ):
            return text.rpartition("/")[2]
    return ""


def _own_file(site: CallSite) -> bool:
    """Whether each rank has a file of its own: that names the rank's own device (verl 0.9.1,
    utils/checkpoint/fsdp_checkpoint_manager.py)."""
    path = site.argument(0)
    if path is None or path.variance is not Variance.UNIFORM or "rank" in path.tags:
        return True
    work, seen = list(site.node.args[:1]), set[str]()
    while work:
        for node in walk(work.pop()):
            if isinstance(node, ast.Name) and node.id not in seen:
                seen.add(node.id)
                if "rank" in node.id.lower():
                    return True
                work += assignments(site.function).get(node.id, [])
            elif isinstance(node, ast.Attribute) and (
                "rank" in node.attr.lower() or node.attr == "process_index"
            ):
                return True
    return False


def _is_checkpoint(site: CallSite) -> bool:
    texts = [source_of(site.module, a) for a in site.node.args[:1]]
    texts += [
        ast.unparse(s.targets[0])
        for s in own_nodes(site.function)
        if isinstance(s, ast.Assign) and s.value is site.node
    ]
    text = " ".join(texts).replace("args.", "")
    if _ON_CPU.search(text):
        return False
    return _loaded_into_module(site) or _CHECKPOINT.search(text) is not None


def _loaded_into_module(site: CallSite) -> bool:
    """Whether the result goes to `load_state_dict`, and nowhere else."""
    names = {
        s.targets[0].id
        for s in own_nodes(site.function)
        if isinstance(s, ast.Assign) and s.value is site.node and isinstance(s.targets[0], ast.Name)
    }
    into: set[int] = set()
    for node in own_nodes(site.function):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "load_state_dict"
        ):
            for argument in node.args[:1]:
                into |= {id(n) for n in walk(argument)}
    if id(site.node) in into:
        return True
    reads = [
        n
        for n in own_nodes(site.function)
        if isinstance(n, ast.Name) and n.id in names and isinstance(n.ctx, ast.Load)
    ]
    return bool(reads) and all(id(n) in into for n in reads)


def _fix(site: CallSite) -> Fix:
    advice = 'Add `map_location="cpu"`'
    edit = with_keyword(site.module.source.text, site.node, 'map_location="cpu"')
    if edit is None:
        return Fix(Applicability.DISPLAY, advice)
    safe = Applicability.SAFE if _loaded_into_module(site) else Applicability.UNSAFE
    return Fix(safe, advice, (edit,))
