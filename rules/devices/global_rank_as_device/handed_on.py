"""Variables that hold the global rank and go on to functions which take it for the number of a device."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import Class, Function, dotted_name
from distlint.analysis.program.handed import argument_of
from distlint.analysis.program.syntax import assignments
from distlint.nodes import walk

from .device_choice import chosen_by, written_devices

if TYPE_CHECKING:
    from distlint.analysis.program.program import Program

_MAX_CALLS: Final = 3
_LOCAL: Final = ("local_rank", "gpu", "device")


def handed_on(program: Program, function: Function, name: str) -> ast.Call | None:
    """The first call of a function that hands a variable to something which chooses a device by it.

    XMem f3b841d train.py:41: `set_device(local_rank)`, and `XMemTrainer(config, local_rank=local_rank)`, which
    wraps its network in DDP with `device_ids=[local_rank]`.
    """
    return next(_handing(program, function, name, _MAX_CALLS), None)


def _handing(program: Program, function: Function, name: str, calls: int) -> Iterator[ast.Call]:
    for node in walk(function.node) if calls else ():
        if isinstance(node, ast.Call) and any(_is(name, argument) for argument in _given(node)):
            called = _called(program, function, node)
            if called is None:
                asks = any(k.arg in _LOCAL and _is(name, k.value) for k in node.keywords)
            else:
                asks = any(
                    (given := argument_of(node, called, parameter)) is not None
                    and _is(name, given)
                    and _takes_device(program, called, parameter, calls - 1)
                    for parameter in called.parameters
                )
            if asks:
                yield node


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _is(name: str, node: ast.expr) -> bool:
    return dotted_name(node) == name


def _called(program: Program, function: Function, call: ast.Call) -> Function | None:
    """The function of the project that a call runs: of a class, its constructor."""
    owner, _, method = dotted_name(call.func).rpartition(".")
    if owner == "self" and function.cls is not None:
        return program.find_method(function.cls, method)
    found = program.resolve_dotted(function.module, dotted_name(call.func))
    if isinstance(found, Class):
        return program.find_method(found, "__init__")
    return found if isinstance(found, Function) else None


def _takes_device(program: Program, function: Function, parameter: str, calls: int) -> bool:
    """Whether a function chooses a device by a parameter, or its class by the attribute that keeps it."""
    if _chooses(function, parameter):
        return True
    kept = [
        attribute
        for attribute, values in assignments(function).items()
        if attribute.startswith("self.") and any(_is(parameter, value) for value in values)
    ]
    methods = function.cls.methods.values() if function.cls is not None else ()
    return any(_chooses(method, attribute) for attribute in kept for method in methods) or any(
        next(_handing(program, user, name, calls), None) is not None
        for user, name in (
            (function, parameter),
            *((method, attribute) for attribute in kept for method in methods),
        )
    )


def _chooses(function: Function, name: str) -> bool:
    return any(
        chosen is not None and _is(name, chosen.index)
        for device in written_devices(function)
        if (chosen := chosen_by(function, device)) is not None
    )
