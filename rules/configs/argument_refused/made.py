"""The parsers that a script makes, each with what is declared of it where it is made."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from distlint.analysis.program.definitions import Function, dotted_name
from distlint.analysis.program.syntax import own_nodes
from distlint.records import dataclass

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Module

PLAIN = frozenset({"description", "prog", "usage", "epilog", "formatter_class", "add_help"})
"""Keywords of a parser that leave alone what it takes."""
_OF_PARSER = frozenset(
    {"add_argument", "add_argument_group", "add_mutually_exclusive_group", "set_defaults"}
    | {"parse_args", "print_help", "error", "print_usage", "format_help"}
)


@dataclass(frozen=True, slots=True)
class Made:
    """A parser that a function makes and holds under a name."""

    function: Function
    name: str
    call: ast.Call

    @property
    def keywords(self) -> set[str | None]:
        """The keywords that it is made with."""
        return {keyword.arg for keyword in self.call.keywords}

    @property
    def is_plain(self) -> bool:
        """Whether it takes what is declared of it, and nothing else."""
        return self.keywords <= PLAIN


def parsers_made(model: Model, module: Module) -> list[Made]:
    """The parsers of a file that its functions hold under a name."""
    return [
        Made(function, node.targets[0].id, node.value)
        for function in module.all_functions
        for node in own_nodes(function, ast.Assign)
        if len(node.targets) == 1
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Call)
        and model.program.resolve_dotted(module, dotted_name(node.value.func))
        == "argparse.ArgumentParser"
    ]


def declared(
    function: Function, name: str, *, given_back: bool = True, until: int = 0
) -> dict[str, dict[str, ast.expr]] | None:
    """The options that a function adds to a parser that it holds; None where others may add some, or that is not known.

    Args:
        given_back: whether it may give the parser back.
        until: the last line in which the name means the parser; 0 for all of the function.
    """
    nodes = list(own_nodes(function))
    known = {
        id(node.value)
        for node in nodes
        if isinstance(node, ast.Attribute) and node.attr in _OF_PARSER
    } | {id(node.value) for node in nodes if given_back and isinstance(node, ast.Return)}
    for node in nodes:  # handed on, or asked for something else
        if (
            isinstance(node, ast.Name)
            and node.id == name
            and isinstance(node.ctx, ast.Load)
            and id(node) not in known
            and not 0 < until < node.lineno
        ):
            return None
    options: dict[str, dict[str, ast.expr]] = {"--help": {"action": ast.Constant("help")}}
    for call in calls_of(nodes, "add_argument"):
        given = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
        if len(given) < len(call.keywords) or not call.args:
            return None
        for each in call.args:
            if not isinstance(each, ast.Constant) or not isinstance(each.value, str):
                return None
            options[each.value] = given
    return options


def used_for(nodes: Sequence[ast.AST], name: str) -> set[str]:
    """The attributes that nodes ask of a name, and an empty text where it is used, or set, for anything else."""
    asked = {
        id(node.value): node.attr
        for node in nodes
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
    return {
        asked.get(id(node), "") for node in nodes if isinstance(node, ast.Name) and node.id == name
    }


def asks(model: Model, function: Function, call: ast.expr, maker: Function) -> bool:
    """Whether an expression calls the function that makes a parser, and gives it nothing."""
    return (
        isinstance(call, ast.Call)
        and not call.args
        and not call.keywords
        and model.program.resolve_dotted(function.module, dotted_name(call.func)) is maker
        and any(own_nodes(maker, ast.Return))
    )


def calls_of(nodes: Sequence[ast.AST], method: str) -> Iterator[ast.Call]:
    """The calls of a method among nodes."""
    for node in nodes:
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == method
        ):
            yield node
