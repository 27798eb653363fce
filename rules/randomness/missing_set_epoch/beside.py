"""Samplers that nobody tells the epoch beside one that is told, in the same function, whose data the same steps train on."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from distlint.analysis.program.definitions import Function
from distlint.analysis.program.syntax import own_nodes, target_names
from distlint.analysis.questions.training import goes_backward
from distlint.nodes import walk
from distlint.records import dataclass

from .epochs import told_epoch

if TYPE_CHECKING:
    from distlint.analysis.model import Model

_DRAWS = frozenset({"iter", "cycle", "zip", "enumerate", "chain"})


@dataclass(frozen=True, slots=True)
class Beside:
    """A sampler's variable, its loaders, the call that gave it, and the call that tells another one the epoch."""

    name: str
    loaders: frozenset[str]
    made: ast.Call
    told: ast.Call


def untold_beside(
    model: Model, function: Function, is_sampler: Callable[[Function, ast.Call], bool]
) -> Iterator[Beside]:
    """The samplers of a function that a loop over epochs leaves out where it tells another one.

    TorchSemiSeg 4a4c8bb exp.voc/voc8.res50v3+.CPS/train.py:145: one helper gives loader and sampler of the labelled data
    and, in another call, of the others; both loaders go into each step, and `train_sampler.set_epoch(epoch)` is all.
    """
    loops = [n for n in own_nodes(function, ast.For) if goes_backward(n)]
    told = [
        (loop, node, name)
        for loop in loops
        for node in walk(loop, ast.Call)
        if (name := told_epoch(node) or "").isidentifier()
    ]
    for loop, call, other in told:
        samplers = dict(_samplers(model, function, is_sampler))
        if other not in samplers:
            continue
        for name, (made, loaders) in samplers.items():
            left_out = name != other and not _is_read(function, name, loaders)
            if left_out and _is_trained_on(loop, loaders):
                yield Beside(name, loaders, made, call)


def _samplers(
    model: Model, function: Function, is_sampler: Callable[[Function, ast.Call], bool]
) -> Iterator[tuple[str, tuple[ast.Call, frozenset[str]]]]:
    """The variables of a function that hold shuffling samplers alone, each with the call, and the loaders that draw from it."""
    assigned = own_nodes(function, ast.Assign)
    for node in assigned:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call) if is_sampler(
                function, call
            ):
                loaders = {
                    target
                    for each in assigned
                    for target in target_names(each.targets[0])
                    if _given_as_sampler(each.value, name)
                }
                yield name, (call, frozenset(loaders))
            case ast.Assign(targets=[ast.Tuple(elts=parts)], value=ast.Call() as call):
                maker = model.resolve(function.module, call.func)
                place = (
                    _place_of_sampler(maker, is_sampler) if isinstance(maker, Function) else None
                )
                names = [p.id if isinstance(p, ast.Name) else "" for p in parts]
                if place is not None and place < len(names):
                    others = frozenset(names) - {names[place], ""}
                    yield names[place], (call, others)


def _given_as_sampler(value: ast.expr, name: str) -> bool:
    return any(
        k.arg == "sampler" and isinstance(k.value, ast.Name) and k.value.id == name
        for k in walk(value, ast.keyword)
    )


def _place_of_sampler(
    maker: Function, is_sampler: Callable[[Function, ast.Call], bool]
) -> int | None:
    """Which of the values that a function returns is its sampler; None where it is none, or another in some returns."""
    made = {
        n.targets[0].id
        for n in own_nodes(maker, ast.Assign)
        if isinstance(n.targets[0], ast.Name)
        and isinstance(n.value, ast.Call)
        and is_sampler(maker, n.value)
    }
    returned = [n.value for n in own_nodes(maker, ast.Return)]
    places = {
        next((i for i, p in enumerate(v.elts) if isinstance(p, ast.Name) and p.id in made), None)
        if isinstance(v, ast.Tuple)
        else None
        for v in returned
    }
    return places.pop() if len(places) == 1 else None


def _is_read(function: Function, name: str, loaders: frozenset[str]) -> bool:
    """Whether a function reads a sampler but to give it to its loader, or comes to the loader's `sampler`."""
    given = {id(k.value) for k in own_nodes(function, ast.keyword)}
    return any(
        (
            isinstance(n, ast.Name)
            and n.id == name
            and isinstance(n.ctx, ast.Load)
            and id(n) not in given
        )
        or (
            isinstance(n, ast.Attribute)
            and n.attr in ("sampler", "batch_sampler")
            and isinstance(n.value, ast.Name)
            and n.value.id in loaders
        )
        for n in own_nodes(function)
    )


def _is_trained_on(loop: ast.For, loaders: frozenset[str]) -> bool:
    """Whether what a step of a loop sends backward is drawn from loaders, or from iterators over them."""
    drawn = set(loaders)
    for node in walk(loop, ast.Assign):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=func) as value) if (
                isinstance(func, ast.Name | ast.Attribute)
                and _called(func) in _DRAWS
                and any(p.id in loaders for p in walk(value, ast.Name))
            ):
                drawn.add(name)
    inner = [n for n in walk(loop, ast.For, ast.While) if n is not loop]
    return any(
        goes_backward(each) and any(p.id in drawn for p in walk(each, ast.Name)) for each in inner
    )


def _called(func: ast.Name | ast.Attribute) -> str:
    return func.attr if isinstance(func, ast.Attribute) else func.id
