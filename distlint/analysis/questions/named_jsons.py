"""The configurations of DeepSpeed that code names, and the arguments of transformers' Trainer beside them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.memory import all_remembered
from distlint.analysis.program.syntax import own_nodes
from distlint.nodes import last_name

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Module

_ARGUMENTS: Final = ("TrainingArguments", "Config")
"""How the classes are named that hold a Trainer's arguments: trl's SFTConfig is one."""


@all_remembered
def named_jsons(module: Module) -> Iterator[tuple[ast.expr, str, ast.Call]]:
    """The files that a script names in `deepspeed="zero.json"`, and the calls that get them."""
    for function in module.all_functions if "deepspeed" in module.source.text else ():
        for node in own_nodes(function, ast.Call):
            for keyword in node.keywords:
                match keyword:
                    case ast.keyword(arg="deepspeed", value=ast.Constant(value=str(name)) as value):
                        yield value, name, node


def trainer_arguments(module: Module) -> Iterator[tuple[str, dict[str | None, ast.expr]]]:
    """The files that the arguments of a Trainer name, each with these arguments."""
    for _, name, call in named_jsons(module):
        if last_name(call).endswith(_ARGUMENTS):
            yield name, {keyword.arg: keyword.value for keyword in call.keywords}
