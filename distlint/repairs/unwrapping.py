"""Edits for what is read from a wrapped model: where unwrapping is the repair, and where it would break training."""

from __future__ import annotations

import ast
import re

from distlint.analysis.interpreter.ir import AttributeSite
from distlint.analysis.live.program import LiveProgram
from distlint.analysis.model import Model, span_of
from distlint.analysis.program.definitions import Function, Module
from distlint.analysis.questions.wrapped import may_run_forward, without_gradients
from distlint.edits import Move, Replace
from distlint.findings import Applicability, Fix
from distlint.nodes import children, walk
from distlint.repairs.blocks import block_with
from distlint.repairs.hoisting import names_bound_in

_WITHOUT_TRAINING = (
    "eval",
    "valid",
    "test",
    "sample",
    "generat",
    "infer",
    "predict",
    "log",
    "save",
)
"""Words in the names of functions that train nothing."""


_OF_TRAINING = re.compile(r"backward|optim|trainer|\.step\(|\.fit\(", re.IGNORECASE)
_OF_WRAPPERS = frozenset({"module", "_orig_mod", "no_sync", "require_backward_grad_sync"})
"""What is asked of a wrapper to know that it is one (torch 2.13.0 nn/parallel/distributed.py)."""


def read_from_model(model: Model, site: AttributeSite, receiver: str) -> Fix:
    """The fix of `receiver.attr` on a wrapper: as a rule `unwrap(receiver).attr`."""
    advice = f"Read `{site.attr}` from the model inside the wrapper"
    unwrapped = (
        Replace(span_of(site.node.value), f"$unwrap({receiver})"),
        *(
            Replace(span_of(asked), f"$unwrap({receiver})")
            for asked in _asked_beside(site, receiver)
        ),
    )
    if _freezes(model, site):
        moved = _before_the_wrap(site)
        freeze = f"Freeze `{receiver}` before it is wrapped: the wrapper waits for gradients of all that trained then"
        if moved is None:
            return Fix(Applicability.DISPLAY, freeze)
        return Fix(Applicability.UNSAFE, freeze, (moved,))
    if not may_run_forward(model, site.statement, site.node):
        if _names_its_own_reading(site, receiver):
            return Fix(Applicability.DISPLAY, advice)
        return Fix(Applicability.SAFE, advice, unwrapped)
    if without_gradients(site.function, site.node):
        return Fix(Applicability.SAFE, advice, unwrapped)
    named = any(word in site.function.name.lower() for word in _WITHOUT_TRAINING)
    if named or _trains_nothing(site.module):
        text = f"{advice}; gradients of this call are not synchronised"
        return Fix(Applicability.UNSAFE, text, unwrapped)
    return Fix(
        Applicability.DISPLAY,
        f"Let the model's own `forward` call `{site.attr}`: behind the wrapper's back gradients are not "
        "synchronised",
    )


def _trains_nothing(module: Module) -> bool:
    """Whether a file is a script without a word of training: what it starts computes, or writes.

    fairseq 0.12.2 examples/wav2vec/vq-wav2vec_featurize.py:150: the other reads of the function stand in `no_grad()`.
    """
    return module.is_script and not _OF_TRAINING.search(module.source.text)


def _asked_beside(site: AttributeSite, receiver: str) -> list[ast.expr]:
    """The wrapper in `hasattr(model, "name")` of the same test: it has none of the model's names either.

    trlx 3340c2f trlx/trainer/accelerate_ppo_trainer.py:74: `hasattr(self.model, "frozen_head")` is false on DDP.
    """
    return [
        asked
        for node in walk(getattr(site.statement, "test", site.node))
        for asked in _asked(node)
        if ast.unparse(asked) == receiver
    ]


