"""Calls of two modes of a program, of which each run has one: what an option decides for both."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING

from distlint.analysis.program.definitions import Function, dotted_name
from distlint.analysis.program.syntax import assignments, literals

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite


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
        for part, holds in literals(guard.node, guard.taken):
            asked, value = _asked(part)
            option = _option(asked, site.function)
            if option is not None:
                yield (option, isinstance(value, bool)), (value, holds)


def _asked(condition: ast.expr) -> tuple[ast.expr, object]:
    match condition:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[ast.Constant(value=value)]):
            return left, value
    return condition, True


def _exclude(one: tuple[object, bool], other: tuple[object, bool]) -> bool:
    (value, holds), (another, too) = one, other
    return holds != too if value == another else holds and too


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
