"""A contrastive loss of features that were all gathered from the ranks, which carry no gradient.

## What it does
Finds a product of two tensors that `all_gather` or `accelerator.gather` put together, where a loss is made of
it, and this rank's own features were put back into neither.

## Why it is bad
What is gathered has no history. The loss falls or stays, the network behind the features gets no gradient at
all; where a temperature is learned, it alone is trained, without an error.

## Errors you may see
- `element 0 of tensors does not require grad and does not have a grad_fn`

## Example
```python
def gather(x):
    parts = [torch.zeros_like(x) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, x)
    return torch.cat(parts)

def loss_of(image, text, scale):
    images, texts = gather(image), gather(text)
    logits = scale * images @ texts.T
    return F.cross_entropy(logits, torch.arange(len(logits)))
```

## Use instead
```python
def gather(x):
    parts = [torch.zeros_like(x) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, x)
    parts[dist.get_rank()] = x
    return torch.cat(parts)
```
`torch.distributed.nn.functional.all_gather` sends the gradients of the other ranks back, too.

## Fix safety
Shown only: which gradients are wanted is for a person to say.

## Known limits
Silent where one of the two sides is this rank's own, as in a queue of keys or a local loss: its gradient is
there. A loss that goes backward in the same function is reported by DL619.

## References
- torch 2.13.0 torch/distributed/nn/functional.py: `all_gather` with a backward
- accelerate 1.15.0 accelerate/utils/operations.py: `gather` calls `torch.distributed.all_gather`
- accelerate issue 1154
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distlint.analysis.model import Model, place_of, related
from distlint.analysis.program.definitions import Function, last_name
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.analysis.questions.training import sent_backward
from distlint.analysis.questions.wrapped import without_gradients
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.rule import Status

CODE = "DL618"
NAME = "gathered-without-gradient"
SEVERITY = Severity.ERROR
STATUS = Status.PREVIEW
LITERALS = ()

_GATHERS = frozenset({"torch.distributed.all_gather"})
_OF_ACCELERATOR = frozenset({"accelerate.Accelerator.gather"})
_PRODUCTS = frozenset({"torch.matmul", "torch.mm", "torch.einsum", "torch.cdist"})
_LOSS = ("loss", "entropy", "criterion", "log_softmax", "logsumexp")
_JOINS = frozenset({"torch.cat", "torch.concat", "torch.stack", "torch.vstack"})


def check(model: Model) -> Iterator[Finding]:
    """Each product of gathered features that becomes a loss."""
    for summaries in model.functions():
        function = summaries.function
        if function.is_module_body or any(
            sent_backward(n) is not None for n in own_nodes(function)
        ):
            continue
        gathered = dict(_gathered(model, function))
        if len(gathered) > 1 and any(_is_loss(n) for n in own_nodes(function)):
            for node in own_nodes(function):
                sides = _sides(model, function, node)
                made = [gathered.get(_name(side)) for side in sides]
                if len(made) == 2 and made[0] and made[1] and not without_gradients(function, node):
                    yield _finding(function, node, [made[0], made[1]])


def _gathered(model: Model, function: Function) -> Iterator[tuple[str, ast.expr]]:
    """The variables that hold nothing but what was gathered, and where."""
    for name, values in assignments(function).items():
        # A list for the pieces may go by the name that the whole gets.
        calls = [_gather(model, function, v) for v in values if not isinstance(v, ast.ListComp)]
        if calls and calls[0] is not None and all(calls):
            yield name, calls[0]


def _gather(model: Model, function: Function, value: ast.expr) -> ast.expr | None:
    """The call that gathers, without gradient, what an expression is."""
    if not isinstance(value, ast.Call):
        return None
    meaning = model.resolve(function.module, value.func)
    if value.args and meaning in _JOINS:
        return _fills(model, function, _name(value.args[0]))
    if value.args and meaning == "torch.nn.functional.normalize":
        return _gather(model, function, value.args[0])
    call = model.call_at(value)
    if call is None:
        return None
    helper = call.site.callee
    found = call.site.name in _OF_ACCELERATOR or (helper is not None and _returns_it(model, helper))
    return value if found else None


def _fills(model: Model, function: Function, name: str) -> ast.Call | None:
    """The `all_gather` that fills a list into which nothing is put back."""
    for put in own_nodes(function, ast.Assign):
        match put.targets:
            case [ast.Subscript(value=ast.Name(id=other))] if other == name:
                return None
    for node in own_nodes(function, ast.Call):
        match node:
            case ast.Call(func=called, args=[ast.Name(id=other), *_]) if other == name:
                if model.resolve(function.module, called) in _GATHERS:
                    return node
    return None


def _returns_it(model: Model, helper: Function) -> bool:
    """Whether a helper returns what it gathered, without this rank's own."""
    given = [n.value for n in own_nodes(helper, ast.Return)]
    values = [
        value
        for returned in given
        for value in assignments(helper).get(_name(returned) if returned else "", [returned])
    ]
    return bool(values) and all(
        isinstance(value, ast.Call)
        and bool(value.args)
        and model.resolve(helper.module, value.func) in _JOINS
        and _fills(model, helper, _name(value.args[0])) is not None
        for value in values
    )


def _name(node: ast.expr) -> str:
    """The variable that an expression is a view of: `x`, `x.T`, `x.t()`, `scale * x`."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=inner, attr="T" | "mT"):
            return _name(inner)
        case ast.Call(func=ast.Attribute(attr="t" | "transpose" | "float", value=inner)):
            return _name(inner)
        case ast.BinOp(op=ast.Mult(), right=right):
            return _name(right)
    return ""


def _sides(model: Model, function: Function, node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.BinOp(op=ast.MatMult(), left=left, right=right):
            return [left, right]
        case ast.Call(args=args) if model.resolve(function.module, node.func) in _PRODUCTS:
            return [a for a in args if not isinstance(a, ast.Constant)]
    return []


def _is_loss(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and any(
        word in last_name(node.func).lower() for word in _LOSS
    )


def _finding(function: Function, node: ast.AST, made: list[ast.expr]) -> Finding:
    advice = "Put this rank's own features back, or gather with `torch.distributed.nn.functional.all_gather`"
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        "Both sides were gathered from the ranks and carry no gradient, so the network behind them is not "
        f"trained by this loss. {advice}.",
        place_of(function.module, node),
        tuple(related(function.module, call, "gathered here") for call in made),
        Fix(Applicability.DISPLAY, advice),
    )
