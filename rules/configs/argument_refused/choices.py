"""What the choices of an option may be, where all that they are put together from is known."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from distlint.analysis.program.definitions import dotted_name
from distlint.knowledge.model_names import OF_HUBS, OF_TORCHVISION
from distlint.records import dataclass

from .tables import is_left_alone

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Module
    from distlint.analysis.program.program import Program

_DEPTH = 8
"""So many names lead to the words at most."""


@dataclass(frozen=True, slots=True)
class Choices:
    """The words that may be given, and how others begin that may be given, too."""

    words: frozenset[str] = frozenset()
    beginnings: tuple[str, ...] = ()

    def takes(self, value: str) -> bool:
        """Whether a value may be one of them."""
        return value in self.words or value.startswith(self.beginnings)

    def __or__(self, other: Choices) -> Choices:
        return Choices(self.words | other.words, self.beginnings + other.beginnings)


def choices_of(program: Program, module: Module, node: ast.expr, depth: int = 0) -> Choices | None:
    """The choices that an expression at the top of a file means; None where a part of them is not known.

    HIPT 780fafa 1-Hierarchical-Pretraining/main_dino4k.py:48: `["vit4k_xs", …] + torchvision_archs + torch.hub.list(…)`.
    """
    if depth > _DEPTH:
        return None
    match node:
        case ast.List(elts=elts) | ast.Tuple(elts=elts) | ast.Set(elts=elts) | ast.Dict(keys=elts):
            known = [each.value for each in elts if isinstance(each, ast.Constant)]
            return Choices(frozenset(map(str, known))) if len(known) == len(elts) else None
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            found = [choices_of(program, module, each, depth + 1) for each in (left, right)]
            return found[0] | found[1] if found[0] is not None and found[1] is not None else None
        case ast.Call(
            func=ast.Name(id="list" | "set" | "sorted" | "tuple"), args=[inner], keywords=[]
        ):
            return choices_of(program, module, inner, depth + 1)
        case ast.Call(func=ast.Attribute(value=inner, attr="keys"), args=[]):
            return choices_of(program, module, inner, depth + 1)
        case ast.Call(func=func, args=[ast.Constant(value=str() as hub), *_]) if (
            program.resolve_dotted(module, dotted_name(func)) == "torch.hub.list"
        ):
            begun = OF_HUBS.get(hub.partition(":")[0])
            return Choices(beginnings=begun) if begun is not None else None
        case (
            ast.ListComp(elt=elt, generators=[made]) | ast.GeneratorExp(elt=elt, generators=[made])
        ) if ast.dump(elt) == ast.dump(made.target).replace("Store()", "Load()"):
            return _some_of(program, module, made.iter, depth)
        case ast.Name():
            return _held(program, module, node, depth)
    return None


def _some_of(program: Program, module: Module, node: ast.expr, depth: int) -> Choices | None:
    """The choices of a comprehension that leaves some out: those of what it goes through may be more."""
    if isinstance(node, ast.Attribute) and node.attr == "__dict__":
        owner = program.resolve_dotted(module, dotted_name(node.value))
        return Choices(beginnings=OF_TORCHVISION) if owner == "torchvision.models" else None
    return choices_of(program, module, node, depth + 1)


def _held(program: Program, module: Module, node: ast.Name, depth: int) -> Choices | None:
    """The choices that a name holds which is set once, at the top of a file, and that nothing changes."""
    home, name = module, node.id
    if (imported := module.imports.get(name)) is not None:
        path, _, name = imported.rpartition(".")
        if (found := program.modules.get(path)) is None:
            return None
        home = found
    given = [
        statement.value
        for statement in home.source.tree.body
        if isinstance(statement, ast.Assign)
        and [each.id for each in statement.targets if isinstance(each, ast.Name)] == [name]
    ]
    if len(given) != 1 or not is_left_alone(program, home, name):
        return None
    return choices_of(program, home, given[0], depth + 1)
