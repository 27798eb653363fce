"""JSON files of DeepSpeed that a launch names, and that the Trainer of the program is never told of."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import dotted_name
from distlint.analysis.program.linked import imported_below
from distlint.analysis.program.syntax import own_nodes
from distlint.launch.project import Format
from distlint.nodes import last_name
from distlint.patterns import pattern

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Module
    from distlint.launch.commands import Option

_ARGUMENTS: Final = ("TrainingArguments", "Config")
_OF_TRAINER: Final = "per_device_train_batch_size"
_LIBRARIES: Final = ("transformers.", "trl.")
_OPTIONS: Final = ("deepspeed", "deepspeed_config")
_SPREAD: Final = pattern(r"\bHfArgumentParser\b|\*\*vars\(|\bvars\(")
"""What hands on all that was parsed."""
_COMMENT: Final = pattern(r"#[^\n]*")
_DECLARED: Final = pattern(r"\.add_argument\([^()]*\)")


def jsons_unread(model: Model, module: Module) -> Iterator[tuple[ast.Call, Option]]:
    """The arguments of a Trainer that name no JSON, where a launch of the script does, and nothing in the program reads it.

    UniMo 6954cd5 train_grpo.py:235: `GRPOConfig(…)` without `deepspeed=`, and README.md:105 has `deepspeed --num_gpus=4
    train_grpo.py --deepspeed_config ds_config.json`, which options/option_train.py:21 declares.
    """
    if _OF_TRAINER not in module.source.text or not _tells_nobody(model, module):
        return
    named = [
        option
        for script, launch in model.launch.surely_starting(module.path)
        for name in _OPTIONS
        if (option := launch.arguments.get(name)) is not None
        and option.value
        and option.sure
        and model.launch.named(option.value, script.path, Format.DEEPSPEED) is not None
    ]
    made = [
        node
        for function in module.all_functions
        for node in own_nodes(function, ast.Call)
        if last_name(node.func).endswith(_ARGUMENTS) and _is_of_trainer(model, module, node)
    ]
    if named and len(made) == 1 and all(each.arg is not None for each in made[0].keywords):
        yield made[0], named[0]


def _is_of_trainer(model: Model, module: Module, call: ast.Call) -> bool:
    """Whether a call makes the arguments of a Trainer, by its class and what it says."""
    meaning = model.program.resolve_dotted(module, dotted_name(call.func))
    return (
        isinstance(meaning, str)
        and meaning.startswith(_LIBRARIES)
        and any(each.arg == _OF_TRAINER for each in call.keywords)
    )


def _tells_nobody(model: Model, module: Module) -> bool:
    """Whether a script, and what it imports, has the word only where an option of the command line is declared."""
    for each in imported_below(model.program, module):
        text = _DECLARED.sub("", _COMMENT.sub("", each.source.text))
        if "deepspeed" in text or "ds_config" in text or _SPREAD.search(text):
            return False
    return True
