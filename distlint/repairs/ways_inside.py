"""How the code at a place takes a model out of its wrapper: a property of the class, a function of the file."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from distlint.analysis.model import Model
from distlint.analysis.program.definitions import Function, Module, dotted_name
from distlint.analysis.program.syntax import own_nodes
from distlint.knowledge import facts, wrappers
from distlint.nodes import last_name, walk

_NOT_THESE: Final = frozenset(
    {
        "transformers.trainer_utils.unwrap_peft_model",  # takes off PEFT alone
        "distlint.runtime.unwrap",  # which the edit asks for anyway
    }
)


_NAMELESS: Final = ("object", "abc.", "typing.")
"""Classes of libraries that make no attributes."""


def way_inside(model: Model, function: Function, line: int, receiver: str) -> str:
    """Code of the file's own for the model inside a wrapper; empty where it has none.

    Args:
        model: the analysed project.
        function: what holds the line.
        line: where the code would stand.
        receiver: the wrapper, as it is written there.
    """
    around = set(function.outward())
    for name, method in _methods(model, function):
        if method in around:
            continue
        if _is_property_of(method, receiver):
            return f"self.{name}"
        if _unwraps_what_it_gets(method, bound=True):
            return f"self.{name}({receiver})"
    if written := _as_elsewhere(model, function, receiver):
        return written
    for each in function.outward():
        for name, nested in each.nested.items():
            above = nested.body[0].lineno < line
            if above and nested not in around and _unwraps_what_it_gets(nested):
                return f"{name}({receiver})"
    return next((f"{name}({receiver})" for name in _functions(model, function, line, around)), "")


def _methods(model: Model, function: Function) -> Iterator[tuple[str, Function]]:
    """The methods of the class around a place, the nearest of each name; none where there is no `self`."""
    method = next((each for each in function.outward() if each.cls is not None), None)
    if method is None or method.cls is None or "self" not in method.parameters[:1]:
        return
    seen: set[str] = set()
    for cls in model.program.mro(method.cls)[0]:
        for name, found in cls.methods.items():
            if name not in seen:
                seen.add(name)
                yield name, found


def _as_elsewhere(model: Model, function: Function, receiver: str) -> str:
    """How other methods of the class unwrap the same attribute; empty where they do not, or in the constructor.

    DALLE2-pytorch 680dfc4 dalle2_pytorch/trainer.py:280: `self.accelerator.unwrap_model(self.diffusion_prior)`.
    """
    names = {each.name for each in function.outward()}
    if not receiver.startswith("self.") or "__init__" in names:
        return ""
    for _, method in _methods(model, function):
        for node in own_nodes(method) if method.name not in names else ():
            match node:
                case ast.Call(
                    func=ast.Attribute(
                        value=ast.Attribute(value=ast.Name(id="self"), attr=kept), attr=attr
                    ),
                    args=[given],
                    keywords=[],
                ) if attr == "unwrap_model" and ast.unparse(given) == receiver:
                    return ast.unparse(node) if _is_kept(model, function, kept) else ""
    return ""


def _is_kept(model: Model, function: Function, attr: str) -> bool:
    """Whether the class around a place makes an attribute itself: classes that derive from it may alone do so.

    align-anything 3f9decc align_anything/trainers/base/supervised_trainer.py:460 unwraps by `self.accelerator`, which
    the trainers of diffusion models make, and those of texts, which have engines of DeepSpeed, do not.
    """
    cls = next(each.cls for each in function.outward() if each.cls is not None)
    own, outside = model.program.mro(cls)
    of_library = any(not base.startswith(_NAMELESS) for base in outside)
    return of_library or any(attr in each.self_assigned for each in own)


def _is_property_of(method: Function, receiver: str) -> bool:
    """Whether a property gives the model inside: magvit2-pytorch a00519f trainer.py:275, `unwrapped_model`."""
    if not method.has_decorator("property"):
        return False
    match method.body:
        case [*_, ast.Return(value=ast.Call(args=[given], keywords=[]) as call)] if (
            len([s for s in method.body if not _is_text(s)]) == 1
        ):
            name = dotted_name(call.func) or f".{last_name(call.func)}"
            return facts.is_unwrap(name) and ast.unparse(given) == receiver
    return False


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _unwraps_what_it_gets(function: Function, *, bound: bool = False) -> bool:
    """Whether a function takes a model, and nothing else it must have, and gives the one inside."""
    if function.name not in wrappers.ANY_UNWRAPS or function.is_generator or function.decorators:
        return False
    if not isinstance(function.node, ast.FunctionDef):
        return False
    arguments = function.node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    needed = len(positional) - len(arguments.defaults)
    wanted = 2 if bound else 1
    if needed != wanted or any(default is None for default in arguments.kw_defaults):
        return False
    takes_off = any(
        (isinstance(node, ast.Attribute) and node.attr == "module")
        or (isinstance(node, ast.Call) and last_name(node.func) in wrappers.ANY_UNWRAPS)
        for node in own_nodes(function)
    )
    gives = own_nodes(function, ast.Return)
    return takes_off and bool(gives) and all(n.value is not None for n in gives)


def _functions(model: Model, function: Function, line: int, around: set[Function]) -> Iterator[str]:
    """The names of the file for functions that unwrap, where a place can use them."""
    module = function.module
    bound = {
        node.id
        for each in function.outward()
        if not each.is_module_body
        for node in own_nodes(each, ast.Name)
        if isinstance(node.ctx, ast.Store)
    }
    for name, begins in _at_top(module):
        if name not in wrappers.ANY_UNWRAPS or name in bound or begins >= line:
            continue
        meaning = model.resolve(module, ast.Name(name))
        if isinstance(meaning, Function):
            if meaning not in around and _unwraps_what_it_gets(meaning):
                yield name
        elif (target := module.imports.get(name, "")) and target not in _NOT_THESE:
            row = wrappers.UNWRAPS.get(target)
            if not row.context if row is not None else _is_used(module, name):
                yield name


def _is_used(module: Module, name: str) -> bool:
    """Whether the file calls a function with one model, and nothing else."""
    return any(
        isinstance(node.func, ast.Name)
        and node.func.id == name
        and len(node.args) == 1
        and not node.keywords
        for node in walk(module.source.tree, ast.Call)
    )


def _at_top(module: Module) -> Iterator[tuple[str, int]]:
    """The names that a file's own imports and functions bind, with the line; those under conditions do not count."""
    for statement in module.source.tree.body:
        match statement:
            case ast.ImportFrom(names=names):
                yield from ((each.asname or each.name, statement.lineno) for each in names)
            case ast.FunctionDef(name=name):
                yield name, 0  # known before any other function runs
