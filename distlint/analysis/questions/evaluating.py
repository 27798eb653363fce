"""Functions that evaluate a model, and samplers of what is evaluated."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import Function, last_name
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import own_nodes
from distlint.analysis.questions.training import goes_backward
from distlint.analysis.questions.wrapped import without_gradients
from distlint.knowledge.schema import Effect
from distlint.nodes import walk
from distlint.patterns import pattern

if TYPE_CHECKING:
    from distlint.analysis.live.program import LiveProgram

EVALUATION: Final = pattern(
    r"(?<![a-z])(?:val|eval|valid|validation|evaluation|test|dev)(?:id)?(?:s|set|data|dataset|sampler|loader|dl|ds)?(?![a-z])"
    r"|evaluat|validat",
    re.IGNORECASE,
)
"""Names of what is evaluated on: `dataset_val`, `valset`, `build_eval_dataloader`."""
_CAMEL: Final = pattern(r"(?<=[a-z0-9])(?=[A-Z])")
_REDUCES: Final = pattern(
    r"all_?reduce|all_?gather|reduce_(?:tensor|mean|dict|loss|value|sum)|(?:tensor|dict|mean|value|meter)s?_reduce"
    r"|dist_(?:sum|mean|avg)|(?:sum|mean|average)_across|synchronize_between|gather_(?:all|object|tensor|result|predict)|collect_results|^(?:dist_)?reduce$",
    re.IGNORECASE,
)
"""Names of functions that put the results of the ranks together."""
_NO_RESULT: Final = frozenset({"barrier", "broadcast", "broadcast_object_list", "synchronize"})
_WITHOUT: Final = ("no_grad", "inference_mode")


def names_evaluation(*names: str) -> bool:
    """Whether one of some names says that something is for an evaluation."""
    return any(EVALUATION.search(_CAMEL.sub("_", name)) for name in names)


def evaluates(function: Function) -> bool:
    """Whether a function goes through data without gradients: under `no_grad`, or with the model in `eval()`."""
    if function.is_module_body or not any(own_nodes(function, ast.For)):
        return False
    shown = function.has_decorator(*_WITHOUT) or any(
        (last_name(n) in _WITHOUT or _is_eval(n)) for n in own_nodes(function, ast.Call)
    )
    return shown and not goes_backward(function.node)


def _is_eval(call: ast.Call) -> bool:
    match call:
        case ast.Call(func=ast.Attribute(attr="eval"), args=[]):
            return True
    return False


@remembered
def evaluating_loops(live: LiveProgram, function: Function) -> frozenset[ast.For | ast.AsyncFor]:
    """The loops of a function that train nothing: without gradients, or below `eval()` and with no backward in reach.

    FeatureDecorrelationSSL 408bd9e linear_eval.py:154: below `classifier.eval()`, in the function that trains it.
    """
    modes = sorted(
        (node.lineno, mode)
        for node in own_nodes(function, ast.Call)
        if (mode := _mode(node)) is not None
    )
    return frozenset(
        loop
        for loop in own_nodes(function, ast.For, ast.AsyncFor)
        if without_gradients(function, loop)
        or (
            next((mode for line, mode in reversed(modes) if line < loop.lineno), True) is False
            and not _trains(live, function, loop)
        )
    )


def _mode(call: ast.Call) -> bool | None:
    """Whether a call lets what follows train, or keeps it from that: `model.eval()`; None for others."""
    match call:
        case ast.Call(func=ast.Attribute(attr="eval"), args=[], keywords=[]):
            return False
        case ast.Call(func=ast.Attribute(attr="train"), args=[], keywords=[]):
            return True
        case ast.Call(
            func=ast.Attribute(attr="train" | "set_grad_enabled"), args=[ast.Constant(value=value)]
        ):
            return bool(value)
    return None


def _trains(live: LiveProgram, function: Function, loop: ast.AST) -> bool:
    """Whether a loop, or a function of the program that it calls, computes gradients or steps an optimizer."""
    for call in walk(loop, ast.Call):
        if last_name(call) in _STEPS:
            return True
        callee = live.resolve(function.module, call.func)
        if isinstance(callee, Function) and goes_backward(callee.node):
            return True
    return goes_backward(loop)


_STEPS: Final = frozenset({"step", "zero_grad"})


def reduction(live: LiveProgram, function: Function) -> ast.expr | None:
    """What puts the results of the ranks together in a function; None where each rank keeps its own."""
    for node in own_nodes(function):
        if isinstance(node, ast.Call) and last_name(node.func) not in _NO_RESULT:
            group = live.call_at(node)
            if group is not None and any(r.effect is Effect.COLLECTIVE for r in group.site.rows):
                return node
        if isinstance(node, ast.Name | ast.Attribute) and _REDUCES.search(last_name(node)):
            return node
    return None
