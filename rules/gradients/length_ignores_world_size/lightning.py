"""Lengths of Lightning's loaders that are asked for before `fit()` divides them between the ranks."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import Class, dotted_name
from distlint.analysis.program.syntax import assignments
from distlint.analysis.questions.lengths import counts_processes, lengths
from distlint.analysis.questions.lightning import divided, fits, makers
from distlint.nodes import walk
from distlint.records import dataclass

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function, Module

_ENDS: Final = ("max_epochs", "max_steps")
"""Arguments of a Trainer that end the training."""


@dataclass(frozen=True, slots=True, eq=False)
class Uncut:
    """A length of all ranks that decides how long each rank trains."""

    module: Module
    length: ast.Call
    used: ast.keyword
    fit: ast.Call


def uncut(model: Model, steps: tuple[str, ...]) -> Iterator[Uncut]:
    """The lengths that are too great by the number of ranks: one for each argument made of them.

    Args:
        steps: arguments of a LightningModule that say how long its schedule is.
    """
    for function, sites in model.answer(fits).items():
        for site in sites:
            loaders = {n: site.node for d in divided(model, site) for n in d.names}
            for keyword in _told(model, function, site, steps):
                for length in lengths(function, keyword.value, loaders) or ():
                    if length.of_all:
                        yield Uncut(function.module, length.node, keyword, site.node)
                        break


def _told(
    model: Model, function: Function, fit: CallSite, steps: tuple[str, ...]
) -> Iterator[ast.keyword]:
    """The arguments by which the Trainer and the module learn how many steps or epochs there are."""
    for call in makers(fit):
        yield from (k for k in call.keywords if k.arg in _ENDS)
    module = fit.argument_node(0, "model")
    for value in assignments(function).get(dotted_name(module), ()) if module else ():
        if not isinstance(value, ast.Call):
            continue
        cls = model.resolve(function.module, value.func)
        if isinstance(cls, Class) and not _divides(cls):
            yield from (k for k in value.keywords if k.arg in steps)


def _divides(cls: Class) -> bool:
    """Whether a class asks for the number of ranks itself."""
    return any(
        counts_processes(getattr(node, "attr", "")) or counts_processes(getattr(node, "id", ""))
        for node in walk(cls.node)
    )
