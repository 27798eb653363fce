"""Gradients are clipped past the Accelerator, or before the last of the accumulated batches.

## What it does
Finds `torch.nn.utils.clip_grad_norm_` and `clip_grad_value_` beside `accelerator.backward`, and
`accelerator.clip_grad_norm_` inside `accelerator.accumulate(...)` without a test of
`accelerator.sync_gradients`. Of a model that the code itself wraps in FSDP (version 1), torch's
`clip_grad_norm_` alone. Batches that a loop accumulates by hand, and clips after each `backward()`. Says of a clipping behind `step()` and `zero_grad()` that nothing is left to clip.

## Why it is bad
torch's function sees gradients as they lie in memory: scaled by some 65,536 under fp16, so that every step is
clipped to nothing; one rank's piece under FSDP, so that each rank measures another norm and scales by another
factor; none under DeepSpeed. Between the accumulated batches the sum is cut down again and again, and the
ranks, whose gradients are not averaged yet, each by another factor; under fp16 the second call raises.

## Errors you may see
- `unscale_() has already been called on this optimizer since the last update().`
- `Attempting to unscale FP16 gradients.`

## Example
```python
with accelerator.accumulate(model):
    accelerator.backward(loss)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
```

## Use instead
```python
with accelerator.accumulate(model):
    accelerator.backward(loss)
    if accelerator.sync_gradients:
        accelerator.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
```

## Fix safety
Unsafe: gradients are other ones under fp16, FSDP and DeepSpeed, and where batches are accumulated.

## Known limits
Without `accelerator.accumulate` around it, a missing test of `sync_gradients` is not reported, nor where the
Accelerator is made in the same function without `gradient_accumulation_steps`. Silent where each Accelerator of the file is
handed the plugin of an engine, which clips by itself, in an arm of an `if`
that asks for the launch, and where a hand-made `GradScaler` unscales.

## References
- accelerate 1.15.0 accelerate/accelerator.py:3014
- torch 2.13.0 torch/distributed/fsdp/fully_sharded_data_parallel.py, `clip_grad_norm_`
- OpenDiloco issue 6
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.model import Model, place_of, related, source_of, span_of
from distlint.analysis.program.environment import blocks
from distlint.analysis.program.syntax import literals, own_nodes
from distlint.analysis.questions.accelerating import (
    Training,
    accelerators,
    made_for_engines,
    training,
)
from distlint.analysis.questions.accumulating import clipped_early
from distlint.analysis.questions.replicated import engines
from distlint.edits import Replace
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.nodes import last_name, walk
from distlint.patterns import pattern
from distlint.repairs.guarding import comment_behind
from distlint.rule import Status

from .cleared import clears

if TYPE_CHECKING:
    from distlint.analysis.live.summaries import CallGroup

CODE = "DL604"
NAME = "clip-outside-sync"
SEVERITY = Severity.WARNING
STATUS = Status.STABLE
LITERALS = ()

_TORCH = {
    "torch.nn.utils.clip_grad_norm_": "clip_grad_norm_",
    "torch.nn.utils.clip_grad_value_": "clip_grad_value_",
}
_ACCUMULATED = "gradient_accumulation"
_LAUNCH = pattern(r"deepspeed|fsdp|accelerator is|use_accelerat|scaler|apex|distributed_type")


def check(model: Model) -> Iterator[Finding]:
    """Each clipping that does not see the gradients which the optimizer takes."""
    for call in model.calls(*_TORCH):
        found = training(model, call.site.function)
        if found is not None and found.of("backward") and not _chosen(call) and not _in_hook(call):
            cleared = clears(call.site)
            yield _past(model, found, call) if cleared is None else _nothing_left(call, cleared)
    yield from _of_shards(model)
    yield from _by_hand(model)
    for call in model.calls("accelerate.Accelerator.clip_grad_norm_"):
        block = _accumulates(model, call)
        if block is not None and not made_for_engines(call.site.module):
            yield _too_early(call, block)


def _by_hand(model: Model) -> Iterator[Finding]:
    """Each clipping between batches that are accumulated without an Accelerator, of a model that ranks train."""
    for module in model.modules if model.answer(engines) else ():
        if "clip_grad_" not in module.source.text:
            continue
        for function in module.all_functions:
            told: set[int] = set()
            for clip, found in clipped_early(function):
                if training(model, function) is not None:
                    break
                if id(found.every) in told:
                    continue  # the same in the other arm of `if args.fp16`
                told.add(id(found.every))
                advice = "Clip where the optimizer steps, after the last of them"
                yield Finding(
                    CODE,
                    NAME,
                    SEVERITY,
                    "where batches are accumulated, the sum so far is clipped after each of them: the earlier ones are "
                    f"scaled down again and again. {advice}.",
                    place_of(module, clip),
                    (related(module, found.every, "what decides on the step of the optimizer"),),
                    Fix(Applicability.DISPLAY, advice),
                )


def _of_shards(model: Model) -> Iterator[Finding]:
    """Each norm that torch takes of one rank's shards: FSDP of version 1 shows plain tensors."""
    for call in model.calls("torch.nn.utils.clip_grad_norm_"):
        site = call.site
        given = site.argument_node(0, "parameters")
        if given is None:
            continue
        for attribute, _ in model.attributes():
            wraps = attribute.receiver.wraps
            if (
                attribute.attr == "parameters"
                and wraps[-1].kind == "fsdp1"
                and any(n is attribute.node for n in walk(given))
                and "NO_SHARD" not in site.module.source.text
                and not _chosen(call)
            ):
                owner = source_of(site.module, attribute.node.value)
                cleared = clears(site)
                if cleared is not None:
                    yield _nothing_left(call, cleared, f"`{owner}.clip_grad_norm_`")
                    break
                advice = f"Call `{owner}.clip_grad_norm_`, on all ranks"
                yield Finding(
                    CODE,
                    NAME,
                    SEVERITY,
                    f"torch takes the norm of this rank's shards of `{owner}`: each rank clips by another factor, "
                    f"and less than it says. {advice}.",
                    place_of(site.module, site.node),
                    (related(wraps[-1].module, wraps[-1].node, "sharded here"),),
                    Fix(Applicability.DISPLAY, advice),
                )
                break


