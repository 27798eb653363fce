"""Whether the ranks would give a save different paths."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.interpreter.values import Variance
from distlint.analysis.program.definitions import dotted_name
from distlint.analysis.program.syntax import assignments
from distlint.analysis.questions.reported import is_metric
from distlint.analysis.questions.shares.program import shares
from distlint.analysis.questions.shares.values import Part
from distlint.knowledge.failures import FILE
from distlint.knowledge.shares import SYNCHRONISES
from distlint.nodes import last_name, walk

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.interpreter.values import Value
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function

_DEPTH: Final = 3


def own_number(model: Model, site: CallSite | None) -> str | None:
    """What in the path of a save each rank has for itself: a loss that nobody reduces; None where there is nothing.

    Amphion d3de90f models/base/new_trainer.py:331: `"final_loss-{:.6f}".format(valid_loss)`. Called by all ranks, it
    makes a folder for each, with nothing in it but the random states of that rank.
    """
    for row in site.rows if site is not None else ():
        if site is None or not isinstance(row.path, int):
            continue
        value = site.argument(row.path, row.path_keyword)
        node = site.argument_node(row.path, row.path_keyword)
        if node is None:
            continue
        for part in _parts(site.function, node, _DEPTH):
            if _is_own(model, site.function, part):
                return ast.unparse(part)
        if value is not None and _is_of_this_process(value):
            return ast.unparse(node)
    return None


def _is_of_this_process(value: Value) -> bool:
    """Whether each rank has a value of its own, as far as ranks read one folder.

    tango mustango/diffusers/examples/controlnet/train_controlnet.py:1004: a step that goes on from the newest
    checkpoint in the folder of all ranks.
    """
    return value.variance is Variance.RANK_LOCAL and (
        value.origin is None or value.origin.kind != FILE
    )


def _parts(function: Function, node: ast.expr, depth: int) -> Iterator[ast.expr]:
    """The names in an expression, and in what these are made of.

    Not what is only counted: `len(loader)` of a prepared loader is one number for all ranks.
    """
    counted = {
        inner
        for call in walk(node, ast.Call)
        if last_name(call) == "len"
        for argument in call.args
        for inner in walk(argument)
    }
    for part in walk(node):
        if part in counted:
            continue
        if isinstance(part, ast.Name | ast.Attribute) and dotted_name(part):
            yield part
            if depth and not is_metric(dotted_name(part)):
                for value in assignments(function).get(dotted_name(part), ()):
                    yield from _parts(function, value, depth - 1)


def _is_own(model: Model, function: Function, part: ast.expr) -> bool:
    """Whether a name stands for a number that the ranks compute from other data, as far as anybody reduces it."""
    name = dotted_name(part)
    if not is_metric(name):
        return False
    whose = model.answer(shares).of(part).part
    if whose is Part.SHARE:
        return True
    if whose in (Part.WHOLE, Part.SUM, Part.PADDED):
        return False
    given = assignments(function).get(name, [])
    alike = [
        isinstance(value, ast.Constant)
        or any(SYNCHRONISES.search(last_name(call)) for call in walk(value, ast.Call))
        for value in given
    ]
    return not given or not all(alike)
