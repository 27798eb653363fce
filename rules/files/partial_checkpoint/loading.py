"""Whether a function that loads a state is handed a wrapped model."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from distlint.analysis.program.definitions import Function, last_name
from distlint.analysis.program.handed import argument_of
from distlint.analysis.program.syntax import assignments, own_nodes

if TYPE_CHECKING:
    from distlint.analysis.model import Model

_WRAPS = ("DistributedDataParallel", "DDP", "DataParallel")


def loads_into_wrapped(model: Model) -> bool:
    """Whether the program hands a variable that it wraps to a function which loads a state into it.

    ijepa 52c1ae9 src/train.py:230: `load_checkpoint(encoder=encoder, …)` of src/helper.py, behind `DDP(encoder)`.
    """
    loaders = {
        function: targets
        for module in model.program.modules.values()
        if "load_state_dict" in module.source.text
        for function in module.all_functions
        if (targets := _loaded(function))
    }
    for module in model.program.modules.values():
        if not any(word in module.source.text for word in _WRAPS):
            continue
        for function in module.all_functions:
            wrapped = {
                name
                for name, values in assignments(function).items()
                if any(isinstance(v, ast.Call) and last_name(v.func) in _WRAPS for v in values)
            }
            for node in own_nodes(function) if wrapped else ():
                if not isinstance(node, ast.Call):
                    continue
                callee = model.resolve(module, node.func)
                if not isinstance(callee, Function):
                    given = [
                        ast.unparse(a) for a in (*node.args, *(k.value for k in node.keywords))
                    ]
                    if "load" in last_name(node.func) and not wrapped.isdisjoint(given):
                        return True  # a function that is not seen
                    continue
                for name in loaders.get(callee, ()):
                    argument = argument_of(node, callee, name)
                    if argument is not None and ast.unparse(argument) in wrapped:
                        return True
    return False


def _loaded(function: Function) -> list[str]:
    """The parameters of a function that it loads a state into."""
    owners = {
        ast.unparse(node.func.value)
        for node in own_nodes(function, ast.Call)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "load_state_dict"
    }
    return [name for name in function.parameters if name in owners]
