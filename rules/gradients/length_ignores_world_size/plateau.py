"""A prepared ReduceLROnPlateau: each step counts as many bad epochs as there are processes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import dotted_name, last_name
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.analysis.questions.lengths import mentions_processes

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.program.definitions import Function

_PLATEAU: Final = "ReduceLROnPlateau"


def prepared_plateaus(site: CallSite) -> Iterator[tuple[ast.Call, ast.AST]]:
    """The plateau schedulers that a call of `prepare` gets, each with a step of it.

    Music-Source-Separation-Training train_accelerate.py:234: accelerate 1.15.0 accelerate/scheduler.py:76 steps it once
    for each process.
    """
    near = beside(site.function)
    for argument in site.node.args:
        path = dotted_name(argument)
        made = [v for f in near for v in assignments(f).get(path, ()) if v is not site.node]
        calls = [v for v in made if isinstance(v, ast.Call) and last_name(v.func) == _PLATEAU]
        step = next((n for f in near for n in own_nodes(f) if _is_step(n, path)), None)
        if len(calls) == 1 and step is not None and not mentions_processes(calls[0]):
            yield calls[0], step


def beside(function: Function) -> list[Function]:
    """The methods of a method's class; of another function, itself."""
    return [*function.cls.methods.values()] if function.cls is not None else [function]


def _is_step(node: ast.AST, path: str) -> bool:
    """Whether a node tells a scheduler the value of a metric."""
    match node:
        case ast.Call(
            func=ast.Attribute(attr="step", value=scheduler), args=args, keywords=keywords
        ):
            return bool(path and (args or keywords)) and dotted_name(scheduler) == path
    return False
