"""What a script's own `argparse` takes, where all of it stands in one place."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from distlint.analysis.program.definitions import Function, dotted_name
from distlint.analysis.program.syntax import own_nodes
from distlint.launch.commands import Option
from distlint.patterns import pattern
from distlint.records import dataclass

from .choices import choices_of
from .made import PLAIN, Made, asks, calls_of, declared, parsers_made, used_for

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Module
    from distlint.analysis.program.program import Program

_TAKES_MORE = pattern(r"parse_known_args|add_subparsers|parse_intermixed|sys\.argv|REMAINDER")
"""What reads arguments that no `add_argument` names."""
_NAME = pattern(r"--[A-Za-z][\w-]+")
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

    def refuses(self, option: Option, program: Program) -> str | None:
        """What argparse says of an option, and what to write; None where it takes it, or that is not known.

        A beginning of one name stands for it, a hyphen is no underscore.
        """
        name = option.written
        if option.sure and self.strict and self._lost_a_dash(name):
            return f"`{self.unknown.format(name)}`, which is declared as `-{name}`"
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
        if (behind := option.lost) is not None and self._takes_no_words:
            return f"`{self.unknown.format(behind.text)}`, a word behind `{name}` and its value"
        if value is None:
            return f"`argument {name}: expected one argument`" if option.bare else None
        if "choices" in given and self._is_text(given.get("type")):
            choices = choices_of(program, self.module, given["choices"])
            if choices is not None and not choices.takes(value):
                return f"`argument {name}: invalid choice: '{value}'`"
        match given.get("type"):
            case ast.Name(id="int" | "float" as kind) if not _is_number(value, kind):
                return f"`argument {name}: invalid {kind} value: '{value}'`"
        return None

    @property
    def _takes_no_words(self) -> bool:
        """Whether a word that belongs to no option ends the program."""
        return self.strict and all(each.startswith("-") for each in self.options)

    @staticmethod
    def _is_text(kind: ast.expr | None) -> bool:
        return kind is None or (isinstance(kind, ast.Name) and kind.id == "str")

    def _lost_a_dash(self, name: str) -> bool:
        """Whether a word has one dash of two, and no option of one dash and one letter that it could be.

        mdetr ea09acc .github/gqa.md:58: `-epochs 125`. Behind `-e`, the rest would be its value.
        """
        return (
            re.fullmatch(r"-[A-Za-z][\w-]{2,}", name) is not None
            and f"-{name}" in self.options
            and not any(
                not each.startswith("--") and (each[:2] == name[:2] or each.startswith(name))
                for each in self.options
            )
        )


def _is_number(text: str, kind: str) -> bool:
    try:
        _NUMBERS[kind](text)
    except ValueError:
        return False
    return True


def parser_of(model: Model, module: Module) -> Parser | None:
    """The only parser of a script, which no other function gets but one that gives it back to who parses with it, or makes
    its own of it; None where more may be added than stands there.
    """
    text = module.source.text
    made = parsers_made(model, module) if text.count("ArgumentParser(") < 3 else []
    if len(made) != text.count("ArgumentParser(") or _TAKES_MORE.search(text):
        return None
    match sorted(made, key=lambda each: "parents" in each.keywords):
        case [Made(function, name) as only] if only.is_plain:
            return (
                _read(module, function, name)
                or _of_who_asks(model, module, only)
                or _of_the_file(module, only)
            )
        case [Made() as parent, Made(function, name) as child] if parent.is_plain:
            if child.keywords <= PLAIN | {"parents"} and _is_child(model, child, parent):
                own, above = _read(module, function, name), declared(parent.function, parent.name)
                if own is not None and above is not None:
                    return replace(own, options={**above, **own.options})
    return None


def _is_child(model: Model, child: Made, parent: Made) -> bool:
    """Whether a parser has the options of another one, which a function gives back: `parents=[get_args_parser()]`.

    mdetr ea09acc main.py:639.
    """
    given = next((k.value for k in child.call.keywords if k.arg == "parents"), None)
    return (
        isinstance(given, ast.List)
        and len(given.elts) == 1
        and asks(model, child.function, given.elts[0], parent.function)
    )


def _of_who_asks(model: Model, module: Module, made: Made) -> Parser | None:
    """The parser that a function gives back to the only one that parses with it: `args = get_args_parser().parse_args()`."""
    parsing = [
        (function, call)
        for function in module.all_functions
        for call in calls_of(list(own_nodes(function)), "parse_args")
    ]
    options = declared(made.function, made.name)
    if options is None or len(parsing) != 1 or parsing[0][1].args or parsing[0][1].keywords:
        return None
    function, call = parsing[0]
    receiver = call.func.value if isinstance(call.func, ast.Attribute) else call.func
    if asks(model, function, receiver, made.function):
        return Parser(options, call, module)
    if not isinstance(receiver, ast.Name):
        return None
    given = [
        node.value
        for node in own_nodes(function, ast.Assign)
        if any(isinstance(each, ast.Name) and each.id == receiver.id for each in node.targets)
        and node.value is not call
    ]
    added = declared(function, receiver.id, until=call.lineno)
    if len(given) != 1 or added is None or not asks(model, function, given[0], made.function):
        return None
    return Parser({**options, **added}, call, module)


def _of_the_file(module: Module, made: Made) -> Parser | None:
    """The parser that a script makes at its top, and that one of its functions parses with.

    research-contributions 21ed8e5 SwinMM/WORD/main.py:113: `args = parser.parse_args()` in `main()`.
    """
    if not made.function.is_module_body:
        return None
    options = declared(made.function, made.name, given_back=False)
    parsing: list[ast.Call] = []
    for function in module.all_functions:
        nodes = list(own_nodes(function, ast.Name, ast.Attribute, ast.Call))
        used = used_for(nodes, made.name)
        if function is made.function or not used:
            continue
        if used != {"parse_args"} or made.name in function.parameters:
            return None
        parsing += calls_of(nodes, "parse_args")
    if options is None or len(parsing) != 1 or parsing[0].args or parsing[0].keywords:
        return None
    return Parser(options, parsing[0], module)


def called_parser_of(model: Model, module: Module) -> Parser | None:
    """The only parser of another file, where a script has a function of that file parse its command line, and no second one.

    VisCPM d21f3eb finetune/ft_viscpm_chat/train_viscpm_chat.py:196: `args = initializer.get_args()`.
    """
    if _TAKES_MORE.search(module.source.text):
        return None
    called = {
        meaning
        for function in module.all_functions
        for node in own_nodes(function, ast.Call)
        if isinstance(
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
    parsing = list(calls_of(list(own_nodes(function)), "parse_args"))
    if len(parsing) != 1 or parsing[0].args or parsing[0].keywords:
        return None
    options = declared(function, name, given_back=False)
    return Parser(options, parsing[0], module) if options is not None else None
