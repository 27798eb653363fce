"""Folders that are made anew: who takes what another rank has made has not removed it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from distlint.analysis.program.syntax import assignments
from distlint.analysis.questions.paths import holds, parts_of
from distlint.knowledge.schema import Effect

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function
    from distlint.analysis.questions.filesystem import FileCall
    from distlint.analysis.questions.paths import Parts


def is_made_anew(model: Model, made: FileCall) -> bool:
    """Whether a function removes a folder, or one around it, above the call that makes it.

    ABINet 789743c callbacks.py:306: with `exist_ok=True` a slower rank still removes what a faster one has made.
    """
    if made.effect is not Effect.CREATE_DIR or made.path is None:
        return False
    folder = _parts(made.path, made.function)
    return any(
        each.effect is Effect.DELETE
        and each.function is made.function
        and each.site.node.lineno < made.site.node.lineno
        and each.path is not None
        and holds(_parts(each.path, each.function), folder)
        for each in model.file_calls
    )


def _parts(path: ast.expr, function: Function, depth: int = 3) -> Parts:
    """The components of a path, also of one that an attribute holds: `self.attn_root = self.root / "attn"`."""
    made = assignments(function).get(ast.unparse(path), ())
    if isinstance(path, ast.Attribute) and len(made) == 1 and depth:
        return _parts(made[0], function, depth - 1)
    match path:
        case ast.BinOp(left=left, op=ast.Div(), right=right) if depth:
            return _parts(left, function, depth - 1) + parts_of(right, function)
    return parts_of(path, function)
