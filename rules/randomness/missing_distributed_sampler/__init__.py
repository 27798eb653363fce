"""A model in DistributedDataParallel is trained from a loader that gives every rank the whole data set.

## What it does
Finds a function that wraps a model in DDP or FSDP and trains it in a loop over a plain `DataLoader`, also of
a stream: no sampler, nothing in the data set that depends on the rank, no framework that would split it. Also finds a
`DistributedSampler` in whose variable a plain sampler is put before anything has used it, and one that nothing draws
from beside a plain loader over the same data set. With accelerate: a plain loader that is trained from and not given
to `prepare()` with the model, an iterator over a loader that begins before `prepare()`, and a `get_train_dataloader`
of a Trainer's subclass that returns a loader which it does not prepare. Also a `prepare(loader)`, or Fabric's
`setup_dataloaders(loader)`, whose result nobody takes. With Lightning: a loader of a Trainer that is
told `use_distributed_sampler=False`, and an object of a class of the project around loaders, of which it divides none. And a
`webdataset.WebDataset` without `nodesplitter` or `resampled`, which webdataset refuses on several ranks. And the loader of an
evaluation whose sampler is made of the data that is trained on, and one that shuffles beside its sampler, which torch refuses.

## Why it is bad
Each rank goes through all samples: what one computes, the others compute too, and eight GPUs take as long
for an epoch as one. With one seed on all ranks they even shuffle alike: every rank has the same batch, and
averages the same gradient with itself. Where a sampler is replaced, the ranks were to share the work and
do not: an evaluation takes as long on eight GPUs as on one.

## Example
```python
model = DistributedDataParallel(model)
loader = DataLoader(data, batch_size=8, shuffle=True)
```

## Use instead
```python
model = DistributedDataParallel(model)
sampler = DistributedSampler(data)
loader = DataLoader(data, batch_size=8, sampler=sampler)
```
and `sampler.set_epoch(epoch)` at the start of each epoch. A line that replaces the sampler is deleted.

## Fix safety
Shown only: batch size, learning rate and epoch length mean something else afterwards.

## Known limits
Silent where the data set is iterable or sharded by
its name, except for a stream of `datasets` that nothing splits by node, where the file mentions a distributed
sampler or seeds each rank differently, and where the loader goes into another call before the loop. Where wrap, loader and loop
stand in several functions, all that the loop may draw from has to be plain loaders of data sets that are the same on all ranks. A sampler
counts as replaced where the next statement of the block that names the variable assigns it a plain sampler of
torch. A sampler counts as left out where its function only calls `set_epoch()` and `len()` of it, and hands the
loader to nothing that divides it (`prepare()`, `fit()`). What a method of one step (`step`, `update`) is called with and
puts into a data set is this rank's batch.

## References
- torch 2.13.0 torch/utils/data/distributed.py:17
- torch 2.13.0 torch/utils/data/sampler.py:116: the seed comes from torch's default generator
- DeepSpeedExamples, commit 4dbff684, applications/DeepSpeed-Chat/training/step2_reward_model_finetuning/
  main.py:294: a `SequentialSampler` over the `DistributedSampler` chosen above
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.interpreter.values import Variance
from distlint.analysis.model import Model, place_of, related
from distlint.analysis.program.definitions import dotted_name
from distlint.analysis.program.environment import blocks
from distlint.analysis.program.linked import importers
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.analysis.questions.seeding import makes_ranks_differ
from distlint.analysis.questions.training import sent_backward
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.knowledge import facts
from distlint.nodes import last_name, walk
from distlint.patterns import pattern
from distlint.rule import Status

from .dropped import dropped
from .left_out import LOADER, SPLIT, left_out, sampler_in
from .left_whole import LeftWhole, left_whole
from .misfits import Misfit, misfits
from .shards import undivided_shards
from .trained_whole import WRAPS, TrainedWhole, trained_whole
from .unprepared import Undivided, undivided

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.program.definitions import Function, Module

CODE = "DL404"
NAME = "missing-distributed-sampler"
SEVERITY = Severity.WARNING
STATUS = Status.PREVIEW
LITERALS = (b"DistributedSampler",)

_DIVIDED_WORDS = ("split_dataset_by_node", "shard", "rank", "skip")
_DIVIDES = pattern(r"\.shard\((?=[\s\S]{0,120}rank)|\bsplit_dataset_by_node\(")
"""Calls of `datasets` that give a rank its part."""
_SHARDED_WORDS = ("iter", "stream", "shard", "rank", "webdataset", "split_dataset_by_node")


def check(model: Model) -> Iterator[Finding]:
    """Each plain loader that feeds a wrapped model."""
    for found in (*undivided(model), *dropped(model)):
        yield _unprepared(found)
    seen: set[ast.Call] = set()
    for left in left_whole(model):
        if left.node not in seen:
            seen.add(left.node)
            yield _whole(left)
    for trained in trained_whole(model):
        if trained.loader.call not in seen:
            seen.add(trained.loader.call)
            yield _trained(trained)
    for module in model.modules:
        yield from (_of_shards(module, *found) for found in undivided_shards(model, module))
        text = module.source.text
        if "DistributedSampler" in text:
            yield from (_misfit(module, found) for found in misfits(model, module))
            yield from _replaced(model, module)
            for loader, made, name in left_out(model, module):
                yield _unread(module, loader, made, name)
            continue
        if "DataLoader" not in text:
            continue
        for call in model.calls(LOADER, module=module):
            site = call.site
            if call.guarded_by_rank or any(word in site.keywords for word in SPLIT):
                continue
            if site.node in seen:
                continue
            if _is_split(site) or makes_ranks_differ(model, module):
                continue
            if _is_handed_in(site) and _divided_above(model, module):
                continue
            wrap = _wrap(model, site.function)
            loop = _loop(site.function, site.node)
            if wrap is not None and loop is not None:
                yield _plain(site.module, site.node, wrap, (site.module, loop), _is_stream(site))


def _misfit(module: Module, found: Misfit) -> Finding:
    """A sampler of other data than its loader's, or beside a shuffle."""
    if found.data:
        advice = f"Make it of `{found.data}`"
        text = (
            f"the sampler gives indices of `{found.other}`: there are more or fewer of them than samples in `{found.data}`, and "
            "an index that is too large ends every rank."
        )
    else:
        advice = "Leave out `shuffle=True`: the sampler shuffles"
        text = "a loader that is given a sampler and told to shuffle raises a `ValueError`, on every rank."
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"{text} {advice}.",
        place_of(module, found.loader),
        (related(module, found.sampler, "the sampler"),) if found.data else (),
        Fix(Applicability.DISPLAY, advice),
    )


