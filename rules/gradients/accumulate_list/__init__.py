"""`accelerator.accumulate` gets a list of models, or stands inside another: the gradients synchronise at the wrong time.

## What it does
Finds `accumulate([a, b])`, also through a variable that holds a list, and `accumulate(a)` inside
`accumulate(b)` of the same Accelerator. Also `accumulate(unet)` around a step that trains another prepared model, too.

## Why it is bad
`accumulate(*models)` takes the models one by one. A list has no `no_sync`: accelerate takes it for a model that
needs none, and every batch synchronises its gradients. Training takes longer by each of the all-reduces
that accumulation was to save. Two nested blocks count each batch twice: the optimizer steps after half as
many batches as asked for, and an odd number is never met by both. A model that is trained in the block and not named
synchronises its gradients in every batch: the same weights, and all its all-reduces.

## Example
```python
with accelerator.accumulate([unet, text_encoder]):
    accelerator.backward(loss)
```

## Use instead
```python
with accelerator.accumulate(unet, text_encoder):
    accelerator.backward(loss)
```

## Fix safety
Safe: the same gradients, synchronised once. Shown only for nested blocks, and where a second block counts the
same batch: with its models known, the first would leave out every synchronisation. A model that is not named is
added unsafely: where a flag decides whether it is trained, it was not wrapped.

## Known limits
A list that comes as an argument of the function is not seen. A model that is not named is reported where the
function prepares it, gives its parameters to an optimizer and calls it in the block.

## References
- accelerate 1.15.0 accelerate/accelerator.py:1248: `def accumulate(self, *models)`
- accelerate 1.15.0 accelerate/accelerator.py:1128: `no_sync` is a null context for what has none
- diffusers issue 5334: the text encoder is trained as well
- diffusers 0.39.0 examples/advanced_diffusion_training: 25 of 25 uses with a list
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.model import Model, place_of, related, source_of, span_of
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.analysis.questions.lengths import prepared
from distlint.analysis.questions.training import is_optimised
from distlint.analysis.questions.wrapped import without_gradients
from distlint.edits import Replace
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.nodes import last_name, walk
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.live.summaries import CallGroup
    from distlint.analysis.program.definitions import Function

CODE = "DL603"
NAME = "accumulate-list"
SEVERITY = Severity.ERROR
STATUS = Status.STABLE
LITERALS = ()

_ACCUMULATE = "accelerate.Accelerator.accumulate"


def check(model: Model) -> Iterator[Finding]:
    """Each block that accumulates a list, or inside another."""
    calls = list(model.calls(_ACCUMULATE))
    for call in calls:
        node = call.site.node
        if len(node.args) == 1 and _is_list(call.site.function, node.args[0]):
            yield _listed(call, node.args[0], _counts_twice(call, calls))
        elif left_out := _left_out(model, call):
            yield _partial(call, left_out)
    for call in calls:
        outer = _around(call, calls)
        if outer is not None:
            yield _nested(call, outer)


def _is_list(function: Function, node: ast.expr) -> bool:
    """Whether an expression is a list for sure."""
    match node:
        case ast.List() | ast.Tuple() | ast.ListComp():
            return True
        case ast.Name(id=name):
            for around in function.outward():
                values = assignments(around).get(name, [])
                if values or name in around.parameters:
                    return bool(values) and all(
                        isinstance(value, ast.List | ast.ListComp) for value in values
                    )
        case ast.IfExp(body=body, orelse=orelse):
            return _is_list(function, body) and _is_list(function, orelse)
    return False


def _left_out(model: Model, call: CallGroup) -> list[str]:
    """The models that a block trains and its `accumulate` does not name."""
    site = call.site
    named = [ast.unparse(argument) for argument in site.node.args]
    given = prepared(model, site.function)
    block = next(
        (
            n
            for n in own_nodes(site.function, ast.With)
            if any(i.context_expr is site.node for i in n.items)
        ),
        None,
    )
    if block is None or not named or not set(named) <= set(given):
        return []
    nodes = [n for statement in block.body for n in walk(statement)]
    if not any(isinstance(n, ast.Call) and last_name(n.func) == "backward" for n in nodes):
        return []
    called = [
        ast.unparse(n.func)
        for n in nodes
        if isinstance(n, ast.Call) and not without_gradients(site.function, n)
    ]
    return [
        name
        for name in dict.fromkeys(called)
        if name in given and name not in named and is_optimised(site.function, name)
    ]


def _counts_twice(call: CallGroup, calls: list[CallGroup]) -> bool:
    """Whether another block of the same Accelerator counts the batch, too.

    1d-tokenizer utils/train_utils.py:904: `model(...)` in one block, `backward()` in the next. With two batches
    for a step the first block would never synchronise, and each rank would train by itself.
    """
    site = call.site
    others = [
        other.site.node
        for other in calls
        if other.site.function is site.function
        and other.site.node is not site.node
        and ast.unparse(other.site.node.func) == ast.unparse(site.node.func)
    ]
    if not others:
        return False
    nodes = own_nodes(site.function)
    loops = [node for node in nodes if isinstance(node, ast.For | ast.While)]
    branches = [node for node in nodes if isinstance(node, ast.If)]
    return any(
        _share_a_turn(loops, site.node, other) and not _exclude(branches, site.node, other)
        for other in others
    )


def _share_a_turn(loops: list[ast.For | ast.While], one: ast.expr, other: ast.expr) -> bool:
    """Whether one turn of a loop comes to both expressions: not where each has a loop of its own."""
    around = [
        {id(loop) for loop in loops if any(node is each for node in walk(loop))}
        for each in (one, other)
    ]
    return around[0] <= around[1] or around[1] <= around[0]


def _exclude(branches: list[ast.If], one: ast.expr, other: ast.expr) -> bool:
    """Whether two expressions stand in different arms of a branch."""
    arms = [(branch.body, branch.orelse) for branch in branches]
    return any(
        _is_in(body, first) and _is_in(orelse, second)
        for body, orelse in arms
        for first, second in ((one, other), (other, one))
    )


def _is_in(block: list[ast.stmt], node: ast.AST) -> bool:
    return any(part is node for statement in block for part in walk(statement))


def _listed(call: CallGroup, models: ast.expr, counts_twice: bool) -> Finding:
    site = call.site
    text = source_of(site.module, models)
    if isinstance(models, ast.List | ast.Tuple) and models.elts:
        right = ", ".join(source_of(site.module, element) for element in models.elts)
    else:
        right = f"*({text})" if isinstance(models, ast.IfExp) else f"*{text}"
    call_text = f"{source_of(site.module, site.node.func)}({right})"
    fix = (
        Fix(
            Applicability.DISPLAY,
            f"Write `{call_text}` once around a batch's `forward` and `backward()`: two blocks count it twice",
        )
        if counts_twice
        else Fix(
            Applicability.SAFE, f"Write `{call_text}`", (Replace(span_of(site.node), call_text),)
        )
    )
    return Finding(
        CODE,
        NAME,
        Severity.WARNING,  # the same gradients, later
        "a list is no model: every batch synchronises its gradients, and accumulation saves nothing. "
        f"{fix.message}.",
        place_of(site.module, site.node),
        (),
        fix,
    )


def _partial(call: CallGroup, left_out: list[str]) -> Finding:
    site = call.site
    added = ", ".join(left_out)
    models = ", ".join(source_of(site.module, argument) for argument in site.node.args)
    text = f"{source_of(site.module, site.node.func)}({models}, {added})"
    fix = Fix(Applicability.UNSAFE, f"Name `{added}`, too", (Replace(span_of(site.node), text),))
    return Finding(
        CODE,
        NAME,
        Severity.WARNING,
        f"`{added}` is trained in this block and not named: its gradients synchronise in every batch, and accumulation "
        f"saves nothing of it. {fix.message}.",
        place_of(site.module, site.node),
        (),
        fix,
    )


def _around(call: CallGroup, calls: list[CallGroup]) -> CallGroup | None:
    """The block of the same Accelerator around a block."""
    inner = call.site
    for other in calls:
        outer = other.site
        if outer is inner or outer.function is not inner.function:
            continue
        if ast.unparse(outer.node.func) != ast.unparse(inner.node.func):
            continue
        for node in own_nodes(outer.function, ast.With):
            if any(i.context_expr is outer.node for i in node.items):
                after = node.items[[i.context_expr for i in node.items].index(outer.node) + 1 :]
                if any(n is inner.node for part in (*after, *node.body) for n in walk(part)):
                    return other
    return None


def _nested(call: CallGroup, outer: CallGroup) -> Finding:
    fix = Fix(Applicability.DISPLAY, "Name all models in one `accumulate(a, b)`")
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        "both blocks count the batch: the optimizer steps after half as many batches as asked for. "
        f"{fix.message}.",
        place_of(call.site.module, call.site.node),
        (related(outer.site.module, outer.site.node, "the block around"),),
        fix,
    )
