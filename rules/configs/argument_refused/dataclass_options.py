"""What transformers' `HfArgumentParser` takes: an option for each field of the dataclasses that it is given."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from distlint.analysis.program.definitions import Class, dotted_name
from distlint.analysis.program.linked import imported_below
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import own_nodes
from distlint.nodes import last_name
from distlint.patterns import pattern

from .fields import OPEN, Given, fields_of
from .made import PLAIN, calls_of
from .parsers import Parser

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function, Module
    from distlint.analysis.program.program import Program

_PARSER = "HfArgumentParser("
_OTHER_PARSERS = pattern(
    r"(?<!Hf)ArgumentParser\(|parse_known_args|add_subparsers|TrlParser|hydra\.main|fire\.Fire|absl"
    r"|sys\.argv(?!\[-?\d+\]|\))|args_file"
)
"""What reads the command line in another way. `sys.argv[1]` and `len(sys.argv)` look for a lone file."""
_LEFT = "return_remaining_strings"


def dataclass_parser_of(model: Model, module: Module) -> Parser | None:
    """The parsers that a script has, or where it has none, those in the files that it imports, as one.

    An option that one of them has is taken. LLaMA-Factory's src/train.py calls `run_exp()`, and the parsers of its
    hparams/parser.py have other dataclasses for training than for evaluation.
    """
    program = model.program
    near = {module} if _PARSER in module.source.text else imported_below(program, module)
    if any(_parses_otherwise(each) for each in near):
        return None
    found: list[Parser] = []
    for each in sorted((m for m in near if _PARSER in m.source.text), key=lambda m: m.path):
        read = _of_file(program, each)
        if read is None:
            return None
        found += read
    if not found or not any(len(each.options) > 1 for each in found):
        return None
    options: dict[str, Given] = {}
    for parser in found:
        _add(options, parser.options)
    return replace(found[0], options=options, strict=all(each.strict for each in found))


@remembered
def _parses_otherwise(module: Module) -> bool:
    """Whether a file may read the command line in another way; many scripts import the same files."""
    return _OTHER_PARSERS.search(module.source.text) is not None


def _of_file(program: Program, module: Module) -> list[Parser] | None:
    """What a file parses, for each function that does; none where it parses in a way that is not known."""
    options: dict[str, Given] = {"--help": {"action": ast.Constant("help")}}
    strict, parsing = True, []
    for function in module.all_functions:
        nodes = list(own_nodes(function))
        for call in nodes:
            if isinstance(call, ast.Call) and last_name(call.func) == "HfArgumentParser":
                if not _is_of_transformers(program, module, call):
                    return None
                found = dict(_options(program, module, call))
                strict = strict and "" not in found
                _add(options, found)
        for call in calls_of(nodes, "add_argument"):
            names = [a.value for a in call.args if isinstance(a, ast.Constant)]
            strict = strict and len(names) == len(call.args)
            _add(options, {name: OPEN for name in names if isinstance(name, str)})
        for call in calls_of(nodes, "parse_args_into_dataclasses"):
            given = {keyword.arg for keyword in call.keywords}
            if call.args or not given <= {_LEFT, "look_for_args_file"}:
                return None
            strict = strict and (_LEFT not in given or _raises(function, call))
            parsing.append(call)
    unknown = "Some specified arguments are not used: {}"
    return [Parser(options, call, module, strict, unknown) for call in parsing]


def _add(options: dict[str, Given], more: dict[str, Given]) -> None:
    """Options of another parser: what both have is sure only where they agree."""
    for name, given in more.items():
        before = options.setdefault(name, given)
        if _written(before) != _written(given):
            options[name] = OPEN


def _written(given: Given) -> dict[str, str]:
    return {name: ast.dump(value) for name, value in given.items()}


def _is_of_transformers(program: Program, module: Module, call: ast.Call) -> bool:
    """Whether a parser is that of transformers, be it installed or a copy in the project."""
    meaning = program.resolve_dotted(module, dotted_name(call.func))
    if isinstance(meaning, Class):
        return meaning.module.path.endswith("transformers/hf_argparser.py")
    return isinstance(meaning, str) and meaning.startswith("transformers.")


def _options(program: Program, module: Module, call: ast.Call) -> Iterator[tuple[str, Given]]:
    """The options of a parser; one without a name where there may be others."""
    given = [*call.args, *(k.value for k in call.keywords if k.arg == "dataclass_types")]
    others = [k.arg for k in call.keywords if k.arg not in PLAIN | {"dataclass_types"}]
    if len(given) != 1 or others:
        yield "", {}
        return
    for each in _elements(module, given[0]):
        meaning = program.resolve_dotted(module, dotted_name(each))
        for name, taken in fields_of(program, meaning):
            for spelled in {name, name.replace("_", "-")} if name else {""}:
                yield f"--{spelled}" if name else "", taken
                if "action" in taken:
                    yield f"--no_{spelled}", taken
                    yield f"--no-{spelled}", taken


def _elements(module: Module, given: ast.expr) -> list[ast.expr]:
    """The classes that a parser is given: one, several, or a list that the file holds."""
    if isinstance(given, ast.Name):
        held = [
            statement.value
            for statement in module.source.tree.body
            if isinstance(statement, ast.Assign)
            and [t.id for t in statement.targets if isinstance(t, ast.Name)] == [given.id]
        ]
        given = held[0] if len(held) == 1 else given
    return given.elts if isinstance(given, (ast.Tuple, ast.List)) else [given]


def _raises(function: Function, call: ast.Call) -> bool:
    """Whether what a parser leaves ends the program: `if unknown: raise ValueError(unknown)`."""
    left: set[str] = set()
    for node in own_nodes(function, ast.Assign):
        if node.value is call:
            match node.targets:
                case [ast.Tuple(elts=[*_, ast.Name(id=name)])]:
                    left.add(name)
    return any(
        isinstance(node.test, ast.Name)
        and node.test.id in left
        and any(isinstance(each, ast.Raise) for each in node.body)
        for node in own_nodes(function, ast.If)
    )
