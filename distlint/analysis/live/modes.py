"""Calls of two modes of a program, of which each run has one: what an option decides for both."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import Function, dotted_name
from distlint.analysis.program.syntax import assignments, literals

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite

_MAX_NAMES: Final = 3
"""So many names, one given by the other, are followed."""


def never_both(one: CallSite, other: CallSite) -> bool:
    """Whether an option that nothing changes lets a run come to one of two calls alone.

    modelscope/FunASR 3c58cb5 funasr/train_utils/trainer_ds.py:475: `if self.use_deepspeed:` around what reads, and
    `else:` above the write.
    """
    chosen = dict(_answers(one))
    return any(key in chosen and _exclude(chosen[key], answer) for key, answer in _answers(other))


def _answers(site: CallSite) -> Iterator[tuple[Hashable, tuple[object, bool]]]:
    """What options a call waits for: `args.engine == "deepspeed"` asks for a value, `args.fsdp` whether it is set."""
    for guard in site.guards:
        for asked, value, holds in _said(guard.node, guard.taken, site.function, _MAX_NAMES):
            option = _option(asked, site.function)
            if option is not None:
                yield (option, isinstance(value, bool)), (value, holds)


def _said(
    test: ast.expr, taken: bool, function: Function, names: int
) -> Iterator[tuple[ast.expr, object, bool]]:
    """What a condition says of its parts, and of what the names among them were given once.

    transfuser 22b3ccd team_code_transfuser/train.py:62: `parallel = bool(args.parallel_training)`. benchmark 0e83c44
    userbenchmark/dynamo/dynamobench/common.py:3998: `args.init_distributed = args.only and args.multiprocess`.
    """
    for part, holds in literals(test, taken):
        asked, value = _asked(part)
        yield asked, value, holds
        given = _given_once(asked, function) if value is True and names else None
        if given is not None:
            yield from _said(given, holds, function, names - 1)


def _asked(condition: ast.expr) -> tuple[ast.expr, object]:
    match condition:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[ast.Constant(value=value)]):
            return left, value
        case ast.Call(func=ast.Name(id="bool"), args=[asked]):
            return asked, True
    return condition, True


def _exclude(one: tuple[object, bool], other: tuple[object, bool]) -> bool:
    (value, holds), (another, too) = one, other
    return holds != too if value == another else holds and too


def _given_once(node: ast.expr, function: Function) -> ast.expr | None:
    """What a function gives a name of its own, or an attribute that no other function of the file assigns."""
    name = dotted_name(node)
    match node:
        case ast.Name() if name not in function.parameters:
            pass
        case ast.Attribute() if name and not name.startswith("self."):
            if any(f is not function and assignments(f).get(name) for f in _in_file(function)):
                return None
        case _:
            return None
    given = assignments(function).get(name, [])
    return given[0] if len(given) == 1 else None


def _in_file(function: Function) -> tuple[Function, ...]:
    return (function.module.body, *function.module.all_functions)


def _option(node: ast.expr, function: Function) -> Hashable | None:
    """An attribute that keeps what it was given at the start; None for what a run may change."""
    name = dotted_name(node)
    if "." not in name or not isinstance(node, ast.Attribute):
        return None
    writers = {f for f in function.module.all_functions if assignments(f).get(name)}
    if not name.startswith("self."):
        return name if not writers else None
    cls = function.cls
    if cls is None or any(f.name != "__init__" for f in writers if f.cls is cls):
        return None
    return (cls.full_name, name)
