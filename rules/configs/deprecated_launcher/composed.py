"""Launches that a program puts together of words and runs below itself, and the parsers that refuse the rank they pass."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from distlint.analysis.model import Model, place_of
from distlint.analysis.program.linked import imported
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import own_nodes
from distlint.findings import Applicability, Finding, Fix, Related, Severity
from distlint.nodes import last_name
from distlint.repairs.arguments import with_first
from distlint.repairs.guarding import source

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Function, Module

_CODE, _NAME = "DL805", "deprecated-launcher"
_RUNS: Final = frozenset({"Popen", "run", "call", "check_call", "check_output", "system"})
_LAUNCHER: Final = "torch.distributed.launch"
_OTHERWISE: Final = frozenset({"--use_env", "--use-env"})
"""Options with which the launcher passes no rank."""
_PASSED: Final = "--local-rank"


def refused_here(
    model: Model, module: Module, own: list[tuple[ast.expr, list[str]]]
) -> Iterator[Finding]:
    """An argument that is declared as the launcher does not spell it, in a file that has the program start itself so.

    FlagAI 9a885f3 flagai/trainer.py:251, whose `launch_dist` (flagai/launch.py:149) puts `python -m torch.distributed.launch`
    in front of the script.
    """
    if len(own) != 1 or not isinstance(call := own[0][0], ast.Call) or not _parses(module, call):
        return
    for maker in sorted(imported(model.program, module), key=lambda each: each.path):
        for found in composed(maker):
            if _PASSED not in own[0][1]:
                advice = "Declare both spellings"
                text = (
                    f"Every rank ends with `unrecognized arguments: {_PASSED}`: the launch that the program puts together "
                    f"passes it. {advice}."
                )
                written = source(module.source.text, call.args[0])
                both = written.replace(own[0][1][0], _PASSED)
                first = with_first(module.source.text, call, both)
                started = Related(place_of(maker, found), "put together here")
                fix = Fix(Applicability.SAFE, advice, (first,))
                place = place_of(module, call)
                yield Finding(_CODE, _NAME, Severity.WARNING, text, place, (started,), fix)
                return


def _parses(module: Module, declared: ast.Call) -> bool:
    """Whether the parser of an argument ends with what it does not know: `parser.parse_args()` for the same parser."""
    parser = declared.func.value if isinstance(declared.func, ast.Attribute) else declared.func
    calls = [
        node
        for function in module.all_functions
        for node in own_nodes(function, ast.Call)
        if isinstance(node.func, ast.Attribute) and ast.dump(node.func.value) == ast.dump(parser)
    ]
    names = {last_name(call.func) for call in calls if not call.args and not call.keywords}
    return "parse_args" in names and "parse_known_args" not in {last_name(c.func) for c in calls}


@remembered
def composed(module: Module) -> list[ast.List]:
    """The launches that functions of a file put together of words, and run."""
    if _LAUNCHER not in module.source.text:
        return []
    return [
        node
        for function in module.all_functions
        if _runs(function)
        for node in own_nodes(function, ast.List)
        if _is_launch(node)
    ]


def _runs(function: Function) -> bool:
    """Whether a function runs commands, or another one of its file does, and none of its words has launchers pass nothing."""
    texts = {node.value for node in own_nodes(function, ast.Constant)}
    return texts.isdisjoint(_OTHERWISE) and any(
        isinstance(node, ast.Call) and last_name(node.func) in _RUNS
        for each in function.module.all_functions
        for node in own_nodes(each)
    )


def _is_launch(words: ast.List) -> bool:
    texts = [each.value if isinstance(each, ast.Constant) else None for each in words.elts]
    return ("-m", _LAUNCHER) in pairwise(texts)
