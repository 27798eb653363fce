"""The variable of the wrapped model is rebound to the model inside, and training goes on with it.

## What it does
Finds `model = model.module` and `model = unwrap_model(model)` after the model was wrapped, where the same
variable is called for a loss afterwards, also in the next turn of a loop that saves the model now and then.

## Why it is bad
The wrapper synchronises the gradients, and nothing holds it any more: each rank trains its own copy on its own
part of the data, without an error, as fast as on one device, and saves rank 0's.

## Example
```python
model, optimizer = accelerator.prepare(model, optimizer)
model = accelerator.unwrap_model(model)
for batch in loader:
    accelerator.backward(model(**batch).loss)
```

## Use instead
```python
model, optimizer = accelerator.prepare(model, optimizer)
net = accelerator.unwrap_model(model)  # for attributes only
for batch in loader:
    accelerator.backward(model(**batch).loss)
```

## Fix safety
Shown, not applied: which uses want the wrapper is for a person to say.

## Known limits
Rebinding and training stand in one function, or in methods of one class. Rebinding after the training, to
save, is right and not reported. In a loop, a test around it has to hold again and again: every so many steps (`%`), on
a rank, for the best model so far.

## References
- PyTorch, `torch/nn/parallel/distributed.py`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.model import Model, place_of, related
from distlint.analysis.program.environment import blocks
from distlint.analysis.questions.idle import inner_of
from distlint.analysis.questions.training import Backward
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.knowledge import wrappers
from distlint.nodes import walk
from distlint.rule import Status

from .carried import carried_back, rebinding, runs, wraps_before

if TYPE_CHECKING:
    from distlint.analysis.interpreter.values import Wrap
    from distlint.analysis.program.definitions import Function

CODE = "DL207"
NAME = "wrapper-discarded"
SEVERITY = Severity.ERROR
STATUS = Status.STABLE
LITERALS = ()


def check(model: Model) -> Iterator[Finding]:
    """Each rebinding to the model inside, before a training forward."""
    for function, value, source, wrap in _unwrapped(model):
        path = ast.unparse(source)
        statement = rebinding(function.body, value, path) or _beside_wrap(
            function, value, path, wrap
        )
        if statement is not None:
            trained, when = _trained_after(model, function, path, statement), "here"
        else:
            statement, trained = carried_back(function, value, path)
            when = "the next turn of the loop"
        if statement is not None and trained is not None:
            yield _finding(function, statement, path, wrap, trained, when)


def _beside_wrap(function: Function, value: ast.expr, path: str, wrap: Wrap) -> ast.Assign | None:
    """The assignment of the value behind the wrap in one block: whoever wraps unwraps again, and goes on."""
    for block in blocks(function.body):
        at = next((n for n, line in enumerate(block) if wrap.node in set(walk(line, ast.Call))), -1)
        statement = rebinding(block[at + 1 :], value, path) if at >= 0 else None
        if statement is not None and not isinstance(block[-1], ast.Return | ast.Raise):
            return statement
    return None


def _unwrapped(model: Model) -> Iterator[tuple[Function, ast.expr, ast.expr, Wrap]]:
    """Reads of the model inside: function, expression, wrapped expression, outermost layer."""
    for site, _ in model.attributes():
        row = wrappers.WRAPPERS[site.receiver.wraps[-1].kind]
        if site.attr in row.inner and row.forward_collective:
            yield site.function, site.node, site.node.value, site.receiver.wraps[-1]
    for call in model.calls():
        site_ = call.site
        if site_.args and site_.node.args and inner_of(site_):
            inner, source = site_.args[0], site_.node.args[0]
            wraps = inner.wraps[-1:]
            if not wraps and "unwrapped" in inner.tags:
                wraps = wraps_before(model, site_.function, ast.unparse(source))
            for wrap in wraps:
                if wrappers.WRAPPERS[wrap.kind].forward_collective:
                    yield site_.function, site_.node, source, wrap


def _trained_after(
    model: Model, function: Function, path: str, statement: ast.Assign
) -> tuple[Function, ast.Call] | None:
    """A call of the path that a backward reaches: later in the function, or in the methods of the class, or of one made of it.

    DDPM-weather 7b1914d ddpm/ddpm_base.py:70 rebinds what the Trainer in ddpm/trainer.py:90 calls.
    """
    places = [(function, statement.lineno)]
    if path.startswith("self.") and function.cls is not None and function.name == "__init__":
        places += [
            (method, 0)
            for cls in (function.cls, *model.program.subclasses(function.cls))
            for method in cls.methods.values()
            if method is not function
        ]
    for place, line in places:
        backward = Backward(place)
        if not backward:
            continue
        for node in walk(place.node, ast.Assign, ast.Call):
            match node:
                case ast.Assign(targets=targets) if (
                    node is not statement
                    and node.lineno > line
                    and path in map(ast.unparse, targets)
                ):
                    return None
                case ast.Call() if (
                    node.lineno > line and runs(node, path) and backward.reaches(node)
                ):
                    return place, node
    return None


def _finding(
    function: Function,
    statement: ast.Assign,
    path: str,
    wrap: Wrap,
    trained: tuple[Function, ast.Call],
    when: str,
) -> Finding:
    advice = f"Keep the wrapper in `{path}` and give the model inside another name"
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"From {when} on `{path}` is the model without {wrappers.WRAPPERS[wrap.kind].title}, so every rank "
        f"trains its own copy and no gradient is synchronised. {advice}.",
        place_of(function.module, statement),
        (
            related(wrap.module, wrap.node, "wrapped here"),
            related(trained[0].module, trained[1], "trained here"),
        ),
        Fix(Applicability.DISPLAY, advice),
    )