def _plain(
    module: Module,
    loader: ast.Call,
    wrap: CallSite,
    loop: tuple[Module, ast.For | ast.While],
    stream: bool = False,
) -> Finding:
    advice = "Give each its part with `DistributedSampler`"
    if stream:
        advice = "Give each its part with `datasets.distributed.split_dataset_by_node`"
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        "every rank goes through the whole data set: the ranks repeat one another's "
        f"work, and eight take as long for an epoch as one. {advice}.",
        place_of(module, loader),
        (
            related(wrap.module, wrap.node, "several ranks train this model"),
            related(*loop, "each rank sees every sample here"),
        ),
        Fix(Applicability.DISPLAY, advice),
    )


def _trained(found: TrainedWhole) -> Finding:
    loop = (found.function.module, found.loop)
    return _plain(found.loader.function.module, found.loader.call, found.wrap.site, loop)


def _of_shards(module: Module, pipeline: ast.Call, where: Module, ranks: ast.AST) -> Finding:
    advice = "Give it `nodesplitter=webdataset.split_by_node`"
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        "nothing divides these shards between the ranks: webdataset raises ValueError where there are several. "
        f"{advice}.",
        place_of(module, pipeline),
        (related(where, ranks, "several ranks come here"),),
        Fix(Applicability.DISPLAY, advice),
    )


