"""Loaders whose divided form nobody takes: `prepare()` and its like give another loader, and change nothing in place."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import dotted_name
from distlint.analysis.program.syntax import own_nodes
from distlint.analysis.questions.loaders import may_be_loader
from distlint.nodes import last_name, walk
from distlint.patterns import pattern

from .unprepared import PREPARE, Undivided

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.model import Model

_GIVE_ANOTHER: Final = (
    PREPARE,
    "accelerate.Accelerator.prepare_data_loader",
    "lightning.fabric.Fabric.setup_dataloaders",
)
"""accelerate 1.15.0 accelerate/accelerator.py:1415; lightning 2.6.6 lightning/fabric/fabric.py:342."""
_LOADER: Final = pattern(r"loader|(?:\b|_)(?:train|val|test|eval)?_?dl$", re.IGNORECASE)


def dropped(model: Model) -> Iterator[Undivided]:
    """The calls that divide a loader and are statements of their own, where the loader is gone through afterwards.

    alphafold3-pytorch alphafold3_pytorch/trainer.py:328: `fabric.setup_dataloaders(self.dataloader)`.
    """
    for call in model.calls(*_GIVE_ANOTHER):
        site = call.site
        if not (isinstance(site.statement, ast.Expr) and site.statement.value is site.node):
            continue
        for given in site.node.args:
            path = dotted_name(given)
            if path and _is_loader(model, site, given) and _is_used(site, path):
                method = last_name(site.node.func)
                what = f"`{method}()` gives another loader, and nobody takes it"
                yield Undivided(site.module, site.node, None, what)
                break


def _is_loader(model: Model, site: CallSite, given: ast.expr) -> bool:
    return last_name(site.node.func) != "prepare" or (
        _LOADER.search(last_name(given)) is not None or may_be_loader(model, site.function, given)
    )


def _is_used(site: CallSite, path: str) -> bool:
    """Whether the function, or the class, goes on with what was to be divided."""
    function = site.function
    own = path.startswith("self.") and function.cls is not None
    scope = list(function.cls.methods.values()) if own and function.cls else [function]
    inside = {id(part) for part in walk(site.node)}
    return any(
        isinstance(node, ast.Name | ast.Attribute)
        and isinstance(node.ctx, ast.Load)
        and id(node) not in inside
        and dotted_name(node) == path
        and (each is not function or node.lineno > site.node.lineno)
        for each in scope
        for node in own_nodes(each)
    )
