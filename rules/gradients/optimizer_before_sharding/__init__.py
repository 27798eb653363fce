"""An optimizer is made from parameters that FSDP then replaces.

## What it does
Finds an optimizer made from `model.parameters()` and, further down in the same function, that `model` sharded
with `FullyShardedDataParallel` (without `use_orig_params=True`), `fully_shard` or `accelerator.prepare(model)`
under such FSDP, where the optimizer is not made anew.

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
Both have to stand in one function, the optimizer not deeper than the wrap. Wrapping by `accelerator.prepare` is
reported where a configuration or the plugin has `use_orig_params` false and the optimizer is prepared by another
call: in one call accelerate puts the new parameters into the optimizer.

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
from distlint.analysis.program.definitions import Function
from distlint.analysis.program.environment import blocks, statements
from distlint.analysis.program.syntax import own_nodes, target_names
from distlint.edits import Delete, Insert
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.knowledge.configuration.values import fsdp_version, section_of
from distlint.launch.project import Format
from distlint.nodes import walk
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
_PREPARES = ("accelerate.Accelerator.prepare", "accelerate.Accelerator.prepare_model")


def check(model: Model) -> Iterator[Finding]:
    """Each optimizer whose parameters are replaced further down."""
    for module in model.modules:
        if not any(word in module.source.text for word in _SHARDS) and not _flattens(model, module):
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
        if any(
            optimizer in _assigned(s) and not _keeps(s, optimizer) for s, _ in statements(later)
        ):
            continue  # made anew
        for after, shards in _followed(model, module, later, trained):
            if shards is not None:
                yield _finding(module, statement, after, shards, trained)


def _followed(
    model: Model, module: Module, later: list[ast.stmt], trained: str
) -> Iterator[tuple[ast.stmt, ast.Call | None]]:
    """The first statement behind the optimizer that assigns the model or shards it, with the call that shards."""
    for after in later:
        for inner, _ in statements([after]):
            shards = _shards(model, module, inner, trained)
            if shards is not None or trained in _assigned(inner):
                yield after, shards
                return


def _keeps(statement: ast.stmt, optimizer: str) -> bool:
    """Whether an assignment makes its value of the optimizer there is: `optimizer = prepare(optimizer)`."""
    return isinstance(statement, ast.Assign) and any(
        ast.unparse(n) == optimizer for n in walk(statement.value, ast.Name, ast.Attribute)
    )


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
            if _makes_optimizer(model.resolve(module, function)):
                return ast.unparse(target), ast.unparse(trained)
        case ast.Assign(
            targets=[ast.Name() | ast.Attribute() as target],
            value=ast.Call(func=function, args=[ast.Name() | ast.Attribute() as trained, *_]),
        ):
            made = model.resolve(module, function)
            if isinstance(made, Function) and any(
                isinstance(n.value, ast.Call)
                and _makes_optimizer(model.resolve(made.module, n.value.func))
                for n in own_nodes(made, ast.Return)
            ):
                return ast.unparse(target), ast.unparse(trained)
    return None


def _makes_optimizer(meaning: object) -> bool:
    return isinstance(meaning, str) and meaning.startswith("torch.optim.")


def _flattens(model: Model, module: Module) -> bool:
    """Whether `prepare` puts the parameters into new ones: under FSDP without the original parameters."""
    if "accelerate" not in module.source.text or "prepare" not in module.source.text:
        return False
    for configuration in model.launch.of(Format.ACCELERATE):
        fsdp = section_of(configuration.values, "fsdp_config")
        if (
            str(configuration.values.get("distributed_type")).upper() == "FSDP"
            and fsdp_version(configuration.values) == 1
            and str(fsdp.get("fsdp_use_orig_params")).lower() == "false"
        ):
            return True
    return "FullyShardedDataParallelPlugin(" in module.source.text and any(
        node.arg == "use_orig_params"
        and isinstance(node.value, ast.Constant)
        and node.value.value is False
        for node in walk(module.source.tree, ast.keyword)
    )


def _shards(model: Model, module: Module, statement: ast.stmt, trained: str) -> ast.Call | None:
    """The call of a statement that shards a model in its place."""
    match statement:
        case ast.Assign(targets=[target], value=ast.Call(args=[given, *_]) as call) if (
            ast.unparse(target) == ast.unparse(given) == trained
        ):
            call_ = model.call_at(call)
            if call_ is not None and call_.site.name in _PREPARES:
                return call if len(call.args) == 1 and _flattens(model, module) else None
            return call if _replaces(model, module, call) else None
        case ast.Expr(value=ast.Call(args=[given, *_]) as call) if ast.unparse(given) == trained:
            return call if _is_fully_shard(model, module, call) else None
    return None


def _replaces(model: Model, module: Module, call: ast.Call) -> bool:
    meaning = model.resolve(module, call.func)
    if meaning == _FSDP:
        # With the original parameters kept, what they hold is changed in place.
        return not any(
            k.arg is None
            or (k.arg == "use_orig_params" and ast.unparse(k.value) not in ("False", "None"))
            for k in call.keywords
        )
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
