"""What is only called above the wrap of the model: what it meets is bare."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.places import innermost_at
from distlint.analysis.program.syntax import own_nodes
from distlint.knowledge import facts
from distlint.nodes import walk

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import AttributeSite, CallSite
    from distlint.analysis.interpreter.values import Wrap
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Function

Named = dict[str, list["CallSite"]]

_DEPTH: Final = 3
"""So many methods call one another above the wrap: LTX-Video-Trainer 31b1273 src/ltxv_trainer/trainer.py:514."""


def above_the_wrap(live: LiveProgram, function: Function, wrap: Wrap) -> bool:
    """Whether a method is called only by what wraps, and above the wrap, or by others of which that is so.

    Args:
        live: the program.
        function: the method.
        wrap: the layer that is put around the model.
    """
    return _is_above(live, function, wrap, live.answer(calls_by_name), _DEPTH)


def wrapped_anew_below(live: LiveProgram, site: AttributeSite) -> bool:
    """Whether what only some paths have wrapped is put into such a wrapper below all the same: the two are alternatives.

    CT-Net 83badd6 main_ddp.py:250: the optimizer of what `--tune_from` loads, four lines above DDP, below what `--resume`
    has wrapped. So it is where all that hand the wrapped model to the function wrap it below.

    Args:
        live: the program.
        site: a read of a wrapped model.
    """
    wrap = site.receiver.wraps[-1]
    if wrap.always or not facts.replicates([wrap.kind]):
        return False
    if _wraps_below(live, site, ast.unparse(site.node.value)):
        return True
    handed = [
        _wraps_below(live, caller, ast.unparse(node))
        for caller in live.callers.get(site.function, ())
        for node, value in zip(caller.node.args, caller.args, strict=False)
        if any(layer.node is wrap.node for layer in value.wraps)
    ]
    return bool(handed) and all(handed)


def _wraps_below(live: LiveProgram, site: AttributeSite | CallSite, path: str) -> bool:
    """Whether whoever comes past a place puts what is named there into DDP, whatever the launch."""
    held = {(id(guard.node), guard.taken) for guard in site.guards}
    for node in own_nodes(site.function, ast.Assign):
        match node:
            case ast.Assign(targets=[target], value=ast.Call(args=[given, *_]) as call) if (
                node.lineno > site.node.lineno and path == ast.unparse(target) == ast.unparse(given)
            ):
                made = live.call_at(call)
                fact = facts.wrapper(made.site.name) if made is not None else None
                if made is None or fact is None or not facts.replicates(fact.kinds):
                    continue
                if all((id(g.node), g.taken) in held for g in made.site.guards if not g.exits):
                    return True
    return False


def calls_by_name(live: LiveProgram) -> Named:
    """The calls that are followed, by the names of the functions that they call."""
    found: Named = {}
    for call in live.calls():
        if call.site.callee is not None:
            found.setdefault(call.site.callee.name, []).append(call.site)
    return found


def _is_above(
    live: LiveProgram,
    function: Function,
    wrap: Wrap,
    by_name: Named,
    depth: int,
) -> bool:
    cls = function.cls
    if cls is None or not depth:
        return False
    family = live.program.mro(cls)[0]
    callers = [
        caller
        for caller in by_name.get(function.name, ())
        if caller.callee is not None and caller.callee.cls in family
    ]
    # A method that overrides another calls it, which says nothing of when either is called. Nor do those of objects that
    # another class wraps: TFace 171ec14 recognition/tasks has a dozen trainers, each with a wrap of its own.
    wrapping = innermost_at(wrap.module, getattr(wrap.node, "lineno", 1)).cls
    callers = [
        c
        for c in callers
        if c.function.name != function.name
        and (
            c.function.cls is None
            or wrapping is None
            or live.program.may_share_objects(c.function.cls, wrapping)
        )
    ]
    return bool(callers) and all(
        caller.node.lineno < line
        if (line := _line_of_wrap(caller.function, wrap, by_name))
        else _is_above(live, caller.function, wrap, by_name, depth - 1)
        for caller in callers
    )


def _line_of_wrap(function: Function, wrap: Wrap, by_name: Named) -> int:
    """Where a function wraps, itself or by the method that it calls; 0 where it does not."""
    if any(node is wrap.node for node in walk(function.node)):
        return int(getattr(wrap.node, "lineno", 0))
    lines = [
        call.node.lineno
        for sites in by_name.values()
        for call in sites
        if call.function is function
        and call.callee is not None
        and any(node is wrap.node for node in walk(call.callee.node))
    ]
    return min(lines, default=0)
