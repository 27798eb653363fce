"""A running total of the loss keeps the graph of every step.

## What it does
Finds `total += loss`, `total += loss * n` or `total = total + loss`, also through `hvd.allreduce(loss)` and a helper
that gives such a value back, in a loop that sends the same `loss` backward, where `total`
is begun outside the loop and is not itself sent backward; in a method that takes one step, the total of the object
that `__init__` alone begins.

## Why it is bad
The loss is the end of its step's graph, and the sum holds on to all of them. `backward()` frees the
activations, the nodes stay: the host's memory grows with every step, on all ranks of a machine together. After
`backward(retain_graph=True)` the activations stay as well, on the device.
Where the total is reduced over the ranks, the graph goes with it. A total that is begun anew every few steps, or for
each batch of which a loop goes through the parts, holds the graphs of those only: that is information.

## Errors you may see
- `torch.OutOfMemoryError: CUDA out of memory`, where the graph was retained

## Example
```python
for batch in loader:
    loss = model(batch).loss
    loss.backward()
    total += loss
```

## Use instead
```python
for batch in loader:
    loss = model(batch).loss
    loss.backward()
    total += loss.detach()
```

## Fix safety
Safe: the same number, without its graph.

## Known limits
Silent where the loss is detached or made a number between `backward()` and the sum, and under `no_grad`.

## References
- ray issue 40940, horovod issue 641: memory grows until the process ends
- torch 2.13.0 docs/source/notes/faq.rst: "Don't accumulate history across your training loop"
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from distlint.analysis.model import Model, place_of, related, source_of, span_of
from distlint.analysis.program.definitions import Function
from distlint.analysis.program.handed import argument_of
from distlint.analysis.program.syntax import assignments, own_nodes, target_names
from distlint.analysis.questions.training import sent_backward
from distlint.analysis.questions.wrapped import without_gradients
from distlint.edits import Replace
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.nodes import walk
from distlint.patterns import pattern
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Module

CODE = "DL607"
NAME = "loss-retains-graph"
SEVERITY = Severity.WARNING
STATUS = Status.STABLE
LITERALS = (b".backward(",)
NEEDS_RANKS = False


_STEP = pattern(r"(?:^|_)step$")
_PARTS = pattern(r"accum|micro|chunk")
"""Words in what a loop goes through that is a part of one step's batch."""
_KEEP_GRAPH = frozenset({"mean", "sum", "clone", "squeeze", "float", "double"})
_DIFFERENTIABLE = frozenset(
    {
        "horovod.torch.allreduce",
        "torch.distributed.nn.all_reduce",
        "torch.distributed.nn.functional.all_reduce",
    }
)
"""Reductions whose result has the graph of what they get: horovod.torch.mpi_ops.HorovodAllreduce is a Function."""


def check(model: Model) -> Iterator[Finding]:
    """Each sum that a loss joins together with its graph."""
    for module in model.modules:
        if "backward(" not in module.source.text:
            continue
        for function in module.all_functions:
            sums = [
                (node, found[0], loss)
                for node in own_nodes(function)
                if (found := _sum(node)) is not None
                for loss in _carried(model, function, found[1])
            ]
            if sums:
                yield from _kept(module, function, sums)


def _sum(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """The total, and what is added, of `total += loss` or `total = total + loss`."""
    match node:
        case ast.AugAssign(target=total, op=ast.Add(), value=added):
            return total, added
        case ast.Assign(targets=[total], value=ast.BinOp(left=left, op=ast.Add(), right=added)):
            return (total, added) if ast.unparse(left) == ast.unparse(total) else None
    return None


def _carried(model: Model, function: Function, node: ast.expr, depth: int = 3) -> list[ast.Name]:
    """The variables whose graph a value holds on to: through arithmetic, and reductions that gradients pass."""
    match node:
        case ast.Name():
            return [node]
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div(), right=right):
            return [n for side in (left, right) for n in _carried(model, function, side, depth)]
        case ast.Call(func=ast.Attribute(attr=attr, value=of), args=[]) if attr in _KEEP_GRAPH:
            return _carried(model, function, of, depth)
        case ast.Call(func=called, args=[first, *_]):
            meaning = model.resolve(function.module, called)
            if meaning in _DIFFERENTIABLE:
                return _carried(model, function, first, depth)
            if isinstance(meaning, Function) and depth and not _lets_go(meaning):
                return _through(model, function, node, meaning, depth - 1)
    return []


def _lets_go(helper: Function) -> bool:
    """Whether a helper computes without gradients."""
    text = ast.unparse(helper.node)
    return any(word in text for word in ("no_grad", "inference_mode", "detach", ".item()"))


def _through(
    model: Model, function: Function, call: ast.Call, helper: Function, depth: int
) -> list[ast.Name]:
    """The variables whose graph goes into a helper and comes back."""
    given = [n.value for n in own_nodes(helper, ast.Return)]
    kept = [
        {n.id for n in _carried(model, helper, value, depth)} if value is not None else set()
        for value in given
    ]
    names = set.intersection(*kept) if kept else set()
    return [
        name
        for parameter in sorted(names.intersection(helper.parameters) - assignments(helper).keys())
        if (argument := argument_of(call, helper, parameter)) is not None
        for name in _carried(model, function, argument, depth)
    ]


