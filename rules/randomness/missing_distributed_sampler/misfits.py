"""Samplers that do not fit the loader that they are given to: of another data set, or beside a shuffle."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.memory import all_remembered
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.nodes import last_name, walk
from distlint.patterns import pattern
from distlint.records import dataclass

from .left_out import LOADER

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function, Module

SAMPLER: Final = "torch.utils.data.DistributedSampler"
_PHASE: Final = pattern(r"(?<![a-z])(?:val|valid|validation|eval|evaluation|dev|test)(?![a-z])")
"""Words in the names of data sets on which nothing is trained."""


@dataclass(frozen=True, slots=True, eq=False)
class Misfit:
    """A loader and its sampler; `data` and `other` are the two data sets, where these differ."""

    loader: ast.Call
    sampler: ast.Call
    data: str = ""
    other: str = ""


@all_remembered
def misfits(model: Model, module: Module) -> Iterator[Misfit]:
    """The loaders of a file that are given a distributed sampler which does not fit them.

    UnitLinearAtt 7b660fb train_attention.py:120 to 125. torch 2.13.0 torch/utils/data/dataloader.py: "sampler option is mutually
    exclusive with shuffle".
    """
    for function in module.all_functions:
        loaders = [
            call
            for call in own_nodes(function, ast.Call)
            if last_name(call) == "DataLoader" and model.resolve(module, call.func) == LOADER
        ]
        for loader in loaders:
            given = {keyword.arg: keyword.value for keyword in loader.keywords}
            sampler = _made(function, given.get("sampler"))
            if sampler is None or model.resolve(module, sampler.func) != SAMPLER:
                continue
            match given.get("shuffle"):
                case ast.Constant(value=True):
                    yield Misfit(loader, sampler)
                    continue
            data, other = _data_of(loader), _data_of(sampler)
            if (
                data != other
                and _PHASE.search(data.lower())
                and not _PHASE.search(other.lower())
                and _are_made_apart(function, data, other)
                and any(each is not loader and _data_of(each) == other for each in loaders)
            ):
                yield Misfit(loader, sampler, data, other)


def _made(function: Function, node: ast.expr | None) -> ast.Call | None:
    """The call that makes a sampler, where it or the only value of its variable is one."""
    if isinstance(node, ast.Name):
        values = assignments(function).get(node.id, ())
        node = values[0] if len(values) == 1 and node.id not in function.parameters else None
    return node if isinstance(node, ast.Call) else None


def _data_of(call: ast.Call) -> str:
    """The variable with the data that a loader or sampler is made of."""
    given = next((k.value for k in call.keywords if k.arg == "dataset"), None)
    data = given if given is not None else next(iter(call.args), None)
    return data.id if isinstance(data, ast.Name) else ""


def _are_made_apart(function: Function, data: str, other: str) -> bool:
    """Whether two data sets are each made once, in different ways, and neither of the other."""
    known = assignments(function)
    one, two = known.get(data, ()), known.get(other, ())
    return (
        len(one) == len(two) == 1
        and ast.unparse(one[0]) != ast.unparse(two[0])
        and not any(
            isinstance(part, ast.Name) and part.id in (data, other)
            for value in (*one, *two)
            for part in walk(value, ast.Name)
        )
    )
