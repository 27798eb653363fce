"""Layers that a name has not: what it stands for was unwrapped wherever the condition of the wrap holds."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from distlint.analysis.program.definitions import dotted_name, last_name
from distlint.analysis.program.places import place_of_any
from distlint.analysis.program.syntax import assignments
from distlint.analysis.questions.above_the_wrap import calls_by_name
from distlint.analysis.questions.arms import arms, known_by
from distlint.knowledge import facts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from distlint.analysis.interpreter.ir import AttributeSite, CallSite
    from distlint.analysis.interpreter.values import Value
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Function


def handed_taken_off(live: LiveProgram, call: CallSite, site: AttributeSite) -> bool:
    """Whether all that a function is handed the model by have taken it off the wrapper (`call`).

    SparseTransformers adffc67 train.py:277: `generate_samples(raw_model, …)`.
    """
    path = ast.unparse(site.node.value)
    function = site.function
    if path not in function.parameters or path in assignments(function):
        return False
    handed = [
        (caller, node)
        for caller in live.answer(calls_by_name).get(function.name, ())
        if caller.callee is function
        for node, value in _given(caller)
        if any(layer.node is call.node for layer in value.wraps)
    ]
    return bool(handed) and all(is_taken_off(call, caller, node) for caller, node in handed)


def _given(caller: CallSite) -> Iterator[tuple[ast.expr, Value]]:
    yield from zip(caller.node.args, caller.args, strict=False)
    for keyword in caller.node.keywords:
        if keyword.arg in caller.keywords:
            yield keyword.value, caller.keywords[keyword.arg]


def is_taken_off(call: CallSite, site: AttributeSite | CallSite, model: ast.expr) -> bool:
    """Whether what is read is the model itself wherever the condition of the wrap (`call`) holds.

    EasyNLP a4ee956 examples/agree/training/train_all.py:296: `m = model.module if args.distributed or args.dp else
    model`, and another file wraps under `if args.distributed:` and under `if args.dp:`. A test that is true wherever
    that of the wrap is leaves no wrapper in its other arm; `args.distributed and args.dp` is none.

    Args:
        call: the wrap.
        site: the read, or a call that hands the model on.
        model: what is read, or handed on.
    """
    path = dotted_name(model)
    giver = _giver(site.function, path)
    given = arms(giver).get(path, ()) if path else ()
    if not any(_is_inside(arm.value) for arm in given):
        return False
    known = known_by((*call.guards, *site.guards), giver)
    read = place_of_any(site.node)
    # A function inside another one may be called wherever that has come to.
    above = [
        arm for arm in given if giver is not site.function or place_of_any(arm.statement) < read
    ]
    return any(
        _is_inside(arm.value)
        and arm.is_entered(known)
        and not any(
            place_of_any(other.statement) > place_of_any(arm.statement)
            and not (_is_inside(other.value) or other.is_left(known))
            for other in above
        )
        for arm in above
    )


def _giver(function: Function, path: str) -> Function:
    """The function that gives a name its value: one around it, where the function itself does not.

    open-pi-zero c3df7fb src/agent/train.py:287: `model.build_causal_mask_and_position_ids` in a function inside `run()`,
    which has `model = self.model.module` under `if self.multi_gpu:`.
    """
    inner = function
    while path not in arms(inner) and path.partition(".")[0] not in inner.parameters:
        if inner.parent is None or inner.parent.is_module_body or inner.cls is not None:
            return function
        inner = inner.parent
    return inner


def _is_inside(value: ast.expr) -> bool:
    """Whether a value is what a wrapper holds: `model.module`, `unwrap(model)`."""
    match value:
        case ast.Attribute(attr="module"):
            return True
        case ast.Call(func=func):
            return facts.is_unwrap(last_name(func))
    return False