def _unprepared(found: Undivided) -> Finding:
    prepare = found.prepare
    advice = "Give the loader to `prepare()`, and go through what it returns"
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"{found.what}: every rank goes through the whole data set, and repeats the work of the others. {advice}.",
        place_of(found.module, found.node),
        (related(found.module, prepare, "prepared for several ranks"),)
        if prepare is not None
        else (),
        Fix(Applicability.DISPLAY, advice),
    )


def _whole(left: LeftWhole) -> Finding:
    advice = "Give each its part with `DistributedSampler`"
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"{left.why}: every rank goes through the whole data set, and repeats the work of the others. {advice}.",
        place_of(left.function.module, left.node),
        (related(left.fit.module, left.fit.node, "several ranks train here"),),
        Fix(Applicability.DISPLAY, advice),
    )


def _unread(module: Module, loader: ast.Call, made: ast.Assign, name: str) -> Finding:
    fix = Fix(Applicability.DISPLAY, f"Give the loader the sampler: `sampler={name}`")
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"nothing draws from `{name}`, and this loader gives every rank the whole data set: the ranks "
        f"repeat one another's work. {fix.message}.",
        place_of(module, loader),
        (related(module, made, "this sampler is left out"),),
        fix,
    )


def _replaced(model: Model, module: Module) -> Iterator[Finding]:
    """Each plain sampler that is put in the place of one for this rank's part, before its use."""
    for function in module.all_functions:
        holders = {
            id(node): name
            for node in own_nodes(function)
            if (name := sampler_in(model, module, node, distributed=True))
        }
        for block in blocks(function.body) if holders else ():
            for number, statement in enumerate(block):
                if not isinstance(statement, ast.Assign | ast.If):
                    continue
                for holder in (statement, *walk(statement)):
                    name = holders.get(id(holder), "")
                    after = _next_use(name, block[number:]) if name else None
                    if after is not None and sampler_in(model, module, after, distributed=False):
                        yield _replacement(module, name, holder, after)
                        break


def _next_use(name: str, block: list[ast.stmt]) -> ast.stmt | None:
    """The next statement of a block that names a variable; None where the first one reads it."""
    first, *rest = block
    if _mentions(first, name, ast.Load):
        return None
    after = next((s for s in rest if _mentions(s, name, ast.expr_context)), None)
    return None if after is None or _mentions(after, name, ast.Load) else after


def _mentions(statement: ast.stmt, name: str, how: type[ast.expr_context]) -> bool:
    return any(n.id == name and isinstance(n.ctx, how) for n in walk(statement, ast.Name))


def _replacement(module: Module, name: str, holder: ast.AST, after: ast.stmt) -> Finding:
    fix = Fix(Applicability.DISPLAY, "Keep the sampler that gives each rank its part")
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"`{name}` gave each rank its part, and is replaced before it is used: every rank goes through "
        f"the whole data set. {fix.message}.",
        place_of(module, after),
        (related(module, holder, "replaced before its use"),),
        fix,
    )


def _is_split(site: CallSite) -> bool:
    """Whether the data set may already be this rank's part, or splits itself."""
    data = site.argument(0, "dataset")
    node = site.argument_node(0, "dataset")
    if data is None or node is None or data.variance is not Variance.UNIFORM or "rank" in data.tags:
        return True
    if len(site.node.args) > 3 or any(k.arg is None for k in site.node.keywords):
        return True
    nodes = [node]
    if isinstance(node, ast.Name):
        nodes += assignments(site.function).get(node.id, [])
    if _is_stream(site):
        return False
    return any(word in ast.unparse(n).lower() for n in nodes for word in _SHARDED_WORDS)


