"""Whether a program ends behind a statement: nobody waits there for what it has written."""

from __future__ import annotations

import ast
from typing import Final

from distlint.analysis.model import Model
from distlint.analysis.program.definitions import Function
from distlint.analysis.program.linked import importers
from distlint.analysis.program.syntax import own_nodes
from distlint.nodes import last_name, walk
from distlint.repairs.meeting import calls_of

_DEEP: Final = 3
"""So many calls up a program's end is looked for: `main()` of `run()` of the script."""
_SAYS: Final = frozenset({"print", "debug", "info", "warning", "error", "log", "finish", "close"})
"""What is called last and reads no file: words on the screen, loggers that are closed."""
_WORDS: Final = frozenset({"str", "repr", "len", "format", "join", "round", "time", "now"})
"""What is called for the words themselves."""


def ends_program(model: Model, function: Function, statement: ast.stmt, depth: int = _DEEP) -> bool:
    """Whether nothing but words follows a statement, in its function and in all that call it.

    Chinese-Vicuna bd1658d finetune.py:283: `model.save_pretrained(OUTPUT_DIR)` is the last line of the script.
    """
    if not _ends_block(function.body, statement):
        return False
    if function.is_module_body:
        return importers(model.program, function.module) <= {function.module}
    calls = list(calls_of(model, function)) if depth else []
    statements = [(user, _statement_of(user, call)) for user, call in calls]
    return bool(calls) and all(
        each is not None and ends_program(model, user, each, depth - 1) for user, each in statements
    )


def _statement_of(function: Function, call: ast.Call) -> ast.Expr | None:
    """The statement that is a call and nothing else: `main()`, `fire.Fire(main)`."""
    return next((n for n in own_nodes(function, ast.Expr) if n.value is call), None)


def _ends_block(block: list[ast.stmt], statement: ast.stmt) -> bool:
    """Whether a block ends behind a statement in it, at any depth of tests, with nothing but words below."""
    for index, each in enumerate(block):
        if not all(map(_only_says, block[index + 1 :])):
            continue
        if each is statement:
            return True
        match each:
            case ast.If(body=body, orelse=orelse):
                return _ends_block(body, statement) or _ends_block(orelse, statement)
            case ast.With(body=body):
                return _ends_block(body, statement)
    return False


def _only_says(statement: ast.stmt) -> bool:
    match statement:
        case ast.Pass():
            return True
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.Expr(value=ast.Call() as call):
            inside = [n for part in (*call.args, *call.keywords) for n in walk(part)]
            return last_name(call.func) in _SAYS and all(
                last_name(n) in _WORDS for n in inside if isinstance(n, ast.Call)
            )
        case ast.If(body=body, orelse=orelse):
            return all(map(_only_says, (*body, *orelse)))
    return False
