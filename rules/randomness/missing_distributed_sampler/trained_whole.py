"""Loaders of a whole data set from which a model in DDP or FSDP is trained, wherever wrap, loader and loop stand."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from distlint.analysis.live.summaries import CallGroup
from distlint.analysis.model import Model
from distlint.analysis.program.definitions import Class, Function, Module
from distlint.analysis.program.linked import imported_below
from distlint.analysis.program.memory import all_remembered
from distlint.analysis.program.syntax import own_nodes
from distlint.analysis.questions.keywords import keyword_values
from distlint.analysis.questions.origins import Origin, origins
from distlint.analysis.questions.replicated import engines
from distlint.analysis.questions.seeding import makes_ranks_differ
from distlint.analysis.questions.training import (
    Backward,
    goes_backward,
    sent_backward,
    training_loops,
)
from distlint.knowledge import facts
from distlint.nodes import last_name, walk
from distlint.patterns import pattern
from distlint.records import dataclass

from .left_out import LOADER, SPLIT

WRAPS: Final = frozenset({"ddp", "fsdp1", "fsdp2"})
_DIVIDES: Final = pattern(
    r"rank|world_size|num_replicas|process_index|\bshard|split_\w*by_node|webdataset|\bwds\.|streaming"
    r"|[Ff]ake|[Dd]ummy|[Ss]ynthetic"
)
"""What gives a rank its part, or may, where a data set is made and in the code of its class; what only measures speed."""
_GROUPS_OF_RANKS: Final = pattern(
    r"(?:tensor|model|sequence|context|pipeline)_(?:model_)?parallel|\bmpu\b|DeviceMesh|init_device_mesh"
)
"""Ranks that compute one batch together need the same samples."""
_SAME_DATA: Final = frozenset(
    {"map", "shuffle", "with_format", "with_transform", "remove_columns", "rename_column"}
)
"""Methods of a data set of `datasets` that give all of its samples."""
_HANDS_ON: Final = frozenset({"iter", "enumerate", "tqdm", "cycle", "trange"})
_PLACE_OF_SAMPLER: Final = 3
_DEPTH: Final = 4


@dataclass(frozen=True, slots=True)
class TrainedWhole:
    """A loader that each rank goes through as it is, the loop that does, and what wraps the model."""

    loader: Origin
    function: Function
    loop: ast.For | ast.While
    wrap: CallGroup


def trained_whole(model: Model) -> Iterator[TrainedWhole]:
    """The plain loaders that training loops draw from, all that they may draw from, for a model that is wrapped.

    DiffuSeq issue 37: a function of another file returns an endless generator over the loader, and the loop says
    `next(data)`; EfficientDet.Pytorch train.py:199: a worker hands loader and model to a `train()`.
    """
    wraps = {id(call.site.node): call for call in model.answer(engines) if _is_wrap(call)}
    if not wraps:
        return
    for module in model.modules:
        for function, loop, trainer in _trainings_in(model, module):
            wrap = _wrap(model, trainer, wraps)
            for source in _sources(loop) if wrap is not None else ():
                made = list(_drawn(model, function, source, _DEPTH))
                loaders = [each for each in made if each is not None]
                if wrap is None or not loaders or len(loaders) < len(made):
                    continue
                if all(_is_whole(model, function, each) for each in loaders):
                    yield from (TrainedWhole(e, function, loop, wrap) for e in loaders)


@all_remembered
def _trainings_in(
    model: Model, module: Module
) -> Iterator[tuple[Function, ast.For | ast.While, Function]]:
    for function in module.all_functions:
        yield from ((function, *each) for each in _trainings(model, function))


def _trainings(model: Model, function: Function) -> Iterator[tuple[ast.For | ast.While, Function]]:
    """The loops of a function in which losses go backward, there or in what they call, and the function that sends them."""
    own = training_loops(function)
    yield from ((loop, function) for loop in own)
    for loop in own_nodes(function, ast.For, ast.While):
        if loop not in own:
            called = (_meant(model, function, n) for n in walk(loop, ast.Call))
            steps = (each for each in called if each is not None and goes_backward(each.node))
            if (trainer := next(steps, None)) is not None and not any(training_loops(trainer)):
                yield loop, trainer


def _meant(model: Model, function: Function, call: ast.Call) -> Function | None:
    """The function of the program that a call goes to, or the method of its own object."""
    meaning = model.resolve(function.module, call.func)
    match call.func:
        case ast.Attribute(value=ast.Name(id="self"), attr=attr) if function.cls is not None:
            meaning = model.program.find_method(function.cls, attr)
    return meaning if isinstance(meaning, Function) else None


def _is_wrap(call: CallGroup) -> bool:
    fact = facts.wrapper(call.site.name)
    return fact is not None and fact.kinds[0] in WRAPS and call.by_all


def _wrap(model: Model, function: Function, wraps: dict[int, CallGroup]) -> CallGroup | None:
    """What wraps a model that a loss of a function goes through: what it calls, or hands to what computes the loss."""
    backward = Backward(function)
    found: CallGroup | None = None
    for node in own_nodes(function):
        if not isinstance(node, ast.Call) or not backward.reaches(node):
            continue
        for each in (node.func, *node.args):
            if not isinstance(each, ast.Name | ast.Attribute):
                continue
            for made in origins(model, function, each):
                found = found or (wraps.get(id(made.call)) if made is not None else None)
                fact = facts.wrapper(made.meaning) if made is not None else None
                if fact is not None and fact.kinds[0] not in (*WRAPS, "compile", "dp", "sync_bn"):
                    return None  # a framework prepares it, and may divide the data
    return found


def _sources(loop: ast.For | ast.While) -> Iterator[ast.expr]:
    """What a loop goes through, or asks for the next batch: not behind the last loss of a turn, to show what the model makes of it.

    ScoreVAE c4e4ba6 train_ddp.py:110: `data = next(iter(val_loader))`, at the end of an epoch.
    """
    if isinstance(loop, ast.For):
        yield loop.iter
    sent = (node.end_lineno or 0 for node in walk(loop, ast.Call) if sent_backward(node))
    last = max(sent, default=loop.end_lineno or 0)
    for node in walk(loop, ast.Call):
        match node:
            case ast.Call(func=ast.Name(id="next"), args=[given, *_]) if node.lineno <= last:
                yield given


def _drawn(model: Model, function: Function, node: ast.expr, depth: int) -> Iterator[Origin | None]:
    """The loaders that something draws its batches from, through iterators and generators; None where it may be anything."""
    for made in origins(model, function, node):
        if made is None or made.meaning == LOADER or not depth:
            yield made if made is not None and made.meaning == LOADER else None
        elif isinstance(made.meaning, Function):
            inner = list(_handed_out(made.meaning))
            for each in inner:
                yield from _drawn(model, made.meaning, each, depth - 1)
            if not inner:
                yield None
        elif last_name(made.call.func) in _HANDS_ON and made.call.args:
            yield from _drawn(model, made.function, made.call.args[0], depth - 1)
        else:
            yield None


def _handed_out(generator: Function) -> Iterator[ast.expr]:
    """What a generator yields from, batch by batch."""
    for node in own_nodes(generator, ast.YieldFrom, ast.For):
        match node:
            case ast.YieldFrom(value=given):
                yield given
            case ast.For(iter=given, body=body) if any(
                isinstance(part, ast.Yield) for each in body for part in walk(each)
            ):
                yield given


def _is_whole(model: Model, user: Function, made: Origin) -> bool:
    """Whether a loader draws all of a data set that is the same on all ranks, in the same order."""
    call = made.call
    given = {
        name: keyword_values(model.program, made.function, call, name)
        for name in (*SPLIT, "dataset")
    }
    data = call.args[:1] or given.pop("dataset")
    if not data or len(data) > 1 or len(call.args) > _PLACE_OF_SAMPLER:
        return False
    if any(
        values is None or any(ast.unparse(value) != "None" for value in values)
        for name, values in given.items()
        if name in SPLIT
    ):
        return False
    followed = model.call_at(call)
    if followed is not None and followed.guarded_by_rank:
        return False
    files = imported_below(model.program, user.module) | {made.function.module}
    if any(
        _GROUPS_OF_RANKS.search(each.source.text) or makes_ranks_differ(model, each)
        for each in files
    ):
        return False
    (read,) = data
    return not _DIVIDES.search(ast.unparse(read)) and _is_same(model, made.function, read, _DEPTH)


def _is_same(model: Model, function: Function, data: ast.expr, depth: int) -> bool:
    """Whether each thing that may have made a data set makes the same one on all ranks."""
    return depth > 0 and all(
        made is not None
        and not _DIVIDES.search(ast.unparse(made.call))
        and _makes_same(model, made, depth)
        for made in origins(model, function, data)
    )


def _makes_same(model: Model, made: Origin, depth: int) -> bool:
    match made.meaning, made.call.func:
        case Class() as cls, _:
            own, outside = model.program.mro(cls)
            item = model.program.find_method(cls, "__getitem__")
            return (
                not any("Iterable" in base or "webdataset" in base for base in outside)
                and not any(_DIVIDES.search(ast.unparse(each.node)) for each in own)
                and (item is None or _asks_for_index(item))
            )
        case str(), _:
            return True
        case None, ast.Attribute(value=base, attr=attr) if attr in _SAME_DATA:
            return _is_same(model, made.function, base, depth - 1)
    return False


def _asks_for_index(item: Function) -> bool:
    """Whether a sample hangs on the number that the sampler draws: where it is drawn otherwise, ranks may differ."""
    (index, *_) = [*item.parameters[1:], ""]
    return any(n.id == index for n in own_nodes(item, ast.Name))
