"""Samplers of a project that permute all samples by each process's own stream, and then give each rank its part."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from distlint.analysis.program.definitions import Class, dotted_name, last_name
from distlint.analysis.program.linked import linked
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import assignments, mentions_rank, own_nodes
from distlint.analysis.questions.seeding import is_sent_to_all
from distlint.nodes import children, walk

from .parted import WORDS, is_of_generator, order_drawn
from .unseeded import makes_trainer, seeds_stream, stream_of

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function, Module

_WORDS: Final = ("seed", "determin")
_SAMPLER: Final = "Sampler"
_DRAW_ANEW: Final = ("RandomSampler", "SubsetRandomSampler", "WeightedRandomSampler")
"""Samplers of torch that draw an order for each pass, by torch's stream where they are given no generator."""


class Permuted(NamedTuple):
    """A permutation of all samples, and the part of it that the rank takes."""

    drawn: ast.Call
    where: Module
    part: ast.Subscript
    stream: str
    """"python", "numpy" or "torch"; empty for a generator that is made without a seed."""
    generator: str
    """The generator beside it, which was seeded and is handed to nothing; empty where there is none."""


def unshared_permutations(model: Model, module: Module) -> Iterator[Permuted]:
    """The permutations of a file's samplers that differ between ranks, since nothing seeds the stream that they are drawn from.

    DB 65ca77a data/data_loader.py:137: `g.manual_seed(self.epoch)`, and `torch.randperm(n)` without it.
    """
    found = list(_cut_by_rank(model, module))
    if any(word in module.source.text for word in WORDS):
        found += [
            permuted
            for cls in module.all_classes
            if _is_sampler(model, cls) and _is_used(model, cls)
            for method in _ordering(cls)
            for permuted in _permuted(model, method)
        ]
    around = linked(model.program, module) if found else ()
    seeded = {
        stream: any(_seeds(model, each, stream) for each in around)
        for stream in {permuted.stream for permuted in found}
    }
    yield from (permuted for permuted in found if not seeded[permuted.stream])


def _cut_by_rank(model: Model, module: Module) -> Iterator[Permuted]:
    """The samplers of torch without a generator whose batches one of the program cuts by the rank.

    LAMM ea57136 src/datasets/__init__.py:41: a `DistributedBatchSampler` over a `RandomSampler`.
    """
    if not any(name in module.source.text for name in _DRAW_ANEW):
        return
    for function in module.all_functions:
        for call in own_nodes(function, ast.Call):
            drawn = [each for each in _given(function, call) if _draws_anew(model, module, each)]
            cls = model.resolve(module, call.func) if drawn else None
            if isinstance(cls, Class) and _is_sampler(model, cls):
                part = next(_cuts(cls), None)
                if part is not None:
                    yield Permuted(drawn[0], cls.module, part, "torch", "")


def _given(function: Function, call: ast.Call) -> Iterator[ast.Call]:
    """The calls that make what a call is handed."""
    for given in (*call.args, *(keyword.value for keyword in call.keywords)):
        values = [given]
        if isinstance(given, ast.Name):
            values = assignments(function).get(given.id, [])
        yield from (value for value in values if isinstance(value, ast.Call))


def _draws_anew(model: Model, module: Module, made: ast.Call) -> bool:
    meaning = model.resolve(module, made.func)
    return (
        isinstance(meaning, str)
        and meaning.startswith("torch.utils.data.")
        and last_name(made.func) in _DRAW_ANEW
        and not any(keyword.arg in ("generator", None) for keyword in made.keywords)
    )


def _cuts(cls: Class) -> Iterator[ast.Subscript]:
    """Where a sampler that goes through another one gives a slice whose bounds the rank decides."""
    begun = cls.methods.get("__iter__")
    if begun is None or not any(
        node.attr.endswith("sampler")
        for loop in own_nodes(begun, ast.For)
        for node in walk(loop.iter, ast.Attribute)
    ):
        return
    for method in _ordering(cls):
        for node in own_nodes(method, ast.Subscript):
            if isinstance(node.slice, ast.Slice) and _is_of_rank(method, node.slice):
                yield node


def _ordering(cls: Class) -> Iterator[Function]:
    """What gives the order of a sampler: `__iter__`, and the methods that it calls on itself."""
    begun = cls.methods.get("__iter__")
    if begun is None:
        return
    yield begun
    called = dict.fromkeys(
        node.func.attr
        for node in own_nodes(begun, ast.Call)
        if isinstance(node.func, ast.Attribute) and dotted_name(node.func.value) == "self"
    )
    yield from (cls.methods[name] for name in called if name in cls.methods)


