"""Whether what a function makes where it is missing is there already, since all ranks made it on their way."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import Function, dotted_name, last_name
from distlint.analysis.program.handed import argument_of
from distlint.analysis.program.syntax import assignments, own_nodes, own_parts, statements
from distlint.knowledge import sinks
from distlint.knowledge.schema import Effect
from distlint.nodes import walk

if TYPE_CHECKING:
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.questions.filesystem import FileCall

_SAME: Final = frozenset({"Path", "pathlib.Path", "str", "os.fspath", "os.path.abspath"})
"""Calls that give the path that they get."""
_MAKES: Final = frozenset({"makedirs", "mkdir"})
_DEPTH: Final = 3


def is_there_already(live: LiveProgram, found: FileCall) -> bool:
    """Whether the same path was made above, by the function itself or by each that calls it.

    Cream 4a13c40 AutoFormer/supernet_train.py:313: `output_dir.mkdir(parents=True)` where it is missing, in `main(args)`;
    `Path(args.output_dir).mkdir(parents=True, exist_ok=True)` stands in front of the call.
    """
    if found.path is None or found.effect is Effect.DELETE:
        return False
    written = _written(found.path, found.function, _DEPTH)
    return written != "" and _is_made(live, found.function, found.site.node, written, _DEPTH)


def _is_made(
    live: LiveProgram, function: Function, call: ast.Call, written: str, depth: int
) -> bool:
    inside = list(statements(function.body, []))
    home = next((tests for node, tests in inside if call in own_parts(node)), None)
    if home is None:
        return False
    for node, tests in inside:
        if node.lineno < call.lineno and all(
            any(test is each for each in home) or _written(test, function, _DEPTH) == written
            for test in tests
        ):
            for part in own_parts(node):
                if isinstance(part, ast.Call) and _makes(live, function, part, written):
                    return True
    return depth > 0 and _is_made_by_callers(live, function, written, depth - 1)


def _is_made_by_callers(live: LiveProgram, function: Function, written: str, depth: int) -> bool:
    root, dot, rest = written.partition(".")
    if root not in function.parameters:
        return False
    callers = live.callers.get(function, [])
    for caller in callers:
        given = argument_of(caller.node, function, root)
        above = _written(given, caller.function, _DEPTH) if given is not None else ""
        if not above or not _is_made(
            live, caller.function, caller.node, f"{above}{dot}{rest}", depth
        ):
            return False
    return bool(callers)


def _makes(live: LiveProgram, function: Function, call: ast.Call, written: str) -> bool:
    """Whether a call makes the path, whoever has made it before, or hands it to a function that makes what is missing."""
    if last_name(call.func) in _MAKES:
        match call:
            case ast.Call(args=[path, *_]):
                made = path
            case ast.Call(func=ast.Attribute(value=path)):
                made = path
            case _:
                return False
        return (
            any(
                keyword.arg == "exist_ok"
                and isinstance(keyword.value, ast.Constant)
                and keyword.value.value is True
                for keyword in call.keywords
            )
            and _written(made, function, _DEPTH) == written
        )
    callee = live.resolve(function.module, call.func)
    return isinstance(callee, Function) and any(
        _written(given, function, _DEPTH) == written and _makes_what_is_missing(callee, name)
        for name in callee.parameters
        if (given := argument_of(call, callee, name)) is not None
    )


def _makes_what_is_missing(function: Function, parameter: str) -> bool:
    """Whether a function does something where a path is missing that it is given, other than to fail.

    LatentSync a229c39 latentsync/utils/util.py:277: `huggingface-cli download` in another process.
    """
    return any(
        isinstance(node, ast.If)
        and isinstance(node.test, ast.UnaryOp)
        and isinstance(node.test.op, ast.Not)
        and _asks_for(node.test.operand, function, parameter)
        and not isinstance(node.body[-1], ast.Raise | ast.Return | ast.Continue)
        and any(isinstance(part, ast.Call) for part in walk(node.body[-1]))
        for node in function.body
    )


def _asks_for(asked: ast.expr, function: Function, parameter: str) -> bool:
    if not isinstance(asked, ast.Call):
        return False
    test = last_name(asked.func)
    path = asked.args[0] if asked.args else getattr(asked.func, "value", None)
    return (
        test in _TESTS
        and isinstance(path, ast.expr)
        and _written(path, function, _DEPTH) == parameter
    )


_TESTS: Final = sinks.EXISTENCE_METHODS | {
    name.rpartition(".")[2] for name in sinks.EXISTENCE_TESTS
}


def _written(node: ast.expr, function: Function, depth: int) -> str:
    """A path as the function's caller would write it: `args.output_dir`, "" for what is put together."""
    match node:
        case ast.Call(func=made, args=[inner], keywords=[]) if dotted_name(made) in _SAME:
            return _written(inner, function, depth)
        case ast.Constant(value=str() as text):
            return repr(text)
        case ast.Name(id=name):
            given = assignments(function).get(name, [])
            if name in function.parameters:
                return name if not given or _fills_none(function, name, given) else ""
            if len(given) == 1 and depth:
                return _written(given[0], function, depth - 1) or name
            return "" if given else name
        case ast.Attribute():
            path = dotted_name(node)
            return "" if assignments(function).get(path) else path
    return ""


def _fills_none(function: Function, name: str, given: list[ast.expr]) -> bool:
    """Whether a parameter is set only where the caller has given none: `if path is None: path = …`."""
    inside = {
        id(part)
        for node in own_nodes(function)
        if isinstance(node, ast.If) and ast.unparse(node.test) == f"{name} is None"
        for statement in node.body
        for part in walk(statement)
    }
    return all(id(value) in inside for value in given)
