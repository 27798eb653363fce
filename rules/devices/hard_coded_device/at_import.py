"""Devices that a file fixes while it is imported, before the script chooses this rank's."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from distlint.analysis.model import Model
from distlint.analysis.program.definitions import Function, Module
from distlint.analysis.program.linked import importers
from distlint.analysis.program.syntax import own_nodes
from distlint.nodes import walk
from distlint.records import dataclass

_ASKS: Final = "torch.cuda.current_device"
_CHOOSES: Final = "torch.cuda.set_device"


@dataclass(frozen=True, slots=True)
class Early:
    """A device that is asked for as a file is imported, the variable that keeps it, and the call that comes too late."""

    module: Module
    name: str
    node: ast.Call
    script: Module
    late: ast.Call


def fixed_at_import(model: Model) -> Iterator[Early]:
    """The devices at the top of files that other files import before they call `set_device`.

    Self-Forcing 33593df demo_utils/memory.py:9: `gpu = torch.device(f"cuda:{torch.cuda.current_device()}")`, and
    inference.py imports it in front of `torch.cuda.set_device(local_rank)`.
    """
    for module in model.modules:
        if "current_device" not in module.source.text:
            continue
        for statement in module.source.tree.body:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    asks = (n for n in walk(value) if _is_call_of(model, module, n, _ASKS))
                    node = next(asks, None)
                    if not isinstance(node, ast.Call) or any(_chosen(model, module)):
                        continue
                    late = next(_too_late(model, module, name), None)
                    if late is not None:
                        yield Early(module, name, node, *late)


def _too_late(model: Model, module: Module, name: str) -> Iterator[tuple[Module, ast.Call]]:
    """The scripts that import a file, use the variable and choose a device, each with the call that does."""
    around = importers(model.program, module) - {module}
    for script in sorted(around, key=lambda each: each.path):
        imported = [
            statement.lineno
            for statement in script.source.tree.body
            if isinstance(statement, ast.ImportFrom)
            and any(alias.name == name for alias in statement.names)
            and (statement.module or "").rpartition(".")[2] == _stem(module)
        ]
        calls = list(_chosen(model, script)) if imported else []
        if calls and all(inside or call.lineno > min(imported) for call, inside in calls):
            yield script, calls[0][0]


def _stem(module: Module) -> str:
    return module.path.rpartition("/")[2].removesuffix(".py")


def _chosen(model: Model, module: Module) -> Iterator[tuple[ast.Call, bool]]:
    """The calls that choose a device by a variable, and whether each is in a function."""
    if "set_device" not in module.source.text:
        return
    functions: list[Function] = list(module.all_functions)
    for function in functions:
        for node in own_nodes(function, ast.Call):
            if _is_call_of(model, module, node, _CHOOSES) and not all(
                isinstance(each, ast.Constant) for each in node.args
            ):
                yield node, not function.is_module_body


def _is_call_of(model: Model, module: Module, node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and model.resolve(module, node.func) == name
