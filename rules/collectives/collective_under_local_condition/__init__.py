"""A collective behind a condition that each rank answers for itself.

## What it does
Reports collectives that a rank reaches or skips by a condition on values of its own: the number of
elements that a mask left or that the parts of a batch have, the value of this rank's loss (`isnan`, a threshold, early stopping), the
clock, a salted hash, free memory, a flag that a signal handler sets. The backward of what a model in DDP or FSDP
gave is a collective: a `continue` in front of it on a loss that is not finite leaves the others waiting. Leaving by
`sys.exit()` or `raise SystemExit` counts with the collectives of the callers, and so does an error that is raised
for a loss that is not finite: information, since the launcher ends the others then, and a warning where a handler
catches it or Slurm's `srun` starts the ranks and leaves the others. Values that came out of a collective are the same everywhere and are
not reported; whether a loss made of gathered tensors is finite is information, since all of them have it. An error where a
number that is not finite leaves other ranks in a collective of every mode, else a warning; information where the
clock or a memory only goes into what the condition asks for, and is not what it is computed from, and where each call of the
function with a mask's elements stands under an option. One finding for each condition, with the first collective behind it.

## Why it is bad
Sooner or later the ranks answer differently: one batch without a valid token on one rank is enough.
Some ranks then wait in the collective while the others have gone past it; the job hangs hours after it
started, and not in every run.

## Errors you may see
- `Watchdog caught collective operation timeout`

## Example
```python
if mask.sum() == 0:
    return torch.zeros_like(loss)
return accelerator.gather(loss)
```

## Use instead
```python
if any_rank(mask.sum() == 0):
    return torch.zeros_like(loss)
return accelerator.gather(loss)
```
`any_rank(condition)` and `all_ranks(condition)` give all ranks the same answer. Which of the two depends
on what the branch is for: stop or skip as soon as one rank has to (`any_rank`), work or leave only when
every rank can (`all_ranks`).

## Fix safety
Unsafe: ranks now take the branch together, which is another behaviour, and every evaluation of the
condition is one small collective. It is only shown where ranks may not all come to the condition; under a test of the
rank the advice names the line in front of which all can be asked.

## Known limits
A batch counts as the rank's own only where its values or its length show: an attribute or an argument of
unknown origin counts as equal on all ranks. Tests of the file system are not reported, nor forwards of DDP without
gradients, of which only the first behind a step is a collective.

## References
- trl 0.23.0 trl/trainer/grpo_trainer.py:761: returns early where this rank has no unmasked token
- lightning 2.5.1 lightning/pytorch/loops/training_epoch_loop.py:386: leaves when this rank got SIGTERM
- torch 2.13.0 torch/distributed/algorithms/join.py: why uneven inputs hang
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.interpreter.values import Variance
from distlint.analysis.model import place_of, source_of, span_of
from distlint.analysis.program.syntax import asks_if_missing, mentions_rank, own_nodes
from distlint.analysis.questions.computed import is_computed_from
from distlint.analysis.questions.ending import ends_the_job, fails
from distlint.analysis.questions.evaluation_forwards import first_alone_waits
from distlint.analysis.questions.gathered import is_of_all_ranks
from distlint.analysis.questions.wrapped import without_gradients
from distlint.analysis.traces.witness import event_text, related_places, text_of, where, witness
from distlint.edits import Replace
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.knowledge.failures import BAR, RANK_PART, TENSOR, TENSOR_SIZE
from distlint.nodes import walk
from distlint.patterns import pattern
from distlint.rule import Status

from .clipped import is_norm_of_averaged

if TYPE_CHECKING:
    from distlint.analysis.interpreter.values import Origin, Value
    from distlint.analysis.model import Model
    from distlint.analysis.traces.divergence import Divergence

CODE = "DL103"
NAME = "collective-under-local-condition"
SEVERITY = Severity.ERROR
STATUS = Status.STABLE
LITERALS = ()

_MEASURED: Final = frozenset({"clock", "memory"})
"""Kinds of origins that are numbers of each rank's own."""
_NOT_FINITE: Final = pattern(r"is_?(finite|nan|inf)", re.IGNORECASE)


