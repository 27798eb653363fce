"""Every rank evaluates on the whole data set, while the training is divided.

## What it does
Finds a loader for validation or test without a distributed sampler, in a function that makes a `DistributedSampler` for
the training, where the loader is handed to an evaluation under no condition of the rank.

## Why it is bad
All ranks compute the same numbers: an evaluation takes as long on eight GPUs as on one. Where its results are then
added up over the ranks, each sample counts eight times.

## Example
```python
train_loader = DataLoader(train_set, sampler=DistributedSampler(train_set))
val_loader = DataLoader(val_set, batch_size=64)
train(train_loader, model)
evaluate(val_loader, model)
```

## Use instead
```python
train_loader = DataLoader(train_set, sampler=DistributedSampler(train_set))
val_loader = DataLoader(val_set, batch_size=64, sampler=DistributedSampler(val_set, shuffle=False))
train(train_loader, model)
evaluate(val_loader, model)  # adds its counts up over the ranks
```

## Fix safety
Shown only: a divided evaluation has to add its results up.

## Known limits
Information: it may be intended, as all ranks then decide alike (early stopping, best checkpoint), without a reduction.
Loader and evaluation have to stand in one function. Silent where a condition names the rank, and in the arm for one
process.

Not proven: nothing becomes wrong by it but the time.

## References
- mae efb2a80 main_finetune.py:191, moco-v3 c349e6e main_lincls.py:288, swav 5e073db eval_linear.py:126
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.model import Model, place_of, related
from distlint.analysis.program.environment import evaluated_here, own_statements
from distlint.analysis.program.syntax import assignments, mentions_rank, target_names
from distlint.analysis.questions.evaluating import evaluates, names_evaluation
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.nodes import last_name, walk
from distlint.patterns import pattern
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Function

CODE = "DL624"
NAME = "whole-evaluation-on-each-rank"
SEVERITY = Severity.INFO
STATUS = Status.PREVIEW
LITERALS = ()

_SAMPLER: Final = "DistributedSampler"
_PLAIN: Final = frozenset({"SequentialSampler", "RandomSampler"})
_SEVERAL: Final = pattern(r"dist|world_size|num_tasks|gpu|ddp|parallel|process", re.IGNORECASE)
"""Words of conditions that tell several processes from one."""

Around = tuple[ast.stmt, ...]


def check(model: Model) -> Iterator[Finding]:
    """Each loader of an evaluation that gives every rank all of it."""
    for module in model.modules:
        if _SAMPLER not in module.source.text:
            continue
        for function in module.all_functions:
            made = list(own_statements(function.body))
            divided = next((n for s, _ in made for n in evaluated_here(s) if _divides(n)), None)
            if divided is None:
                continue
            for statement, around in made:
                found = _whole(function, statement, around)
                used = found and _evaluated(model, made, found[1])
                if found and used:
                    yield _finding(function, found[0], divided, used)


def _finding(function: Function, node: ast.expr, divided: ast.expr, used: ast.Call) -> Finding:
    advice = (
        "Give it a `DistributedSampler(…, shuffle=False)`, and add the results up over the ranks"
    )
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"every rank evaluates on the whole data set, and on eight GPUs it takes as long as on one. {advice}.",
        place_of(function.module, node),
        (
            related(function.module, divided, "the training is divided"),
            related(function.module, used, "the evaluation"),
        ),
        Fix(Applicability.DISPLAY, advice),
    )


def _divides(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) == _SAMPLER


def _whole(
    function: Function, statement: ast.stmt, around: Around
) -> tuple[ast.expr, set[str]] | None:
    """A loader of an evaluation without a sampler, or its plain sampler, and the loader's names."""
    value = statement.value if isinstance(statement, ast.Assign) else None
    if isinstance(
        value, ast.ListComp
    ):  # croco stereoflow/train.py:336: a loader for each of several sets
        value = value.elt
    if not isinstance(statement, ast.Assign) or not isinstance(value, ast.Call):
        return None
    call, names = value, {n for t in statement.targets for n in target_names(t)}
    if not names_evaluation(*names) or _for_one_process(statement, around):
        return None
    if last_name(call.func) in _PLAIN:
        loaders = {
            name
            for name, values in assignments(function).items()
            if any(_sampler_of(value) in names for value in values)
        }
        return (call, loaders) if loaders else None
    if last_name(call.func) != "DataLoader" or any(k.arg is None for k in call.keywords):
        return None
    given = {k.arg: k.value for k in call.keywords}
    if {"sampler", "batch_sampler"} & {k for k, v in given.items() if not _is_none(v)}:
        return None
    return call, names


def _sampler_of(loader: ast.expr) -> str:
    """The variable that a loader gets its sampler from."""
    match loader:
        case ast.Call(keywords=keywords):
            for keyword in keywords:
                if keyword.arg == "sampler" and isinstance(keyword.value, ast.Name):
                    return keyword.value.id
    return ""


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _for_one_process(statement: ast.stmt, around: Around) -> bool:
    """Whether a statement stands under a condition of the rank, or in the arm for one process."""
    for outer in around:
        if isinstance(outer, ast.If):
            if mentions_rank(outer.test):
                return True
            text = ast.unparse(outer.test)
            other = any(n is statement for s in outer.orelse for n in walk(s))
            never = isinstance(
                outer.test, ast.Constant
            )  # mae efb2a80: `if True:  # args.distributed:`
            if other and (never or (_SEVERAL.search(text) and not names_evaluation(text))):
                return True
    return False


def _evaluated(
    model: Model, made: list[tuple[ast.stmt, Around]], names: set[str]
) -> ast.Call | None:
    """The call that evaluates on one of some loaders; None where a condition names the rank."""
    found = None
    for statement, around in made:
        for node in evaluated_here(statement):
            if isinstance(node, ast.Call) and _goes_through(model, node):
                given = {
                    n.id
                    for a in (*node.args, *(k.value for k in node.keywords))
                    for n in [a]
                    if isinstance(n, ast.Name)
                }
                if given & names:
                    if any(isinstance(s, ast.If) and _names_rank(s.test) for s in around):
                        return None
                    found = found or node
    return found


def _goes_through(model: Model, call: ast.Call) -> bool:
    """Whether a call evaluates, by its name or by what the function does: fractalgen `compute_nll(model, loader, …)`."""
    if names_evaluation(last_name(call.func)):
        return True
    group = model.call_at(call)
    callee = group.site.callee if group is not None else None
    return callee is not None and evaluates(callee)


def _names_rank(test: ast.expr) -> bool:
    return mentions_rank(test) or "main" in ast.unparse(test)
