"""What a `device_map` is, also where an option says so by its default."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.chosen import option_defaults
from distlint.analysis.program.syntax import assignments
from distlint.knowledge import devices
from distlint.nodes import walk

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function, Module
    from distlint.analysis.questions.origins import Origin

_DEPTH: Final = 3


def asks_to_spread(model: Model, started: Module, load: Origin) -> bool:
    """Whether a model is loaded over all GPUs in a program that the file `started` begins."""
    asked = next((k.value for k in load.call.keywords if k.arg == "device_map"), None)
    return asked is not None and _spreads(model, started, load.function, asked, _DEPTH)


def _spreads(
    model: Model, started: Module, function: Function, asked: ast.expr, depth: int
) -> bool:
    match asked:
        case ast.Constant(value=value):
            return value in devices.SPREADING_MAPS
        case ast.Name(id=name) if depth:
            values = assignments(function).get(name, [])
            return len(values) == 1 and _spreads(model, started, function, values[0], depth - 1)
        case ast.IfExp(test=test, body=body, orelse=orelse) if depth:
            arms = [a for a in (body, orelse) if _spreads(model, started, function, a, depth - 1)]
            return bool(arms) and _reads(test) <= _reads(arms[0])
        case ast.Attribute(attr=option):
            return _is_spreading_default(model, started, option)
    return False


def _reads(node: ast.expr) -> set[str]:
    """The variables and attributes of an expression: a test of nothing but a setting does not know the launch."""
    return {ast.unparse(n) for n in walk(node, ast.Name, ast.Attribute)}


def _is_spreading_default(model: Model, started: Module, option: str) -> bool:
    """Whether an option spreads where nobody says otherwise, and neither the program nor a launch does."""
    values = option_defaults(model.program, option)
    return (
        bool(values)
        and all(value in devices.SPREADING_MAPS for value in values)
        and not any(
            f"--{option}" in script.text for script, _ in model.launch.starting(started.path)
        )
        and not any(
            isinstance(node, ast.Attribute)
            and node.attr == option
            and isinstance(node.ctx, ast.Store)
            for module in model.program.modules.values()
            if option in module.source.text
            for node in walk(module.source.tree)
        )
    )
