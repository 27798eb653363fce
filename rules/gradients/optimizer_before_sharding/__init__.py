"""An optimizer is made from parameters that FSDP then replaces.

## What it does
Finds an optimizer made from `model.parameters()` and, further down in the same function, that `model` sharded
with `FullyShardedDataParallel` (without `use_orig_params=True`) or `fully_shard`, where the optimizer is not
made anew.

## Why it is bad
FSDP puts the parameters into new ones, one shard for each rank. The optimizer keeps the old, which get no
gradient any more: it steps, and nothing changes. The loss stays where it was, and no error says so.

## Errors you may see
- `optimizer does not seem to reference any FSDP parameters`

## Example
```python
optimizer = torch.optim.AdamW(model.parameters())
model = FSDP(model)
```

## Use instead
```python
model = FSDP(model)
optimizer = torch.optim.AdamW(model.parameters())
```

## Fix safety
Unsafe: the optimizer is made behind the wrap, and training starts to change the weights.

## Known limits
Both have to stand in one block of one function. Wrapping by `accelerator.prepare` is not reported: accelerate
puts the new parameters into the optimizer.

## References
- torch 2.13.0 torch/distributed/fsdp/fully_sharded_data_parallel.py: "The optimizer must be initialized after
  the module has been wrapped"
- torch 2.13.0 torch/distributed/fsdp/_fully_shard/_fully_shard.py: parameters become DTensors
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.model import Model, place_of, related, source_of, span_of
from distlint.analysis.program.environment import blocks, statements
from distlint.analysis.program.syntax import target_names
from distlint.edits import Delete, Insert
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Module

CODE = "DL610"
NAME = "optimizer-before-sharding"
SEVERITY = Severity.ERROR
STATUS = Status.PREVIEW
LITERALS = ()

_FSDP = "torch.distributed.fsdp.FullyShardedDataParallel"
_SHARDS = ("FullyShardedDataParallel", "fully_shard")


def check(model: Model) -> Iterator[Finding]:
    """Each optimizer whose parameters are replaced further down."""
    for module in model.modules:
        if not any(word in module.source.text for word in _SHARDS):
            continue
        for function in module.all_functions:
            for block in blocks(function.body):
                yield from _in_block(model, module, block)


def _in_block(model: Model, module: Module, block: list[ast.stmt]) -> Iterator[Finding]:
    for number, statement in enumerate(block):
        made = _optimizer(model, module, statement)
        if made is None:
            continue
        optimizer, trained = made
        later = block[number + 1 :]
        if any(optimizer in _assigned(s) for s, _ in statements(later)):
            continue  # made anew
        for after in later:
            shards = _shards(model, module, after, trained)
            if shards is not None:
                yield _finding(module, statement, after, shards, trained)
                break
            if any(trained in _assigned(s) for s, _ in statements([after])):
                break


def _assigned(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case ast.Assign(targets=targets):
            for target in targets:
                yield from target_names(target)


def _optimizer(model: Model, module: Module, statement: ast.stmt) -> tuple[str, str] | None:
    """The optimizer and the model of `optimizer = torch.optim.X(model.parameters(), …)`."""
    match statement:
        case ast.Assign(
            targets=[ast.Name() | ast.Attribute() as target],
            value=ast.Call(
                func=function,
                args=[ast.Call(func=ast.Attribute(attr="parameters", value=trained)), *_],
            ),
        ):
            meaning = model.resolve(module, function)
            if isinstance(meaning, str) and meaning.startswith("torch.optim."):
                return ast.unparse(target), ast.unparse(trained)
    return None


def _shards(model: Model, module: Module, statement: ast.stmt, trained: str) -> ast.Call | None:
    """The call of a statement that shards a model in its place."""
    match statement:
        case ast.Assign(targets=[target], value=ast.Call(args=[given, *_]) as call) if (
            ast.unparse(target) == ast.unparse(given) == trained
        ):
            return call if _replaces(model, module, call) else None
        case ast.Expr(value=ast.Call(args=[given, *_]) as call) if ast.unparse(given) == trained:
            return call if _is_fully_shard(model, module, call) else None
    return None


def _replaces(model: Model, module: Module, call: ast.Call) -> bool:
    meaning = model.resolve(module, call.func)
    if meaning == _FSDP:
        # With the original parameters kept, what they hold is changed in place.
        return not any(k.arg in ("use_orig_params", None) for k in call.keywords)
    return _is_fully_shard(model, module, call)


def _is_fully_shard(model: Model, module: Module, call: ast.Call) -> bool:
    meaning = model.resolve(module, call.func)
    return isinstance(meaning, str) and meaning.rpartition(".")[2] == "fully_shard"


def _finding(
    module: Module, made: ast.stmt, sharded: ast.stmt, call: ast.Call, trained: str
) -> Finding:
    edits = (Delete(span_of(made)), Insert(span_of(sharded), source_of(module, made), after=True))
    fix = Fix(Applicability.UNSAFE, f"Make it after `{trained}` is sharded", edits)
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"the optimizer holds the parameters that `{trained}` had before it was sharded: it steps, and "
        f"nothing is trained. {fix.message}.",
        place_of(module, made),
        (related(module, call, "its parameters are replaced here"),),
        fix,
    )
