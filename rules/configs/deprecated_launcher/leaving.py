"""Parsers that take what they know of a command line, and leave the rest."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from distlint.analysis.program.definitions import dotted_name
from distlint.analysis.program.syntax import own_nodes
from distlint.launch.kinds import leaves_the_rest as leaves_all

if TYPE_CHECKING:
    from collections.abc import Sequence

    from distlint.analysis.program.definitions import Function, Module


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
    parsing = {name for each in users for name in _called(each)} & {
        "parse_args",
        "parse_known_args",
    }
    own = {each.name for each in users}
    return parsing - own == {"parse_known_args"}


def _called(function: Function) -> set[str]:
    """The last names of all that a function calls."""
    return {
        dotted_name(node.func).rpartition(".")[2]
        for node in own_nodes(function)
        if isinstance(node, ast.Call)
    }
