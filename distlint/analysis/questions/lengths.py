"""Numbers of steps that a function computes from the length of a loader, before or after it is prepared."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.syntax import assignments
from distlint.nodes import last_name, walk
from distlint.patterns import pattern
from distlint.records import dataclass

if TYPE_CHECKING:
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Function

_DEPTH: Final = 4
_RANKS: Final = pattern(r"num_processes|world|devices|gpus|n_gpu|replicas|num_nodes|num_ranks")
"""Parts of names for the number of ranks; of Lightning's `devices` and `gpus` for a number of a node."""


@dataclass(frozen=True, slots=True, eq=False)
class Length:
    """`len(loader)` in a number of steps; `prepared` is the call that the loader goes through in the function."""

    node: ast.Call
    loader: str
    prepared: ast.Call

    @property
    def of_all(self) -> bool:
        """Whether it counts the batches of all ranks: it is asked for before the loader is prepared."""
        return self.node.lineno < self.prepared.lineno


def prepared(live: LiveProgram, function: Function) -> dict[str, ast.Call]:
    """What a function gives to an Accelerator's `prepare`, by name, with the call."""
    found: dict[str, ast.Call] = {}
    for call in live.calls("accelerate.Accelerator.prepare", module=function.module):
        if call.site.function is function:
            for argument in call.site.node.args:
                found.setdefault(ast.unparse(argument), call.site.node)
    return found


def lengths(
    function: Function, steps: ast.expr, loaders: dict[str, ast.Call]
) -> list[Length] | None:
    """The lengths that a number of steps is computed from.

    Args:
        function: where it is computed.
        steps: the number.
        loaders: what is prepared there.

    Returns:
        None where the number of processes is in it, too.
    """
    found: list[Length] = []
    for part in expanded(function, steps):
        if mentions_processes(part):
            return None
        found += lengths_in(part, loaders)
    return found


def lengths_in(number: ast.expr, loaders: dict[str, ast.Call]) -> Iterator[Length]:
    """The lengths of prepared loaders that are written in a number."""
    for node in walk(number, ast.Call):
        match node:
            case ast.Call(func=ast.Name(id="len"), args=[loader]):
                if (text := ast.unparse(loader)) in loaders:
                    yield Length(node, text, loaders[text])


def mentions_processes(node: ast.expr) -> bool:
    """Whether the number of ranks is in an expression, by its name."""
    return any(counts_processes(last_name(n)) for n in walk(node, ast.Name, ast.Attribute))


def counts_processes(word: str) -> bool:
    """Whether a name is that of the number of ranks."""
    return _RANKS.search(word) is not None


def expanded(function: Function, node: ast.expr, depth: int = _DEPTH) -> Iterator[ast.expr]:
    """An expression, and what the variables in it that are assigned once are made of."""
    yield node
    if depth:
        for part in walk(node, ast.Name, ast.Attribute):
            values = assignments(function).get(ast.unparse(part), [])
            if len(values) == 1 and values[0] is not node:
                yield from expanded(function, values[0], depth - 1)
