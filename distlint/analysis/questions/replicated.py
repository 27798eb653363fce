"""Where a model is put into DDP, and the functions that may train it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import last_name
from distlint.analysis.program.linked import importers
from distlint.analysis.program.syntax import own_nodes
from distlint.analysis.questions.sharding import shown
from distlint.knowledge import facts
from distlint.patterns import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.live.summaries import CallGroup
    from distlint.analysis.program.definitions import Function

_PREPARE: Final = "accelerate.Accelerator.prepare"
_OTHER: Final = pattern(
    r"DataParallel|DDP|DistributedDataParallel|FSDP|FullyShardedDataParallel|initialize"
)

_OF_ONE: Final = frozenset({"dp", "compile"})
"""Kinds of wrapper that leave each process by itself."""


def wraps(live: LiveProgram) -> list[CallGroup]:
    """The calls that put DDP around a model, and those of `prepare` where nothing speaks of sharding."""
    kinds = {"ddp", "mm_ddp"} if live.answer(shown) else {"ddp", "mm_ddp", "accelerate"}
    return [call for call, fact in _wrapping(live) if not kinds.isdisjoint(fact.kinds)]


def engines(live: LiveProgram) -> list[CallGroup]:
    """The calls that let a model be trained by several ranks, in whatever mode."""
    return [call for call, fact in _wrapping(live) if not _OF_ONE.issuperset(fact.kinds)]


def _wrapping(live: LiveProgram) -> Iterator[tuple[CallGroup, facts.WrapFact]]:
    """The calls that put a wrapper around a model, each with which."""
    for call in live.calls():
        fact = facts.wrapper(call.site.name)
        if fact is not None:
            yield call, fact


def wrap_of(live: LiveProgram, function: Function, *, prepared: bool) -> CallGroup | None:
    """A call that may put DDP around what a function trains.

    Args:
        live: the program.
        function: what trains.
        prepared: whether an Accelerator sends its losses backward.
    """
    for wrap in live.answer(wraps):
        if (wrap.site.name == _PREPARE) is not prepared:
            continue
        if wrap.site.function is not function and _wraps_itself(function):
            continue
        if _may_reach(live, wrap, function):
            return wrap
    return None


def engine_of(live: LiveProgram, function: Function) -> CallGroup | None:
    """A call that may let several ranks train what a function trains."""
    return next(
        (
            wrap
            for wrap in live.answer(engines)
            if _is_used(live, wrap, function) and _may_reach(live, wrap, function)
        ),
        None,
    )


def _is_used(live: LiveProgram, wrap: CallGroup, function: Function) -> bool:
    """Whether a wrapper that is a method of a class may be that of a function: its own class's, or one its file names.

    microsoft/LoRA c4593f0 examples/NLU/examples/legacy/run_openai_gpt.py trains on one device by a loop of its own, and
    takes a model from the package whose `Trainer` wraps what that is given.
    """
    owner = wrap.site.function.cls
    if owner is None or wrap.site.module is function.module:
        return True
    if function.cls is not None and owner in live.program.mro(function.cls)[0]:
        return True
    return owner.name in function.module.source.text or any(
        owner.name in site.module.source.text for site in live.callers.get(function, ())
    )


def _may_reach(live: LiveProgram, wrap: CallGroup, function: Function) -> bool:
    """Whether what is wrapped may come to a function: one file imports the other, or that of a caller does."""
    known = importers(live.program, function.module)
    callers = [site.module for site in live.callers.get(wrap.site.function, ())]
    return any(
        m in known or function.module in importers(live.program, m)
        for m in (wrap.site.module, *callers)
    )


def _wraps_itself(function: Function) -> bool:
    """Whether a function wraps its model itself, in whatever."""
    return any(_OTHER.fullmatch(last_name(n.func)) for n in own_nodes(function, ast.Call))
