"""Samplers for a rank's part of the data that are made and left out: the loader beside them has all of it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from distlint.analysis.model import Model
from distlint.analysis.program.definitions import Function, Module
from distlint.analysis.program.syntax import own_nodes
from distlint.knowledge import randomness
from distlint.nodes import last_name, walk
from distlint.patterns import pattern

LOADER = "torch.utils.data.DataLoader"
SPLIT = ("sampler", "batch_sampler")
"""Keywords of a loader that say which samples it draws."""

_DIVIDES = pattern("prepare|setup|fit|distribute", re.IGNORECASE)
"""What divides the loaders that it is given, by its name: `accelerator.prepare()`, `fabric.setup_dataloaders()`."""


def left_out(model: Model, module: Module) -> Iterator[tuple[ast.Call, ast.Assign, str]]:
    """Each plain loader over the data set of a sampler that is made beside it and that nothing draws from.

    Returns:
        The loader, the assignment of the sampler, and its variable.
    """
    for function in module.all_functions:
        samplers = list(_unread_samplers(model, function))
        for call in own_nodes(function) if samplers else ():
            if not isinstance(call, ast.Call) or model.resolve(module, call.func) != LOADER:
                continue
            made = next(((m, n) for m, n, data in samplers if data == _data_of(call)), None)
            if made is None or not _is_plain(call) or _goes_to_a_framework(function, call):
                continue
            followed = model.call_at(call)
            if followed is None or not followed.guarded_by_rank:
                yield call, *made


def _unread_samplers(model: Model, function: Function) -> Iterator[tuple[ast.Assign, str, str]]:
    """The distributed samplers in variables of a function that it only tells the epoch, or asks how long they are.

    Returns:
        The assignment, the variable, and the data set as written.
    """
    if function.is_module_body:
        return
    for made in own_nodes(function):
        match made:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.IfExp(body=one, orelse=other)):
                # transformers examples/legacy/run_swag.py:284: `RandomSampler(d) if … else DistributedSampler(d)`
                arms = [one, other]
            case ast.Assign(targets=[ast.Name(id=name)], value=one):
                arms = [one]
            case _:
                continue
        divides = [a for a in arms if _is_sampler(model, function.module, a, distributed=True)]
        if divides and not _draws_from(function, name):
            yield made, name, _data_of(divides[0])


def _data_of(made: ast.expr) -> str:
    """The data set of a loader or a sampler as written; "" where it is not seen."""
    if not isinstance(made, ast.Call):
        return ""
    named = [k.value for k in made.keywords if k.arg == "dataset"]
    return ast.unparse((*named, *made.args)[0]) if named or made.args else ""


def _is_plain(loader: ast.Call) -> bool:
    """Whether a loader is surely given no sampler."""
    return len(loader.args) <= 3 and all(
        k.arg is not None and k.arg not in SPLIT for k in loader.keywords
    )


def _draws_from(function: Function, name: str) -> bool:
    """Whether anything but `set_epoch` and `len` reads a variable, also where a function inside does."""
    told: set[int] = set()
    for node in walk(function.node, ast.Call, ast.Global, ast.Nonlocal):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name() as asked, attr="set_epoch")):
                told.add(id(asked))
            case ast.Call(func=ast.Name(id="len"), args=[ast.Name() as asked]):
                told.add(id(asked))
            case ast.Global(names=names) | ast.Nonlocal(names=names) if name in names:
                return True
    return any(
        node.id == name and isinstance(node.ctx, ast.Load) and id(node) not in told
        for node in walk(function.node, ast.Name)
    )


def _goes_to_a_framework(function: Function, loader: ast.Call) -> bool:
    """Whether the loader may go to `accelerator.prepare()` or the like, which divides it."""
    holders = {
        target.id
        for node in own_nodes(function, ast.Assign)
        if any(part is loader for part in walk(node.value))
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in own_nodes(function, ast.Call):
        if _DIVIDES.search(last_name(node.func)):
            given = [*node.args, *(k.value for k in node.keywords)]
            if any(
                part is loader or (isinstance(part, ast.Name) and part.id in holders)
                for each in given
                for part in walk(each)
            ):
                return True
    return False


def sampler_in(model: Model, module: Module, node: ast.AST, *, distributed: bool) -> str:
    """The name of `name = SomeSampler(...)`, for a sampler of this rank's part, or for a plain one; else ""."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=made):
            return name if _is_sampler(model, module, made, distributed=distributed) else ""
    return ""


def _is_sampler(model: Model, module: Module, made: ast.expr, *, distributed: bool) -> bool:
    """Whether an expression makes a sampler of this rank's part, or a plain one."""
    meaning = model.resolve(module, made.func) if isinstance(made, ast.Call) else None
    row = randomness.SAMPLERS.get(meaning) if isinstance(meaning, str) else None
    return row is not None and row.distributed == distributed
