"""A tensor on the process's device is indexed by one that a spread model gave back on another.

## What it does
Finds tensors made on the process's device (`torch.full(..., device=accelerator.device)`) that are indexed by
a mask or index computed from what a model returned (`generate`, a forward), without moving it first.

## Why it is bad
A model that is spread over several GPUs gives its output on the device of its last part, or of its first,
depending on hooks and versions. The index is then on another GPU than the tensor, and PyTorch raises
"indices should be either on cpu or on the same device as the indexed tensor". On one GPU per process, where
the code was tested, both devices are the same.

## Errors you may see
- `indices should be either on cpu or on the same device as the indexed tensor`
- `Expected all tensors to be on the same device`

## Example
```python
eos_idx = torch.full((is_eos.size(0),), is_eos.size(1), device=accelerator.device)
eos_idx[is_eos.any(dim=1)] = is_eos.int().argmax(dim=1)[is_eos.any(dim=1)]
```

## Use instead
```python
eos_idx = torch.full((is_eos.size(0),), is_eos.size(1), device=accelerator.device)
eos_idx[to_device_of(is_eos.any(dim=1), eos_idx)] = to_device_of(
    is_eos.int().argmax(dim=1)[is_eos.any(dim=1)], eos_idx
)
```
Not `.to(eos_idx)`: that takes the other tensor's dtype as well, and a mask becomes an index.

## Fix safety
Safe: a tensor that is there already stays the same object.

## Known limits
A warning where a file of the same program spreads a model (`device_map="auto"`, `parallelize()`), else
information: that a launch spreads it is not seen here. Arithmetic between the
two tensors is not looked for, nor what another function returns. An index that an operation has already
brought together with a tensor of the process's device is taken to be there.

## References
- trl, `trl/trainer/grpo_trainer.py`, the mask after the first end-of-sequence token
- torch 2.13.0 torch/_subclasses/fake_impls.py: the same check on fake tensors
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from distlint.analysis.model import Model, place_of, related, source_of, span_of
from distlint.analysis.program.linked import linked
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.edits import Replace
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.knowledge.devices import SPREADING_MAPS
from distlint.nodes import walk
from distlint.patterns import pattern
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Function, Module
    from distlint.analysis.program.program import Program

CODE = "DL506"
NAME = "cross-device-index"
SEVERITY = Severity.WARNING
STATUS = Status.PREVIEW
LITERALS = ()
NEEDS_RANKS = False

_FACTORIES = frozenset(
    f"torch.{name}" for name in ("full", "zeros", "ones", "empty", "arange", "tensor", "rand")
)
_METHODS = {"gather": 1, "index_select": 1, "masked_fill": 0, "masked_fill_": 0, "masked_select": 0}
"""Methods of tensors that take an index or mask, and its position."""
_STEPS = 5
_SPREADS = pattern(
    rf"""device_map["']?\s*[=:]\s*["'](?:{"|".join(sorted(SPREADING_MAPS))})["']|\.parallelize\("""
)
"""What divides one model over several GPUs of one process."""


def check(model: Model) -> Iterator[Finding]:
    """Each index that may be on another device than what it indexes."""
    for module in model.modules:
        if "device=" not in module.source.text:
            continue
        for function in module.all_functions:
            if not any(_has_device(v) for vs in assignments(function).values() for v in vs):
                continue
            made = {
                name: values[0]
                for name, values in _named(function).items()
                if len(values) == 1 and _on_own_device(model, function, values[0])
            }
            if made:
                # Of two at first sight none was true: GRPO trainers of programs whose launches have a GPU for each
                # process (Video-R1 59d65c3 grpo_trainer.py:509, R1-V bbbbe3d grpo_trainer.py:394).
                severity = SEVERITY if _is_spread(model.program, module) else Severity.INFO
                yield from (
                    replace(found, severity=severity) for found in _indexed(model, function, made)
                )


def _is_spread(program: Program, module: Module) -> bool:
    """Whether a file of the programs that a file is part of spreads a model over several GPUs."""
    return any(_SPREADS.search(each.source.text) for each in linked(program, module))


def _has_device(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and any(k.arg == "device" for k in node.keywords)


def _named(function: Function) -> dict[str, list[ast.expr]]:
    """What each variable is assigned; writing to a part of it (`x[i] = ...`) is no assignment."""
    parts = {
        id(s.value)
        for s in own_nodes(function, ast.Assign)
        if all(isinstance(t, ast.Subscript) for t in s.targets)
    }
    return {
        name: [v for v in values if id(v) not in parts]
        for name, values in assignments(function).items()
    }


def _on_own_device(model: Model, function: Function, node: ast.expr) -> bool:
    """Whether a tensor is made on the device that belongs to the process."""
    if (
        not isinstance(node, ast.Call)
        or model.resolve(function.module, node.func) not in _FACTORIES
    ):
        return False
    for keyword in node.keywords:
        if keyword.arg == "device":
            device = keyword.value
            if isinstance(device, ast.Name):
                values = assignments(function).get(device.id, [])
                device = values[0] if len(values) == 1 else device
            text = ast.unparse(device)
            return text.endswith(("accelerator.device", "args.device")) or text == "self.device"
    return False


def _indexed(model: Model, function: Function, made: dict[str, ast.expr]) -> Iterator[Finding]:
    module = function.module
    for statement in own_nodes(function):
        if not isinstance(statement, ast.Assign | ast.Expr | ast.Return):
            continue
        for node in walk(statement):
            target, index = _index(node)
            if (
                target in made
                and index is not None
                and _from_model(function, index)
                and not _met_before(model, function, index)
            ):
                yield _finding(module, function, statement, node, index, made[target])


def _index(node: ast.AST) -> tuple[str, ast.expr | None]:
    """The variable that is indexed, and by what."""
    match node:
        case ast.Subscript(value=ast.Name(id=name), slice=index):
            plain = isinstance(index, ast.Slice | ast.Constant | ast.Tuple)
            return name, None if plain else index
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr), args=args):
            position = _METHODS.get(attr)
            if position is not None and position < len(args):
                return name, args[position]
    return "", None


def _from_model(function: Function, node: ast.expr, steps: int = _STEPS) -> bool:
    """Whether a value is computed from what a model returned, on the device where that is."""
    for part in walk(node, ast.Call, ast.Name):
        match part:
            case ast.Call(func=ast.Attribute(attr="to" | "cpu" | "cuda" | "size" | "tolist")):
                return False
            case ast.Call(func=ast.Name(id="to_device_of" | "len" | "range")):
                return False
            case ast.Call(func=ast.Attribute(attr="generate")):
                return True
            case ast.Call(func=ast.Name(id=name)) if name == "model":
                return True
            case ast.Name(id=name) if steps:
                values = _named(function).get(name, [])
                if len(values) == 1 and _from_model(function, values[0], steps - 1):
                    return True
    return False


def _met_before(model: Model, function: Function, node: ast.expr, steps: int = _STEPS) -> bool:
    """Whether the index comes from an operation with a tensor of the process's own device.

    That operation would have failed, so the two devices are one: trl 1.16.0
    experimental/a2po/a2po_trainer.py:324, `torch.isin(ids, torch.tensor(..., device=device))`.
    """
    for part in walk(node, ast.Call, ast.Name):
        match part:
            case ast.Call() if _on_own_device(model, function, part):
                return True
            case ast.Name(id=name) if steps:
                values = _named(function).get(name, [])
                if len(values) == 1 and _met_before(model, function, values[0], steps - 1):
                    return True
    return False


def _finding(
    module: Module,
    function: Function,
    statement: ast.stmt,
    node: ast.AST,
    index: ast.expr,
    made: ast.expr,
) -> Finding:
    target, _ = _index(node)
    edits = [_moved(module, index, target)]
    if (
        isinstance(statement, ast.Assign)
        and any(node is t for t in statement.targets)
        and _from_model(function, statement.value)
    ):
        edits.append(_moved(module, statement.value, target))
    advice = "Move it with `to_device_of`, which keeps its dtype"
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"with a model spread over several GPUs the index is on another device than `{target}`, and "
        f"the rank that comes here fails. {advice}.",
        place_of(module, node),
        (related(module, made, "made on the process's own device"),),
        Fix(Applicability.SAFE, advice, tuple(edits)),
    )


def _moved(module: Module, node: ast.expr, target: str) -> Replace:
    return Replace(span_of(node), f"$to_device_of({source_of(module, node)}, {target})")
