"""The number of processes where a program writes it into its settings: `args = Namespace(world_size=1, rank=0)`, `args.world_size = 1`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Final

from distlint.analysis.program.definitions import Class, Function, Module, dotted_name, last_name
from distlint.analysis.program.environment import Use, accesses
from distlint.analysis.program.linked import imported_below, importers
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.options import options_of
from distlint.analysis.program.program import Program
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.knowledge.numbering import is_numbered
from distlint.nodes import walk
from distlint.patterns import pattern

_SIZE: Final = "world_size"
_RECORDS: Final = frozenset({"Namespace", "SimpleNamespace", "dict", "EasyDict", "edict"})
"""What makes settings of its keyword arguments."""
_SEVERAL: Final = pattern(
    r"WORLD_SIZE|\bRANK\b|LOCAL_RANK|local_rank|torchrun|torch\.distributed\.(?:run|launch)\b|parse_args|spawn"
    r"|Process\(|get_rank\(|get_world_size\(|Accelerator\(|Trainer\("
)
"""What a script has that asks for its number, or may be told it."""
SAYS_ONE: Final = pattern(r"WORLD_SIZE[\"']\]?\s*[=:]\s*(?:[\"']1[\"']|str\(1\))")
"""What says in the environment that there is one process."""
_ONE: Final = ("'1'", "str(1)")
"""How 1 is written into the environment: `str(1)` in Lumina-Video 1910f80 generate.py:222."""
_STARTERS: Final = frozenset(
    {
        "spawn",
        "start_processes",
        "Process",
        "init_process_group",
        "init_distributed",
        "init_distributed_mode",
    }
)
"""Calls that start processes, or ask for those that there are."""


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
        for node in own_nodes(body, ast.Call)
        for given in (*node.args, *(k.value for k in node.keywords))
    )


@remembered
def settles_on_one(program: Program, function: Function) -> bool:
    """Whether a function sets the number of processes to 1, whatever it is told, and starts none; no file around sets another.

    muzic 2b87396 getmusic/track_generation.py:600: `args.world_size = 1`, of which `args.distributed` is made; above,
    position_generation.py:697 does so where `args.gpu is not None`, whose default is 0.
    """
    module = function.module
    run = list(_surely_run(module, function.body))
    if not any(map(_sets_one, run)):
        return False
    other_arms = [
        each
        for outer in walk(function.node, ast.If)
        if _is_never_none(module, outer.test)
        for each in outer.orelse
    ]
    known = {id(n) for each in (*filter(_sets_one, run), *other_arms) for n in walk(each)}
    around = imported_below(program, module)
    return (
        not any(is_numbered(each.source.text) for each in around)
        and not any(last_name(node.func) in _STARTERS for node in walk(function.node, ast.Call))
        and all(
            id(node) in known
            for each in around
            if _SIZE in each.source.text
            for node in walk(each.source.tree, ast.Attribute)
            if node.attr == _SIZE and isinstance(node.ctx, ast.Store)
        )
    )


@remembered
def joins_as_one(program: Program, function: Function) -> bool:
    """Whether a function says in the environment that there is one process, itself or in a helper, and makes its group below.

    TorchEasyRec 54cac31 tzrec/utils/export_util.py:225: the ranks above 0 return, and rank 0 goes on behind
    `os.environ["WORLD_SIZE"] = "1"`; 1395 calls a helper that does both.
    """
    said: list[int] = []
    joined: list[int] = []
    for node in own_nodes(function, ast.Call):
        called = program.resolve_dotted(function.module, dotted_name(node.func))
        if _joins_launched(node) or (
            isinstance(called, Function)
            and any(_joins_launched(each) for each in own_nodes(called, ast.Call))
        ):
            joined.append(node.lineno)
        if isinstance(called, Function) and _is_said(program, called):
            said.append(node.lineno)
    said += _is_said(program, function)
    return bool(said) and bool(joined) and min(said) < min(joined)


def _joins_launched(node: ast.Call) -> bool:
    """Whether a call makes a process group of as many as the environment says."""
    return (
        last_name(node.func) == "init_process_group"
        and not any(k.arg in (None, _SIZE, "init_method", "store") for k in node.keywords)
        and len(node.args) <= 1
    )


def _is_said(program: Program, function: Function) -> list[int]:
    """The lines on which a function writes into the environment that there is one process, whatever was there."""
    if SAYS_ONE.search(function.module.source.text) is None:
        return []
    return [
        each.statement.lineno
        for each in accesses(program, function.module)
        if each.name == "WORLD_SIZE"
        and each.use is Use.WRITE
        and each.function is (None if function.is_module_body else function.node)
        and each.value is not None
        and ast.unparse(each.value) in _ONE
        and all(
            _goes_on(outer, each.statement)
            for outer in each.above
            if each.function is None or outer.lineno > each.function.lineno
        )
    ]


def _goes_on(outer: ast.stmt, statement: ast.stmt) -> bool:
    """Whether who goes on has run a statement in a block: where the other arm leaves, or has nothing to correct."""
    match outer:
        case ast.With():
            return True
        case ast.If(
            test=ast.Compare(left=left, ops=[ast.NotEq()], comparators=[ast.Constant(value="1")]),
            orelse=[],
        ):
            return "WORLD_SIZE" in ast.unparse(left)
        case ast.If(body=body, orelse=orelse):
            other = orelse if statement.lineno <= (body[-1].end_lineno or 0) else body
            return bool(other) and isinstance(other[-1], ast.Return | ast.Raise)
    return False


def _surely_run(module: Module, body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a body that run in any case, also those under a test of an option which is never None."""
    for statement in body:
        match statement:
            case ast.If(test=test, body=inner) if _is_never_none(module, test):
                yield from _surely_run(module, inner)
            case ast.With(body=inner):
                yield from _surely_run(module, inner)
            case _:
                yield statement


def _sets_one(node: ast.AST) -> bool:
    match node:
        case ast.Assign(targets=[ast.Attribute(attr=attr)], value=ast.Constant(value=1)):
            return attr == _SIZE
    return False


def _is_never_none(module: Module, test: ast.expr) -> bool:
    """Whether a test asks if an option is not None that has another default: whoever starts the script gives a value."""
    match test:
        case ast.Compare(
            left=ast.Attribute(attr=name),
            ops=[ast.IsNot()],
            comparators=[ast.Constant(value=None)],
        ):
            return name in _with_defaults(module)
    return False


@remembered
def _with_defaults(module: Module) -> frozenset[str]:
    """The options of a script whose default is a value, and that are assigned nothing else than values."""
    found = {
        option.name
        for option in options_of(module)
        if isinstance(option.default, ast.Constant)
        and option.default.value is not None
        and "nargs" not in option.given
    }
    values = {
        id(target)
        for node in walk(module.source.tree, ast.Assign)
        if isinstance(node.value, ast.Constant) and node.value.value is not None
        for target in node.targets
    }
    assigned = {
        node.attr
        for node in walk(module.source.tree, ast.Attribute)
        if isinstance(node.ctx, ast.Store) and id(node) not in values
    }
    return frozenset(found - assigned)


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
        (
            dotted_name(node.func) == f"{name}.update"
            or (
                last_name(node.func) in ("setattr", "vars", "parse_args")
                and any(n.id == name for n in walk(node, ast.Name))
            )
        )
        for node in own_nodes(function, ast.Call)
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
