"""`no_sync()` around the backward alone, which DDP does not notice.

## What it does
Finds `with model.no_sync():` and `with accelerator.no_sync(model):`, or `accelerator.accumulate(model)`, around
the `backward()` of a loss whose forward was made outside.

## Why it is bad
DDP decides in the forward whether the backward that follows synchronises gradients. A forward outside of
`no_sync()` has decided that it does: each of the accumulated batches is all-reduced, which costs what
`no_sync()` was to save. An algorithm that wants each rank's own gradients, such as SAM, gets averages.

## Example
```python
loss = model(batch).mean()
with model.no_sync():
    loss.backward()
```

## Use instead
```python
with model.no_sync():
    loss = model(batch).mean()
    loss.backward()
```

## Fix safety
Unsafe: gradients stay with their rank from now on, as the code says.

## Known limits
Only where forward and block are in one function. FSDP and DeepSpeed decide in the backward, so `no_sync()` around
it alone is right there; a model that `accelerator.prepare` wraps is taken for one in DDP, unless the program
speaks of FSDP or ZeRO. The fix is shown only where the forward does not stand directly in front of the block.

## References
- torch 2.13.0 torch/nn/parallel/distributed.py:1676: "The forward pass should be included inside the context
  manager, or else gradients will still be synchronized."
- davda54/sam issue 78, speechbrain issue 1802
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.model import Model, place_of, related, span_of
from distlint.analysis.program.environment import blocks
from distlint.analysis.program.syntax import assignments, own_nodes, target_names
from distlint.analysis.questions.sharding import shown
from distlint.analysis.questions.training import sent_backward
from distlint.edits import Move
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.nodes import walk
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Function

CODE = "DL617"
NAME = "no-sync-around-backward-only"
SEVERITY = Severity.WARNING
STATUS = Status.STABLE
LITERALS = ()

_OF_ACCELERATOR = ("accelerate.Accelerator.no_sync", "accelerate.Accelerator.accumulate")


def check(model: Model) -> Iterator[Finding]:
    """Each block without synchronisation whose forward stands in front of it."""
    held = _held_back(model)
    for function in dict.fromkeys(function for function, _ in held.values()):
        blocks_of = [
            (node, wrapped)
            for node in own_nodes(function, ast.With)
            for item in node.items
            if (wrapped := _model_of(function, item.context_expr, held)) is not None
        ]
        for block, wrapped in blocks_of:
            others = [each for each, of in blocks_of if of == wrapped and each is not block]
            finding = _finding(function, block, wrapped, others)
            if finding:
                yield finding


def _held_back(model: Model) -> dict[int, tuple[Function, str]]:
    """What names `no_sync` of a model in DDP: the function it stands in, and the model as written."""
    found: dict[int, tuple[Function, str]] = {}
    for site, _ in model.attributes():
        if site.attr == "no_sync" and site.receiver.wraps[-1].kind == "ddp":
            found[id(site.node)] = site.function, ast.unparse(site.node.value)
    calls = list(model.calls(*_OF_ACCELERATOR))
    if calls and not model.answer(shown):
        for call in calls:
            given = call.site.argument_node(0, "model")
            if given is not None:
                found[id(call.site.node.func)] = call.site.function, ast.unparse(given)
    return found


def _model_of(
    function: Function, entered: ast.expr, held: dict[int, tuple[Function, str]]
) -> str | None:
    """The model whose synchronisation a block holds back; through a variable too: `with context():`."""
    nodes = list(walk(entered))
    for name in [n.id for n in nodes if isinstance(n, ast.Name)]:
        nodes += [n for value in assignments(function).get(name, ()) for n in walk(value)]
    return next((held[id(n)][1] for n in nodes if id(n) in held), None)


def _finding(
    function: Function, block: ast.With, wrapped: str, others: list[ast.With]
) -> Finding | None:
    backward = _backward(block)
    if backward is None or any(_runs(n, wrapped) for s in block.body for n in walk(s)):
        return None
    sent, losses = backward
    before = [
        node
        for node in own_nodes(function, ast.Assign)
        if node.lineno < block.lineno
        and wrapped not in {name for target in node.targets for name in target_names(target)}
        and any(_runs(n, wrapped) for n in walk(node.value))
    ]
    if not before or not losses <= {name for name, _ in _written(function, block)}:
        return None
    forward = max(before, key=lambda node: node.lineno)
    # ANCE c8439df drivers/run_ann.py:260: forward and backward have blocks of their own, under one condition
    if any(forward is node for other in others for node in walk(other)):
        return None
    moved = _moves(function, forward, block)
    fix = Fix(
        Applicability.UNSAFE if moved else Applicability.DISPLAY,
        "Put the forward inside, too",
        moved,
    )
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        "DDP decides in the forward whether gradients are synchronised, and so this backward does, "
        f"whatever the block says. {fix.message}.",
        place_of(function.module, sent),
        (related(function.module, forward, "the forward"),),
        fix,
    )


def _backward(block: ast.With) -> tuple[ast.AST, set[str]] | None:
    """A backward of a block, and the variables that it sends; None where the block makes one of them."""
    nodes = [n for s in block.body for n in walk(s)]
    made = {
        name
        for n in nodes
        if isinstance(n, (ast.Assign, ast.AugAssign)) and any(walk(n.value, ast.Call))
        for target in (n.targets if isinstance(n, ast.Assign) else [n.target])
        for name in target_names(target)
    }
    for node in nodes:
        root = sent_backward(node)
        if root is None:
            continue
        losses = {n.id for n in walk(root, ast.Name) if isinstance(n.ctx, ast.Load)}
        losses -= {n.func.value.id for n in walk(root) if _of_object(n)}  # type: ignore[attr-defined]
        if losses and not losses & made:
            return node, losses
    return None


def _of_object(node: ast.AST) -> bool:
    """Whether a node is a method's call on a name: `scaler.scale(loss)`."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name()), args=[_, *_]):
            return True
    return False


def _runs(node: ast.AST, wrapped: str) -> bool:
    """Whether a node calls the model, or hands it to a function that does."""
    return isinstance(node, ast.Call) and (
        ast.unparse(node.func) == wrapped
        or any(ast.unparse(given) == wrapped for given in node.args)
    )


def _written(function: Function, block: ast.With) -> Iterator[tuple[str, ast.Assign]]:
    """The variables that are assigned in front of a block."""
    for node in own_nodes(function, ast.Assign):
        if node.lineno < block.lineno:
            for target in node.targets:
                for name in target_names(target):
                    yield name, node


def _moves(function: Function, forward: ast.Assign, block: ast.With) -> tuple[Move, ...]:
    """The forward, and what is made of it up to the block, go into it, where they stand in front of it."""
    for body in blocks(function.body):
        if forward not in body or block not in body:
            continue
        moved: list[ast.stmt] = []
        made: set[str] = set()
        for statement in body[body.index(forward) : body.index(block)]:
            if not isinstance(statement, ast.Assign):
                return ()
            if statement is forward or made & _read(statement.value):
                moved.append(statement)
                made |= {n for target in statement.targets for n in target_names(target)}
        if not any(made & _read(item.context_expr) for item in block.items):
            return tuple(Move(span_of(s), span_of(block.body[0])) for s in moved)
    return ()


def _read(node: ast.expr) -> set[str]:
    return {ast.unparse(n) for n in walk(node, ast.Name, ast.Attribute)}
