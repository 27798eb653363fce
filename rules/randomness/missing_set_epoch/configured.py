"""Samplers that a configuration names and an `instantiate` makes later: `sampler=L(get_sampler)(dataset=…)`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.memory import remembered
from distlint.nodes import last_name, walk

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function, Module

_LOADER: Final = "torch.utils.data.DataLoader"
_GROUPS: Final = ("group", "package")
"""What hydra's `ConfigStore.store` keeps a `node` under."""


@remembered
def configured_as(model: Model, function: Function) -> frozenset[str]:
    """The names under which configurations hold loaders whose sampler a function is to make.

    detectron2's `LazyCall` and what is made of it: `dataloader_train_hdvila = L(DataLoader)(sampler=L(get_sampler)(…))`
    and `dict(dataloader_train=dataloader_train_hdvila)`, cosmos-predict1 4d7ba2a
    cosmos_predict1/diffusion/training/config/text2world/experiment.py:55.
    """
    found: set[str] = set()
    for module in model.modules:
        if function.name not in module.source.text:
            continue
        held = {
            target.id
            for node in walk(module.source.tree, ast.Assign)
            if _names_lazily(model, module, node.value, _LOADER)
            for target in node.targets
            if isinstance(target, ast.Name)
            and any(_names_lazily(model, module, part, function) for part in walk(node.value))
        }
        found |= held
        for node in walk(module.source.tree) if held else ():
            if isinstance(node, ast.Call):
                found |= _kept_under(node, held)
    return frozenset(name for name in found if "load" in name)


def _names_lazily(model: Model, module: Module, node: ast.AST, wanted: object) -> bool:
    """Whether a node is `L(wanted)(…)`: a call of what a call with one argument gives."""
    match node:
        case ast.Call(func=ast.Call(args=[ast.Name() | ast.Attribute() as named], keywords=[])):
            return model.resolve(module, named) == wanted
    return False


def _kept_under(call: ast.Call, held: set[str]) -> set[str]:
    """The keywords that a call keeps a variable under, and the groups of a store."""
    given = {k.arg: k.value for k in call.keywords}
    names = {arg for arg, value in given.items() if arg is not None and last_name(value) in held}
    if "node" in names:
        groups = (given.get(name) for name in _GROUPS)
        names |= {str(g.value) for g in groups if isinstance(g, ast.Constant)}
    return names