def _asked(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.Call(func=ast.Name(id="hasattr"), args=[asked, ast.Constant(value=name)]):
            return [asked] if name not in _OF_WRAPPERS else []
    return []


def _names_its_own_reading(site: AttributeSite, receiver: str) -> bool:
    """`getattr(model, model.base_model_prefix)`: what is read by that name is not on the wrapper either."""
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "getattr"
        and site.node in node.args[1:]
        and ast.unparse(node.args[0]) == receiver
        for node in walk(site.statement)
    )


def _freezes(model: Model, site: AttributeSite) -> bool:
    """Whether a statement changes which parameters are trained."""
    for node in walk(site.statement):
        match node:
            case ast.Call(func=ast.Attribute(attr=name) as function):
                inside = _holds(function, site.node)
                if inside and (name == "requires_grad_" or name in model.answer(freezers)):
                    return True
            case ast.Assign(targets=[ast.Attribute(attr="requires_grad") as target]):
                if _holds(target, site.node):
                    return True
    return False


def freezers(live: LiveProgram) -> frozenset[str]:
    """The names of methods of the program that change which parameters are trained."""
    return frozenset(
        name
        for module in live.program.modules.values()
        for cls in module.all_classes
        for name, method in cls.methods.items()
        if not name.startswith("__") and _sets_requires_grad(method)
    )


def _sets_requires_grad(method: Function) -> bool:
    return any(
        isinstance(node, ast.Attribute)
        and (
            node.attr == "requires_grad_"
            or (node.attr == "requires_grad" and isinstance(node.ctx, ast.Store))
        )
        for node in walk(method.node)
    )


def _before_the_wrap(site: AttributeSite) -> Move | None:
    """The statement, in front of the one that wraps, where both stand in one block and nothing hinders."""
    wrap, statement = site.receiver.wraps[-1], site.statement
    if wrap.module is not site.module or not isinstance(statement, ast.Expr):
        return None
    block = block_with(site.function, statement)
    if block is None:
        return None
    index = block.index(statement)
    wrapping = next((s for s in block[:index] if _holds(s, wrap.node)), None)
    if wrapping is None or not isinstance(wrapping, ast.Assign):
        return None
    between = block[block.index(wrapping) + 1 : index]
    if any("requires_grad" in ast.unparse(s) and not _freezing(s) for s in between):
        # kohya-ss/sd-scripts train_textual_inversion_XTI.py:352: `requires_grad_(True)` on all, first.
        return None
    read = {n.id for n in walk(statement) if isinstance(n, ast.Name)}
    if read & names_bound_in(between) or not _same_object(wrapping, site, wrap.node):
        return None
    return Move(span_of(statement), span_of(wrapping))


def _freezing(statement: ast.stmt) -> bool:
    """Whether a statement is `….requires_grad_(False)`."""
    match statement:
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(attr="requires_grad_"), args=[ast.Constant(value=False)]
            )
        ):
            return True
    return False


def _same_object(wrapping: ast.Assign, site: AttributeSite, call: ast.AST) -> bool:
    """Whether the model has the same name in front of the wrap and behind it: `model = DDP(model)`."""
    name = ast.unparse(site.node.value)
    targets = {ast.unparse(part) for target in wrapping.targets for part in _parts(target)}
    return name in targets and any(
        ast.unparse(part) == name
        for part in walk(call)
        if isinstance(part, ast.Name | ast.Attribute)
    )


def _parts(target: ast.expr) -> list[ast.expr]:
    return list(target.elts) if isinstance(target, ast.Tuple | ast.List) else [target]


def _holds(outer: ast.AST, node: ast.AST) -> bool:
    return any(part is node for part in walk(outer))


def asked_for_its_class(statement: ast.stmt, node: ast.expr) -> bool:
    """Whether an expression stands in `isinstance(...)` or `type(...)`: there the wrapper itself is asked for."""
    parents = {id(child): parent for parent in walk(statement) for child in children(parent)}
    parent = parents.get(id(node))
    return (
        isinstance(parent, ast.Call)
        and isinstance(parent.func, ast.Name)
        and parent.func.id in ("isinstance", "type")
    )
