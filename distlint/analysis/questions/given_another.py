"""What is read is another model, by an option without which the program has failed above."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from distlint.analysis.program.definitions import dotted_name
from distlint.analysis.program.places import place_of_any
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.analysis.questions.arms import arms
from distlint.nodes import walk

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import AttributeSite, CallSite
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Class


def is_given_another(live: LiveProgram, call: CallSite, site: AttributeSite) -> bool:
    """Whether what is read is the wrapped model (`call`) without an option alone, and the wrap needs what that makes.

    PPI 21c41af ddp_train.py:296: `policy = self.model`, and under `if cfg.training.use_ema:` it is `self.ema_model`, which
    is None without that option, and which line 178 moves to the GPU beside the wrap.
    """
    cls, path = call.function.cls, dotted_name(site.node.value)
    if cls is None or cls is not site.function.cls or "." in path or not path:
        return False
    read = place_of_any(site.node)
    given = [arm for arm in arms(site.function).get(path, ()) if place_of_any(arm.statement) < read]
    if not given or len(given) != len(assignments(site.function).get(path, ())):
        return False
    last = max(given, key=lambda arm: place_of_any(arm.statement))
    other = dotted_name(last.value)
    return (
        other.startswith("self.")
        and bool(last.held)
        and all(holds and _is_needed(live, call, cls, other, flag) for flag, holds in last.known())
    )


def _is_needed(live: LiveProgram, call: CallSite, cls: Class, path: str, option: str) -> bool:
    """Whether a class makes what it keeps under an option alone, and what wraps uses it, whatever the option."""
    made = [
        (method, arm)
        for method in cls.methods.values()
        for arm in arms(method).get(path, ())
        if not isinstance(arm.value, ast.Constant)
        and not any(dotted_name(each) == path for each in walk(arm.value, ast.Attribute))
    ]
    # What copies the model below the wrap is wrapped, too.
    above = all(
        arm.statement.lineno < call.node.lineno
        if method is call.function
        else method.name == "__init__"
        for method, arm in made
    )
    empty = any(
        isinstance(value, ast.Constant) and value.value is None
        for method in cls.methods.values()
        for value in assignments(method).get(path, ())
    )
    if not (empty and made and above and all((option, True) in a.known() for _, a in made)):
        return False
    held = {id(guard.node) for guard in call.guards}
    uses = (
        live.call_at(node)
        for node in own_nodes(call.function, ast.Call)
        if isinstance(node.func, ast.Attribute) and dotted_name(node.func.value) == path
    )
    return any(
        use is not None
        and not use.site.tries
        and held.issuperset(id(g.node) for g in use.site.guards)
        for use in uses
    )
