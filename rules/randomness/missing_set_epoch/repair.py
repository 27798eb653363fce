"""The call of `set_epoch` that a program lacks, and where it goes."""

from __future__ import annotations

import ast

from distlint.analysis.model import span_of
from distlint.analysis.program.definitions import Function
from distlint.analysis.program.environment import statements
from distlint.analysis.program.syntax import own_nodes
from distlint.edits import Insert
from distlint.findings import Applicability, Fix
from distlint.nodes import walk

from .epochs import EpochLoop, epoch_of


def holder_of(function: Function, node: ast.AST) -> str | None:
    """The variable that holds the sampler, or what is built around it in one statement."""
    for statement in own_nodes(function):
        if isinstance(statement, ast.Assign) and node in walk(statement.value):
            return ast.unparse(statement.targets[0])
    return None


def repaired(function: Function, call: ast.Call, loop: EpochLoop) -> Fix:
    """The fix: an edit where sampler and loop stand in one function, else advice."""
    epoch = epoch_of(loop)
    if not epoch:
        advice = (
            "Count the passes over the data, and call `set_epoch(count)` of the sampler before each"
        )
        return Fix(Applicability.DISPLAY, advice)
    target = holder_of(function, call)
    advice = f"Call `set_epoch({epoch})` of the sampler at the start of each epoch"
    holder = next(
        (
            s
            for s, above in statements(function.body)
            if isinstance(s, ast.Assign)
            and s.value is call
            and not any(isinstance(a, (ast.FunctionDef, ast.ClassDef)) for a in above)
        ),
        None,
    )
    if target is None or not _is_local(function, loop):
        return Fix(Applicability.DISPLAY, advice)
    code = f"{target}.set_epoch({epoch})"
    if holder is None or not any(s is holder for s in function.body):
        others = _other_values(function, target, call)
        inline = _in_loader(function, call)
        if inline is None and not others:
            return Fix(Applicability.DISPLAY, advice)
        if inline is not None:
            code = f"{target}.sampler.set_epoch({epoch})"
        else:
            code = f"if hasattr({target}, 'set_epoch'):\n    {code}".replace("'", '"')
    return Fix(
        Applicability.UNSAFE,
        f"Call `{code.rpartition(chr(10))[2].strip()}` at the start of each epoch",
        (Insert(span_of(loop.body[0]), code),),
    )


def _is_local(function: Function, loop: EpochLoop) -> bool:
    return any(node is loop for node in own_nodes(function))


def _other_values(function: Function, target: str, call: ast.Call) -> bool:
    """Whether the variable may hold another sampler, or None, in runs on one process."""
    return any(
        isinstance(s, ast.Assign) and ast.unparse(s.targets[0]) == target and s.value is not call
        for s in own_nodes(function)
    )


def _in_loader(function: Function, call: ast.Call) -> ast.Call | None:
    """The loader that is built around the sampler in the same expression, in every run."""
    for statement in function.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call):
            for keyword in statement.value.keywords:
                if keyword.arg == "sampler" and keyword.value is call:
                    return statement.value
    return None