def check(model: Model) -> Iterator[Finding]:
    """Every condition of a rank's own that a collective depends on."""
    seen: set[int] = set()
    found = [
        d
        for d in model.divergences()
        if d.kind == "local" and _waits(d) and not first_alone_waits(d)
    ]
    inside = {
        id(inner)
        for d in found
        if isinstance(d.node, ast.If) and fails(d.node)
        for inner in walk(d.node)
        if inner is not d.node
    }
    # Where ranks end their process, callers see it too: what waits beside the condition says more.
    for divergence in sorted(found, key=lambda d: len(d.chain)):
        node = divergence.node
        if node is None or id(node) in seen or id(node) in inside:
            continue
        seen.add(id(node))
        test = _test(divergence)
        if is_norm_of_averaged(model, divergence.function, test):
            continue
        condition = divergence.condition
        assert condition is not None
        origin = condition.origin
        cause = f": it depends on {_cause(condition, origin)}" if origin is not None else ""
        fix = _fix(model, divergence, test)
        event = divergence.event
        place = where(event.module, event.node, divergence.module)
        ends = ends_the_job(model, divergence.function, node, model.launch.under_slurm)
        waits = "that skip it"
        if fails(node):
            waits = "that have raised" + (", until the launcher ends them" if ends else "")
        yield Finding(
            CODE,
            NAME,
            Severity.INFO if ends else _severity(model, divergence, test),
            f"`{text_of(test)}` can differ between ranks{cause}. Ranks on which it comes out the other "
            f"way wait in `{event_text(event)}` ({place}) for ranks {waits}. {fix.message}.",
            place_of(divergence.module, test),
            related_places(divergence),
            fix,
            witness(divergence),
        )


def _cause(condition: Value, origin: Origin) -> str:
    """What the ranks have of their own: of a part of the data not its length alone, where the test asks for more."""
    if origin.kind == RANK_PART and "local-length" not in condition.tags:
        return f"{origin.text.partition(', of which')[0]}, of which each rank has its own elements"
    return origin.text


def _test(divergence: Divergence) -> ast.expr:
    node = divergence.node
    test = getattr(node, "test", node)
    assert isinstance(test, ast.AST)
    return test if isinstance(test, ast.expr) else ast.copy_location(ast.Name("condition"), test)


def _waits(divergence: Divergence) -> bool:
    """Whether a wait is worth saying: where ranks fail, that of the training step which they leave.

    And that in what is reduced behind a validation which one rank ends for a loss that is not finite (LLaMA-Adapter
    521a09d gorilla/finetune/engine_pretrain.py:147).
    """
    node = divergence.node
    return (
        node is None
        or not fails(node)
        or divergence.event.op == "backward"
        or (
            divergence.event.op != "forward"
            and _NOT_FINITE.search(text_of(_test(divergence))) is not None
            and without_gradients(divergence.function, node)
        )
    )


def _severity(model: Model, divergence: Divergence, test: ast.expr) -> Severity:
    """Advice where what decides is a number that trainers mostly reduce before they branch on it.

    Of thirteen such causes at first sight (waves 2 to 15) one was true, a number that is not finite. What has
    elements on one rank and none on the other, and the clock, do differ: four of seven. The clock and what is free of a
    memory count where the condition is computed from them; what was made with them may be as large on all ranks
    (ChatLM-mini-Chinese 2696eb8 model/trainer.py:344: `len()` of a data set that keeps its table in memory or not;
    MotionDirector 0146a50 MotionDirector_train.py:888: a number of batches, of files in a folder named by the time).
    """
    if divergence.node is not None and fails(divergence.node):
        return Severity.WARNING
    origin = divergence.condition.origin if divergence.condition is not None else None
    if origin is not None and origin.kind in _MEASURED:
        measured = is_computed_from(model, divergence.function, test, origin.node)
        return Severity.WARNING if measured else Severity.INFO
    if origin is None or origin.kind not in (TENSOR, TENSOR_SIZE, RANK_PART):
        return Severity.WARNING
    if origin.kind == TENSOR and _is_of_all_ranks(model, origin):
        return Severity.INFO
    if origin.kind == TENSOR_SIZE:
        return Severity.INFO if _is_optional(model, divergence) else Severity.WARNING
    if _asks_if_finite(test, origin):
        return Severity.ERROR if divergence.layer == 0 else Severity.WARNING
    return Severity.INFO


def _is_optional(model: Model, divergence: Divergence) -> bool:
    """Whether a condition that is not decided stands around each call of the function, which may be an option nobody sets.

    SST 7c95376 mmdet3d/models/dense_heads/sparse_cluster_head.py:306: `self.train_cfg.get('assign_by_dist', False)`.
    """
    callers = model.callers.get(divergence.function, ())
    return bool(callers) and all(
        any(guard.value.truthiness() is None and not guard.exits for guard in caller.guards)
        for caller in callers
    )


