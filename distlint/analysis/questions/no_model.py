"""Parameters that hold a wrapped model in one call and settings, a text or a number in another: nothing to unwrap there."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import Class, Function
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.analysis.questions.unwrapped import handed_over
from distlint.knowledge.wrappers import CONTAINERS
from distlint.nodes import last_name

if TYPE_CHECKING:
    from distlint.analysis.live.program import LiveProgram

_PARSES: Final = frozenset({"parse_args", "parse_known_args", "parse_intermixed_args"})
"""Methods that give settings (python 3.11 Lib/argparse.py)."""
_RECORDS: Final = frozenset(name.rpartition(".")[2] for name in CONTAINERS if "." in name)
_DEPTH: Final = 4


def may_be_no_model(live: LiveProgram, function: Function, subject: ast.expr) -> bool:
    """Whether a call fills a parameter that is unwrapped with what is surely no model, of which `unwrap_model()` raises.

    VideoX-Fun 804a425 scripts/qwenimage_instantx/train_control.py:1677: one call has an argument too many, so that its
    model stands where the other one hands over what `parse_args()` gave.
    """
    return any(
        _is_no_model(live, caller, argument, _DEPTH)
        for caller, _, argument in handed_over(live, function, subject)
    )


def _is_no_model(live: LiveProgram, function: Function, node: ast.expr, depth: int) -> bool:
    match node:
        case ast.Constant(value=value):
            return value is not None
        case ast.Dict() | ast.List() | ast.Tuple() | ast.Set() | ast.JoinedStr():
            return True
        case ast.Name(id=name) if depth:
            given = assignments(function).get(name, ())
            return bool(given) and all(
                _is_no_model(live, function, value, depth - 1) for value in given
            )
        case ast.Call(func=made):
            return _makes_none(live, function, made, depth)
    return False


def _makes_none(live: LiveProgram, function: Function, made: ast.expr, depth: int) -> bool:
    match live.resolve(function.module, made):
        case Class() as cls:
            return CONTAINERS.issuperset(live.program.mro(cls)[1])
        case Function() as maker if depth:
            returns = [
                node.value for node in own_nodes(maker, ast.Return) if node.value is not None
            ]
            return bool(returns) and all(
                _is_no_model(live, maker, value, depth - 1) for value in returns
            )
    return last_name(made) in _PARSES | _RECORDS
