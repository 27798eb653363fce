"""What a checkpoint says besides weights, and weights that DDP sends to all ranks anyway."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import dotted_name, last_name
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.knowledge import facts
from distlint.nodes import walk

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function, Module

PROGRESS: Final = frozenset(
    {"epoch", "step", "iteration", "iter", "global_step", "epochs", "steps"}
)
_TELLS: Final = frozenset({"print", "info", "warning", "debug", "log"})
_STATES: Final = ("optim", "sched", "scaler", "opt")


def sent_by_the_wrap(model: Model, site: CallSite) -> bool:
    """Whether only weights are taken from the file, and DDP's constructor sends rank 0's to all further down.

    swav 06b1b7c eval_semisup.py:143: the missing file is logged, and the line that wraps makes all ranks equal.
    """
    nodes = own_nodes(site.function)
    taken = _made_of(site)
    told = only_told(site.function)
    uses = [node for node in nodes if node not in told and _holds(node, site.node, taken)]
    if any(names_progress(node) for node in uses):
        return False
    filled = {
        dotted_name(node.func.value): node.lineno
        for node in uses
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "load_state_dict"
    }
    wrapped = {
        dotted_name(node.args[0]): node.lineno
        for node in nodes
        if isinstance(node, ast.Call) and node.args and _replicates(model, site.module, node)
    }
    return bool(filled) and all(line < wrapped.get(path, 0) for path, line in filled.items())


def _made_of(site: CallSite) -> set[str]:
    """The names that a function gives to what a call loads, and to what it makes of it."""
    taken: set[str] = set()
    assigned = assignments(site.function)
    while more := {
        name
        for name, values in assigned.items()
        if name not in taken and any(_holds(value, site.node, taken) for value in values)
    }:
        taken |= more
    return taken


def _holds(node: ast.AST, load: ast.Call, names: set[str]) -> bool:
    return any(part is load or dotted_name(part) in names for part in walk(node))


def _replicates(model: Model, module: Module, call: ast.Call) -> bool:
    meaning = model.resolve(module, call.func)
    wrapper = facts.wrapper(meaning) if isinstance(meaning, str) else None
    return wrapper is not None and facts.replicates(wrapper.kinds)


@remembered
def only_told(function: Function) -> frozenset[ast.AST]:
    """What a function only prints: Parametric-Contrastive-Learning fe56535 GPaCo/MAE-ViTs/main_finetune_gpaco_eval.py:289, the
    epoch of a checkpoint of which the weights are taken."""
    return frozenset(
        part
        for node in own_nodes(function, ast.Expr)
        if isinstance(node.value, ast.Call) and last_name(node.value.func) in _TELLS
        for part in walk(node)
    )


def names_progress(node: ast.AST) -> bool:
    match node:
        case ast.Subscript(slice=ast.Constant(value=str(key)), ctx=ast.Load()):
            return key in PROGRESS
        case ast.Call(
            func=ast.Attribute(attr="get" | "pop"), args=[ast.Constant(value=str(key)), *_]
        ):
            return key in PROGRESS
        case ast.Call(func=ast.Attribute(value=owner, attr="load_state_dict")):
            return any(word in last_name(owner).lower() for word in _STATES)
    return False
