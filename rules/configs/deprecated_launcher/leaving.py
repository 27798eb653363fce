"""Parsers that take what they know of a command line, and leave the rest; and those that never see one."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from distlint.analysis.program.definitions import dotted_name, last_name
from distlint.analysis.program.linked import importers
from distlint.analysis.program.syntax import default_of, own_nodes
from distlint.launch.kinds import leaves_the_rest as leaves_all
from distlint.nodes import walk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function, Module

_PARSES = frozenset({"parse_args", "parse_known_args"})


def leaves_the_rest(module: Module, declared: Sequence[tuple[ast.expr, object]] = ()) -> bool:
    """Whether no rank ends of an argument that a file does not know: of any, or where it is declared.

    EasyNLP a4ee956 easynlp/utils/arguments.py:283: in `_add_easynlp_args(parser)`, which two functions with
    `parse_known_args()` call; further down another one calls `parse_args()` for a parser of its own.
    """
    return leaves_all(module.source.text.encode()) or (
        bool(declared) and all(_is_parsed_in_part(module, node) for node, _ in declared)
    )


def _is_parsed_in_part(module: Module, declared: ast.expr) -> bool:
    """Whether every call in its file that parses what an expression declares goes on with what it does not know."""
    users = [each for each in module.all_functions if declared in own_nodes(each)]
    if not users or users[0].is_module_body:
        return False
    for user in users:  # grows: who calls one of them has its parser
        users += [
            each
            for each in module.all_functions
            if each not in users and user.name in _called(each) and not each.is_module_body
        ]
    parsing = {name for each in users for name in _called(each)} & _PARSES
    own = {each.name for each in users}
    return parsing - own == {"parse_known_args"}


def parses_what_is_written(module: Module, declared: ast.expr) -> bool:
    """Whether what parses an argument gets words of the program: no launcher can pass anything to it.

    benchmark 0e83c44 torchbenchmark/util/framework/timm/args.py:51: `get_args(config_string="")`, whose parser takes
    `config_string`. Where a parameter is None unless somebody gives it, argparse takes the command line.
    """
    users = [each for each in module.all_functions if declared in own_nodes(each)]
    if not users or users[0].is_module_body:
        return False
    around = list(users[0].outward())
    outermost = next(each for each in reversed(around) if not each.is_module_body)
    given = [
        node.args[0] if node.args else None
        for node in walk(outermost.node, ast.Call)
        if last_name(node.func) in _PARSES
    ]
    return bool(given) and all(_is_written(each, around) for each in given)


def is_made_by_none(model: Model, module: Module, declared: ast.expr) -> bool:
    """Whether an argument is declared in a function that nothing in the program names.

    autodeeplab 065cf99 evaluate_distributed.py:29: `parse_args()`; the script takes another file's options.
    """
    users = [each for each in module.all_functions if declared in own_nodes(each)]
    if not users or users[0].is_module_body or users[0].cls is not None or users[0].decorators:
        return False
    return not any(
        last_name(node) == users[0].name
        and (meaning := model.resolve(each, node)) in (users[0], None)
        and (meaning is not None or isinstance(node, ast.Name))
        for each in (module, *importers(model.program, module))
        for node in walk(each.source.tree, ast.Name, ast.Attribute)
    )


def _is_written(words: ast.expr | None, around: Sequence[Function]) -> bool:
    """Whether words are literals of the program, or a parameter that is some where nobody gives it."""
    match words:
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return all(isinstance(part, ast.Constant) for part in parts)
        case ast.Constant(value=str()):
            return True
        case ast.Call(func=ast.Attribute(value=text, attr="split")):
            return _is_written(text, around)
        case ast.Name(id=name):
            defaults = (default_of(function, name) for function in around)
            return any(default is not None and _is_written(default, ()) for default in defaults)
    return False


def _called(function: Function) -> set[str]:
    """The last names of all that a function calls."""
    return {dotted_name(node.func).rpartition(".")[2] for node in own_nodes(function, ast.Call)}
