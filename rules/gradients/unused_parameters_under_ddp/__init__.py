"""A layer that no forward uses, in a model that DDP wraps.

## What it does
Finds layers that `__init__` makes and nothing that `forward` reaches reads, in a model that
`DistributedDataParallel` gets without `find_unused_parameters=True`, and entries of a `ModuleDict` or `ParameterDict`
under keys that nothing asks it for. Also layers that `forward` uses only where
a random number says so, and the last layers of a model of transformers that is trained by inner `hidden_states`
alone (`text_encoder(ids, output_hidden_states=True).hidden_states[-2]`). Also the pooler of an encoder of transformers of
which a model uses the states of the tokens alone, and a SentenceTransformer's training that is told to look for no unused
parameters.

## Why it is bad
DDP waits in each backward for the gradient of every parameter that requires one. Those of the layer never come:
the gradients of the bucket that it shares with other layers are not averaged, and the second forward raises.
Where a random number decides, ranks that draw alike raise after the first step without the layer.

## Errors you may see
- `Expected to have finished reduction in the prior iteration before starting a new one.`
- `Parameter indices which did not receive grad for rank 0`

## Example
```python
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 8)
        self.old_head = nn.Linear(8, 2)

    def forward(self, x):
        return self.body(x)

model = DistributedDataParallel(Net())
```

## Use instead
Take the layer out, or freeze it with `requires_grad_(False)`. Where other inputs do use it:
```python
model = DistributedDataParallel(Net(), find_unused_parameters=True)
```

## Fix safety
Unsafe: DDP looks through the graph after each forward, which takes time.

## Known limits
Only models whose class is in the program, and layers of `torch.nn` that have parameters. Silent where a class
goes through its layers by name or in a loop (`children()`, `getattr`), or freezes any of them.

## References
- torch 2.13.0 torch/nn/parallel/distributed.py:1774: the reducer is asked about the last step before a forward
- pytorch issue 112152, SeqDiffuSeq issue 25, diffusers issue 5012
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from distlint.analysis.model import Model, place_of, related
from distlint.analysis.program.definitions import Class, Function
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import own_nodes
from distlint.analysis.questions.built import classes_of, wrapped_classes
from distlint.analysis.questions.layers import Chance, Layer, unused
from distlint.analysis.questions.origins import origins
from distlint.analysis.questions.sharding import shown
from distlint.analysis.questions.training import is_optimised
from distlint.edits import Replace
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.repairs.arguments import with_keyword
from distlint.rule import Status

from .poolers import told_of_pooler, told_of_sentences, unsearched_sentences, unused_poolers

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite

CODE = "DL615"
NAME = "unused-parameters-under-ddp"
SEVERITY = Severity.ERROR
STATUS = Status.PREVIEW
LITERALS = (b"ddp_find_unused_parameters",)

_DDP = "torch.nn.parallel.DistributedDataParallel"
_PREPARE = "accelerate.Accelerator.prepare"
_ASKED = frozenset({"find_unused_parameters", "static_graph"})


def check(model: Model) -> Iterator[Finding]:
    """Each layer without a gradient in a model that DDP wraps."""
    seen: set[int] = set()
    for wrap, cls in _wrapped(model):
        for layer, chance in unused(model, cls):
            if id(layer.node) not in seen and layer.cls.module.source.reported:
                seen.add(id(layer.node))
                yield _finding(wrap, layer, chance)
        for pooled in unused_poolers(model, cls):
            if id(pooled.node) not in seen and pooled.cls.module.source.reported:
                seen.add(id(pooled.node))
                yield Finding(CODE, NAME, Severity.WARNING, *told_of_pooler(wrap, pooled))
    for wrap in _waiting(model):
        for argument in wrap.node.args:
            used = _inner_states(model, wrap, argument)
            if used is not None:
                yield _by_states(wrap, ast.unparse(argument), used)
    for function, keyword in unsearched_sentences(model):
        yield Finding(CODE, NAME, Severity.WARNING, *told_of_sentences(function, keyword))


def _inner_states(model: Model, wrap: CallSite, trained: ast.expr) -> ast.Subscript | None:
    """The inner states by which alone a function uses a model of transformers that it trains."""
    name, function = ast.unparse(trained), wrap.function
    if not isinstance(trained, ast.Name) or not is_optimised(function, name):
        return None
    made = [
        origin
        for origin in origins(model, function, trained)
        if origin is None or origin.call is not wrap.node
    ]
    if not made or not all(o and str(o.meaning).startswith("transformers.") for o in made):
        return None
    nodes = own_nodes(function)
    calls = [n for n in nodes if isinstance(n, ast.Call) and ast.unparse(n.func) == name]
    inner: list[ast.Subscript] = []
    uses = 0
    for call in calls:
        targets = {
            node.targets[0].id
            for node in nodes
            if isinstance(node, ast.Assign)
            and node.value is call
            and isinstance(node.targets[0], ast.Name)
        }
        reads = [
            n
            for n in nodes
            if isinstance(n, ast.Name) and n.id in targets and isinstance(n.ctx, ast.Load)
        ]
        uses += len(reads) or 1
        inner += [n for n in nodes if isinstance(n, ast.Subscript) and _is_inner(n, [call, *reads])]
    return inner[0] if calls and len(inner) == uses else None


def _is_inner(node: ast.Subscript, outputs: Sequence[ast.expr]) -> bool:
    """Whether an expression is `output.hidden_states[-2]`, or of a layer before it."""
    match node:
        case ast.Subscript(
            value=ast.Attribute(attr="hidden_states", value=output),
            slice=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(layer))),
        ):
            return layer > 1 and any(output is each for each in outputs)
    return False


def _by_states(wrap: CallSite, name: str, used: ast.Subscript) -> Finding:
    advice = "Freeze the layers behind it, or give DDP `find_unused_parameters=True`"
    return Finding(
        CODE,
        NAME,
        Severity.WARNING,
        f"The layers of `{name}` behind these states get no gradient, DDP waits for it, and the next forward raises. "
        f"{advice}.",
        place_of(wrap.module, used),
        (related(wrap.module, wrap.node, "DDP waits for every parameter"),),
        Fix(Applicability.DISPLAY, advice),
    )


def _waiting(model: Model) -> Iterator[CallSite]:
    """The calls after which DDP waits for all parameters."""
    for call in model.calls(_DDP, _PREPARE):
        site = call.site
        words = {k.arg for k in site.node.keywords if getattr(k.value, "value", None) is not False}
        if None in words or words & _ASKED or _asks_for_gradients(site.function):
            continue
        if site.name == _DDP or not (_may_search(model) or model.answer(shown)):
            yield site


@remembered
def _asks_for_gradients(function: Function) -> bool:
    return "requires_grad" in ast.unparse(function.node)


def _wrapped(model: Model) -> Iterator[tuple[CallSite, Class]]:
    """The same, each with the one class that the model is of."""
    for site in _waiting(model):
        if site.name == _DDP:
            kinds = [wrapped_classes(model, site)]
        else:
            kinds = [classes_of(model, site.function, argument) for argument in site.node.args]
        for classes in kinds:
            only = next(iter(classes)) if len(classes) == 1 else None
            if only is not None:
                yield site, only


def _may_search(model: Model) -> bool:
    """Whether the program gives an Accelerator settings for DDP."""
    modules = model.program.modules.values()
    return any("DistributedDataParallelKwargs" in module.source.text for module in modules)


def _finding(wrap: CallSite, layer: Layer, chance: Chance | None) -> Finding:
    advice = "Take the layer out, or give DDP `find_unused_parameters=True`"
    edit: Replace | None = None
    written = any(k.arg == "find_unused_parameters" for k in wrap.node.keywords)
    if written or wrap.name == _DDP:
        edit = with_keyword(wrap.module.source.text, wrap.node, "find_unused_parameters=True")
    fix = Fix(
        Applicability.UNSAFE if edit else Applicability.DISPLAY, advice, (edit,) if edit else ()
    )
    where = (
        "No forward uses this layer" if chance is None else "A random number leaves this layer out"
    )
    places = [related(wrap.module, wrap.node, "DDP waits for every parameter")]
    if chance is not None:
        places.append(related(chance.function.module, chance.test, "used by chance"))
    return Finding(
        CODE,
        NAME,
        SEVERITY if edit and chance is None else Severity.WARNING,
        f"{where}, DDP waits for its gradient, and the next forward raises. {advice}.",
        place_of(layer.cls.module, layer.node),
        tuple(places),
        fix,
    )
