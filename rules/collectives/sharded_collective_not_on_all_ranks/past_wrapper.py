"""Whether neither FSDP nor DeepSpeed can run the training of a program, by what its steps call."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from distlint.analysis.program.definitions import dotted_name
from distlint.analysis.program.inherited import objects_of, running
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.analysis.questions.wrapped import without_gradients
from distlint.knowledge import wrappers
from distlint.nodes import last_name

if TYPE_CHECKING:
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Function

_APART = ("eval", "valid", "test", "infer", "sample", "generate", "log", "save", "load")


@remembered
def trains_past_wrapper(live: LiveProgram, function: Function) -> bool:
    """Whether the training steps call a method of the prepared model behind the wrapper's back, which sharded
    parameters do not allow, and no `prepare()` takes the model with its optimizer, as DeepSpeed needs it.

    Amphion d3de90f models/vc/Noro/noro_trainer.py:295: `self.w2v.extract_content_features(speech)`, and
    `self.accelerator.prepare(component)` for one after the other.
    """
    objects = objects_of(live.program, function)
    alike: list[Collection[Function]] = [running(live.program, cls) for cls in objects]
    return all(
        not _prepared_at_once(together)
        and any(_calls_past(live, f, _prepared(together)) for f in _steps(together))
        for together in alike or [[function]]
    )


def _prepared_at_once(functions: Collection[Function]) -> bool:
    """Whether a call prepares an optimizer with what it steps; true as well where none prepares anything."""
    calls = [
        node
        for function in functions
        for node in own_nodes(function, ast.Call)
        if last_name(node.func) == "prepare"
    ]
    return not calls or any(
        any(isinstance(argument, ast.Starred) for argument in call.args)
        or (
            len(call.args) > 1
            and any("opt" in dotted_name(argument).lower() for argument in call.args)
        )
        for call in calls
    )


def _steps(functions: Collection[Function]) -> Iterator[Function]:
    """The functions that send a loss backward, and those that they call by name."""
    backward = [f for f in functions if any(_is_called(n, "backward") for n in own_nodes(f))]
    called = {last_name(n.func) for f in backward for n in own_nodes(f, ast.Call)}
    for function in functions:
        apart = any(word in function.name.lower() for word in _APART)
        if not apart and (function in backward or function.name in called):
            yield function


def _is_called(node: ast.AST, method: str) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) == method


def _prepared(functions: Collection[Function]) -> set[str]:
    """What is assigned from a call that prepares, by path."""
    return {
        path
        for function in functions
        for path, values in assignments(function).items()
        if any(isinstance(each, ast.Call) and "prepare" in last_name(each.func) for each in values)
    }


def _calls_past(live: LiveProgram, function: Function, prepared: set[str]) -> bool:
    """Whether a function calls a method of a prepared model that is none of every module, with gradients or without."""
    summaries = live.summaries_of(function)
    read = {
        id(site.node)
        for _, summary in (summaries.summaries() if summaries is not None else ())
        for site in summary.attributes
        if any(wrap.kind == "accelerate" for wrap in site.receiver.wraps)
    }
    for node in own_nodes(function, ast.Call):
        match node:
            case ast.Call(func=ast.Attribute(attr=method, value=owner) as called):
                inner = isinstance(owner, ast.Attribute) and owner.attr == "module"
                past = id(owner if inner else called) in read
                past = past or dotted_name(owner).removesuffix(".module") in prepared
                own = method not in wrappers.MODULE_ATTRIBUTES | wrappers.PREPARED_ATTRIBUTES
                if past and own and not without_gradients(function, node):
                    return True
    return False
