"""Folders that every rank has made before, in a way that does no harm twice: the test behind finds them."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.interpreter.ir import CallSite, Guard
from distlint.analysis.interpreter.ranks import NODE_MAIN
from distlint.analysis.program.definitions import Class, Function, dotted_name
from distlint.analysis.program.syntax import literals, own_nodes
from distlint.analysis.questions.filesystem import (
    FileCall,
    asked_paths,
    file_calls,
    same_path,
    tolerated,
)
from distlint.analysis.questions.keywords import keyword_values
from distlint.analysis.questions.made_by_parent import made_by_parent
from distlint.analysis.questions.ordering import arguments_of
from distlint.analysis.questions.paths import Parts, bound, holds, parts_of
from distlint.analysis.questions.prepared_by_main import prepared_by_main
from distlint.knowledge.schema import Effect
from distlint.nodes import last_name
from distlint.records import dataclass

if TYPE_CHECKING:
    from distlint.analysis.live.program import LiveProgram

_MAX_CALLERS: Final = 3
_FOLDER: Final = frozenset({"log_dir", "logdir"})
_START: Final = frozenset({"fit", "validate", "test", "predict", "tune"})
"""Methods of Lightning's Trainer that start the other processes, and leave them running."""
_WRITERS: Final = (
    "torch.utils.tensorboard.SummaryWriter",
    "torch.utils.tensorboard.writer.SummaryWriter",
    "tensorboardX.SummaryWriter",
)
"""What makes the folder of its first argument at once, and whatever is missing above it, whether it is there or not: torch 2.13.0
torch/utils/tensorboard/writer.py, `SummaryWriter.__init__`; tensorboardX 2.6.4 event_file_writer.py, `directory_check`."""


def made_before(live: LiveProgram, found: FileCall) -> bool:
    """Whether a folder is there on every rank that comes to the call that would make it.

    DeiT's `__main__` makes `args.output_dir` with `exist_ok=True`, and `main(args)` asks for it again (microsoft/Cream
    4a13c40 AutoFormer/supernet_train.py:312).
    """
    if found.effect is not Effect.CREATE_DIR or found.path is None:
        return False
    folder = parts_of(found.path, found.function)
    return _made_on_the_way(live, found.site, folder, _MAX_CALLERS)


def prepared_before(live: LiveProgram, found: FileCall) -> bool:
    """Whether rank 0 has prepared a file alone, or a data module's `setup` calls what its `prepare_data` has called, which asks
    whether all is there.

    One process has run that before any rank comes to `setup` (lightning 2.6.6 trainer/connectors/data_connector.py).
    HazyResearch/based 32c1bd4 train/datamodules/language_modeling_hf.py:237: `process_dataset()` ends at once where its
    cache is.
    """
    if prepared_by_main(live, found.function):
        return True
    entry = found.joint_entry
    hook = entry.call.function if entry is not None and entry.call is not None else found.function
    if hook.name != "setup" or hook.cls is None or "prepare_data" not in hook.cls.methods:
        return False
    prepares = hook.cls.methods["prepare_data"]
    return any(
        name in _own_calls(prepares) and _leads_to(live, hook.cls, name, found.function)
        for name in _own_calls(hook)
    )


def _own_calls(function: Function) -> set[str]:
    """The methods of its own object that a method calls."""
    return {
        node.func.attr
        for node in own_nodes(function, ast.Call)
        if isinstance(node.func, ast.Attribute) and dotted_name(node.func.value) == "self"
    }


def _leads_to(live: LiveProgram, cls: Class, name: str, function: Function) -> bool:
    """Whether a method asks what is there, and calls a function for the rest."""
    method = live.program.find_method(cls, name)
    return (
        method is not None
        and any(asked_paths(node.test) for node in own_nodes(method, ast.If))
        and (method is function or function.name in _own_calls(method))
    )


def left_to_first(live: LiveProgram, found: FileCall) -> bool:
    """Whether each rank that comes to a call has made the folder of it itself, which one rank alone can.

    UniVLA 0ab9e9d latent_action_model/genie/model.py:188: `makedirs(folder)` without a test or `exist_ok`, on every rank;
    all others have failed where the first one saves.
    """
    if found.path is None:
        return False
    path = parts_of(found.path, found.function)
    return any(
        made.path is not None and holds(parts_of(made.path, made.function), path)
        for made in passed_by_one(live, found)
    )


def passed_by_one(live: LiveProgram, found: FileCall) -> Iterator[FileCall]:
    """What makes a folder above a call, on every way to it, and fails on all ranks but one."""
    site = found.site
    passed = {(id(guard.node), guard.taken) for guard in site.guards}
    return (
        made
        for made in live.answer(file_calls)
        if made.effect is Effect.CREATE_DIR
        and made.function is found.function
        and made.path is not None
        and made.by_several
        and made.site.node.lineno < site.node.lineno
        and {(id(guard.node), guard.taken) for guard in made.site.guards} <= passed
        and made.site.loops == site.loops
        and not tolerated(made.site)
        and same_path(live, made)
    )


