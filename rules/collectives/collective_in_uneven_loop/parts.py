"""Samplers and streams of the project that give some ranks a sample more, under a training loop.

torch's DistributedSampler fills up to, or cuts to, a multiple of the number of ranks (torch 2.13.0
torch/utils/data/distributed.py:107); a list that is only dealt out, `indices[rank::world_size]`, has one element
more on the first ranks.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import Class, Function, Module, dotted_name, last_name
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.knowledge import facts
from distlint.nodes import walk
from distlint.patterns import pattern
from distlint.records import dataclass

from .evened import SIZE
from .handed import handed_shares
from .trained import EVALUATION, is_used, trains

if TYPE_CHECKING:
    from distlint.analysis.model import Model

_RANK: Final = pattern(r"(?:^|_)rank$|process_index$|shard_id$")
_SAMPLER: Final = "torch.utils.data.DistributedSampler"
_STREAM: Final = "torch.utils.data.IterableDataset"
_EVENS: Final = pattern(
    r"\bpad|_pad|padd|drop_last|drop_remainder|all_reduce|broadcast|while True|\bcycle\(|\brepeat|multinomial"
)
"""What makes parts equally long, or a stream endless, by how it is called."""
_DEPTH: Final = 3


@dataclass(frozen=True, slots=True, eq=False)
class UnevenPart:
    """The expression that gives each rank its part, and the loop or class that trains on it.

    `whole_batches` says whether the loader leaves out a last batch that is not full: a part with an element more then has a
    batch more only where it is a multiple of the batch.
    """

    module: Module
    node: ast.expr
    trains: tuple[Module, ast.AST]
    whole_batches: bool = False


def uneven_parts(model: Model) -> Iterator[UnevenPart]:
    """Each part of a sampler or stream whose length differs between ranks that train on it together."""
    seen: set[int] = set()
    for module in model.modules:
        for where, node, streams in (*_of_classes(model, module), *_of_subsets(module)):
            where_trained = trains(model, module, streams=streams)
            if where_trained is not None and id(node) not in seen:
                seen.add(id(node))
                yield UnevenPart(where.module, node, where_trained, _in_whole_batches(where, node))
        for share, other, loop in handed_shares(model, module):
            if id(share) not in seen:
                seen.add(id(share))
                yield UnevenPart(module, share, (other, loop))


def _of_classes(model: Model, module: Module) -> Iterator[tuple[Function, ast.expr, bool]]:
    if "__iter__" not in module.source.text:
        return
    for cls in module.all_classes:
        iterate = cls.methods.get("__iter__")
        if iterate is None or EVALUATION.search(cls.name):
            continue
        outside = set(facts.with_bases(model.program.mro(cls)[1]))
        reached = list(dict.fromkeys(_reached(model, iterate, _DEPTH)))
        parts = [(f, part) for f in reached for part in _parts(f)]
        if not parts or any(_is_evened(f) for f in [*reached, *_constructors(cls, parts)]):
            continue
        if (_SAMPLER in outside and _fills_up(iterate)) or not is_used(model, cls):
            continue
        yield from ((f, part, _STREAM in outside) for f, part in parts)


def _reached(model: Model, function: Function, depth: int) -> Iterator[Function]:
    """A method, and those that it calls of its object and of the objects that this keeps."""
    yield function
    if not depth or function.cls is None:
        return
    for node in own_nodes(function):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=attr)):
                owner: Class | None = function.cls
            case ast.Call(
                func=ast.Attribute(
                    value=ast.Attribute(value=ast.Name(id="self")) as kept, attr=attr
                )
            ):
                owner = _class_of(model, function.cls, dotted_name(kept))
            case _:
                continue
        called = model.program.find_method(owner, attr) if owner is not None else None
        if called is not None and called is not function:
            yield from _reached(model, called, depth - 1)


def _class_of(model: Model, cls: Class, attribute: str) -> Class | None:
    """The class of the object that an attribute holds, where one call makes it."""
    made = [
        v.func
        for method in cls.methods.values()
        for v in assignments(method).get(attribute, ())
        if isinstance(v, ast.Call)
    ]
    meaning = model.resolve(cls.module, made[0]) if len(made) == 1 else None
    return meaning if isinstance(meaning, Class) else None


def _constructors(cls: Class, parts: list[tuple[Function, ast.expr]]) -> list[Function]:
    owners = {cls, *(f.cls for f, _ in parts if f.cls is not None)}
    return [owner.methods["__init__"] for owner in owners if "__init__" in owner.methods]


def _parts(function: Function) -> Iterator[ast.expr]:
    """What takes every n-th element from the rank's own on."""
    for node in own_nodes(function, ast.Subscript, ast.Call):
        match node:
            case ast.Subscript(slice=ast.Slice(lower=ast.expr() as first, step=ast.expr() as step)):
                if _deals(first, step):
                    yield node
            case ast.Call(func=func, args=[_, first, _, step]) if last_name(func) == "islice":
                if _deals(first, step):
                    yield node


