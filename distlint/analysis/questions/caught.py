"""Whether the program goes on behind an exception: a handler here, or around a call that leads here."""

from __future__ import annotations

import ast
from collections.abc import Set
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import (
    Class,
    Function,
    Module,
    dotted_name,
    last_name,
)
from distlint.analysis.program.memory import remembered
from distlint.nodes import walk

if TYPE_CHECKING:
    from distlint.analysis.program.program import Program

_DEPTH: Final = 6
_OF_PROCESSES: Final = frozenset({"CalledProcessError", "TimeoutExpired"})
"""Exceptions of `subprocess`."""
_OF_MODELS: Final = frozenset(
    {"generate", "forward", "encode", "predict", "train", "eval", "step", "run"}
)
"""Methods that models, optimizers, pipelines and trainers of libraries have as well."""


def is_caught(program: Program, function: Function, inside: ast.stmt) -> bool:
    """Whether a handler catches what a statement of a function raises, there or in what calls it.

    Calls are found by the function's name, in files that may mean it, and by that of what a decorator's inner
    function stands for.
    """
    if id(inside) in _caught_nodes(function):
        return True
    seen = {function}
    level = [function]
    for _ in range(_DEPTH):
        further: dict[Function, None] = {}
        for reached in level:
            for caller, call in calls_of(program, reached):
                if call in _caught_nodes(caller):
                    return True
                if not caller.is_module_body:
                    further[caller] = None
            further |= dict.fromkeys(_decorated(program, reached))
        level = [caller for caller in further if caller not in seen]
        seen.update(level)
    return False


def _called_as(function: Function) -> str:
    """The name by which a function is called: a constructor by its class's."""
    if function.cls is not None and function.name == "__init__":
        return function.cls.name
    return function.name


@remembered
def calls_of(program: Program, function: Function) -> tuple[tuple[Function, int], ...]:
    """The calls, by their identity, that may be of a function, each with the function that it stands in."""
    name = _called_as(function)
    return tuple(
        (caller, id(node))
        for module in program.modules.values()
        if name in module.source.text and _may_know(program, module, function)
        for caller in module.all_functions
        for node in _calls_by_name(caller).get(name, ())
        if _may_mean(program, caller, node, function)
    )


def _may_know(program: Program, module: Module, function: Function) -> bool:
    """Whether objects of a method's class may be in a file: where another class has such a method, it names the class.

    LLaVA-NeXT df17966 trl/environment/base_environment.py:422: `model.generate()` in a `try` elsewhere is not the
    `generate` of an environment.
    """
    cls = function.cls
    if cls is None or module is cls.module or not _is_shared_name(program, function):
        return True
    return any(relative.name in module.source.text for relative in _family(program, cls))


def _may_mean(program: Program, caller: Function, call: ast.Call, function: Function) -> bool:
    """Whether a call of a function's name may be of it: `self.run()` is of the caller's own class."""
    cls = function.cls
    match call.func:
        case (
            ast.Attribute(value=ast.Name(id="self" | "cls"))
            | ast.Attribute(value=ast.Call(func=ast.Name(id="super")))
        ) if caller.cls is not None:
            return cls is not None and caller.cls in _family(program, cls)
        case ast.Name() if cls is not None and function.name != "__init__":
            return False
        case ast.Name() | ast.Attribute() if cls is None and function.parent is None:
            meant = program.resolve_dotted(caller.module, dotted_name(call.func))
            return meant is function or not isinstance(meant, Function)
        case ast.Attribute() if (
            cls is not None and function.name != "__init__" and (called := dotted_name(call.func))
        ):
            # `subprocess.run()` is nobody's method.
            return not isinstance(program.resolve_dotted(caller.module, called), str | Function)
    return True


@remembered
def _family(program: Program, cls: Class) -> frozenset[Class]:
    """A class, those that it extends and those that extend it."""
    return frozenset((cls, *program.mro(cls)[0], *program.subclasses(cls)))


@remembered
def _is_shared_name(program: Program, function: Function) -> bool:
    """Whether other classes have a method of a method's name: of the program, or a library's models."""
    cls = function.cls
    if cls is None or function.name == "__init__":
        return False
    return function.name in _OF_MODELS or any(
        function.name in other.methods and other not in _family(program, cls)
        for module in program.modules.values()
        for other in module.all_classes
    )


def _decorated(program: Program, function: Function) -> list[Function]:
    """The functions of the program that a decorator wraps in this one."""
    decorator = function.parent
    if decorator is None or decorator.is_module_body:
        return []
    return [
        other
        for module in program.modules.values()
        if decorator.name in module.source.text
        for other in module.all_functions
        if other.has_decorator(decorator.name)
    ]


@remembered
def _calls_by_name(function: Function) -> dict[str, list[ast.Call]]:
    """The calls in a function, for each last name of what is called."""
    found: dict[str, list[ast.Call]] = {}
    for node in walk(function.node, ast.Call):
        found.setdefault(last_name(node.func), []).append(node)
    return found


@remembered
def _caught_nodes(function: Function) -> frozenset[int]:
    """The nodes of a function, by their identity, whose exceptions it catches."""
    return frozenset(
        id(node)
        for attempt in walk(function.node, ast.Try)
        if any(not (_raises_again(h) or _is_of_a_process(h)) for h in attempt.handlers)
        for statement in attempt.body
        for node in walk(statement)
    )


def _raises_again(handler: ast.ExceptHandler) -> bool:
    return any(isinstance(statement, ast.Raise) for statement in handler.body)


def _is_of_a_process(handler: ast.ExceptHandler) -> bool:
    """Whether a handler catches only that a process has failed, which what runs in this one does not raise.

    axolotl 067b021 src/axolotl/cli/main.py:130: around the start of `accelerate launch` for each file of a sweep.
    """
    return catches_only(handler, _OF_PROCESSES)


def catches_only(handler: ast.ExceptHandler, names: Set[str]) -> bool:
    """Whether a handler catches exceptions of these names alone."""
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return all(kind is not None and last_name(kind) in names for kind in kinds)
