"""`gather` in an evaluation counts the samples twice that fill the last batch up.

## What it does
Finds `accelerator.gather(...)` of predictions, labels or losses in a loop over a prepared loader that does
not train, where nothing cuts the result to the length of the data set. As information: a `DistributedSampler`
of an evaluation whose results are reduced or gathered over the ranks, and one, or a loader of its samples, that
drops the last (`drop_last=True`).

## Why it is bad
A prepared loader gives each rank as many batches, of equal size: where the data set does not divide, its
first samples come again at the end. `gather` hands them on, and the metric counts them twice: 10,167
samples where there are 10,000, another accuracy on another number of GPUs. `gather_for_metrics` drops them.
`DistributedSampler` fills up in the same way: of 10,001 samples on eight GPUs 7 count twice. Most accept that error;
where numbers are compared or published, it should be known.

## Example
```python
for batch in eval_loader:
    predictions = model(**batch).logits.argmax(-1)
    metric.add_batch(*accelerator.gather((predictions, batch["labels"])))
```

## Use instead
```python
for batch in eval_loader:
    predictions = model(**batch).logits.argmax(-1)
    metric.add_batch(*accelerator.gather_for_metrics((predictions, batch["labels"])))
```

## Fix safety
Unsafe: the numbers change, to those of one process. `gather_for_metrics` has to be called for each batch,
as it is here. Only shown where each rank gathers one number for its batch (`loss`, `correct.mean()`): nothing
of it can be dropped sample by sample; where the loop gathers something else of which it is not known whether it is of the same
samples; and where the project asks for accelerate below 0.12, which lacks it.

## Known limits
Silent where the function, or a helper that it hands what it kept, cuts anything to the length of something
(`losses[:len(dataset)]`), where what is gathered is read by index up to the length of what `gather_for_metrics` gave,
where the gradient is computed in the same loop or in a function that it calls, and for loaders that drop the last batch.
Which evaluation draws from a sampler is followed, or taken from the names of data set, variable and function
(`dataset_val`); predictions that are told apart by the number of their sample are not recognised.

## References
- accelerate 1.15.0 accelerate/accelerator.py, `gather_for_metrics`: "drops duplicates in the last batch"
- torch 2.13.0 torch/utils/data/distributed.py:108: "add extra samples to make it evenly divisible"
- accelerate issue 226: 10,167 samples instead of 10,000
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.model import Model, place_of, related, source_of, span_of
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.analysis.questions.shares.program import shares
from distlint.analysis.questions.shares.values import Kind
from distlint.analysis.questions.training import goes_backward
from distlint.edits import Replace
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.nodes import last_name, walk
from distlint.rule import Status

from .cut_to_length import is_cut, read_to_a_cut_length
from .filled_up import filled_up
from .left_out import left_out

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Function
    from distlint.analysis.questions.shares.values import Held, Whose

CODE = "DL602"
NAME = "gather-duplicates"
SEVERITY = Severity.WARNING
STATUS = Status.PREVIEW
LITERALS = ()

_KEEPS = frozenset(
    {"detach", "to", "cuda", "cpu", "float", "double", "unsqueeze", "view", "reshape", "clone"}
)
"""Methods of a tensor that leave one number one number."""
_LOSSES = frozenset(
    {"cross_entropy", "mse_loss", "l1_loss", "nll_loss", "kl_div", "binary_cross_entropy"}
    | {"binary_cross_entropy_with_logits", "smooth_l1_loss"}
)
"""Functions of torch that give the mean of a batch unless they are told another `reduction`."""
_SPREADS = frozenset({"repeat", "expand", "expand_as", "repeat_interleave", "tile"})
"""Methods that give each sample of a batch the number of the batch."""
_GATHER = "accelerate.Accelerator.gather"
_STEPS = frozenset({"training_step", "train_step", "training_batch", "train_batch"})
"""Methods of trainers and engines that compute gradients."""


def check(model: Model) -> Iterator[Finding]:
    """Each gather that hands the filled-up samples on."""
    for call in model.calls(_GATHER):
        site = call.site
        if not site.node.args or not isinstance(site.node.func, ast.Attribute):
            continue
        known = model.answer(shares)
        held = known.of(site.node.args[0])
        loop = _loop(known, site.function, site.node) if _is_padded(held) else None
        if (
            loop is None
            or _trains(model, loop)
            or is_cut(model, site.function)
            or read_to_a_cut_length(site.function, site.node)
            or _leaves_early(loop)
        ):
            continue
        right = f"{source_of(site.module, site.node.func.value)}.gather_for_metrics"
        if _is_of_batch(site.function, site.node):
            advice = f"Gather what there is for each sample with `{right}`, and take its mean behind that"
            fix = Fix(Applicability.DISPLAY, advice)
        else:
            together = _gathered_with(known, loop, site.node)
            edits = tuple(Replace(span_of(each.func), right) for each in together or ())
            unsafe = Applicability.UNSAFE if edits else Applicability.DISPLAY
            fix = Fix(unsafe, f"Call `{right}`", edits)
        yield Finding(
            CODE,
            NAME,
            SEVERITY,
            "where the data does not divide, the last batch is filled up with the first samples, and "
            f"they count twice. {fix.message}.",
            place_of(site.module, site.node),
            held.began,
            fix,
        )
    for sampler, (function, reduces) in filled_up(model):
        advice = "Drop what comes twice before you count, or give the ranks parts of unequal length"
        yield Finding(
            CODE,
            NAME,
            Severity.INFO,
            "where the data does not divide, this sampler gives some ranks the first samples again, and the "
            f"evaluation over all ranks counts them twice. {advice}.",
            place_of(sampler.function.module, sampler.node),
            (related(function.module, reduces, "the ranks' results are put together here"),),
            Fix(Applicability.DISPLAY, advice),
        )
    for function, maker in left_out(model):
        advice = "Keep the last batch, and the last samples of each part"
        yield Finding(
            CODE,
            NAME,
            Severity.INFO,
            "each rank leaves the last samples of its part out: the more ranks there are, the fewer samples are "
            f"evaluated. {advice}.",
            place_of(function.module, maker),
            (),
            Fix(Applicability.DISPLAY, advice),
        )


def _is_padded(held: Held) -> bool:
    """Whether the last batch of the share that is gathered is filled up."""
    return held.is_share and held.source is not None and held.source.padded


def _gathered_with(known: Whose, loop: ast.For, call: ast.Call) -> list[ast.Call] | None:
    """The gathers that have to change with one: what one call is given has to stay of one length; None where that is not seen.

    t-zero 7a699e3 examples/single_task_fine_tune.py:694: `metric.add_batch(predictions=gather(…), references=gather(…))`,
    of which the first goes through a reshape that nothing is known of. One that is known is a finding of its own.
    """
    gathers = [
        node
        for node in walk(loop, ast.Call)
        if node.args and ast.unparse(node.func) == ast.unparse(call.func)
    ]
    unknown = [n for n in gathers if n is not call and not _is_padded(known.of(n.args[0]))]
    for node in walk(loop, ast.Call):
        if node is not call:
            given = [*node.args, *(keyword.value for keyword in node.keywords)]
            if any(each is call for each in given):
                return [call, *(n for n in unknown if any(n is each for each in given))]
    return None if unknown else [call]


def _is_of_batch(function: Function, call: ast.Call) -> bool:
    """Whether each rank gives one number for its batch, of which nothing can be dropped sample by sample.

    DCNv4 4b848f7 classification/main_accelerate.py:281: `gather(acc1).mean(0)` of timm's `accuracy()`.
    """
    averaged = any(n.value is call and n.attr == "mean" for n in own_nodes(function, ast.Attribute))
    return averaged or _is_one_number(function, call.args[0])


def _is_one_number(function: Function, node: ast.expr) -> bool:
    """Whether a value is one number of a rank's whole batch."""
    match node:
        case ast.Name(id=name):
            given = assignments(function).get(name, ())
            spread = any(isinstance(v, ast.Call) and last_name(v.func) in _SPREADS for v in given)
            return not spread and any(map(_is_mean, given))
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            return any(_is_one_number(function, element) for element in elements)
        case ast.Call(func=ast.Attribute(value=inner, attr=attr)) if attr in _KEEPS:
            return _is_one_number(function, inner)
    return _is_mean(node)


