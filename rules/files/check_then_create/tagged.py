"""Removals of a file where an engine has made a folder."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from distlint.analysis.live.joint_entry import ranked
from distlint.analysis.program.handed import argument_of
from distlint.analysis.program.syntax import assignments, literals, own_nodes
from distlint.nodes import last_name, walk

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.model import Model
    from distlint.analysis.questions.filesystem import FileCall

_ASKS_FOR_FILE: Final = frozenset({"isfile", "is_file"})


def is_a_folder(model: Model, found: FileCall) -> bool:
    """Whether a helper removes a parameter if it is a file, and all ranks hand it what DeepSpeed has made: folders.

    FunASR dfcc5d4 funasr/utils/misc.py:108: `os.remove(path)` under `isfile(path)`, of a checkpoint's tag (deepspeed 0.19.2
    deepspeed/runtime/engine.py, `save_checkpoint`: "one checkpoint is a directory below `save_dir`").
    """
    path, function = found.path, found.function
    if not isinstance(path, ast.Name) or path.id not in function.parameters:
        return False
    asks = any(
        holds and isinstance(part, ast.Call) and last_name(part) in _ASKS_FOR_FILE
        for guard in found.site.guards
        for part, holds in literals(guard.node, guard.taken)
    )
    callers = [site for site in model.callers.get(function, ()) if not ranked(site)]
    return asks and bool(callers) and all(_is_tag(site, found, path.id) for site in callers)


def _is_tag(site: CallSite, found: FileCall, name: str) -> bool:
    """Whether a call hands on a path in the folder into which an engine saves in the same arm, and nothing else does."""
    given = argument_of(site.node, found.function, name)
    if isinstance(given, ast.Name):
        above = [
            v for v in assignments(site.function).get(given.id, ()) if v.lineno < site.node.lineno
        ]
        given = max(above, key=lambda value: value.lineno, default=given)
    match given:
        case ast.Call(args=[folder, _]) if last_name(given) == "join":
            pass
        case _:
            return False
    for arm in (n for n in own_nodes(site.function, ast.If)):
        inside = [part for statement in arm.body for part in walk(statement)]
        if site.node in inside:
            calls = [n for n in inside if isinstance(n, ast.Call)]
            saved = [
                keyword.value
                for n in calls
                if last_name(n) == "save_checkpoint" and any(k.arg == "tag" for k in n.keywords)
                for keyword in n.keywords
                if keyword.arg == "save_dir"
            ]
            plain = any(ast.unparse(n.func) == "torch.save" for n in calls)
            if not plain and any(ast.unparse(each) == ast.unparse(folder) for each in saved):
                return True
    return False
