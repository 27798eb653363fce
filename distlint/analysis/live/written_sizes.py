"""The number of processes where a program writes it into its settings: `args = Namespace(world_size=1, rank=0)`."""

from __future__ import annotations

import ast
import re
from typing import Final

from distlint.analysis.program.definitions import Class, Function, Module, dotted_name, last_name
from distlint.analysis.program.linked import importers
from distlint.analysis.program.program import Program
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.nodes import walk

_SIZE: Final = "world_size"
_RECORDS: Final = frozenset({"Namespace", "SimpleNamespace", "dict", "EasyDict", "edict"})
"""What makes settings of its keyword arguments."""
_SEVERAL: Final = re.compile(
    r"WORLD_SIZE|\bRANK\b|LOCAL_RANK|local_rank|torchrun|torch\.distributed\.(?:run|launch)\b|parse_args|spawn"
    r"|Process\(|get_rank\(|get_world_size\(|Accelerator\(|Trainer\("
)
"""What a script has that asks for its number, or may be told it."""


def written_sizes(program: Program, function: Function, call: ast.Call) -> dict[str, object]:
    """The sizes that a call takes from settings that say 1, by their text: `args.world_size`.

    SwissArmyTransformer 63dc23a examples/cait/transform_param.py: the settings are in the configuration it imports.
    """
    return {
        ast.unparse(given.value): 1
        for given in call.keywords
        if (name := _settings(given.value)) and _are_of_one(program, function, name, call.lineno)
    }


def handed_sizes(
    program: Program, function: Function, call: ast.Call, helper: Function
) -> dict[str, object]:
    """The same for the parameters of a helper: those that get 1, and the fields of settings that say 1."""
    found: dict[str, object] = {}
    given = {k.arg: k.value for k in call.keywords if k.arg is not None}
    for parameter, value in (*zip(helper.parameters, call.args, strict=False), *given.items()):
        match value:
            case ast.Constant(value=1) if parameter not in assignments(helper):
                found[parameter] = 1
            case ast.Name(id=name) if (
                _are_of_one(program, function, name, call.lineno)
                and parameter not in assignments(helper)
                and not _is_set(helper, parameter)
            ):
                found[f"{parameter}.{_SIZE}"] = 1
                found[f"{parameter}['{_SIZE}']"] = 1
    return found


def is_written_for_one(program: Program, module: Module) -> bool:
    """Whether a script hands on settings of one process, the first, and asks nobody how many there are.

    SwissArmyTransformer 63dc23a examples/chatglm2/transform_param.py hands them to a model of its library.
    """
    body = module.body
    if importers(program, module) != {module} or _SEVERAL.search(module.source.text):
        return False
    return any(
        isinstance(given, ast.Name)
        and _are_of_one(program, body, given.id, node.lineno, "rank")
        and not _changes(program, body, node, given.id)
        for node in own_nodes(body)
        if isinstance(node, ast.Call)
        for given in (*node.args, *(k.value for k in node.keywords))
    )


def _settings(node: ast.expr) -> str:
    """The name of the settings that a size is read of."""
    match node:
        case (
            ast.Attribute(value=ast.Name(id=name), attr="world_size")
            | ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value="world_size"))
        ):
            return name
    return ""


def _are_of_one(program: Program, function: Function, name: str, line: int, also: str = "") -> bool:
    """Whether settings say that there is one process wherever they are made, above a line, and nobody changes it."""
    module = function.module
    if any(_is_set(each, name) for each in module.all_functions):
        return False
    made = [v for v in assignments(function).get(name, ()) if v.lineno < line]
    if not made and name not in function.parameters and not function.is_module_body:
        made = list(assignments(module.body).get(name, ()))
    if not made and name in module.imports:
        path, _, name = module.imports[name].rpartition(".")
        source = program.modules.get(path)
        if source is None or any(_is_set(each, name) for each in source.all_functions):
            return False
        made = list(assignments(source.body).get(name, ()))
    return bool(made) and all(_says(v, _SIZE, 1) and (not also or _says(v, also, 0)) for v in made)


def _is_set(function: Function, name: str) -> bool:
    """Whether a function changes the size in settings, or may: `args.world_size = …`, `settings.update(…)`."""
    return f"{name}.{_SIZE}" in assignments(function) or any(
        isinstance(node, ast.Call)
        and (
            dotted_name(node.func) == f"{name}.update"
            or (
                last_name(node.func) in ("setattr", "vars", "parse_args")
                and any(isinstance(n, ast.Name) and n.id == name for n in walk(node))
            )
        )
        for node in own_nodes(function)
    )


def _changes(program: Program, caller: Function, call: ast.Call, name: str) -> bool:
    """Whether what gets settings puts another size into them."""
    found = program.resolve_dotted(caller.module, dotted_name(call.func))
    if isinstance(found, Class):
        found = program.find_method(found, "__init__")
    if not isinstance(found, Function):
        return False
    parameters = found.parameters[1:] if found.cls is not None else found.parameters
    given = (*zip(parameters, call.args, strict=False), *((k.arg, k.value) for k in call.keywords))
    return any(
        parameter is not None
        and isinstance(value, ast.Name)
        and value.id == name
        and _is_set(found, parameter)
        for parameter, value in given
    )


def _says(settings: ast.expr, field: str, number: int) -> bool:
    match settings:
        case ast.Call(func=made, keywords=keywords) if last_name(made) in _RECORDS:
            given = [k.value for k in keywords if k.arg == field]
        case ast.Dict(keys=keys, values=values):
            # What is unpacked below may have another.
            given = [
                value
                for key, value in zip(keys, values, strict=True)
                if key is None or (isinstance(key, ast.Constant) and key.value == field)
            ][-1:]
        case _:
            return False
    return (
        bool(given)
        and isinstance(given[0], ast.Constant)
        and type(given[0].value) is int
        and given[0].value == number
    )
