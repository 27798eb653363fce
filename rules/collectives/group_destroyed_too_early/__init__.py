"""A collective behind what has destroyed the process group.

## What it does
Finds collectives, and questions about the rank or the world size, that a process comes to behind
`destroy_process_group()`, or behind `accelerator.end_training()`, which destroys the group since accelerate 0.34.
Through calls at any depth.

## Why it is bad
There is no group any more: the call raises on every rank. It mostly stands at the end of a training, in front of
what saves the model, which then is lost. On one process nothing is to be seen, for `wait_for_everyone()` does
nothing there.

## Errors you may see
- `Default process group has not been initialized, please make sure to call init_process_group`

## Example
```python
for batch in loader:
    step(model, batch)
accelerator.end_training()

accelerator.wait_for_everyone()
accelerator.unwrap_model(model).save_pretrained(folder)
```

## Use instead
```python
for batch in loader:
    step(model, batch)

accelerator.wait_for_everyone()
accelerator.unwrap_model(model).save_pretrained(folder)
accelerator.end_training()
```

## Fix safety
Unsafe: what ends the group is moved to the end of its function, and with it what trackers are told last. Shown in
words where it stands in another function than the collective, or where a `return` stands between the two.

## Known limits
Silent where a condition between the two may ask whether there is a group, where a handler may catch what the
collective raises, and for accelerate below 0.34 where the project pins one.

## References
- transformers issue 37434: the examples `run_*_no_trainer.py` end the training, then wait and save
- accelerate 0.34.0 accelerator.py:2718, `end_training`; 0.33.0 ends the trackers only
- torch 2.13.0 torch/distributed/distributed_c10d.py, `destroy_process_group`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distlint.analysis.model import Model, place_of, related, source_of, span_of
from distlint.analysis.program.syntax import ends_run, own_nodes
from distlint.analysis.questions.group_life import END_OF_TRAINING, Pair, behind_the_end
from distlint.edits import Delete, Edit, Insert, Move
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.nodes import walk
from distlint.rule import Status

CODE = "DL112"
NAME = "group-destroyed-too-early"
SEVERITY = Severity.ERROR
STATUS = Status.PREVIEW
LITERALS = (b"end_training", b"destroy_process_group")

_DESTROYS_SINCE = (0, 34)


def check(model: Model) -> Iterator[Finding]:
    """What needs the group behind each end of it."""
    words = [word.decode() for word in LITERALS]
    if not any(w in m.source.text for m in model.program.modules.values() for w in words):
        return
    for pair in behind_the_end(model):
        by_accelerate = pair.first.site.name == END_OF_TRAINING
        module = pair.first.site.module
        if not (by_accelerate and model.is_before("accelerate", _DESTROYS_SINCE, module)):
            yield _finding(pair, by_accelerate=by_accelerate)


def _finding(pair: Pair, *, by_accelerate: bool) -> Finding:
    end, needs = pair.first.site, pair.second.site
    which = f"`{end.method}()`"
    if by_accelerate:
        which += ", which destroys the process group since accelerate 0.34"
    else:
        which += ", which has destroyed the process group"
    text = (
        f"`{needs.method}()` comes behind {which} (line {end.node.lineno}"
        f"{'' if end.module is needs.module else f' of {end.module.path}'}): it raises on every rank, and nothing below is "
        "done. End the group last."
    )
    return Finding(
        CODE,
        NAME,
        SEVERITY if pair.certain else Severity.WARNING,
        text,
        place_of(needs.module, needs.node),
        (related(end.module, end.node, "the group is destroyed here", needed=True),),
        _fix(pair),
    )


def _fix(pair: Pair) -> Fix:
    advice = f"Call `{pair.first.site.method}()` behind everything that needs the group"
    edits = _moved(pair)
    if not edits:
        return Fix(Applicability.DISPLAY, advice)
    return Fix(Applicability.UNSAFE, advice, edits, pair.first.site.module.path)


def _moved(pair: Pair) -> tuple[Edit, ...]:
    """Edits that put the statement which ends the group, with its condition, last in the function of both."""
    end, function = pair.first.site, pair.function
    if end.function is not function or pair.second.outer.function is not function:
        return ()
    at = next((n for n, each in enumerate(function.body) if _holds(each, end.node)), None)
    if at is None or not _does_nothing_else(function.body[at], end.node):
        return ()
    behind = function.body[at + 1 :]
    last = behind[-1] if behind else None
    returns = [each for each in own_nodes(function, ast.Return) if each is not last]
    if last is None or ends_run(last) or any(_holds(s, each) for s in behind for each in returns):
        return ()
    statement = function.body[at]
    if isinstance(last, ast.Return):
        # What is returned may itself need the group.
        simple = last.value is None or isinstance(last.value, ast.Name | ast.Constant)
        return (Move(span_of(statement), span_of(last)),) if simple else ()
    text = source_of(function.module, statement)
    lines = text.split("\n")
    indent = " " * statement.col_offset
    code = "\n".join([lines[0], *(line.removeprefix(indent) for line in lines[1:])])
    return Delete(span_of(statement)), Insert(span_of(last), code, after=True)


def _holds(statement: ast.stmt, node: ast.AST) -> bool:
    return any(each is node for each in walk(statement))


def _does_nothing_else(statement: ast.stmt, end: ast.Call) -> bool:
    """Whether a statement does nothing but end the group, perhaps under a condition."""
    match statement:
        case ast.Expr(value=value):
            return value is end
        case ast.If(body=[ast.Expr(value=value)], orelse=[]):
            return value is end
    return False
