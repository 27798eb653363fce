"""A gather of tensors whose sizes differ from rank to rank.

## What it does
Reports `gather` and `gather_for_metrics` of accelerate, and `all_gather` and `gather` of torch, on a
tensor of a rank's own size: what a boolean mask left (`losses[mask]`), a list into which a loop put what passed a test,
what `generate` returned, whose length is that of this rank's longest answer, or logits for each token, as a slice along the tokens shows
(`logits[:, :-1, :]`), without `pad_across_processes` in between.

## Why it is bad
These collectives take one shape from all ranks. With other sizes gloo and NCCL hang, raise, or fill the
result with parts of the wrong tensors; which of them depends on the batch.

## Errors you may see
- `op.preamble.length <= op.nbytes`
- `Watchdog caught collective operation timeout`

## Example
```python
tokens = model.generate(**batch)
all_tokens = accelerator.gather(tokens)
```

## Use instead
```python
tokens = accelerator.pad_across_processes(model.generate(**batch), dim=1, pad_index=pad_token_id)
all_tokens = accelerator.gather(tokens)
```

## Fix safety
Unsafe: the padding is in the result, and which value and dimension it should have is a guess (the first
dimension for masked tensors, the second for generated tokens). Shown only for torch's own functions.

## Known limits
Variables are followed within one function, logits also through the functions that return them. Files that
pad to `max_length` are not reported for logits. A tensor whose last assignment pads it in another way (a call
with `pad` in its name, `max_length` of `generate` that all answers reach) is not reported.

## References
- accelerate 1.15.0 accelerate/utils/operations.py: `gather` and `pad_across_processes`, "so they can be
  gathered safely"
- trl 0.16.0 trl/trainer/orpo_trainer.py:848: lengths padded per rank, "Multi gpu hang"
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.interpreter.values import Variance
from distlint.analysis.model import place_of, related, source_of, span_of
from distlint.analysis.program.definitions import dotted_name
from distlint.analysis.program.syntax import assignments
from distlint.edits import Replace
from distlint.findings import Applicability, Finding, Fix, Related, Severity
from distlint.rule import Status

from .collected import collected
from .token_shapes import per_token, same_shape

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function

CODE = "DL107"
NAME = "ragged-gather"
SEVERITY = Severity.WARNING
STATUS = Status.PREVIEW
LITERALS = ()

_GATHERS: Final = {
    "accelerate.Accelerator.gather": 0,
    "accelerate.Accelerator.gather_for_metrics": 0,
    "torch.distributed.all_gather": 1,
    "torch.distributed.all_gather_into_tensor": 1,
    "torch.distributed.gather": 0,
}
"""Position of the tensor that has to have one shape on all ranks."""


def check(model: Model) -> Iterator[Finding]:
    """Every gather of a masked or generated tensor that nothing padded."""
    for call in model.calls(*_GATHERS):
        site = call.site
        position = _GATHERS[site.name]
        node = site.argument_node(position, "tensor")
        if node is None or isinstance(node, (ast.Tuple, ast.List, ast.Dict)):
            continue
        found = (
            _ragged(site, node, position) or _per_token(model, site, node) or _collected(site, node)
        )
        if found is None:
            continue
        why, dimension, places = found
        fix = _fix(site, node, dimension)
        yield Finding(
            CODE,
            NAME,
            SEVERITY,
            f"`{ast.unparse(node)}` has another size on each rank: {why}. `{site.method}` of unequal "
            f"shapes hangs, fails, or mixes the tensors up. {fix.message}.",
            place_of(site.module, site.node),
            places,
            fix,
        )


def _ragged(
    site: CallSite, node: ast.expr, position: int
) -> tuple[str, int, tuple[Related, ...]] | None:
    """Why a tensor's size is a rank's own, the dimension that differs, and where it comes from."""
    made = node
    if isinstance(node, ast.Name):
        values = assignments(site.function).get(node.id, [])
        if len(values) != 1:
            return None
        made = values[0]
    value = site.argument(position, "tensor")
    if (
        value is not None
        and value.variance is Variance.RANK_LOCAL
        and {"masked", "ragged"} <= value.tags
        and _selects(same_shape(made), site.function)
    ):
        origin = value.origin
        places = (related(origin.module, origin.node, origin.text),) if origin is not None else ()
        return "it is what a mask left of this rank's tensor", 0, places
    match made:
        case ast.Call(func=ast.Attribute(attr="generate", value=owner), keywords=keywords) if (
            not any(k.arg in ("max_tokens", "min_new_tokens", "min_length") for k in keywords)
            and "client" not in ast.unparse(owner)
            and "llm" not in ast.unparse(owner)
        ):
            at = () if made is node else (related(site.module, made, "generated here"),)
            return "it is as long as this rank's longest answer", 1, at
    return None


def _selects(node: ast.expr, function: Function) -> bool:
    """Whether an expression may take a part of a tensor by a mask; an element of what some call gave may be anything.

    ms-swift 3602360 swift/rlhf_trainers/dpo_trainer.py:403: `model_output['mean_chosen_logits']`, a mean by now, from
    a dictionary that masked tensors went into.
    """
    match node:
        case ast.Subscript(value=owner, slice=ast.Constant()):
            made = assignments(function).get(dotted_name(owner), [])
            return bool(made) and all(isinstance(m, ast.Dict | ast.Tuple | ast.List) for m in made)
        case ast.Subscript():
            return True
    return False


def _per_token(
    model: Model, site: CallSite, node: ast.expr
) -> tuple[str, int, tuple[Related, ...]] | None:
    """The same for a tensor with a dimension of tokens, as long as this rank's longest sequence."""

    def callee(call: ast.Call) -> Function | None:
        known = model.call_at(call)
        return known.site.callee if known is not None else None

    found = per_token(site.function, node, callee)
    if found is None:
        return None
    function, shift = found
    at = () if shift is node else (related(function.module, shift, "sliced along its tokens here"),)
    return "it has as many tokens as this rank's longest sequence", 1, at


def _collected(site: CallSite, node: ast.expr) -> tuple[str, int, tuple[Related, ...]] | None:
    """The same for a tensor made of a list into which this rank has put some of its elements."""
    put = collected(site.function, node)
    if put is None:
        return None
    why = "it has as many rows as this rank's elements passed a test"
    return why, 0, (related(site.module, put, "put in here, if it passes"),)


def _fix(site: CallSite, node: ast.expr, dimension: int) -> Fix:
    function = site.node.func
    if not site.name.startswith("accelerate.") or not isinstance(function, ast.Attribute):
        return Fix(Applicability.DISPLAY, "Pad it to the largest size of all ranks first")
    owner, text = source_of(site.module, function.value), source_of(site.module, node)
    padded = f"{owner}.pad_across_processes({text}, dim={dimension})"
    return Fix(
        Applicability.UNSAFE,
        "Pad it first: `pad_across_processes`",
        (Replace(span_of(node), padded),),
    )