def made_before_fit(found: FileCall) -> bool:
    """Whether a path is asked for in front of the `fit` of Lightning that shows the ranks.

    Where that starts the others, by running the script again, or what follows in it alone, the first process has made by
    then what they ask for. insightface 7fadd42 reconstruction/gaze/trainer_gaze.py:61.
    """
    entry = found.joint_entry
    fit = entry.node if entry is not None else None
    if entry is None or not isinstance(fit, ast.Call) or last_name(fit.func) != "fit":
        return False
    place = entry.call or found.site
    started = [n.lineno for n in own_nodes(place.function, ast.Call) if last_name(n.func) in _START]
    # monolithic_examples 55fce10 lightning_train.py:32: a script fetches, and the function that stands below it fits.
    behind = place.function is place.module.body
    return (
        entry.module is place.module
        and (behind or any(node is fit for node in own_nodes(place.function)))
        and place.node.lineno < min((*started, fit.lineno))
        and not place.loops
    )


def _made_on_the_way(live: LiveProgram, site: CallSite, folder: Parts, depth: int) -> bool:
    makers = live.answer(_makers).get(site.function, ())
    if any(_makes_first(made, site, folder) for made in makers) or _made_by_constructor(
        live, site.function, folder
    ):
        return True
    if made_by_parent(live, site.function, folder):
        return True
    callers = live.callers.get(site.function, ())
    return bool(depth and callers) and all(
        caller.function is not site.function
        and (
            _is_seen(caller, above := bound(folder, _arguments(live, caller, site.function)))
            or _made_on_the_way(live, caller, above, depth - 1)
        )
        for caller in callers
    )


def _arguments(live: LiveProgram, caller: CallSite, callee: Function) -> dict[Hashable, Parts]:
    """The paths that a call passes, in a dict that it hands on as well."""
    passed = arguments_of(caller, callee)
    if any(keyword.arg is None for keyword in caller.node.keywords):
        for name in callee.parameters:
            given = keyword_values(live.program, caller.function, caller.node, name)
            if given is not None and len(given) == 1:
                passed["parameter", id(callee), name] = parts_of(given[0], caller.function)
    return passed


def _is_seen(site: CallSite, folder: Parts) -> bool:
    """Whether a call is made where a file in a folder was found alone.

    bezier_curve_text_spotting 3ec0271 maskrcnn_benchmark/engine/inference.py:91: all ranks evaluate where there is a
    `predictions.pth`, and the evaluation makes the folder of it.
    """
    return any(
        len(path := parts_of(asked, site.function)) > len(folder) and holds(folder, path)
        for guard in site.guards
        for part, found in literals(guard.node, guard.taken)
        if found
        for asked in asked_paths(part)
    )


def _made_by_constructor(live: LiveProgram, method: Function, folder: Parts) -> bool:
    """Whether the constructor of a method's class has made a folder that an attribute names, on every rank that has one.

    moment 38f7310 tutorials/finetune_demo/classification.py:309: `__init__` has made `self.args.output_path` for its log.
    """
    first = live.program.find_method(method.cls, "__init__") if method.cls is not None else None
    if first is None or first is method:
        return False
    return any(
        dotted_name(made.path).startswith("self.")
        and holds(folder, path := parts_of(made.path, first))
        and not made.site.loops
        and all(_asks_for_it(guard, path, first) for guard in made.site.guards)
        for made in live.answer(_makers).get(first, ())
    )


@dataclass(frozen=True, slots=True)
class _Made:
    """A call by which every rank makes a folder, and the expression of that."""

    site: CallSite
    path: ast.expr


def _makers(live: LiveProgram) -> dict[Function, list[_Made]]:
    """The calls that make a folder on every rank, by function: a rank that fails there gets no further.

    ParallelWaveGAN 8674037 parallel_wavegan/bin/train.py:145: `main()` has made `args.outdir`, and is told of it there.
    """
    found: dict[Function, list[_Made]] = {}
    for call in live.answer(file_calls):
        if call.effect is Effect.CREATE_DIR and call.by_several and call.path is not None:
            found.setdefault(call.function, []).append(_Made(call.site, call.path))
    for group in live.calls(*_WRITERS):
        given = [
            *group.site.node.args,
            *(k.value for k in group.site.node.keywords if k.arg in _FOLDER),
        ]
        if given and len(group.classes - {NODE_MAIN}) > 1:
            found.setdefault(group.site.function, []).append(_Made(group.site, given[0]))
    return found


def _makes_first(made: _Made, site: CallSite, folder: Parts) -> bool:
    """Whether a call that makes a folder, or one in it, stands before another on every way to that."""
    function = made.site.function
    path = parts_of(made.path, function)
    passed = {id(guard.node) for guard in site.guards}
    return (
        made.site.node.lineno < site.node.lineno
        and set(made.site.loops) <= set(site.loops)
        and holds(folder, path)
        and all(
            id(guard.node) in passed or _asks_for_it(guard, path, function)
            for guard in made.site.guards
        )
    )


def _asks_for_it(guard: Guard, path: Parts, function: Function) -> bool:
    """Whether a condition keeps nobody from a folder: whether there is a name for it, or it is missing."""
    return all(
        _is_named(part, path, function)
        if holds_here
        else [parts_of(each, function) for each in asked_paths(part)] == [path]
        for part, holds_here in literals(guard.node, guard.taken)
    )


def _is_named(condition: ast.expr, path: Parts, function: Function) -> bool:
    match condition:
        case ast.Compare(
            left=name, ops=[ast.IsNot() | ast.NotEq()], comparators=[ast.Constant(value=None | "")]
        ):
            return holds(parts_of(name, function), path)
        case _:
            return holds(parts_of(condition, function), path)
