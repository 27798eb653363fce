"""Writes of one path on both arms of a test of the rank."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.interpreter.ranks import MAIN
from distlint.analysis.interpreter.values import Variance
from distlint.knowledge.schema import Effect

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.questions.filesystem import FileCall


def either_way(model: Model) -> Iterator[tuple[FileCall, FileCall]]:
    """The writes of the other ranks to what rank 0 writes on the other arm of one test, each with that of rank 0.

    baby-llama2-chinese issue 56: `if rank == 0: torch.save(…, path)`, `else: torch.save(…, path)`.
    """
    writes = [
        found
        for found in model.file_calls
        if found.joint_entry is not None and found.effect is Effect.WRITE and found.path is not None
    ]
    for other in writes:
        if MAIN in other.ranks or not other.ranks or not _is_one_path(other):
            continue
        for main in writes:
            if (
                main.function is other.function
                and main.ranks == {MAIN}
                and main.text == other.text
                and _is_other_arm(main, other)
            ):
                yield other, main
                break


def _is_one_path(found: FileCall) -> bool:
    """Whether all ranks that make a write name one file."""
    return all(
        path is not None and path.variance is Variance.UNIFORM and "rank" not in path.tags
        for _, _, path in found.sites
    )


def _is_other_arm(main: FileCall, other: FileCall) -> bool:
    """Whether the innermost conditions of two calls are one test that comes out differently."""
    ours, theirs = main.site.guards, other.site.guards
    if not ours or not theirs:
        return False
    return (
        ours[-1].node is theirs[-1].node
        and ours[-1].taken is not theirs[-1].taken
        and not isinstance(main.site.statement, ast.With)
    )