def _deals(first: ast.expr, step: ast.expr) -> bool:
    return _RANK.search(last_name(first)) is not None and SIZE.search(last_name(step)) is not None


@remembered
def _is_evened(function: Function) -> bool:
    """Whether a function computes with multiples of the number of ranks, or speaks of what fills parts up."""
    return _EVENS.search(ast.unparse(function.node)) is not None or any(
        isinstance(node.op, ast.Mult | ast.Mod)
        and any(SIZE.search(last_name(side)) for side in (node.left, node.right))
        for node in walk(function.node, ast.BinOp)
    )


def _fills_up(iterate: Function) -> bool:
    """Whether a method brings its list to the length that torch's sampler has computed.

    AudioMAE bd60e29 dataset.py:39 only cuts off there: the list is that of another sampler.
    """
    bounds = {
        id(node.slice.upper)
        for node in own_nodes(iterate, ast.Subscript)
        if isinstance(node.slice, ast.Slice)
    }
    return any(
        node.attr in ("total_size", "num_samples") and id(node) not in bounds
        for node in own_nodes(iterate, ast.Attribute)
    ) or any(ast.unparse(node.func) == "super().__iter__" for node in own_nodes(iterate, ast.Call))


def _of_subsets(module: Module) -> Iterator[tuple[Function, ast.expr, bool]]:
    """The indices of a plain sampler that begin at the rank: InternImage 31c962d classification/dataset/build.py:85."""
    if "SubsetRandomSampler" not in module.source.text:
        return
    for function in module.all_functions:
        for node in own_nodes(function, ast.Call):
            match node:
                case ast.Call(func=func, args=[given, *_]) if (
                    last_name(func) == "SubsetRandomSampler"
                ):
                    values = [given, *assignments(function).get(dotted_name(given), ())]
                    yield from ((function, v, False) for v in values if _begins_at_rank(v))


def _in_whole_batches(function: Function, part: ast.expr) -> bool:
    """Whether all loaders of a function whose sampler goes through a part leave out what does not fill a batch.

    UniCL 9983bf8 data/build.py:48, as in Swin-Transformer and PixPro: ImageNet on 4 to 64 ranks gives
    all of them as many batches.
    """
    loaders = [
        {keyword.arg: keyword.value for keyword in node.keywords}
        for node in own_nodes(function, ast.Call)
        if last_name(node.func).endswith("DataLoader")
    ]
    fed = [
        given
        for given in loaders
        if "sampler" in given and _holds(function, part, given["sampler"])
    ]
    return bool(fed) and all(
        isinstance(drops := given.get("drop_last"), ast.Constant)
        and drops.value is True
        and not _is_one(given.get("batch_size"))
        for given in fed
    )


def _holds(function: Function, part: ast.expr, node: ast.expr, depth: int = _DEPTH) -> bool:
    """Whether an expression is made of a part, through names: not where a statement further out gives a name something else."""
    if any(each is part for each in walk(node)):
        return True
    return depth > 0 and any(
        _holds(function, part, value, depth - 1)
        for each in walk(node, ast.Name)
        for value in _given(function, each)
    )


def _given(function: Function, name: ast.Name) -> list[ast.expr]:
    """What a name may have been given at a place: by the nearest statement above, and by those that stand as far out or further."""
    found: list[ast.expr] = []
    level = 1000
    above = [
        node
        for node in own_nodes(function, ast.Assign)
        if node.lineno < name.lineno
        and any(dotted_name(target) == name.id for target in node.targets)
    ]
    for node in sorted(above, key=lambda each: -each.lineno):
        if node.col_offset <= level:
            found.append(node.value)
            level = node.col_offset
        if level <= function.body[0].col_offset:
            break
    return found


def _is_one(size: ast.expr | None) -> bool:
    """Whether each element is a batch of its own: where nothing else is said, too."""
    return size is None or (isinstance(size, ast.Constant) and size.value == 1)


def _begins_at_rank(value: ast.expr) -> bool:
    """Whether an expression is every n-th number from the rank's own on, up to the length of what is trained on."""
    match value:
        case ast.Call(func=made, args=[first, stop, step]) if last_name(made) in (
            "arange",
            "range",
        ):
            trained_on = not EVALUATION.search(ast.unparse(stop))
            return trained_on and _deals(_called(first), _called(step))
    return False


def _called(node: ast.expr) -> ast.expr:
    """What a call without arguments is of: `dist.get_rank()`."""
    return node.func if isinstance(node, ast.Call) else node
