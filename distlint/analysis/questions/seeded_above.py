"""Whether anything that runs before a call may seed the generator that it draws from.

A seed further down, in another script of the program or in a function that nobody has called by then changes nothing
about a draw. Followed are the calls above in the function, those above in all that call it, and what these call.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import Class, Function
from distlint.analysis.program.handed import calls_of
from distlint.analysis.program.linked import imported_below
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import own_nodes
from distlint.analysis.questions.seeding import call_names_rank
from distlint.knowledge import facts
from distlint.knowledge.hooks import STARTED_BY
from distlint.nodes import last_name, walk
from distlint.patterns import pattern

if TYPE_CHECKING:
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Module

_WORDS: Final = ("seed", "determin", "reproduc")
"""Parts of the names of what seeds."""
_ASKS: Final = pattern(r"_*(?:get|shared?|draw|generate|next|resolve)_")
"""Beginnings of names of what only gives a seed: `comm.shared_random_seed()` (detectron2 0.6 utils/comm.py)."""
_SEEDS_BESIDE: Final = ("transformers.Trainer", "transformers.TrainingArguments")
"""Classes whose objects seed when they are made: of a Trainer the constructor does (transformers 5.23.0
transformers/trainer.py, `enable_full_determinism`, `set_seed`), for its arguments as well."""
_COMMAND_LINE: Final = "lightning.pytorch.cli.LightningCLI"
"""Seeds all ranks alike before it makes anything, where it is not told otherwise (lightning 2.2.1 lightning/pytorch/cli.py:309 and
697); pytorch-lightning 1.5.10's, of `utilities.cli`, has None for its default."""
_DEPTH: Final = 4


def never_seeded(live: LiveProgram, function: Function, call: ast.AST, stream: str) -> bool:
    """Whether all ways to a call are known, and nothing on any of them may seed `stream` ("python", "numpy", "torch").

    A seed that the rank is part of makes the ranks draw differently, as none does.
    """
    return _unseeded_at(live, function, getattr(call, "lineno", 0), stream, _DEPTH)


def _unseeded_at(live: LiveProgram, function: Function, line: int, stream: str, depth: int) -> bool:
    if not depth or _seeds_above(live, function, line, stream):
        return False
    if function.is_module_body:
        return True
    users = [
        (user, call)
        for user, call in calls_of(live.program, function)
        if user is not function and _may_mean(live, user, call, function)
    ]
    if not users:
        return _is_begun(live, function)
    return all(_unseeded_at(live, user, call.lineno, stream, depth - 1) for user, call in users)


def names_seeding(called: ast.expr) -> bool:
    """Whether what is called seeds, by its name."""
    name = last_name(called).lower()
    return any(word in name for word in _WORDS) and _ASKS.match(name) is None


@remembered
def seeds_by_command_line(live: LiveProgram, module: Module) -> bool:
    """Whether a file has Lightning's command line make the data and the model, which seeds before.

    FlowDCN aa48042 main.py:76: a class that derives from `LightningCLI`.
    """
    return "CLI" in module.source.text and any(
        _is_command_line(live, module, node) for node in walk(module.source.tree, ast.Call)
    )


def _is_command_line(live: LiveProgram, module: Module, call: ast.Call) -> bool:
    meaning = live.resolve(module, call.func)
    named = live.program.mro(meaning)[1] if isinstance(meaning, Class) else [meaning]
    return _COMMAND_LINE in named and not any(
        keyword.arg == "seed_everything_default"
        and isinstance(keyword.value, ast.Constant)
        and (keyword.value.value is None or keyword.value.value is False)
        for keyword in call.keywords
    )


@remembered
def _is_begun(live: LiveProgram, function: Function) -> bool:
    """Whether ranks begin with a function, each in an interpreter of its own: `mp.spawn(function, …)`."""
    for call in live.calls(*STARTED_BY):
        place, keyword = STARTED_BY[call.site.name]
        given = call.site.argument_node(place, keyword)
        if given is not None and live.resolve(call.site.module, given) is function:
            return True
    return False


