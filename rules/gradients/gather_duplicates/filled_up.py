"""Evaluations over a sampler that fills up what does not divide, whose results are put together."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import dotted_name
from distlint.analysis.program.environment import evaluated_here, own_statements
from distlint.analysis.program.linked import linked
from distlint.analysis.program.syntax import own_nodes
from distlint.analysis.questions.evaluating import evaluates, names_evaluation, reduction
from distlint.analysis.questions.shares.program import shares
from distlint.analysis.questions.shares.values import Kind
from distlint.nodes import last_name, walk
from distlint.patterns import pattern
from distlint.records import dataclass

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function

_SAMPLER: Final = "torch.utils.data.DistributedSampler"
_ORDERED: Final = "OrderedDistributedSampler"
_TIMM: Final = "timm.data.create_loader"
"""timm 1.0.28 timm/data/distributed_sampler.py:8: `OrderedDistributedSampler` of an evaluation fills up too."""
_MAKERS: Final = ("DistributedSampler", _ORDERED, "create_loader")
_EPOCH_ENDS: Final = frozenset(
    f"{on}{phase}_epoch_end" for on in ("", "on_") for phase in ("validation", "test")
)
_NUMBER: Final = pattern(
    r"^len$|(?:num|total|count|n)_|_(?:num|total|count)$|data|sampler|total", re.IGNORECASE
)
"""Names of the number of samples there are."""


@dataclass(frozen=True, slots=True)
class Sampler:
    """A call that makes a sampler which fills up, its statement and those around it."""

    function: Function
    node: ast.Call
    statement: ast.stmt
    around: tuple[ast.stmt, ...]


Evaluation = tuple["Function", ast.expr]


def filled_up(model: Model) -> Iterator[tuple[Sampler, Evaluation]]:
    """Each sampler of an evaluation that repeats samples, and where the ranks' results are put together."""
    samplers = [
        sampler
        for module in model.modules
        if any(word in module.source.text for word in _MAKERS)
        for function in module.all_functions
        for sampler in _samplers(model, function)
    ]
    if not samplers:
        return
    evaluations = [
        (function, node)
        for module in model.modules
        for function in module.all_functions
        if (evaluates(function) or _ends_evaluation(function))
        and (node := reduction(model, function)) is not None
    ]
    for sampler in samplers:
        found = _evaluation(model, sampler, evaluations)
        if found is not None:
            yield sampler, found


def _ends_evaluation(function: Function) -> bool:
    """Whether Lightning calls a method behind the steps of an evaluation, and it logs numbers.

    InstantMesh src/model.py:278 gathers pictures, and rank 0 draws them.
    """
    return (
        function.cls is not None
        and function.name in _EPOCH_ENDS
        and any(
            dotted_name(node.func) in ("self.log", "self.log_dict")
            for node in own_nodes(function, ast.Call)
        )
    )


def _samplers(model: Model, function: Function) -> Iterator[Sampler]:
    made = {id(n) for n in own_nodes(function, ast.Call) if _fills_up(model, function, n)}
    for statement, around in own_statements(function.body) if made else ():
        for node in evaluated_here(statement):
            if id(node) in made and isinstance(node, ast.Call):
                sampler = Sampler(function, node, statement, around)
                if not _for_training(sampler):
                    yield sampler


def _fills_up(model: Model, function: Function, node: ast.Call) -> bool:
    """Whether a call makes a sampler for more than one rank, which does not leave out what is over."""
    if last_name(node.func) not in _MAKERS:
        return False
    name = model.resolve(function.module, node.func)
    given = {k.arg: k.value for k in node.keywords}
    if name == _TIMM:
        return "distributed" in given and not _is(given.get("is_training"), True)
    if last_name(node.func) == _ORDERED:
        return str(name).startswith("timm.")
    alone = _is(given.get("num_replicas"), 1)
    return name == _SAMPLER and not alone and not _is(given.get("drop_last"), True)


def _is(node: ast.expr | None, value: object) -> bool:
    return isinstance(node, ast.Constant) and node.value is value


def _evaluation(model: Model, sampler: Sampler, evaluations: list[Evaluation]) -> Evaluation | None:
    """The first evaluation that may draw from a sampler; None where one of them cuts what is over off."""
    drawn = [pair for pair in evaluations if _draws(model, sampler, pair[0])]
    if not drawn and _is_named(model, sampler):
        near = linked(model.program, sampler.function.module)
        own = [pair for pair in evaluations if pair[0].module is sampler.function.module]
        drawn = own or [pair for pair in evaluations if pair[0].module in near]
    if any(_cuts(function) for function, _ in drawn):
        return None
    return drawn[0] if drawn else None


def _draws(model: Model, sampler: Sampler, function: Function) -> bool:
    """Whether a function is seen to go through what a sampler gives."""
    known = model.answer(shares)
    loops = list(walk(function.node, ast.For))
    for held in (known.of(node) for loop in loops for node in walk(loop.iter)):
        source = held.source
        if held.kind is Kind.LOADER and source is not None and source.node is sampler.node:
            return source.padded
    return False


def _is_named(model: Model, sampler: Sampler) -> bool:
    """Whether names say that a sampler is for an evaluation: of it, its data, its function, or what a caller makes."""
    if any(map(_asks_for_training, sampler.around)) or names_evaluation(*_own_names(sampler)):
        return True
    callers = model.callers.get(sampler.function, [])
    further = [more for caller in callers for more in model.callers.get(caller.function, ())]
    return any(
        names_evaluation(*_names(caller.node, caller.statement)) for caller in (*callers, *further)
    )


def _own_names(sampler: Sampler) -> tuple[str, ...]:
    return (*_names(sampler.node, sampler.statement), sampler.function.name)


def _for_training(sampler: Sampler) -> bool:
    """Whether a sampler stands in the arm of a flag of training, or names say so."""
    asked = [found for found in map(_asks_for_training, sampler.around) if found is not None]
    if asked:
        return any(sampler.node is n for statement in asked[-1].body for n in walk(statement))
    names = _own_names(sampler)
    return any("train" in name.lower() for name in names) and not names_evaluation(*names)


def _asks_for_training(statement: ast.stmt) -> ast.If | None:
    """A condition that is a flag of training alone: `if is_train:`, `if split == "train":`."""
    match statement:
        case ast.If(test=ast.Compare(ops=[ast.Eq()], comparators=[ast.Constant(value=value)])):
            return statement if value in ("train", "training") else None
        case ast.If(test=ast.Name() | ast.Attribute() as flag) if (
            "train" in last_name(flag).lower()
        ):
            return statement
    return None


def _names(call: ast.Call, made: ast.stmt) -> Iterator[str]:
    """The names of what a call is first given, and of what its outcome becomes."""
    targets = made.targets if isinstance(made, ast.Assign) else []
    data = [k.value for k in call.keywords if k.arg == "dataset"]
    for node in (*call.args[:1], *data, *targets):
        match node:
            case ast.Subscript(slice=ast.Constant(value=str(key))):
                yield key
            case _:
                yield last_name(node)


def _cuts(function: Function) -> bool:
    """Whether an evaluation cuts its results to the number of samples: `results[: len(dataset)]`."""
    return any(
        n.lower is None and n.upper is not None and _counts(n.upper)
        for n in own_nodes(function, ast.Slice)
    )


def _counts(node: ast.expr) -> bool:
    return any(_NUMBER.search(last_name(n)) for n in walk(node, ast.Name, ast.Attribute))
