"""Loaders that accelerate never divides: they, or the iterators over them, pass `prepare()` by."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import Class, Function, Module, dotted_name, last_name
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.places import source_of
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.analysis.questions.training import sent_backward
from distlint.knowledge import facts
from distlint.nodes import walk
from distlint.patterns import pattern
from distlint.records import dataclass

from .left_out import LOADER

if TYPE_CHECKING:
    from distlint.analysis.live.summaries import CallGroup
    from distlint.analysis.model import Model

PREPARE: Final = "accelerate.Accelerator.prepare"
_TRAINER: Final = "transformers.Trainer"
_GOES_THROUGH: Final = frozenset({"iter", "cycle"})
_ONLY_ASKS: Final = frozenset({"enumerate", "len", "tqdm", "iter", "next", "print", "cycle"})
_SAMPLES: Final = ("sampler", "batch_sampler")
_DIVIDED: Final = ("iter", "stream", "shard", "rank", "webdataset", "process_index", "split", "web")
"""Words of data that is divided already, or divides itself."""
_IN_MEMORY: Final = frozenset({"from_dict", "from_list", "TensorDataset"})
_ONE_STEP: Final = pattern(r"step|update|batch")
_PUTS: Final = frozenset({"append", "add", "push", "put", "extend", "insert", "store"})
_DIVIDES: Final = ("DistributedSampler", "process_index", "split_dataset_by_node", "split_between")


@dataclass(frozen=True, slots=True, eq=False)
class Undivided:
    """What every rank goes through as a whole: the place, what is said of it, and where the others go."""

    module: Module
    node: ast.AST
    prepare: ast.AST | None
    what: str


def undivided(model: Model) -> Iterator[Undivided]:
    """All such loaders and iterators of a program."""
    prepared: dict[Function, list[CallGroup]] = {}
    for call in model.calls(PREPARE):
        prepared.setdefault(call.site.function, []).append(call)
        yield from _begun_before(model, call)
    for module in model.modules:
        if "DataLoader" in module.source.text:
            yield from _of_trainers(model, module)
    classes = {f.cls for f in prepared if f.cls is not None}
    for function in [f for f in prepared if f.cls is None]:
        yield from _left_out(model, [function], prepared[function])
    for cls in sorted(classes, key=lambda c: (c.module.path, c.node.lineno)):
        methods = list(cls.methods.values())
        calls = [call for method in methods for call in prepared.get(method, ())]
        yield from _left_out(model, methods, calls)


def _begun_before(model: Model, call: CallGroup) -> Iterator[Undivided]:
    """The iterators over a loader that are made before `prepare()` gives another loader in its place.

    transfusion-pytorch train_mnist.py:110: `iter_dl = cycle(dataloader)`, then `prepare(model, optimizer, dataloader)`.
    """
    function, prepare = call.site.function, call.site.node
    given = {dotted_name(argument) for argument in prepare.args} - {""}
    for name, values in assignments(function).items():
        if len(values) != 1 or not isinstance(made := values[0], ast.Call) or len(made.args) != 1:
            continue
        loader = dotted_name(made.args[0])
        if (
            loader in given
            and made.lineno < prepare.lineno
            and _goes_through(model, function, made)
            and any(_draws(n, name, prepare.lineno) for n in own_nodes(function))
        ):
            what = f"`{name}` began before `prepare()`"
            yield Undivided(function.module, made, prepare, what)


def _goes_through(model: Model, function: Function, made: ast.Call) -> bool:
    """Whether a call gives an iterator over what it gets."""
    if last_name(made.func) in _GOES_THROUGH:
        return True
    meaning = model.resolve(function.module, made.func)
    return (
        isinstance(meaning, Function)
        and any(own_nodes(meaning, ast.Yield, ast.YieldFrom))
        and any(dotted_name(n.iter) in meaning.parameters for n in own_nodes(meaning, ast.For))
    )


def _draws(node: ast.AST, name: str, after: int) -> bool:
    """Whether a node below a line takes something out of an iterator."""
    match node:
        case ast.Call(func=ast.Name(id="next"), args=[given, *_]) | ast.For(iter=given):
            return given.lineno > after and dotted_name(given) == name
    return False


def _left_out(model: Model, scope: list[Function], calls: list[CallGroup]) -> Iterator[Undivided]:
    """The plain loaders that a function, or the methods of a class, train from and do not prepare with the model."""
    module = scope[0].module
    if not calls or any(map(_divides, scope)):
        return
    if any(isinstance(a, ast.Starred) for call in calls for a in call.site.node.args):
        return
    for function in scope:
        for name, values in assignments(function).items():
            if len(values) == 1 and (not name.startswith("self.") or function.cls is not None):
                near = scope if name.startswith("self.") else [function]
                if (
                    not isinstance(values[0], ast.Call)
                    or sum(len(assignments(f).get(name, ())) for f in near) != 1
                ):
                    continue
                loader = _plain_loader(model, function, values[0])
                if loader is None or any(_is_handed_on(f, name) for f in near):
                    continue
                if any(_trains_from(f, name) for f in near):
                    what = f"`{name}` is not given to `prepare()`"
                    yield Undivided(module, values[0], calls[0].site.node, what)


@remembered
def _divides(function: Function) -> bool:
    """Whether a function speaks of what divides data by hand."""
    whole = function.is_module_body
    text = function.module.source.text if whole else source_of(function.module, function.node)
    return any(word in text for word in _DIVIDES)


def _plain_loader(model: Model, function: Function, value: ast.expr) -> ast.Call | None:
    """The call that makes a loader over all of the data, in the function or in one that it calls."""
    if not isinstance(value, ast.Call):
        return None
    meaning = model.resolve(function.module, value.func)
    if meaning == LOADER:
        return value if _is_plain(model, function, value) else None
    if not isinstance(meaning, Function) or _divides(meaning):
        return None
    given = [n.value for n in own_nodes(meaning, ast.Return) if n.value]
    made = [v for node in given for v in assignments(meaning).get(dotted_name(node), [node])]
    match made:
        case [ast.Call() as loader] if model.resolve(meaning.module, loader.func) == LOADER:
            return loader if _is_plain(model, meaning, loader) else None
    return None


def _is_plain(model: Model, function: Function, loader: ast.Call) -> bool:
    if any(k.arg is None or k.arg in _SAMPLES for k in loader.keywords) or len(loader.args) > 3:
        return False
    data = next((k.value for k in loader.keywords if k.arg == "dataset"), None)
    data = data if data is not None else next(iter(loader.args), None)
    if data is None:
        return False
    nodes = [data, *assignments(function).get(dotted_name(data), ())]
    if any(_is_handed_batch(function, n) for n in nodes) or _is_filled(function, data):
        return False
    if any(word in ast.unparse(n).lower() for n in nodes for word in _DIVIDED):
        return False
    classes = [model.resolve(function.module, n.func) for n in nodes if isinstance(n, ast.Call)]
    return not any(
        "torch.utils.data.IterableDataset" in facts.with_bases(model.program.mro(c)[1])
        for c in classes
        if isinstance(c, Class)
    )


def _is_filled(function: Function, data: ast.expr) -> bool:
    """Whether a function puts into a data set, piece by piece, what each rank has made: that is its own already.

    re-grpo 9c8ad5e experiment_accelerate/train_accelerate.py:374: `replay_buffer.append(…)` of each rank's rollouts.
    """
    return any(
        isinstance(call.func, ast.Attribute)
        and call.func.attr in _PUTS
        and dotted_name(call.func.value) == dotted_name(data)
        for loop in own_nodes(function, ast.For, ast.While)
        for call in walk(loop, ast.Call)
    )


def _is_handed_batch(function: Function, made: ast.expr) -> bool:
    """Whether a method of one step puts what it is called with into a data set: that is this rank's batch already.

    LongVA f4c8781 longva/trl/trainer/iterative_sft_trainer.py:276: `step(input_ids, …)` goes through
    `Dataset.from_dict(batch_dict)` of its own arguments. What `fit()` is called with, is all of the data.
    """
    if function.cls is None or not _ONE_STEP.search(function.name):
        return False
    return (
        isinstance(made, ast.Call)
        and last_name(made.func) in _IN_MEMORY
        and len(function.parameters) > 1
        and not any("self." in ast.unparse(a) for a in made.args)
    )


def _is_handed_on(function: Function, name: str) -> bool:
    """Whether a loader goes to something that may divide it, or leaves the function."""
    for node in own_nodes(function, ast.Call, ast.Return, ast.Assign):
        match node:
            case ast.Call(func=func, args=args, keywords=keywords):
                given = [*args, *(k.value for k in keywords)]
                if last_name(func) not in _ONLY_ASKS and any(_holds(g, name) for g in given):
                    return True
            case ast.Return(value=ast.expr() as value) if _holds(value, name):
                return True
            case ast.Assign(value=value) if _is_itself(value, name):
                return True
    return False


def _holds(node: ast.expr, name: str) -> bool:
    match node:
        case ast.Starred(value=inner):
            return _holds(inner, name)
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return any(_holds(part, name) for part in parts)
        case ast.Dict(values=parts):
            return any(_holds(part, name) for part in parts)
    return dotted_name(node) == name


def _is_itself(value: ast.expr, name: str) -> bool:
    return isinstance(value, ast.Name | ast.Attribute | ast.Tuple | ast.List | ast.Dict) and _holds(
        value, name
    )


def _trains_from(function: Function, name: str) -> bool:
    """Whether a loop over a loader sends something backward, here or in a method that it calls."""
    for loop in own_nodes(function, ast.For):
        if any(dotted_name(n) == name for n in walk(loop.iter, ast.Name, ast.Attribute)):
            for node in (n for statement in loop.body for n in walk(statement)):
                if sent_backward(node) is not None:
                    return True
                match node:
                    case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=attr)):
                        called = function.cls.methods.get(attr) if function.cls else None
                        if called and any(sent_backward(n) is not None for n in own_nodes(called)):
                            return True
    return False


def _of_trainers(model: Model, module: Module) -> Iterator[Undivided]:
    """The loaders that a Trainer's own `get_train_dataloader` gives: the method that it stands for prepares its loader.

    Open-Assistant model/model_training/trainer_sft.py:156. transformers 4.31 and later.
    """
    if model.launch.older_than("transformers", (4, 31), module.source.path):
        return  # whose sampler was a distributed one
    for cls in module.all_classes:
        own, outside = model.program.mro(cls)
        method = cls.methods.get("get_train_dataloader")
        if method is None or _TRAINER not in facts.with_bases(outside):
            continue
        text = ast.unparse(method.node)
        replaced = any("_get_train_sampler" in each.methods for each in own)
        if replaced or any(word in text for word in ("prepare", "super()", "DistributedSampler")):
            continue
        for node in own_nodes(method, ast.Call):
            if model.resolve(module, node.func) == LOADER and _draws_plainly(method, node):
                what = "this method stands for one that prepares its loader"
                yield Undivided(module, node, None, what)


def _draws_plainly(method: Function, loader: ast.Call) -> bool:
    """Whether a loader draws all samples: by itself, or by the sampler that the Trainer has for one process."""
    given = {k.arg: k.value for k in loader.keywords}
    if None in given or "batch_sampler" in given or len(loader.args) > 3:
        return False
    sampler = given.get("sampler")
    if sampler is None:
        return "shuffle" in given
    values = assignments(method).get(dotted_name(sampler), [sampler])
    return any(
        isinstance(v, ast.Call) and last_name(v.func) in ("_get_train_sampler", "RandomSampler")
        for v in values
    )
