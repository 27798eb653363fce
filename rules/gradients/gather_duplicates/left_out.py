"""Evaluations that leave out the last samples of each rank's part."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.environment import evaluated_here, own_statements
from distlint.analysis.program.syntax import assignments
from distlint.analysis.questions.evaluating import names_evaluation
from distlint.nodes import last_name, walk

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function

_SAMPLERS: Final = ("DistributedSampler", "InferenceSampler", "DistributedEvalSampler")
_MAKERS: Final = frozenset({"DistributedSampler", "DataLoader"})


def left_out(model: Model) -> Iterator[tuple[Function, ast.Call]]:
    """Each loader or sampler of an evaluation that drops what does not fill the last batch, or the last round of ranks.

    ACEsuit/mace 5a51b79 mace/cli/run_train.py:715: a head with fewer configurations than ranks has none. QwenLM/Qwen-VL
    aa00ed0 eval_mm/evaluate_grounding.py:141: `drop_last=True` over a part of the samples that are judged.
    """
    for module in model.modules:
        text = module.source.text
        if "drop_last=True" not in text.replace(" ", "") or not any(s in text for s in _SAMPLERS):
            continue
        for function in module.all_functions:
            for statement, around in own_statements(function.body):
                for node in evaluated_here(statement):
                    if isinstance(node, ast.Call) and _drops(function, node):
                        conditions = [s.test for s in around if isinstance(s, ast.If)]
                        if _is_of_evaluation(function, node, statement, conditions):
                            yield function, node


def _drops(function: Function, call: ast.Call) -> bool:
    """Whether a call drops samples of each rank's own part: a sampler for several, or a loader of what one gives."""
    name = last_name(call.func)
    given = {k.arg: k.value for k in call.keywords}
    drop = given.get("drop_last")
    if name not in _MAKERS or not (isinstance(drop, ast.Constant) and drop.value is True):
        return False
    if name == "DistributedSampler":
        return True
    sampler = given.get("sampler")
    values = [sampler, *assignments(function).get(last_name(sampler), ())] if sampler else []
    return any(
        isinstance(node, ast.Call) and last_name(node.func) in _SAMPLERS
        for value in values
        if value is not None
        for node in walk(value)
    )


def _is_of_evaluation(
    function: Function, call: ast.Call, statement: ast.stmt, conditions: list[ast.expr]
) -> bool:
    """Whether names say so, and none says that it is for a training."""
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    data = [*call.args[:1], *(k.value for k in call.keywords if k.arg == "dataset")]
    names = [
        last_name(n)
        for part in (*targets, *data)
        for n in walk(part)
        if isinstance(n, ast.expr) and _is_named(n)
    ]
    asked = [
        last_name(n)
        for test in conditions
        for n in walk(test)
        if isinstance(n, ast.expr) and _is_named(n)
    ]
    if any("train" in name.lower() for name in (*names, *asked, function.name)):
        return False
    return names_evaluation(*names, function.name, function.module.name.rpartition(".")[2])


def _is_named(node: ast.AST) -> bool:
    return isinstance(node, ast.Name | ast.Attribute)