def _is_mean(node: ast.expr) -> bool:
    """Whether a call gives one number for a batch: a mean over all, an accuracy, a loss that is reduced."""
    match node:
        case ast.Call(func=ast.Attribute(attr=attr, value=inner)) if attr in _KEEPS:
            return _is_mean(inner)
        case ast.Call(func=ast.Attribute(attr="mean" | "sum" | "item"), args=[], keywords=[]):
            return True
        case ast.Attribute(attr="loss"):
            return True
        case ast.Call(func=called, keywords=keywords):
            name = last_name(called)
            return name == "accuracy" or (
                name in _LOSSES and all(k.arg not in ("reduction", "reduce") for k in keywords)
            )
    return False


def _loop(known: Whose, function: Function, call: ast.Call) -> ast.For | None:
    """The loop over the loader in which a call stands; the innermost one over a loader."""
    found = None
    for node in own_nodes(function, ast.For):
        if any(n is call for s in node.body for n in walk(s)):
            iterable = [known.of(n) for n in walk(node.iter) if isinstance(n, ast.expr)]
            if any(h.kind is Kind.LOADER and h.is_share for h in iterable):
                found = node
    return found


def _trains(model: Model, loop: ast.For) -> bool:
    """Whether a loop computes gradients, itself or in what it calls: what fills a batch up is trained on, too.

    ImageReward c1392c6 ImageReward/ReFL_SDXL.py:1086: `_reward_loss()` calls `backward()` and gives the loss back.
    """
    made = list(walk(loop, ast.Call))
    # LLaVA-NeXT df17966 llava/train/llava_trainer.py:1019: `self.training_step(model, inputs)` is transformers' own.
    if goes_backward(loop) or any(last_name(n) in _STEPS for n in made):
        return True
    calls = map(model.call_at, made)
    callees = (call.site.callee for call in calls if call is not None)
    return any(callee is not None and goes_backward(callee.node) for callee in callees)


def _leaves_early(loop: ast.For) -> bool:
    """Whether a loop is left after so many batches, whatever is in them: the last one is not what it is for.

    RoboticsDiffusionTransformer deb71d8 train/sample.py:24: `if step >= args.num_sample_batches: break`.
    """
    counted = {n.id for n in walk(loop.target, ast.Name)}
    counted &= set() if last_name(loop.iter) != "enumerate" else counted
    counted |= {
        n.target.id
        for n in walk(loop, ast.AugAssign)
        if isinstance(n.target, ast.Name) and isinstance(n.value, ast.Constant)
    }
    return any(
        any(isinstance(each, ast.Break) for each in node.body)
        and isinstance(node.test, ast.Compare)
        and any(n.id in counted for n in walk(node.test, ast.Name))
        for node in walk(loop, ast.If)
    )
