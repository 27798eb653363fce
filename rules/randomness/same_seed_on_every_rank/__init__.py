"""All ranks share one seed, and draw the same noise in every training step.

## What it does
Finds a seed that is the same on every rank (`set_seed(args.seed)`, `torch.manual_seed(0)`), followed by a
training loop over a wrapped or prepared model that draws tensors from that stream (`torch.randn_like`,
`torch.randint`, `x.uniform_()` …), where nothing gives the ranks streams of their own.

## Why it is bad
The ranks draw the same numbers in the same step: the same noise on different images, the same time steps
of a diffusion, the same indices into a data set, so that eight GPUs train on one batch. The gradient then
averages eight times over the data, but once over the noise; the run looks healthy and learns worse, the
more so the more ranks there are.

## Example
```python
set_seed(args.seed)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for batch in loader:
    noise = torch.randn_like(batch)
```

## Use instead
```python
set_seed(args.seed)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
decorrelate(args.seed)
for batch in loader:
    noise = torch.randn_like(batch)
```
Not `set_seed(seed + rank)` above: before the model is wrapped ranks then build different weights (DL402).
Where the common streams have to stay in step, draw the noise with
`generator=generator(args.seed, batch.device, step=step)`.

## Fix safety
Unsafe: the numbers change.

## Known limits
Dropout and augmentation inside models and data sets are not looked for; nor numbers of `random` and
`numpy`, which loops often draw to take one decision on all ranks. Silent in files that make ranks differ
anywhere, and where the seed or the loop is not in the same program. Evaluation and sampling loops are left
out: those are often meant to be alike.

## References
- accelerate 1.15.0 accelerate/utils/random.py:40: `set_seed` is the same on all ranks by default
- torch 2.13.0 torch/nn/parallel/distributed.py: DDP averages gradients and touches no random state
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.hazards import last_wrap
from distlint.analysis.model import Model, place_of, related, source_of, span_of
from distlint.analysis.seeding import (
    Seed,
    draw_of,
    draws_by_syntax,
    draws_from,
    makes_ranks_differ,
    seeds,
)
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.fixing.edits import Insert
from distlint.knowledge import facts
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.ir import CallSite
    from distlint.analysis.program import Function, Module
    from distlint.knowledge.randomness import Draw

CODE = "DL401"
NAME = "same-seed-on-every-rank"
SEVERITY = Severity.WARNING
STATUS = Status.STABLE
LITERALS = ()

_NOT_TRAINING = ("eval", "valid", "test", "sample", "log", "generate", "infer", "init", "visual")
_SHARED_DRAWS = ("random_split", "randperm", "Sampler", "shuffle", "split", "Dropout", "dropout")
_BACKWARD = ("backward", "manual_backward")


def check(model: Model) -> Iterator[Finding]:
    """Common seeds in front of training loops that draw; the last seed of each function speaks."""
    for module in model.modules:
        common: dict[Function, Seed] = {}
        for seed in seeds(model, module):
            if not seed.per_rank and "torch" in seed.streams and not _ranked(seed.site):
                common[seed.site.function] = seed
        if not common or makes_ranks_differ(model, module):
            continue
        for function, seed in common.items():
            found = _drawn(model, function, seed)
            if found is not None:
                yield _finding(model, module, seed, *found)


def _ranked(site: CallSite) -> bool:
    return any(guard.value.spread for guard in site.guards)


def _drawn(
    model: Model, function: Function, seed: Seed
) -> tuple[Module, ast.Call, CallSite] | None:
    """The first draw of a training loop that the seed reaches, and what wraps the model."""
    below = _reached(model, function)
    wraps = [s for f in below for s in _sites(model, f) if _distributes(s)]
    if not wraps:
        return None
    for inner in below:
        if not _trains(model, inner):
            continue
        called = [s.callee for s in _sites(model, inner) if s.loops and s.callee is not None]
        for drawing in (inner, *(f for f in called if f is not inner)):
            if any(word in drawing.name.lower() for word in _NOT_TRAINING):
                continue
            if makes_ranks_differ(model, drawing.module):
                return None
            for node, draw in _draws(model, drawing, drawing is inner):
                if (
                    draw.stream == "torch"
                    and draws_from(draw, seed)
                    and not any(word in draw.name for word in _SHARED_DRAWS)
                ):
                    return drawing.module, node, wraps[-1]
    return None


def _draws(model: Model, function: Function, in_loops: bool) -> Iterator[tuple[ast.Call, Draw]]:
    """What all ranks draw in a function; of the one with the training loop, what is drawn in loops."""
    if model.runs_of(function) is None:
        yield from draws_by_syntax(model, function)
        return
    for site in _sites(model, function):
        draw = draw_of(site)
        if draw is not None and (site.loops or not in_loops) and not _ranked(site):
            yield site.node, draw


def _reached(model: Model, function: Function) -> list[Function]:
    """The function and what it calls, at any depth, nearest first."""
    found = [function]
    for current in found:
        runs = model.runs_of(current)
        for _, run in runs.runs() if runs is not None else ():
            found += [c.function for c in run.children if c.function not in found]
    return found


def _sites(model: Model, function: Function) -> list[CallSite]:
    runs = model.runs_of(function)
    sites: dict[int, CallSite] = {}
    for _, run in runs.runs() if runs is not None else ():
        for site in run.calls:
            sites.setdefault(id(site.node), site)
    return sorted(sites.values(), key=lambda s: (s.node.lineno, s.node.col_offset))


def _distributes(site: CallSite) -> bool:
    fact = facts.wrapper(site.name)
    return fact is not None and fact.kinds[0] not in ("dp", "compile", "averaged", "peft")


def _trains(model: Model, function: Function) -> bool:
    return any(s.loops and s.method in _BACKWARD for s in _sites(model, function))


def _finding(
    model: Model, module: Module, seed: Seed, where: Module, draw: ast.Call, wrap: CallSite
) -> Finding:
    fix = _fix(model, module, seed)
    text = source_of(where, draw.func)
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"all ranks seed alike here, and `{text}()` at line {draw.lineno} then gives every rank "
        f"the same numbers in each step. {fix.message}.",
        place_of(module, seed.site.node),
        (
            related(where, draw, "every rank draws the same numbers here"),
            related(wrap.module, wrap.node, "several ranks train this model"),
        ),
        fix,
    )


def _fix(model: Model, module: Module, seed: Seed) -> Fix:
    function = seed.site.function
    after = [s for s in _sites(model, function) if s.node.lineno > seed.site.node.lineno]
    statement = last_wrap(function, after, seed.site.statement)
    tests = [g for g in seed.site.guards if not g.exits]
    if (
        statement is None
        or seed.value is None
        or len(tests) > 1
        or any(not g.taken for g in tests)
        or not isinstance(seed.value, (ast.Name, ast.Attribute, ast.Constant, ast.Subscript))
    ):
        advice = (
            "Call `decorrelate(seed)` after everything is wrapped or prepared, or draw with "
            "`generator=generator(seed, device, step=step)`"
        )
        return Fix(Applicability.DISPLAY, advice)
    text = source_of(module, seed.value)
    code = f"$decorrelate({text})"
    if tests:
        code = f"if {source_of(module, tests[0].node)}:\n    {code}"
    return Fix(
        Applicability.UNSAFE,
        f"Call `decorrelate({text})` after everything is wrapped or prepared",
        (Insert(span_of(statement), code, after=True),),
    )
