"""Reads of what all ranks have alike, bytes in memory and options: they fail on all of them, or on none."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from distlint.analysis.interpreter.values import Variance
from distlint.analysis.program.handed import calls_of
from distlint.analysis.program.syntax import target_names
from distlint.analysis.questions.unset_options import is_set_from_outside
from distlint.knowledge.failures import FAILURES, IN_MEMORY
from distlint.knowledge.ranks import ARGUMENT_NAMES
from distlint.nodes import last_name, walk

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function, Module


def in_memory_of_all(model: Model, node: ast.AST) -> bool:
    """Whether what fails is a call that reads bytes in memory, none of them a rank's own or of a turn over data.

    VideoX-Fun 804a425 videox_fun/api/api_multi_nodes.py:154: `Image.open(BytesIO(end_image))` of the request that each
    worker is handed. Of a batch each rank has another.
    """
    group = model.call_at(node)
    if group is None:
        return False
    function = group.site.function
    return (
        not group.site.loops
        and all(
            any(
                value.type in IN_MEMORY and value.variance is Variance.UNIFORM
                for value in site.args
            )
            for _, site in group.sites
        )
        and not _of_a_turn(model, function)
    )


def reads_an_option(model: Model, module: Module, node: ast.AST) -> bool:
    """Whether what fails is a call that reads the text of an option, which the program does not set.

    Vision-R1 c061681 evaluation/evalscope/vlmeval/run.py:322: `json.loads(args.judge_args)`.
    """
    match node:
        case ast.Call(func=func, args=[ast.Attribute(value=owner, attr=option)], keywords=[]):
            meaning = model.resolve(module, func)
            return (
                isinstance(meaning, str)
                and FAILURES.get(meaning) == "data"
                and last_name(owner) in ARGUMENT_NAMES
                and not is_set_from_outside(model.program, option)
            )
    return False


def _of_a_turn(model: Model, function: Function) -> bool:
    """Whether a call that may be of a function hands it what a loop goes through."""
    return any(
        not _turned(user).isdisjoint(
            part.id
            for given in (*call.args, *(keyword.value for keyword in call.keywords))
            for part in walk(given, ast.Name)
        )
        for user, call in calls_of(model.program, function)
    )


def _turned(user: Function) -> frozenset[str]:
    """The names that a function's loops go through the elements by."""
    return frozenset(
        name
        for node in walk(user.node, ast.For, ast.AsyncFor, ast.comprehension)
        for name in target_names(node.target)
    )
