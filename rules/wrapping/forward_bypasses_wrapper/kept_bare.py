"""Objects that were given a model before DDP was put around it: they go on to train the one that they keep."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import Class, last_name
from distlint.analysis.program.handed import argument_of
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.analysis.questions.training import Backward
from distlint.nodes import walk
from distlint.records import dataclass

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function, Module

_DDP: Final = "torch.nn.parallel.DistributedDataParallel"


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """A wrap that comes too late: the object that keeps the bare model, its forward, and the call that trains."""

    module: Module
    wrap: ast.Call
    made: ast.Call
    trains: ast.Call
    method: Function
    forward: ast.Call


def kept_bare(model: Model) -> Iterator[Kept]:
    """Each variable that a function puts into DDP, below an object that keeps what it was, and trains it afterwards.

    UrbanNav 4ec7e3b train.py:174: `trainer = UrbanNavTrainer(model=model, …)`, then `model = DDP(model)`, and
    `trainer.train_epoch(epoch)`.
    """
    for call in model.calls(_DDP):
        site = call.site
        match site.statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=made) if made is site.node:
                given = site.argument_node(0, "module")
                if isinstance(given, ast.Name) and given.id == name:
                    found = _trained_past(model, site.function, name, site.node)
                    if found is not None:
                        yield found


def _trained_past(model: Model, function: Function, name: str, wrap: ast.Call) -> Kept | None:
    for node in own_nodes(function, ast.Assign):
        match node:
            case ast.Assign(targets=[ast.Name(id=kept)], value=ast.Call() as made) if (
                node.lineno < wrap.lineno and len(assignments(function).get(kept, ())) == 1
            ):
                cls = model.resolve(function.module, made.func)
                if not isinstance(cls, Class) or _is_given_later(function, kept, name, wrap):
                    continue
                attr = _kept_as(model, cls, made, name)
                for trains in _called_below(function, kept, wrap) if attr else ():
                    method = model.program.find_method(cls, last_name(trains.func))
                    forward = _forward(method, attr) if method is not None else None
                    if method is not None and forward is not None:
                        return Kept(function.module, wrap, made, trains, method, forward)
    return None


def _kept_as(model: Model, cls: Class, made: ast.Call, name: str) -> str:
    """The attribute in which alone a constructor keeps the model that it is given; empty where it does something else."""
    init = model.program.find_method(cls, "__init__")
    if init is None:
        return ""
    for parameter in init.parameters[1:]:
        given = argument_of(made, init, parameter)
        if not (isinstance(given, ast.Name) and given.id == name):
            continue
        for path, values in assignments(init).items():
            plain = all(isinstance(v, ast.Name) and v.id == parameter for v in values)
            if path.startswith("self.") and plain and not _is_set_again(model, cls, init, path):
                return path
    return ""


def _is_set_again(model: Model, cls: Class, init: Function, path: str) -> bool:
    """Whether another method sets an attribute: it may wrap the model itself."""
    return any(
        path in assignments(method)
        for each in (*model.program.mro(cls)[0], *model.program.subclasses(cls))
        for method in each.methods.values()
        if method is not init
    )


def _is_given_later(function: Function, kept: str, name: str, wrap: ast.Call) -> bool:
    """Whether the wrapper is handed to the object below, or called there."""
    for node in own_nodes(function, ast.Call, ast.Assign):
        if node.lineno <= (wrap.end_lineno or wrap.lineno):
            continue
        match node:
            case ast.Assign(targets=targets) if any(
                isinstance(t, ast.Attribute) and ast.unparse(t.value) == kept for t in targets
            ):
                return True
            case ast.Call(func=ast.Name(id=called)) if called == name:
                return True
            case ast.Call(func=func, args=args, keywords=keywords):
                given = [*args, *(k.value for k in keywords)]
                names = {n.id for each in given for n in walk(each, ast.Name)}
                if name in names and kept in {n.id for n in walk(func, ast.Name)} | names:
                    return True
    return False


def _called_below(function: Function, kept: str, wrap: ast.Call) -> Iterator[ast.Call]:
    """The calls of methods of an object behind the wrap."""
    for node in own_nodes(function, ast.Call):
        match node.func:
            case ast.Attribute(value=ast.Name(id=owner)) if owner == kept:
                if node.lineno > wrap.lineno:
                    yield node


def _forward(method: Function, path: str) -> ast.Call | None:
    """The call of what is kept that a backward of the method reaches, where it steps and reduces no gradients itself."""
    backward = Backward(method)
    calls = list(own_nodes(method, ast.Call))
    names = {last_name(call.func) for call in calls}
    if not backward or "step" not in names or any("grad" in n and "reduce" in n for n in names):
        return None
    reads = {n.attr for n in own_nodes(method, ast.Attribute)}
    if "grad" in reads:
        return None
    return next((c for c in calls if ast.unparse(c.func) == path and backward.reaches(c)), None)
