"""Folders that have to be there already, since the next statements read what is in them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from distlint.analysis.program.syntax import statement_with_test
from distlint.analysis.questions.paths import holds, parts_of
from distlint.knowledge.schema import Effect
from distlint.nodes import walk
from distlint.repairs.blocks import block_with

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import Guard
    from distlint.analysis.model import Model
    from distlint.analysis.questions.filesystem import FileCall


def is_read_below(model: Model, found: FileCall, guard: Guard) -> bool:
    """Whether a file in a folder is read right below what makes the folder: a run that had to make it ends there.

    baize-chatbot 4fae6c4 finetune.py:44: `if not os.path.exists("data"): os.makedirs("data")`, and then
    `json.load(open("data/{}_chat_data.json".format(x)))`.
    """
    asking = statement_with_test(found.function, guard.node)
    if found.effect is not Effect.CREATE_DIR or found.path is None or asking is None:
        return False
    block = block_with(found.function, asking) or [asking]
    folder = parts_of(found.path, found.function)
    inside = [
        each
        for each in model.file_calls
        if each.function is found.function
        and each.path is not None
        and (path := parts_of(each.path, each.function)) != folder
        and holds(folder, path)
    ]
    reads = {each.site.node for each in inside if each.effect is Effect.READ}
    others = {each.site.node for each in inside} - reads
    for statement in block[block.index(asking) + 1 :]:
        calls = set(walk(statement, ast.Call))
        if calls:
            # What the file may come from, somebody has called above it.
            return (
                isinstance(statement, ast.Assign | ast.AugAssign | ast.Expr | ast.For | ast.With)
                and not calls.isdisjoint(reads)
                and calls.isdisjoint(others)
            )
    return False
