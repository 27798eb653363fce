"""Settings of transformers' TrainingArguments that are a list by the time a program asks for them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from distlint.analysis.program.definitions import Class, dotted_name, last_name
from distlint.analysis.program.handed import put_from_outside
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.knowledge import facts
from distlint.knowledge.conventions import LISTED_SETTINGS, TRAINING_ARGUMENTS

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Function
    from distlint.analysis.program.program import Program


def asks_list_for_text(program: Program, function: Function, node: ast.expr) -> bool | None:
    """How a comparison comes out of a setting that is a list by then with a text; None for others.

    Video-R1 59d65c3 src/r1-v/src/open_r1/sft_video.py:242: `training_args.report_to == "wandb"` never holds.
    """
    match node:
        case ast.Compare(
            left=ast.Attribute(value=owner, attr=attr),
            ops=[ast.Eq() | ast.NotEq() as op],
            comparators=[ast.Constant(value=str())],
        ) if attr in LISTED_SETTINGS and _is_training_arguments(program, function, owner, attr):
            return isinstance(op, ast.NotEq)
    return None


def _is_training_arguments(
    program: Program, function: Function, owner: ast.expr, attr: str
) -> bool:
    """Whether an object is called like TrainingArguments, or is what a Trainer is given as such below.

    DRPO4LLM d1b9c09 examples/hh/drpo.py:130: `training_config`, and 202 `DRPOTrainer(args=training_config)`.
    """
    module, name = function.module, dotted_name(owner)
    if last_name(owner) in TRAINING_ARGUMENTS:
        names = module.imports.values()
        return any(each.partition(".")[0] in ("transformers", "trl") for each in names)
    written = assignments(function).get(name, ())
    if attr in put_from_outside(module) or any(v.lineno > owner.lineno for v in written):
        return False
    return any(
        keyword.arg == "args"
        and dotted_name(keyword.value) == name
        and _is_trainer(program, function, call)
        for call in own_nodes(function, ast.Call)
        for keyword in call.keywords
    )


def _is_trainer(program: Program, function: Function, call: ast.Call) -> bool:
    made = program.resolve_dotted(function.module, dotted_name(call.func))
    outside = program.mro(made)[1] if isinstance(made, Class) else (made,)
    return "transformers.Trainer" in facts.with_bases(o for o in outside if isinstance(o, str))
