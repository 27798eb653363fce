"""The options of a file's command line, as `argparse` is told of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distlint.analysis.program.definitions import Module
from distlint.analysis.program.memory import remembered
from distlint.nodes import walk
from distlint.records import dataclass


@dataclass(frozen=True, slots=True)
class Option:
    """An option or positional argument: `parser.add_argument("--lr", default=0.1)`."""

    name: str
    """The attribute of the namespace under which its value is found."""
    flags: tuple[str, ...]
    given: dict[str, ast.expr]
    """What the call passes by keyword."""
    call: ast.Call

    @property
    def default(self) -> ast.expr | None:
        """What it is where the command line does not say; None where that is not written."""
        return self.given.get("default")

    @property
    def is_positional(self) -> bool:
        """Whether it has no name on the command line."""
        return not any(flag.startswith("-") for flag in self.flags)


@remembered
def options_of(module: Module) -> tuple[Option, ...]:
    """The options that a file declares, in the order of its lines; none whose name is computed."""
    return tuple(_declared(module.source.tree))


def _declared(tree: ast.AST) -> Iterator[Option]:
    for node in walk(tree, ast.Call):
        match node:
            case ast.Call(func=ast.Attribute(attr="add_argument"), args=args, keywords=keywords):
                given = {k.arg: k.value for k in keywords if k.arg is not None}
                flags = tuple(
                    a.value
                    for a in args
                    if isinstance(a, ast.Constant) and isinstance(a.value, str)
                )
                name = _name(flags, given.get("dest"))
                if name:
                    yield Option(name, flags, given, node)


def _name(flags: tuple[str, ...], dest: ast.expr | None) -> str:
    """What `argparse` calls an option: as told, else by its first long flag, else by its first."""
    match dest:
        case ast.Constant(value=str(name)):
            return name
        case None:
            long = [flag for flag in flags if flag.startswith("--")]
            first = next(iter(long or flags), "")
            return first.lstrip("-").replace("-", "_")
    return ""