def _kept(
    module: Module, function: Function, sums: list[tuple[ast.AST, ast.expr, ast.Name]]
) -> Iterator[Finding]:
    loops = own_nodes(function, ast.For, ast.AsyncFor, ast.While)
    for node, total, loss in sorted(sums, key=lambda s: s[0].lineno):  # type: ignore[attr-defined]
        around: list[ast.AST] = [
            loop for loop in loops if any(n is node for s in loop.body for n in walk(s))
        ]
        if not around and _lasts(function, total):
            around = [function.node]
        if not around:
            continue
        inner = min(around, key=lambda loop: len(list(walk(loop))))
        backward = _backward_of(inner, loss.id, node)
        if backward is None or _is_sent(function, total) or _begun_in(inner, total):
            continue
        if _is_let_go(inner, loss.id, backward, node) or without_gradients(function, node):
            continue
        text = source_of(module, loss)
        fix = Fix(
            Applicability.SAFE,
            f"Add `{text}.detach()`",
            (Replace(span_of(loss), f"{text}.detach()"),),
        )
        again = _begun_anew(inner, total) or (
            isinstance(total, ast.Name) and _is_of_one_step(function, loops, inner)
        )
        until = " until it is begun anew" if again else " with each of them"
        yield Finding(
            CODE,
            NAME,
            Severity.INFO if again else SEVERITY,
            f"`{ast.unparse(total)}` holds on to the graph of every step, and {_memory(backward)} grows{until}. "
            f"{fix.message}.",
            place_of(module, node),
            (related(module, backward, f"`{text}` has a graph"),),
            fix,
        )


def _memory(backward: ast.Call) -> str:
    """Which memory the graphs fill: `backward()` frees what they keep on the device, unless it is told to retain it."""
    retains = any(keyword.arg in ("retain_graph", None) for keyword in backward.keywords)
    return "the device's memory" if retains else "the host's memory"


def _backward_of(loop: ast.AST, name: str, added: ast.AST) -> ast.Call | None:
    """The call of a loop that sends a variable backward: the last one above the sum, else the first.

    MedSAM d71e8a1 train_multi_gpus.py:410: each way to train makes its own loss, and sends it backward.
    """
    found: list[ast.Call] = []
    for node in walk(loop):
        root = sent_backward(node)
        if isinstance(root, ast.Call) and root.args:
            root = root.args[0]  # scaler.scale(loss).backward()
        if isinstance(node, ast.Call) and root is not None and name in _summands(root):
            found.append(node)
    above = [call for call in found if call.lineno <= added.lineno]  # type: ignore[attr-defined]
    if above:
        return max(above, key=lambda call: call.lineno)
    return found[0] if found else None


def _summands(node: ast.expr) -> Iterator[str]:
    """The variables that a sum is made of."""
    match node:
        case ast.Name(id=name):
            yield name
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            yield from _summands(left)
            yield from _summands(right)


def _lasts(function: Function, total: ast.expr) -> bool:
    """Whether a total outlives the call of a method that takes one step: only `__init__` begins it."""
    text = ast.unparse(total).partition("[")[0]
    if not text.startswith("self.") or function.cls is None:
        return False
    begun = {
        method.name
        for method in function.cls.methods.values()
        for node in own_nodes(method, ast.Assign)
        if any(ast.unparse(t) == text for t in node.targets)
    }
    return begun == {"__init__"}


def _is_sent(function: Function, total: ast.expr) -> bool:
    """Whether the total goes backward itself: its graph is wanted."""
    text = ast.unparse(total).partition("[")[0]
    return any(
        sent_backward(n) is not None
        and text in {ast.unparse(part) for part in walk(n) if isinstance(part, ast.expr)}
        for n in own_nodes(function)
    )


def _begun_in(loop: ast.AST, total: ast.expr) -> bool:
    """Whether each round of the loop begins the total anew."""
    return any(_begins(statement, total) for statement in getattr(loop, "body", ()))


def _begun_anew(loop: ast.AST, total: ast.expr) -> bool:
    """Whether some rounds of the loop begin the total anew: what it holds is bounded.

    torchtune 0.6 recipes/full_finetune_distributed.py: `running_loss = 0` after each step of the optimizer.
    """
    return any(_begins(part, total) for part in walk(loop))


def _is_of_one_step(function: Function, loops: Sequence[ast.AST], inner: ast.AST) -> bool:
    """Whether a loop goes through the parts of one batch: of what a loop around it binds, by its words, or by the name of
    the function.

    RADIO c0f3701 examples/position_predictor.py:427: `for batch in batches` in `for batches in tbar`; modulus' corrdiff
    takes `range(num_accumulation_rounds)`, and luyug's Condenser the chunks of `training_step(self, model, inputs)`.
    """
    if not isinstance(inner, ast.For):
        return False
    if _STEP.search(function.name) or _PARTS.search(ast.unparse(inner.iter)):
        return True
    bound = {
        name
        for loop in loops
        if isinstance(loop, ast.For) and loop is not inner and inner in walk(loop)
        for name in target_names(loop.target)
    }
    return any(n.id in bound for n in walk(inner.iter, ast.Name))


def _begins(node: ast.AST, total: ast.expr) -> bool:
    text = ast.unparse(total).partition("[")[0]
    return (
        isinstance(node, ast.Assign)
        and _sum(node) is None
        and any(ast.unparse(target) == text for target in node.targets)
    )


def _is_let_go(loop: ast.AST, name: str, backward: ast.Call, node: ast.AST) -> bool:
    """Whether the variable holds something without a graph by the time it is added.

    habitat-lab 0fb6f43 habitat-baselines/habitat_baselines/il/trainers/pacman_trainer.py:286: `(first, second) =
    metrics.get_stats()`, behind `(first + second).backward()`.
    """
    for other in walk(loop):
        if not isinstance(other, ast.Assign) or other is node:
            continue
        written = any(name in target_names(target) for target in other.targets)
        if written and backward.lineno <= other.lineno <= node.lineno:  # type: ignore[attr-defined]
            return True
    return False
