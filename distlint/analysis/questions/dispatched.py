"""Functions of a file of which a process runs one, by its name: `globals()[args.mode](config)`, `@app.command()`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.memory import remembered
from distlint.analysis.program.named import named_from
from distlint.analysis.program.syntax import own_nodes
from distlint.patterns import pattern

if TYPE_CHECKING:
    from collections.abc import Iterable

    from distlint.analysis.program.definitions import Function, Module
    from distlint.analysis.program.program import Program

_CHOOSES: Final = pattern(r"\b(?:globals|locals)\(\)\[[^\]\n]+\]\(|\bFire\(\)")
"""What calls a function of the file by a name that is given: Fire does without an argument (fire 0.7.0 core.py)."""
_COMMAND: Final = "command"
"""The decorator of click and typer."""


def is_of_other_command(
    program: Program,
    function: Function,
    makers: Iterable[tuple[Function, ast.Call]],
    entries: Iterable[Module],
) -> bool:
    """Whether a function is a command of its file, and what makes the process group is in what others alone lead to.

    EasyVolcap 4cb3c00 easyvolcap/scripts/main.py:169: `test` makes no group, `train` does, and `main` runs
    `globals()[args.type](cfg)`.
    """
    commands = commands_of(function.module)
    if function not in commands:
        return False
    run = [
        (entry, each)
        for entry in {*entries, function.module}
        for each in entry.source.tree.body
        if not isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    ]
    reached = {part for _, part in named_from(program, [*run, (function.module, function.node)])}
    below = {part for _, part in named_from(program, [(e.module, e.node) for e in commands])}
    return all(made.node in below - reached for made, _ in makers)


@remembered
def commands_of(module: Module) -> frozenset[Function]:
    """The functions of a file of which a process runs one, and that none of the file calls."""
    chosen = _CHOOSES.search(module.source.text) is not None
    called = {
        node.func.id
        for function in module.all_functions
        for node in own_nodes(function, ast.Call)
        if isinstance(node.func, ast.Name)
    }
    return frozenset(
        each
        for name, each in module.functions.items()
        if name not in called and (chosen or each.has_decorator(_COMMAND))
    )
