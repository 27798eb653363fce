"""What a script's own `argparse` takes, where all of it stands in one place."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from distlint.analysis.program.definitions import Function, dotted_name
from distlint.analysis.program.syntax import own_nodes
from distlint.launch.commands import Option

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Module

_TAKES_MORE = re.compile(r"parse_known_args|add_subparsers|parse_intermixed|sys\.argv|REMAINDER")
"""What reads arguments that no `add_argument` names."""
_NAME = re.compile(r"--[A-Za-z][\w-]+")
PLAIN = frozenset({"description", "prog", "usage", "epilog", "formatter_class", "add_help"})
"""Keywords of a parser that leave alone what it takes."""
_OF_PARSER = frozenset(
    {"add_argument", "add_argument_group", "add_mutually_exclusive_group", "set_defaults"}
    | {"parse_args", "print_help", "error", "print_usage", "format_help"}
)
_NUMBERS = {"int": int, "float": float}


@dataclass(frozen=True, slots=True)
class Parser:
    """The options of a parser, each with the keywords of its `add_argument`, and the call that parses."""

    options: dict[str, dict[str, ast.expr]]
    parsing: ast.Call
    module: Module
    """Where it is."""
    strict: bool = True
    """Whether an option that nobody declares ends the program."""
    unknown: str = "unrecognized arguments: {}"
    """What it says of such an option."""

    def refuses(self, option: Option) -> str | None:
        """What argparse says of an option, and what to write; None where it takes it, or that is not known.

        A beginning of one name stands for it, a hyphen is no underscore.
        """
        name = option.written
        if not _NAME.fullmatch(name) or not option.sure:
            return None
        if name not in self.options:
            if not self.strict or any(each.startswith(name) for each in self.options):
                return None
            alike = [e for e in self.options if e.replace("-", "_") == name.replace("-", "_")]
            meant = f", which is declared as `{alike[0]}`" if alike else ""
            return f"`{self.unknown.format(name)}`{meant}"
        given, value = self.options[name], option.value
        if "nargs" in given or "action" in given:
            return None
        if value is None:
            return f"`argument {name}: expected one argument`" if option.bare else None
        match given.get("choices"):
            case ast.List(elts=elts) | ast.Tuple(elts=elts) | ast.Set(elts=elts):
                known = [each.value for each in elts if isinstance(each, ast.Constant)]
                if len(known) == len(elts) and value not in map(str, known) and "type" not in given:
                    return f"`argument {name}: invalid choice: '{value}'`"
        match given.get("type"):
            case ast.Name(id="int" | "float" as kind) if not _is_number(value, kind):
                return f"`argument {name}: invalid {kind} value: '{value}'`"
        return None


def _is_number(text: str, kind: str) -> bool:
    try:
        _NUMBERS[kind](text)
    except ValueError:
        return False
    return True


def parser_of(model: Model, module: Module) -> Parser | None:
    """The only parser of a script, which no other function gets; None where more may be added than stands there."""
    text = module.source.text
    if text.count("ArgumentParser(") != 1 or _TAKES_MORE.search(text):
        return None
    for function in module.all_functions:
        for node in own_nodes(function):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=func) as made) if (
                    model.program.resolve_dotted(module, dotted_name(func))
                    == "argparse.ArgumentParser"
                ):
                    plain = all(keyword.arg in PLAIN for keyword in made.keywords)
                    return _read(module, function, name) if plain else None
    return None


def called_parser_of(model: Model, module: Module) -> Parser | None:
    """The only parser of another file, where a script has a function of that file parse its command line, and no second one.

    VisCPM d21f3eb finetune/ft_viscpm_chat/train_viscpm_chat.py:196: `args = initializer.get_args()`.
    """
    if _TAKES_MORE.search(module.source.text):
        return None
    called = {
        meaning
        for function in module.all_functions
        for node in own_nodes(function)
        if isinstance(node, ast.Call)
        and isinstance(
            meaning := model.program.resolve_dotted(module, dotted_name(node.func)), Function
        )
        and "ArgumentParser(" in meaning.module.source.text
    }
    parsing = [
        (function, parser)
        for function in called
        if (parser := parser_of(model, function.module)) is not None
        and any(node is parser.parsing for node in own_nodes(function))
    ]
    others = {f for f in called if any(calls_of(list(own_nodes(f)), "add_argument"))}
    return parsing[0][1] if len(parsing) == 1 and others <= {parsing[0][0]} else None


def _read(module: Module, function: Function, name: str) -> Parser | None:
    nodes = list(own_nodes(function))
    methods = {
        id(node.value): node.attr
        for node in nodes
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
    for node in nodes:  # handed on, given back, or asked for something else
        read = isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
        if read and methods.get(id(node)) not in _OF_PARSER:
            return None
    parsing = list(calls_of(nodes, "parse_args"))
    if len(parsing) != 1 or parsing[0].args or parsing[0].keywords:
        return None
    options: dict[str, dict[str, ast.expr]] = {"--help": {"action": parsing[0]}}
    for call in calls_of(nodes, "add_argument"):
        given = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
        if len(given) < len(call.keywords) or not call.args:
            return None
        for each in call.args:
            if not isinstance(each, ast.Constant) or not isinstance(each.value, str):
                return None
            options[each.value] = given
    return Parser(options, parsing[0], module)


def calls_of(nodes: list[ast.AST], method: str) -> Iterator[ast.Call]:
    for node in nodes:
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == method
        ):
            yield node
