"""A loss that was added up over the ranks is reported as if it were the mean.

## What it does
Finds a loss or metric of each rank that `all_reduce` or `reduce` adds up, and that is logged, or decides
which checkpoint is the best, without being divided by the number of ranks or by another sum. Also hits that are counted
over all ranks, and divided by a batch times the number of ranks without brackets: `hits / batch * world_size`.

## Why it is bad
The number is as many times too large as there are ranks. On another number of GPUs the same training reports
another loss, and a threshold or a plateau means something else.

## Example
```python
dist.all_reduce(loss)
writer.add_scalar("loss", loss.item(), step)
```

## Use instead
```python
dist.all_reduce(loss, op=dist.ReduceOp.AVG)
writer.add_scalar("loss", loss.item(), step)
```
gloo has no AVG: there, divide by `dist.get_world_size()` after the sum.

## Fix safety
Shown only: which of the two is meant, a mean over ranks or over samples, a person has to say.

## Known limits
Reported are numbers whose name says that they are a mean: a loss, an accuracy, a metric. Sums of counts
(`correct`, `tokens`, `num_samples`) and what is divided by anything that may be a sum are left alone.

## References
- HRNet-Semantic-Segmentation issue 34: the logged loss is as many times too large as there are GPUs
- torch 2.13.0 torch/distributed/distributed_c10d.py: `all_reduce(tensor, op=ReduceOp.SUM)`
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.model import Model, place_of
from distlint.analysis.program.definitions import dotted_name
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.analysis.questions.decisions import decisions
from distlint.analysis.questions.reported import is_metric, reports
from distlint.analysis.questions.shares.program import shares
from distlint.analysis.questions.shares.values import Kind, Part
from distlint.findings import Finding, Severity
from distlint.nodes import walk
from distlint.patterns import pattern
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Function
    from distlint.analysis.questions.shares.values import Held, Whose

CODE = "DL612"
NAME = "sum-reported-as-mean"
SEVERITY = Severity.WARNING
STATUS = Status.PREVIEW
LITERALS = ()

_SUMS = pattern(r"sum|total|num|count|tokens|correct|samples|_n\b", re.IGNORECASE)
"""Names that say themselves that they are sums."""


def check(model: Model) -> Iterator[Finding]:
    """Each sum over the ranks that is reported, once for each reduction."""
    known = model.answer(shares)
    seen: set[int] = set()
    for function in known.functions(model.modules):
        for node, name, place in _uses(function):
            held = known.of(node)
            if held.part is not Part.SUM or held.ended is None or id(held.ended) in seen:
                continue
            if not is_metric(name) or _SUMS.search(name) or _SUMS.search(_summed(held.ended)):
                continue
            seen.add(id(held.ended))
            text = ast.unparse(node)
            yield Finding(
                CODE,
                NAME,
                SEVERITY,
                f"`{text}` is the sum over the ranks, as many times too large as there are ranks. Divide "
                "it by their number, or reduce with the mean.",
                place_of(function.module, place),
                known.ended(held, function.module, "added up over the ranks here"),
            )
    for function in known.functions(model.modules):
        for node, whole in _multiplied(known, function):
            part = node.left
            assert isinstance(part, ast.BinOp)
            right = f"{ast.unparse(part.left)} / ({ast.unparse(part.right)} * {ast.unparse(node.right)})"
            yield Finding(
                CODE,
                NAME,
                SEVERITY,
                f"`{ast.unparse(part.left)}` counts what all ranks found, and is multiplied by their number, not divided by "
                f"it: the result is too large by the square of that. Write `{right}`.",
                place_of(function.module, node),
                known.ended(whole, function.module, "gathered from the ranks here"),
            )


def _multiplied(known: Whose, function: Function) -> Iterator[tuple[ast.BinOp, Held]]:
    """The hits of all ranks that a function divides by a batch, and multiplies by the number of ranks.

    EgoVLPv2 550c059 EgoTaskQA/main_end2end.py:387: `sum(pred_all == answers_all) / B * args.world_size`. A loss may be
    multiplied on purpose, as DDP takes the mean of the gradients; hits have none.
    """
    for node in own_nodes(function, ast.BinOp):
        match node:
            case ast.BinOp(
                left=ast.BinOp(left=hits, op=ast.Div(), right=size), op=ast.Mult(), right=ranks
            ) if (
                known.of(ranks).kind is Kind.WORLD
                and known.of(hits).part in (Part.WHOLE, Part.PADDED, Part.SUM)
                and known.of(size).part in (Part.ALIKE, Part.SHARE)
                and _counts_hits(function, hits)
            ):
                yield node, known.of(hits)


def _counts_hits(function: Function, number: ast.expr) -> bool:
    """Whether a number is a sum of what two tensors have in common: `(predicted == labels).sum()`."""
    values = assignments(function).get(dotted_name(number), [number])
    return all(
        any(isinstance(op, ast.Eq) for test in walk(value, ast.Compare) for op in test.ops)
        for value in values
    )


def _uses(function: Function) -> Iterator[tuple[ast.expr, str, ast.AST]]:
    """The numbers that a function reports or decides by, with their names and places."""
    for call, numbers in reports(function):
        for number in numbers:
            yield number.node, number.name, call
    for decision in decisions(function):
        yield decision.value, ast.unparse(decision.value), decision.node


def _summed(ended: ast.AST) -> str:
    """What the reduction was given, as written."""
    return ast.unparse(ended.args[0]) if isinstance(ended, ast.Call) and ended.args else ""
