"""One rank alone restores the optimizer, and all ranks go on training.

## What it does
Finds `load_state_dict()` of an optimizer, `load_checkpoint()` of a DeepSpeed engine, or a call that leads to it, which
rank 0 alone makes, or each node's first rank, in a program in which the other ranks step an optimizer, or engine, of that
name too.

## Why it is bad
DDP sends the weights of rank 0 to all ranks when it wraps the model, and nothing of an optimizer. After a resume
rank 0 has its moments and its count of steps, and the others begin with none. They make other steps of the same
gradients, and from the first on each rank trains another model. Nothing fails: the ranks average gradients of models
that drift apart, and rank 0's is saved.

## Example
```python
if dist.get_rank() == 0:
    optimizer.load_state_dict(torch.load(path)["optimizer"])
for batch in loader:
    model(batch).sum().backward()
    optimizer.step()
```

## Use instead
```python
optimizer.load_state_dict(torch.load(path, map_location="cpu")["optimizer"])
for batch in loader:
    model(batch).sum().backward()
    optimizer.step()
```

## Fix safety
Shown only: whether every rank can read the file is for a person to say. Where rank 0 alone can, it sends the state
with `broadcast_object_list`.

## Known limits
By the name of the optimizer, in the files that one script leads to. Silent in files that send states on (`broadcast…`, `scatter…`) or shard them,
of an engine in those that send parameters or states on. DeepSpeed sends the weights of rank 0 when it makes the engine, so the ranks
keep other weights as well where one loads afterwards.

## References
- torch 2.13.0 torch/nn/parallel/distributed.py: DDP synchronises parameters and buffers of the module
- deepspeed 0.19.8, deepspeed/runtime/engine.py:4395: `load_checkpoint` reads this rank's files, and sends nothing
- imagen-pytorch c166739, imagen_pytorch/trainer.py:396: the constructor loads the newest checkpoint on one rank
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.interpreter.ranks import MAIN, NODE_MAIN
from distlint.analysis.interpreter.values import Variance
from distlint.analysis.model import Model, place_of, related
from distlint.analysis.program.handed import argument_of
from distlint.analysis.program.syntax import default_of
from distlint.analysis.questions.launched import roots
from distlint.analysis.questions.sharding import is_engine
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.nodes import last_name
from distlint.patterns import pattern
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.live.summaries import CallGroup
    from distlint.analysis.program.definitions import Function

CODE = "DL211"
NAME = "state-loaded-on-one-rank"
SEVERITY = Severity.WARNING
STATUS = Status.PREVIEW
LITERALS = ()

_OPTIMIZER: Final = pattern(r"^(?:\w*_)?optim(?:izer)?s?(?:_\w+)?$|^opt$")
_REACH: Final = 20
"""How many functions are looked into behind a call."""
_FEW: Final = frozenset({MAIN, NODE_MAIN})
_SENT_ON: Final = pattern(
    r"broadcast|scatter_|FullyShardedDataParallel|fully_shard|ZeroRedundancyOptimizer|deepspeed"
)
_WEIGHTS_SENT_ON: Final = pattern(
    r"(?:broadcast|scatter)\w*\([^)\n]*(?:param|state|weight|model|module|\.data\b)"
)


def check(model: Model) -> Iterator[Finding]:
    """The first such call of each function, itself or what it leads to."""
    done: set[Function] = set()
    stepped: dict[str, list[CallSite]] = {}
    for call in model.calls(".step"):
        if not call.classes <= _FEW:
            stepped.setdefault(_optimizer(call.site), []).append(call.site)
    calls = list(model.calls()) if stepped else []
    on_others = {(c.site.function, _loaded(c.site)) for c in calls if not c.classes <= _FEW}
    for call in calls:
        function = call.site.function
        if not _is_on_few(call) or function in done or function in model.alone:
            continue
        for load in _loads(model, call.site):
            name = _loaded(load)
            words = _WEIGHTS_SENT_ON if is_engine(load) else _SENT_ON
            sent_on = words.search(load.module.source.text)
            step = _step_beside(model, call.site, stepped.get(name, []))
            if step is not None and (function, name) not in on_others and not sent_on:
                done.add(function)
                yield _finding(call, name, load, step)
                break


def _step_beside(model: Model, site: CallSite, steps: list[CallSite]) -> CallSite | None:
    """The first step that a script has which comes to the call, too: another script's optimizer is not this one.

    OpenDiloco a5b7236 open_diloco/train_fsdp.py:314 and train_diloco_torch.py:349 both have an `outer_optimizer`.
    """
    scripts = model.answer(roots) if steps else {}
    return next((s for s in steps if scripts[site.module] & scripts[s.module]), None)


def _is_on_few(call: CallGroup) -> bool:
    """Whether one rank, or one of each node, makes a call in a function that all enter."""
    return MAIN in call.classes and call.classes <= _FEW and not call.entered_by <= _FEW


def _loads(model: Model, site: CallSite) -> Iterator[CallSite]:
    """The calls that restore an optimizer: the one at hand, else those that it leads to.

    None of what a call leaves out is restored: TorchEasyRec 54cac31 tzrec/utils/export_util.py:259 calls
    `restore_model(…)` without its `optimizer=None`.
    """
    if _loaded(site):
        yield site
    work = [(site.callee, _left_out(site, frozenset()))] if site.callee is not None else []
    seen = {function for function, _ in work}
    for function, left_out in work:
        summaries = model.summaries_of(function) if len(work) < _REACH else None
        for _, summary in summaries.summaries() if summaries is not None else ():
            for inner in summary.calls:
                if (name := _loaded(inner)) and name not in left_out:
                    yield inner
                if inner.callee is not None and inner.callee not in seen:
                    seen.add(inner.callee)
                    work.append((inner.callee, _left_out(inner, left_out)))


def _left_out(site: CallSite, missing: frozenset[str]) -> frozenset[str]:
    """The parameters that are None in a call by their default, or by what is missing where it is made."""
    function = site.callee
    if function is None or any(each.arg is None for each in site.node.keywords):
        return frozenset()
    return frozenset(
        name
        for name in function.parameters
        if _is_none(argument_of(site.node, function, name) or default_of(function, name), missing)
    )


def _is_none(given: ast.expr | None, missing: frozenset[str]) -> bool:
    match given:
        case ast.Constant(value=None):
            return True
        case ast.Name(id=name):
            return name in missing
    return False


def _loaded(site: CallSite) -> str:
    """The name of the optimizer that a call restores, or of the engine that has it; empty for other calls."""
    method = "load_checkpoint" if is_engine(site) else "load_state_dict"
    return _optimizer(site) if site.method == method else ""


def _optimizer(site: CallSite) -> str:
    """The name of the optimizer whose method is called, or of the engine; empty for anything else."""
    func = site.node.func
    name = last_name(func.value) if isinstance(func, ast.Attribute) else ""
    return name if _OPTIMIZER.match(name) or is_engine(site) else ""


def _finding(call: CallGroup, name: str, load: CallSite, step: CallSite) -> Finding:
    what = (
        "go on with the weights and the states that they began with"
        if is_engine(load)
        else "begin with an empty state, make other steps"
    )
    who = "rank 0" if call.classes == {MAIN} else "the first rank of each node"
    advice = "Load it on every rank"
    loaded = () if load is call.site else (related(load.module, load.node, "restored here"),)
    guards = tuple(
        related(g.module, g.node, "the rank is asked here")
        for g in call.site.guards
        if g.value.variance is Variance.RANK_DEPENDENT
    )
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"only {who} restores `{name}`: the other ranks {what}, and train models that drift apart. {advice}.",
        place_of(call.site.module, call.site.node),
        (*guards, *loaded, related(step.module, step.node, "every rank steps here")),
        Fix(Applicability.DISPLAY, advice),
    )
