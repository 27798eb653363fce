"""Samplers of a project that permute all samples by each process's own stream, and then give each rank its part."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from distlint.analysis.program.definitions import last_name
from distlint.analysis.program.linked import linked
from distlint.analysis.program.syntax import assignments, mentions_rank, own_nodes
from distlint.nodes import walk

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Class, Function, Module

_PERMUTES: Final = "torch.randperm"
_WORDS: Final = ("seed", "determin")
_SAMPLER: Final = "Sampler"


class Permuted(NamedTuple):
    """A permutation of all samples, and the part of it that the rank takes."""

    drawn: ast.Call
    part: ast.Subscript
    generator: str
    """The generator beside it, which was seeded and is handed to nothing; empty where there is none."""


def unshared_permutations(model: Model, module: Module) -> Iterator[Permuted]:
    """The permutations of a file's samplers that differ between ranks, since nothing seeds torch's own stream.

    DB 65ca77a data/data_loader.py:137: `g.manual_seed(self.epoch)`, and `torch.randperm(n)` without it.
    """
    if "randperm" not in module.source.text:
        return
    found = [
        permuted
        for cls in module.all_classes
        if _is_sampler(model, cls)
        and _is_used(model, cls)
        and (method := cls.methods.get("__iter__")) is not None
        for permuted in _permuted(model, method)
    ]
    if found and not any(_seeds_torch(model, each) for each in linked(model.program, module)):
        yield from found


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
    for name, values in assignments(method).items():
        for drawn in (node for value in values for node in walk(value)):
            if (
                isinstance(drawn, ast.Call)
                and model.resolve(method.module, drawn.func) == _PERMUTES
                and not any(keyword.arg in ("generator", None) for keyword in drawn.keywords)
            ):
                part = next(_parts_of_rank(method, name), None)
                if part is not None:
                    yield Permuted(drawn, part, _idle_generator(method))


def _parts_of_rank(method: Function, name: str) -> Iterator[ast.Subscript]:
    """The slices of a list whose bounds the rank decides."""
    for node in own_nodes(method, ast.Subscript):
        match node:
            case ast.Subscript(value=ast.Name(id=sliced), slice=ast.Slice() as bounds):
                if sliced == name and _is_of_rank(method, bounds):
                    yield node


def _is_of_rank(method: Function, bounds: ast.Slice) -> bool:
    parts = [part for part in (bounds.lower, bounds.upper, bounds.step) if part is not None]
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
