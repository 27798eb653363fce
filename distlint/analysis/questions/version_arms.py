"""Branches for a version of a library that the project does not ask for."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.memory import remembered
from distlint.nodes import last_name, walk
from distlint.patterns import pattern
from distlint.records import dataclass

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Module

_ASKS: Final = pattern(r"is_(\w+?)_version$")
"""`is_torch_version(">=", "1.11.0")` (accelerate 1.15.0 utils/versions.py, diffusers, transformers)."""
_NUMBER: Final = pattern(r"v?(\d+(?:\.\d+)+|\d+)")
_FROM: Final = {">=", ">"}
_BELOW: Final = {"<", "<="}
_SIGNS: Final[dict[type[ast.cmpop], str]] = {
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Lt: "<",
    ast.LtE: "<=",
}


@dataclass(frozen=True, slots=True)
class OldArm:
    """Lines that run only with a library older than a version."""

    first: int
    last: int
    package: str
    version: tuple[int, ...]


@remembered
def arms_for_old_versions(module: Module) -> tuple[OldArm, ...]:
    """The branches of a file that only older versions of a library come to.

    hallo 8fd7c57 hallo/models/unet_2d_blocks.py:933: the arm of `is_torch_version(">=", "1.11.0")` that is not taken.
    """
    text = module.source.text
    return tuple(_arms(module)) if "_version" in text else ()


def _arms(module: Module) -> Iterator[OldArm]:
    for node in walk(module.source.tree):
        match node:
            case ast.If(test=test, body=body, orelse=orelse):
                parts: tuple[list[ast.stmt] | list[ast.expr], ...] = (body, orelse)
            case ast.IfExp(test=test, body=one, orelse=other):
                parts = ([one], [other])
            case _:
                continue
        asked = _asked(module, test)
        if asked is None:
            continue
        sign, package, version = asked
        old = parts[1] if sign in _FROM else parts[0]
        if old:
            yield OldArm(old[0].lineno, old[-1].end_lineno or old[-1].lineno, package, version)


def _asked(module: Module, test: ast.expr) -> tuple[str, str, tuple[int, ...]] | None:
    """The sign, the package and the version of a test; None where it asks something else."""
    match test:
        case ast.Call(
            func=func, args=[ast.Constant(value=str(sign)), ast.Constant(value=str(number))]
        ) if (called := _ASKS.match(last_name(func))) and sign in _FROM | _BELOW:
            return _with_number(sign, called[1], number)
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _SIGNS:
            packages = [
                module.imports.get(node.value.id, node.value.id)
                for node in walk(left, ast.Attribute)
                if node.attr == "__version__" and isinstance(node.value, ast.Name)
            ]
            numbers = [
                node.value for node in walk(right, ast.Constant) if isinstance(node.value, str)
            ]
            if len(packages) == len(numbers) == 1:
                return _with_number(_SIGNS[type(op)], packages[0], numbers[0])
    return None


def _with_number(sign: str, package: str, text: str) -> tuple[str, str, tuple[int, ...]] | None:
    number = _NUMBER.match(text)
    return (sign, package, tuple(map(int, number[1].split(".")))) if number is not None else None
