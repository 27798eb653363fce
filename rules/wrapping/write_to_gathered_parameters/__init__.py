"""What is written into ZeRO-3 parameters is lost: they are in pieces, or nobody is named to hand it out.

## What it does
Finds writes to the parameters of a `with deepspeed.zero.GatheredParameters(…)` that has no `modifier_rank`.
Finds also rows of embeddings that are written with no such block (`model.get_input_embeddings().weight.data[-n:] =
average`, for new tokens), where a configuration beside the code trains with ZeRO-3.

## Why it is bad
Inside the block each rank has whole parameters. When it ends, each goes back to the piece that it kept from
before, and what was written is gone, without an error: an average of weights stays what it was at the start, new
layers keep their first values. With `modifier_rank` the values of that rank are handed out first. Newer versions
of DeepSpeed raise where their sanity checks are on. Outside of a block the tensor is empty on every rank, and so is
each slice of it: the rows of the new tokens keep the random numbers that they began with.

## Errors you may see
- `Detected in-place modification of ZeRO-3 parameters inside GatheredParameters with modifier_rank=None.`

## Example
```python
with deepspeed.zero.GatheredParameters([param, average]):
    average.data.copy_(0.01 * param.data + 0.99 * average.data)
```

## Use instead
```python
with deepspeed.zero.GatheredParameters([param, average], modifier_rank=0):
    average.data.copy_(0.01 * param.data + 0.99 * average.data)
```

## Fix safety
Unsafe: the weights change from now on.

## Known limits
Only parameters that are named in the call, or are of a model whose `parameters()` it gets; what a function does
to them that is called in the block is not followed.

## References
- deepspeed 0.19.8 deepspeed/runtime/zero/partition_parameters.py:2348: `modifier_rank` "is required if ``params``
  are modified"
- the same file, `_exit`: without it, the parameters are partitioned with `has_been_updated=False`
- OpenRLHF openrlhf/utils/deepspeed/deepspeed.py:515: an average of weights that never moves

Not proven: DeepSpeed has to be installed; what it does is in the two places above.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.model import Model, place_of, related, span_of
from distlint.analysis.program.definitions import Function
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.edits import Replace
from distlint.findings import Applicability, Finding, Fix, Related, Severity
from distlint.nodes import last_name, walk
from distlint.repairs.arguments import with_keyword
from distlint.rule import Status

from .partitioned import written_pieces

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Module
    from distlint.launch.project import Configuration

CODE = "DL210"
NAME = "write-to-gathered-parameters"
SEVERITY = Severity.ERROR
STATUS = Status.PREVIEW
LITERALS = (b"get_output_embeddings().weight",)

_GATHERS = "deepspeed.zero.GatheredParameters"
_FIRST_VALUES = "torch.nn.init."
_LOADS = ("load_state_dict", "_load_from_state_dict")
_NO_WRITES = frozenset({"requires_grad_", "share_memory_", "retain_grad_", "detach_"})


def check(model: Model) -> Iterator[Finding]:
    """Each block whose writes are lost, and each write without a block."""
    for module in model.modules:
        for write, config in written_pieces(model, module):
            yield _in_pieces(module, write, config)
        if "GatheredParameters" not in module.source.text:
            continue
        for function in module.all_functions:
            for node in own_nodes(function, ast.With):
                for item in node.items:
                    call = item.context_expr
                    if isinstance(call, ast.Call) and _keeps_nothing(model, function, call):
                        written = _written(model, function, node, call)
                        if written is not None:
                            yield _finding(function, call, written)


def _in_pieces(module: Module, write: ast.AST, config: Configuration) -> Finding:
    advice = "Write under `deepspeed.zero.GatheredParameters(weight, modifier_rank=0)`"
    return Finding(
        CODE,
        NAME,
        Severity.WARNING,
        f"with the ZeRO-3 of {config.path} each rank keeps a piece of the embeddings, whose tensor is empty: nothing is "
        f"written here, and nothing says so. {advice}.",
        place_of(module, write),
        (Related(config.place(("zero_optimization", "stage")), "shards the parameters"),),
        Fix(Applicability.DISPLAY, advice),
    )


def _keeps_nothing(model: Model, function: Function, call: ast.Call) -> bool:
    if model.resolve(function.module, call.func) != _GATHERS or not call.args:
        return False
    given = {k.arg: k.value for k in call.keywords}
    rank = call.args[1] if len(call.args) > 1 else given.get("modifier_rank")
    return None not in given and (
        rank is None or (isinstance(rank, ast.Constant) and rank.value is None)
    )


def _written(model: Model, function: Function, block: ast.With, call: ast.Call) -> ast.AST | None:
    """The first write of a block to what it gathers."""
    named, models = _gathered(function, call.args[0])
    for statement in block.body:
        for node in walk(statement):
            for target in _targets(model, function, node):
                text = _parameter(target)
                if text in named or any(text.startswith(f"{root}.") for root in models):
                    return node
                if text in models and isinstance(node, ast.Call) and last_name(node) in _LOADS:
                    return node
    return None


def _gathered(function: Function, given: ast.expr) -> tuple[set[str], set[str]]:
    """What a call gathers: parameters by their names, and models all of whose parameters it gets."""
    values = [given]
    if isinstance(given, ast.Name):
        values += assignments(function).get(given.id, [])
    named: set[str] = set()
    models: set[str] = set()
    for value in values:
        for node in walk(value, ast.List, ast.Tuple, ast.Call):
            match node:
                case ast.List(elts=elements) | ast.Tuple(elts=elements):
                    named.update(ast.unparse(e) for e in elements)
                case ast.Call(func=ast.Attribute(attr="parameters", value=root)):
                    models.add(ast.unparse(root))
        if isinstance(value, (ast.Name, ast.Attribute)):
            named.add(ast.unparse(value))
    every = {f"{root}.parameters()" for root in models}
    named.update(
        ast.unparse(loop.target)
        for loop in own_nodes(function, ast.For)
        if ast.unparse(loop.iter) in every
    )
    return named, models


def _targets(model: Model, function: Function, node: ast.AST) -> Iterator[ast.expr]:
    """What a node changes in its place."""
    match node:
        case ast.Assign(targets=targets):
            yield from (t for t in targets if not isinstance(t, ast.Name))
        case ast.AugAssign(target=target):
            yield target
        case ast.Call(func=ast.Attribute(attr=attr, value=owner)) if attr in _LOADS or (
            attr.endswith("_") and attr[0] != "_" and attr not in _NO_WRITES
        ):
            meaning = model.resolve(function.module, node.func)
            if isinstance(meaning, str) and meaning.startswith(_FIRST_VALUES):
                yield from node.args[:1]
            elif not isinstance(meaning, str) or attr in _LOADS:
                yield owner
        case ast.Call(args=[first, *_]):
            meaning = model.resolve(function.module, node.func)
            if isinstance(meaning, str) and meaning.startswith(_FIRST_VALUES):
                yield first


def _parameter(target: ast.expr) -> str:
    """The parameter that a write goes to: of `p.data[0].copy_(x)` it is `p`."""
    while True:
        match target:
            case ast.Attribute(attr="data", value=inner) | ast.Subscript(value=inner):
                target = inner
            case ast.Call(func=ast.Attribute(value=inner)):
                target = inner  # `p.data.mul_(a).add_(b)`
            case _:
                return ast.unparse(target)


def _finding(function: Function, call: ast.Call, written: ast.AST) -> Finding:
    rank = next((k.value for k in call.keywords if k.arg == "modifier_rank"), None)
    edit: Replace | None
    if rank is not None or len(call.args) > 1:
        edit = Replace(span_of(rank or call.args[1]), "0")
    else:
        edit = with_keyword(function.module.source.text, call, "modifier_rank=0")
    fix = Fix(
        Applicability.UNSAFE if edit else Applicability.DISPLAY,
        "Name the rank whose values count, `modifier_rank=0`",
        (edit,) if edit else (),
    )
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        "when the block ends, each rank goes back to the piece of the parameters that it had before, and "
        f"what is written here is lost. {fix.message}.",
        place_of(function.module, written),
        (related(function.module, call, "gathered here, to be read only"),),
        fix,
    )
