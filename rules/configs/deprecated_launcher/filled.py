"""Options that the program fills itself: it starts its processes and numbers them, or overwrites what was parsed."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.linked import imported_below
from distlint.analysis.program.syntax import own_nodes
from distlint.nodes import last_name, walk
from distlint.patterns import pattern

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function, Module

_STARTS: Final = pattern(r"\bProcess\(|\bspawn\(|\bstart_processes\(")
_OPTION: Final = "local_rank"


def numbers_itself(module: Module) -> bool:
    """Whether a file starts processes and gives each its number: no launcher is meant to.

    NVAE 9fc1a28 train.py:446: `args.local_rank = rank; p = Process(target=init_processes, args=(rank, …))`.
    """
    return any(
        isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Name | ast.BinOp)
        and any(isinstance(t, ast.Attribute) and t.attr == _OPTION for t in node.targets)
        for function in module.all_functions
        if _STARTS.search(module.source.text)
        for node in own_nodes(function)
    )


def is_given_by_hand(model: Model, module: Module) -> bool:
    """Whether the group meets at an address of the code's own, and takes the option and the number of ranks from the command line.

    Whoever starts it types both: no launcher passes the second. compression_imagenet_code 2587b41
    main_ddp_psgd_new_code_without_env_setup.py:969: `init_method="tcp://127.0.0.1:2345", world_size=args.world_size,
    rank=args.local_rank`.
    """
    return any(
        isinstance(node, ast.Call)
        and last_name(node.func) == "init_process_group"
        and _joins_by_hand({each.arg: each.value for each in node.keywords})
        for each in imported_below(model.program, module)
        if "init_process_group" in each.source.text
        for function in each.all_functions
        for node in own_nodes(function, ast.Call)
    )


def _joins_by_hand(given: dict[str | None, ast.expr]) -> bool:
    match given.get("init_method"), given.get("rank"), given.get("world_size"):
        case (
            ast.Constant(value=str(address)),
            ast.Attribute(value=ast.Name(id=parsed), attr=name),
            ast.Attribute(value=ast.Name(id=same)),
        ):
            return address.startswith("tcp://") and name == _OPTION and parsed == same
    return False


def is_overwritten(model: Model, module: Module) -> bool:
    """Whether a script assigns the option, under no condition, before anything that it runs reads it.

    muzic 2b87396 getmusic/train.py:134: `args.local_rank = local_rank`, first in what a helper of the project spawns;
    track_generation.py:602: `args.local_rank = 0`, and one process.
    """
    since = {each: _assigned_at(each) for each in module.all_functions}
    if not any(since.values()):
        return False
    readers = {
        each.cls.name if each.cls is not None else each.name
        for other in imported_below(model.program, module) - {module}
        if _OPTION in other.source.text
        for each in other.all_functions
        if any(map(_is_read, own_nodes(each)))
    }
    return all(
        0 < since[function] < node.lineno
        for function in module.all_functions
        for node in own_nodes(function)
        if _is_read(node) or (isinstance(node, ast.Call) and last_name(node.func) in readers)
        if isinstance(node, ast.expr)
    )


def _assigned_at(function: Function) -> int:
    """The last line of the first statement of a function's own that gives the option another value; 0 where none does."""
    for statement in function.body:
        match statement:
            case ast.Assign(targets=targets, value=value) if not any(map(_is_read, walk(value))):
                if any(
                    isinstance(each, ast.Attribute) and each.attr == _OPTION for each in targets
                ):
                    return statement.end_lineno or statement.lineno
    return 0


def _is_read(node: ast.AST) -> bool:
    """Whether an expression reads the option: an attribute of what is no object's own."""
    match node:
        case ast.Attribute(value=owner, attr=attr, ctx=ast.Load()):
            return attr == _OPTION and not (isinstance(owner, ast.Name) and owner.id == "self")
    return False