def _may_mean(live: LiveProgram, user: Function, call: ast.Call, function: Function) -> bool:
    """Whether a call by a function's name is not known to be of something else: a method of an object may be any."""
    meaning = live.resolve(user.module, call.func)
    if meaning is None:
        return isinstance(call.func, ast.Attribute) is (function.cls is not None)
    if isinstance(meaning, Class):
        return function.name == "__init__"
    return meaning is function


def _seeds_above(live: LiveProgram, function: Function, line: int, stream: str) -> bool:
    """Whether a function seeds above a line, or what its file reads does when it is imported."""
    return any(
        node.lineno < line and _may_seed(live, function.module, node, stream, _DEPTH)
        for node in own_nodes(function, ast.Call)
    ) or any(
        _seeds_on_import(live, each, stream)
        for each in imported_below(live.program, function.module)
    )


@remembered
def _seeds_on_import(live: LiveProgram, module: Module, stream: str) -> bool:
    """Whether a file seeds when it is imported."""
    main = [
        (node.lineno, node.end_lineno or node.lineno)
        for node in module.source.tree.body
        if isinstance(node, ast.If) and "__main__" in ast.unparse(node.test)
    ]
    return any(
        _may_seed(live, module, node, stream, _DEPTH)
        for node in own_nodes(module.body, ast.Call)
        if not any(first <= node.lineno <= last for first, last in main)
    )


def _may_seed(live: LiveProgram, module: Module, call: ast.Call, stream: str, depth: int) -> bool:
    """Whether a call seeds, by its name or by what it leads to."""
    if depth <= 0:
        return False
    if _is_command_line(live, module, call):
        return True
    meaning = live.resolve(module, call.func)
    if isinstance(meaning, str):
        return _library_seeds(meaning, call, stream)
    if isinstance(meaning, Class):
        if not set(_SEEDS_BESIDE).isdisjoint(facts.with_bases(live.program.mro(meaning)[1])):
            return True
        made = live.program.find_method(meaning, "__init__")
        return made is not None and _leads_to_seed(live, made, stream, depth - 1)
    if call_names_rank(call) or _is_of_own_generator(live, module, call):
        return False
    if names_seeding(call.func):
        return not isinstance(meaning, Function) or _leads_to_seed(live, meaning, stream, depth - 1)
    meant = _meant(live, module, meaning, last_name(call.func))
    return any(_leads_to_seed(live, each, stream, depth - 1) for each in meant)


def _is_of_own_generator(live: LiveProgram, module: Module, call: ast.Call) -> bool:
    """Whether a call seeds a generator that is made there, and no common one.

    ScoreVAE c4e4ba6 data/sphere.py:51: `torch.Generator().manual_seed(0)`.
    """
    match call.func:
        case ast.Attribute(value=ast.Call(func=made), attr="manual_seed"):
            return live.resolve(module, made) == "torch.Generator"
    return False


def _meant(live: LiveProgram, module: Module, meaning: object, name: str) -> Iterator[Function]:
    """The function that a call means; of an object that is not known, all methods of that name in what the file uses."""
    if isinstance(meaning, Function):
        yield meaning
    elif meaning is None and not name.startswith("__"):
        for other in imported_below(live.program, module):
            yield from _methods(other).get(name, ())


def _library_seeds(meaning: str, call: ast.Call, stream: str) -> bool:
    if not set(_SEEDS_BESIDE).isdisjoint(facts.with_bases([meaning])):
        return True
    if not names_seeding(call.func) or call_names_rank(call):
        return False
    owner = meaning.partition(".")[0]
    return owner not in ("random", "numpy", "torch") or owner == (
        "random" if stream == "python" else stream
    )


@remembered
def _methods(module: Module) -> dict[str, list[Function]]:
    """The methods of a file's classes by their names."""
    found: dict[str, list[Function]] = {}
    for cls in module.all_classes:
        for name, method in cls.methods.items():
            found.setdefault(name, []).append(method)
    return found


@remembered
def _leads_to_seed(live: LiveProgram, function: Function, stream: str, depth: int) -> bool:
    return any(
        _may_seed(live, function.module, node, stream, depth)
        for node in own_nodes(function, ast.Call)
    )