def _chosen(call: CallGroup) -> bool:
    """Whether it is for one kind of launch only."""
    return any(
        _LAUNCH.search(ast.unparse(part))
        for guard in call.site.guards
        for part, holds in literals(guard.node, guard.taken)
        if not (holds and _is_not_deepspeed(part))
    ) or any(
        node.attr in ("unscale_", "unscale_gradients")
        for node in walk(call.site.function.node, ast.Attribute)
    )


def _is_not_deepspeed(test: ast.expr) -> bool:
    """Whether a test turns away DeepSpeed alone, which clips by itself: FSDP and fp16 come in.

    finetrainers examples/_legacy/training/cogvideox/cogvideox_text_to_video_sft.py:706.
    """
    match test:
        case ast.Compare(ops=[ast.NotEq()], comparators=[other]):
            return last_name(other) == "DEEPSPEED"
    return False


def _in_hook(call: CallGroup) -> bool:
    """Whether it runs in the hook of one parameter: accelerate's clipping unscales all optimizers each time.

    LMFlow f3597db experimental/LISA-diffusion/diffusion_dpo/train_diffusion_dpo_lisa.py:774: under fp16 the hook of
    the second parameter would raise.
    """
    name = call.site.function.name
    return any(
        last_name(node.func).endswith("_grad_hook")
        and any(last_name(argument) == name for argument in node.args)
        for node in walk(call.site.module.source.tree, ast.Call)
    )


def _past(model: Model, found: Training, call: CallGroup) -> Finding:
    site = call.site
    right = f"{found.text}.{_TORCH[site.name]}"
    other = found.of("backward")
    fix = Fix(Applicability.UNSAFE, f"Call `{right}`", (Replace(span_of(site.node.func), right),))
    if _clips_again(call):
        fix = Fix(Applicability.DISPLAY, f"Clip all of them by one call of `{right}`")
    elif _accumulates(model, call) is not None:
        fix = _between_steps(call, found.text, right)
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        "torch clips the gradients as they lie in memory: scaled under fp16, one rank's piece under FSDP, "
        f"none under DeepSpeed. {fix.message}.",
        place_of(site.module, site.node),
        (related(site.module, other.site.node, "the Accelerator makes the gradients"),)
        if other is not None and other.site.module is site.module
        else (),
        fix,
    )