def _is_of_all_ranks(model: Model, origin: Origin) -> bool:
    """Whether the number has a part of each rank's in it: a loss of features that are gathered before."""
    return any(
        node is origin.node and is_of_all_ranks(model, function, node)
        for function in origin.module.all_functions
        for node in own_nodes(function)
        if isinstance(node, ast.expr)
    )


def _asks_if_finite(test: ast.expr, origin: Origin) -> bool:
    """Whether the condition is, or comes from, a test for numbers that are not finite."""
    return any(_NOT_FINITE.search(ast.unparse(node)) for node in (test, origin.node))


def _fix(model: Model, divergence: Divergence, test: ast.expr) -> Fix:
    node = divergence.node
    origin = divergence.condition.origin if divergence.condition is not None else None
    if origin is not None and origin.kind == BAR:
        # On the others it is always 0: to ask all ranks would not help.
        return Fix(Applicability.DISPLAY, "Count the rounds in a variable that all ranks have")
    empty = origin is not None and origin.kind == TENSOR_SIZE
    name = "all_ranks" if _asks_for_all(test, empty and not _leaves(node)) else "any_rank"
    if (arm := _arm_of_some(model, test)) is not None:
        # bts 5e3406b pytorch/bts_main.py:462: the others would wait for nobody, or nobody for them.
        return Fix(
            Applicability.DISPLAY,
            f"Ask all ranks in front of `if {text_of(arm)}` (line {arm.lineno}), under which some alone come here: "
            f"`{name}(condition)`",
        )
    text = source_of(divergence.module, test)
    site = divergence.event.site
    split = site is None or any(
        g.node is not test and g.value.variance is not Variance.UNIFORM for g in site.guards
    )
    if not isinstance(node, ast.If) or not text or split or node.test is not test:
        return Fix(Applicability.DISPLAY, f"Let all ranks give one answer: `{name}(condition)`")
    if isinstance(test, ast.NamedExpr) or any(walk(test, ast.NamedExpr)):
        return Fix(Applicability.DISPLAY, f"Let all ranks give one answer: `{name}(condition)`")
    edit = Replace(span_of(test), f"${name}({text})")
    advice = f"Let all ranks give one answer: `{name}(...)`"
    match node.body[-1]:
        case ast.Return() | ast.Continue() | ast.Break() if name == "any_rank":
            # What the others have done in this turn is left with what one rank could not do
            # (trl 1.16.0 trl/experimental/sdpo/sdpo_trainer.py:1204: an empty mask).
            advice += ", by which all ranks leave here where one does"
    return Fix(Applicability.UNSAFE, advice, (edit,))


def _arm_of_some(model: Model, test: ast.expr) -> ast.expr | None:
    """The first test of the rank in force where a condition is asked: what needs all ranks would hang under it."""
    groups = [model.call_at(node) for node in walk(test, ast.Call)]
    return next(
        (
            guard.node
            for group in groups
            if group is not None
            for guard in group.site.guards
            if not guard.exits and any(map(_tells_ranks_apart, _terms(guard.node)))
        ),
        None,
    )


def _terms(test: ast.expr) -> Iterator[ast.expr]:
    """What a condition is put together of by `and`, `or` and `not`."""
    match test:
        case ast.BoolOp(values=values):
            for value in values:
                yield from _terms(value)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield from _terms(operand)
        case _:
            yield test


def _tells_ranks_apart(test: ast.expr) -> bool:
    """Whether a test is of the rank's number: `local_rank != -1` holds on all ranks of a launch."""
    match test:
        case ast.Compare(ops=[op], comparators=[right]) if asks_if_missing(op, right) is not None:
            return False
    return mentions_rank(test)


def _leaves(node: ast.AST | None) -> bool:
    """Whether a branch leaves for what one rank's batch lacks: `if any(len(t) < 1 for t in targets): continue`."""
    match node:
        case ast.If(
            test=ast.Call(func=ast.Name(id="any")),
            body=[*_, ast.Return() | ast.Continue() | ast.Break() | ast.Raise()],
        ):
            return True
    return False


def _asks_for_all(test: ast.expr, empty: bool) -> bool:
    """Whether the branch is for ranks that all answer yes.

    What works on the elements of a tensor may not stand one rank's empty tensor: all ranks have some,
    or all go past it. `finished.all()` asks for every sequence, and so for those of every rank
    (torchtune 0.6.1 torchtune/generation/_generation.py:387).
    """
    match test:
        case ast.Call(func=ast.Name(id="all") | ast.Attribute(attr="all")):
            return True
        case ast.Compare(ops=[ast.Eq() | ast.Lt() | ast.LtE()], comparators=[ast.Constant()]):
            return False
        case ast.UnaryOp(op=ast.Not()):
            return False
    return empty
