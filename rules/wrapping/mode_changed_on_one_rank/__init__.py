"""One rank puts the model into evaluation mode and goes on training without dropout.

## What it does
Finds `model.eval()` under a test of the rank, in a loop that trains the same model, where nothing in the loop
calls `train()` again.

## Why it is bad
The rank samples or validates, comes back, and from then on trains without dropout, with the running statistics
of its normalisation in place of those of the batch. The other ranks train as before. Gradients of two different
models are averaged, and nothing shows it.

## Example
```python
for batch in loader:
    loss = model(batch).mean()
    loss.backward()
    optimizer.step()
    if dist.get_rank() == 0:
        model.eval()
        sample(model.module)
```

## Use instead
```python
for batch in loader:
    loss = model(batch).mean()
    loss.backward()
    optimizer.step()
    if dist.get_rank() == 0:
        model.eval()
        sample(model.module)
        model.train()
```

## Fix safety
Unsafe: the rank trains with dropout again.

## Known limits
Only where `eval()`, or the call of a function that begins with it, and `backward()` stand in one loop of one function.

## References
- torch 2.13.0 torch/nn/modules/module.py: `eval` sets `training` of the module and all in it, for good
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.model import Model, place_of, related, span_of
from distlint.analysis.program.definitions import dotted_name
from distlint.analysis.program.environment import blocks
from distlint.analysis.program.handed import argument_of
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import assignments, mentions_rank, own_nodes
from distlint.analysis.questions.training import Backward, sent_backward
from distlint.edits import Insert
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.nodes import last_name, walk
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.live.summaries import CallGroup
    from distlint.analysis.program.definitions import Function

CODE = "DL209"
NAME = "mode-changed-on-one-rank"
SEVERITY = Severity.ERROR
STATUS = Status.PREVIEW
LITERALS = ()


def check(model: Model) -> Iterator[Finding]:
    """Each model that one rank leaves in evaluation mode."""
    for call in model.calls():
        site = call.site
        changed = _changed(site)
        guard = next((g for g in site.guards if mentions_rank(g.node)), None) if changed else None
        if guard is None or call.by_all or _ends_there(site):
            continue
        loop = _training_loop(site)
        if loop is None or _goes_back(model, loop):
            continue
        trained = {ast.unparse(each): at for each in changed if (at := _trained(site, each))}
        if trained:
            yield _finding(call, list(trained), guard.node, next(iter(trained.values())))


def _changed(site: CallSite) -> list[ast.expr]:
    """The models that a call puts into evaluation mode, itself or in a function of the program that has them.

    CodeBERT c0de43d CodeReviewer/code/run_finetune_msg.py:260: `eval_bleu_epoch(args, valid_dataloader, model, tokenizer)`.
    """
    if site.callee is not None:
        owners = _evaluated(site.callee)
        given = [
            argument_of(site.node, site.callee, owner.id)
            for owner in owners
            if isinstance(owner, ast.Name) and owner.id in site.callee.parameters
        ]
        shared = [owner for owner in owners if _is_shared(site, site.callee, owner)]
        return [each for each in (*given, *shared) if each is not None]
    match site.node:
        case ast.Call(func=ast.Attribute(attr="eval", value=owner), args=[]):
            return [owner]
    return []


@remembered
def _evaluated(function: Function) -> tuple[ast.expr, ...]:
    """What a function puts into evaluation mode, whatever is asked."""
    return tuple(
        node.func.value
        for statement in function.body
        for node in ([statement.value] if isinstance(statement, ast.Expr) else [])
        if isinstance(node, ast.Call)
        and not node.args
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "eval"
    )


def _is_shared(site: CallSite, callee: Function, owner: ast.expr) -> bool:
    """Whether a name means the same where a function is called: an attribute of the same object, or a variable around both.

    research-contributions 21ed8e5 SwinUNETR/Pretrain/main.py:115: `validation()` beside `train()`, both in `main()`.
    """
    if isinstance(owner, ast.Attribute) and dotted_name(owner).startswith("self."):
        return dotted_name(site.node.func) == f"self.{callee.name}"
    return (
        isinstance(owner, ast.Name)
        and callee.module is site.module
        and callee.parent in (site.function, site.function.parent)
        and not _binds(callee, owner.id)
        and (callee.parent is site.function or not _binds(site.function, owner.id))
    )


def _binds(function: Function, name: str) -> bool:
    return name in function.parameters or name in assignments(function)


def _ends_there(site: CallSite) -> bool:
    """Whether the rank leaves the function behind a call: it trains no more."""
    return any(
        site.statement in body and isinstance(body[-1], ast.Return | ast.Raise)
        for body in blocks(site.function.body)
    )


def _training_loop(site: CallSite) -> ast.stmt | None:
    """The innermost loop around a call in which something goes backward."""
    for loop in reversed(site.loops):
        if any(sent_backward(n) is not None for n in walk(loop)):
            return loop
    return None


def _goes_back(model: Model, loop: ast.stmt) -> bool:
    """Whether something in a loop sets a mode again, here or in a function that it calls."""
    for node in walk(loop, ast.Call):
        called = model.call_at(node)
        callee = called.site.callee if called is not None else None
        inside = walk(callee.node) if callee is not None else [node]
        if any(isinstance(n, ast.Call) and last_name(n.func) == "train" for n in inside):
            return True
    return False


def _trained(site: CallSite, changed: ast.expr) -> ast.Call | None:
    """The call of the same model whose result goes backward, or of a function of the program that is handed it."""
    names = {ast.unparse(changed)}
    values = assignments(site.function).get(next(iter(names)), [])
    for value in (changed, *values):
        if isinstance(value, ast.Attribute):
            names.add(ast.unparse(value.value))  # `inner = model.module`
        elif isinstance(value, ast.Call) and "unwrap" in last_name(value.func):
            names.update(ast.unparse(argument) for argument in value.args)
    names |= {name.removesuffix(".module") for name in names}
    backward = Backward(site.function)
    for node in own_nodes(site.function, ast.Call):
        used = [node.func, *(node.args if isinstance(node.func, ast.Name) else ())]
        if any(ast.unparse(each) in names for each in used) and backward.reaches(node):
            return node
    return None


def _finding(call: CallGroup, changed: list[str], guard: ast.expr, trained: ast.Call) -> Finding:
    site = call.site
    back = [f"{text}.train()" for text in changed]
    advice = f"Call {' and '.join(f'`{each}`' for each in back)} when it is done"
    last = _last_beside(site)
    edits = (Insert(span_of(last), "\n".join(back), after=True),) if last is not None else ()
    fix = Fix(Applicability.UNSAFE if edits else Applicability.DISPLAY, advice, edits)
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        "one rank trains on without dropout and with other statistics, and its gradients are averaged with "
        f"those of the others. {advice}.",
        place_of(site.module, site.node),
        (
            related(site.module, guard, "some ranks only"),
            related(site.module, trained, "trained here"),
        ),
        fix,
    )


def _last_beside(site: CallSite) -> ast.stmt | None:
    """The last statement of the block of a call; None where it leaves the block in another way."""
    for body in blocks(site.function.body):
        if site.statement in body:
            last = body[-1]
            leaves = (ast.Return, ast.Continue, ast.Break, ast.Raise)
            return None if isinstance(last, leaves) else last
    return None