def _between_steps(call: CallGroup, accelerator: str, right: str) -> Fix:
    """The Accelerator's clipping where batches are accumulated: the norm that is kept has no value in between.

    Amphion d3de90f models/svc/comosvc/comosvc_trainer.py:129: `grad_norm = torch.nn.utils.clip_grad_norm_(...)`.
    """
    site = call.site
    test = f"{accelerator}.sync_gradients"
    advice = f"Call `{right}` under `if {test}:`"
    if not isinstance(site.statement, ast.Expr) or _only_test(call) is not None:
        return Fix(Applicability.DISPLAY, advice)
    given = source_of(site.module, site.node).removeprefix(source_of(site.module, site.node.func))
    comment = comment_behind(site.module.source.text, site.statement)
    edit = Replace(span_of(site.statement), f"if {test}:\n    {right}{given}{comment}")
    return Fix(Applicability.UNSAFE, advice, (edit,))


def _nothing_left(call: CallGroup, cleared: ast.Call, by: str = "the Accelerator") -> Finding:
    site = call.site
    advice = f"Clip between `backward()` and `step()`, by {by}"
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"`zero_grad()` has cleared the gradients before they are clipped here: each step takes them whole. {advice}.",
        place_of(site.module, site.node),
        (related(site.module, cleared, "cleared here"),),
        Fix(Applicability.DISPLAY, advice),
    )


def _accumulates(model: Model, call: CallGroup) -> ast.With | None:
    """The `accumulate` block around a clipping that nothing holds back between the batches."""
    site = call.site
    if any("sync_gradients" in ast.unparse(guard.node) for guard in site.guards):
        return None
    nodes = own_nodes(site.function)
    if any(isinstance(n, ast.Assign) and "sync_gradients" in ast.unparse(n.value) for n in nodes):
        return None
    made = accelerators(site.function)
    if made and not any(k.arg is None or _ACCUMULATED in k.arg for c in made for k in c.keywords):
        return None
    for node in nodes:
        if isinstance(node, ast.With) and any(n is site.node for s in node.body for n in walk(s)):
            for item in node.items:
                group = model.call_at(item.context_expr)
                if group is not None and group.site.name == "accelerate.Accelerator.accumulate":
                    return node
    return None


def _too_early(call: CallGroup, block: ast.With) -> Finding:
    site = call.site
    assert isinstance(site.node.func, ast.Attribute)
    test = f"{source_of(site.module, site.node.func.value)}.sync_gradients"
    fix = Fix(Applicability.DISPLAY, f"Clip under `if {test}:`")
    if _clips_again(call):
        fix = Fix(Applicability.DISPLAY, f"Clip all of them by one call under `if {test}:`")
    elif isinstance(site.statement, ast.Expr) and site.statement.value is site.node:
        own = source_of(site.module, site.node)
        edit = Replace(span_of(site.statement), f"if {test}:\n    {own}")
        if (around := _only_test(call)) is not None:
            # DiffSynth-Studio fed7b18 diffsynth/diffusion/dmd2.py:589: the `if` that is there asks for both.
            asked = source_of(site.module, around)
            asked = f"({asked})" if _binds_less(around) else asked
            edit = Replace(span_of(around), f"{asked} and {test}")
        fix = Fix(Applicability.UNSAFE, fix.message, (edit,))
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        "where batches are accumulated, the sum is clipped after each of them, on each rank by another "
        f"factor; under fp16 the second time raises. {fix.message}.",
        place_of(site.module, site.node),
        (related(site.module, block, "the batches that are accumulated"),),
        fix,
    )


def _clips_again(call: CallGroup) -> bool:
    """Whether the block of a clipping has another one before the next step: the Accelerator unscales all optimizers in each, and
    GradScaler refuses the second time under fp16.

    BigVGAN 84be3f0 train.py:295: two parts of one discriminator, each clipped by itself.
    """
    site = call.site
    for block in blocks(site.function.body):
        if site.statement not in block:
            continue
        at = block.index(site.statement)
        for others in (block[at + 1 :], block[:at][::-1]):
            for other in others:
                names = {last_name(each.func) for each in walk(other, ast.Call)}
                if "step" in names:
                    break
                if names & {"clip_grad_norm_", "clip_grad_value_"}:
                    return True
    return False


def _only_test(call: CallGroup) -> ast.expr | None:
    """The test of the `if` that holds the call and nothing else."""
    for node in own_nodes(call.site.function, ast.If):
        match node:
            case ast.If(body=[only], orelse=[], test=test) if only is call.site.statement:
                return test if test.lineno == test.end_lineno else None
    return None


def _binds_less(test: ast.expr) -> bool:
    return isinstance(test, ast.IfExp | ast.Lambda | ast.NamedExpr) or (
        isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or)
    )
