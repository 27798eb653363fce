"""Whether the program goes on behind an exception: a handler here, or around a call that leads here."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import Function, last_name
from distlint.analysis.program.memory import remembered
from distlint.nodes import walk

if TYPE_CHECKING:
    from distlint.analysis.program.program import Program

_DEPTH: Final = 6
_OF_PROCESSES: Final = frozenset({"CalledProcessError", "TimeoutExpired"})
"""Exceptions of `subprocess`."""


def is_caught(program: Program, function: Function, inside: ast.stmt) -> bool:
    """Whether a handler catches what a statement of a function raises, there or in what calls it.

    Calls are found by the function's name, and by that of what a decorator's inner function stands for.
    """
    if id(inside) in _caught_nodes(function):
        return True
    seen: set[str] = set()
    names = {_called_as(function)} | _decorated(program, function)
    for _ in range(_DEPTH):
        seen |= names
        further: set[str] = set()
        for module in program.modules.values():
            present = {name for name in names if name in module.source.text}
            for caller in module.all_functions if present else ():
                called = _calls_by_name(caller)
                calls = [node for name in present for node in called.get(name, ())]
                if not calls:
                    continue
                if not _caught_nodes(caller).isdisjoint(calls):
                    return True
                if not caller.is_module_body:
                    further |= {_called_as(caller)} | _decorated(program, caller)
        names = further - seen
        if not names:
            return False
    return False


def _called_as(function: Function) -> str:
    """The name by which a function is called: a constructor by its class's."""
    if function.cls is not None and function.name == "__init__":
        return function.cls.name
    return function.name


def _decorated(program: Program, function: Function) -> set[str]:
    """The functions of the program that a decorator wraps in this one."""
    decorator = function.parent
    if decorator is None or decorator.is_module_body:
        return set()
    return {
        other.name
        for module in program.modules.values()
        if decorator.name in module.source.text
        for other in module.all_functions
        if other.has_decorator(decorator.name)
    }


@remembered
def _calls_by_name(function: Function) -> dict[str, list[int]]:
    """The calls in a function, by their identity, for each last name of what is called."""
    found: dict[str, list[int]] = {}
    for node in walk(function.node):
        if isinstance(node, ast.Call):
            found.setdefault(last_name(node.func), []).append(id(node))
    return found


@remembered
def _caught_nodes(function: Function) -> frozenset[int]:
    """The nodes of a function, by their identity, whose exceptions it catches."""
    return frozenset(
        id(node)
        for attempt in walk(function.node)
        if isinstance(attempt, ast.Try)
        and any(not (_raises_again(h) or _is_of_a_process(h)) for h in attempt.handlers)
        for statement in attempt.body
        for node in walk(statement)
    )


def _raises_again(handler: ast.ExceptHandler) -> bool:
    return any(isinstance(statement, ast.Raise) for statement in handler.body)


def _is_of_a_process(handler: ast.ExceptHandler) -> bool:
    """Whether a handler catches only that a process has failed, which what runs in this one does not raise.

    axolotl 067b021 src/axolotl/cli/main.py:130: around the start of `accelerate launch` for each file of a sweep.
    """
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return all(kind is not None and last_name(kind) in _OF_PROCESSES for kind in kinds)