def _is_sampler(model: Model, cls: Class) -> bool:
    return any(base.endswith(_SAMPLER) for base in model.program.mro(cls)[1])


def _is_used(model: Model, cls: Class) -> bool:
    """Whether anything names a class: copies of samplers lie about (DB 65ca77a data/data_loader.py:61)."""
    return any(
        isinstance(node, ast.Name | ast.Attribute)
        and last_name(node) == cls.name
        and model.resolve(module, node) is cls
        for module in linked(model.program, cls.module)
        if cls.name in module.source.text
        for node in walk(module.source.tree)
    )


def _permuted(model: Model, method: Function) -> Iterator[Permuted]:
    for drawn in own_nodes(method, ast.Call):
        name = order_drawn(model, method, drawn)
        part = next(_parts_of_rank(method, drawn, name), None) if name else None
        if part is not None and not is_sent_to_all(model, method, drawn):
            apart = is_of_generator(method, drawn)
            stream = "" if apart else stream_of(model, method.module, drawn)
            yield Permuted(drawn, method.module, part, stream, _idle_generator(method))


def _parts_of_rank(method: Function, drawn: ast.Call, name: str) -> Iterator[ast.Subscript]:
    """What the rank is given of a list that was drawn above, or of what is made of it."""
    names = _made_of(method, name)
    for node in own_nodes(method, ast.Subscript):
        below = (node.lineno, node.col_offset) >= (drawn.lineno, drawn.col_offset)
        if (node.value is drawn or (below and dotted_name(node.value) in names)) and _is_of_rank(
            method, node.slice
        ):
            yield node


@remembered
def _made_of(method: Function, name: str) -> frozenset[str]:
    """The variables that hold a list, or what is made of all of it; its length is none of that."""
    found, known = {name}, 0
    while known < len(found):
        known = len(found)
        for each, values in assignments(method).items():
            if any(found & _read(value) for value in values):
                found.add(each)
    return frozenset(found)


def _read(value: ast.expr) -> set[str]:
    """The variables that an expression reads, but for those it asks only how long they are."""
    match value:
        case ast.Call(func=func) if last_name(func) in ("len", "ceil"):
            return set()
        case ast.Name(id=name):
            return {name}
    parts = (each.iter if isinstance(each, ast.comprehension) else each for each in children(value))
    return {name for part in parts if isinstance(part, ast.expr) for name in _read(part)}


def _is_of_rank(method: Function, index: ast.expr) -> bool:
    if not isinstance(index, ast.Slice):
        return mentions_rank(index)
    parts = [part for part in (index.lower, index.upper, index.step) if part is not None]
    names = {node.id for part in parts for node in walk(part, ast.Name)}
    return any(
        mentions_rank(each)
        for each in (*parts, *(v for n in sorted(names) for v in assignments(method).get(n, ())))
    )


def _idle_generator(method: Function) -> str:
    """The name of a generator that a method seeds, and hands to nothing."""
    for name in _generators(method.node):
        read = [n for n in own_nodes(method, ast.Name) if n.id == name]
        if len(read) == 2:
            return name
    return ""


def _generators(tree: ast.AST) -> list[str]:
    """The variables that hold a generator of their own."""
    return [
        node.targets[0].id
        for node in walk(tree, ast.Assign)
        if isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Call)
        and last_name(node.value.func) == "Generator"
    ]


def _seeds(model: Model, module: Module, stream: str) -> bool:
    """Whether anything in a file may seed a stream; a Trainer seeds all three when it is made."""
    if not stream:
        return False
    if stream == "torch":
        seeds = _seeds_torch(model, module)
    else:
        seeds = seeds_stream(model, module, stream)
    return seeds or makes_trainer(model, module)


def _seeds_torch(model: Model, module: Module) -> bool:
    """Whether anything in a file may seed torch's stream, by the name of what it calls.

    A generator's own is another, and that of another library, which its `seed` sets (`numpy.random.seed`,
    `imgaug.seed`).
    """
    own = set(_generators(module.source.tree))
    for node in walk(module.source.tree, ast.Call):
        match node:
            case ast.Call(func=ast.Attribute(attr="manual_seed", value=ast.Name(id=owner))) if (
                owner in own
            ):
                continue
            case ast.Call(func=func) if any(word in last_name(func).lower() for word in _WORDS):
                meaning = model.resolve(module, func)
                library = meaning.partition(".")[0] if isinstance(meaning, str) else "torch"
                if last_name(func) != "seed" or library == "torch":
                    return True
    return False