def _is_handed_in(site: CallSite) -> bool:
    """Whether the data set is an argument of the function, or what its object keeps."""
    node = site.argument_node(0, "dataset")
    made = (
        [node, *assignments(site.function).get(dotted_name(node), [])] if node is not None else []
    )
    names = {dotted_name(n) for each in made for n in walk(each, ast.Name, ast.Attribute)}
    own = set(site.function.parameters) - {"self"}
    return any(name in own or name.startswith("self.") for name in names)


def _divided_above(model: Model, module: Module) -> bool:
    """Whether another file that uses this one divides a data set between the ranks itself, before it hands it over.

    EleutherAI/sae e657340 sparsify/__main__.py:161: `dataset.shard(dist.get_world_size(), rank)`, then
    `Trainer(args, dataset, model)`.
    """
    above = importers(model.program, module) - {module}
    return any(_DIVIDES.search(each.source.text) for each in above)


def _is_stream(site: CallSite) -> bool:
    """Whether the data set is a stream of `datasets`, which nothing divides between ranks by itself.

    The workers of a loader share its shards; ranks do only after `split_dataset_by_node` (datasets issue 3423).
    """
    node = site.argument_node(0, "dataset")
    if node is None:
        return False
    assigned = assignments(site.function)
    made = [
        node,
        *(v for n in walk(node, ast.Name) for v in assigned.get(n.id, [])),
    ]
    if any(word in ast.unparse(v).lower() for v in made for word in _DIVIDED_WORDS):
        return False
    return any(_streams(part) for v in made for part in walk(v))


def _streams(node: ast.AST) -> bool:
    """Whether a node is `load_dataset(…, streaming=True)`."""
    return (
        isinstance(node, ast.Call)
        and last_name(node.func) == "load_dataset"
        and any(
            k.arg == "streaming" and isinstance(k.value, ast.Constant) and k.value.value is True
            for k in node.keywords
        )
    )


def _wrap(model: Model, function: Function) -> CallSite | None:
    """Where the function wraps a model by hand; None where it does not, or prepares with a framework."""
    summaries = model.summaries_of(function)
    found = None
    for _, summary in summaries.summaries() if summaries is not None else ():
        for site in summary.calls:
            fact = facts.wrapper(site.name)
            if fact is not None and fact.kinds[0] in WRAPS:
                found = site
            elif fact is not None and fact.kinds[0] != "compile":
                return None
    return found


def _loop(function: Function, loader: ast.Call) -> ast.For | ast.While | None:
    """The training loop over the loader: nothing but the loop uses the variable that holds it."""
    name = next(
        (
            s.targets[0].id
            for s in own_nodes(function, ast.Assign)
            if (s.value is loader or _drawn_from(s.value) is loader)
            and len(s.targets) == 1
            and isinstance(s.targets[0], ast.Name)
        ),
        None,
    )
    if name is None or len(assignments(function).get(name, [])) != 1:
        return None
    for node in own_nodes(function, ast.Call):
        if any(
            isinstance(a, ast.Name) and a.id == name
            for a in (*node.args, *(k.value for k in node.keywords))
            if ast.unparse(node.func)
            not in ("enumerate", "len", "tqdm", "tqdm.tqdm", "iter", "next")
        ):
            return None
    for loop in own_nodes(function, ast.For, ast.While):
        if any(isinstance(n, ast.Name) and n.id == name for n in _source(loop)) and any(
            sent_backward(inner) is not None for inner in walk(loop)
        ):
            return loop
    return None


def _drawn_from(value: ast.expr) -> ast.expr | None:
    """What `iter(...)` is given; None for other expressions."""
    match value:
        case ast.Call(func=ast.Name(id="iter"), args=[given]):
            return given
    return None


def _source(loop: ast.For | ast.While) -> Iterator[ast.AST]:
    """Where a loop has its batches from: what it goes through, and what it asks for the next one."""
    if isinstance(loop, ast.For):
        yield from walk(loop.iter)
    for node in walk(loop, ast.Call):
        match node:
            case ast.Call(func=ast.Name(id="next"), args=[given, *_]):
                yield given
