"""The classes that annotations name."""

from __future__ import annotations

import ast

from distlint.analysis.program.definitions import Class, Module, dotted_name, last_name
from distlint.analysis.program.program import Program


class Annotations:
    """What the annotations of one program mean."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._types: dict[tuple[Module, int], str | None] = {}

    def type_of(self, module: Module, annotation: ast.expr | None) -> str | None:
        """The class that an annotation names (also quoted, `Optional[X]`, `X | None`), or None."""
        if annotation is None:
            return None
        key = (module, id(annotation))
        if key not in self._types:
            self._types[key] = self._type_of(module, annotation)
        return self._types[key]

    def _type_of(self, module: Module, node: ast.expr) -> str | None:
        match node:
            case ast.Constant(value=str() as text):
                try:
                    return self._type_of(module, ast.parse(text, mode="eval").body)
                except (SyntaxError, ValueError, RecursionError, MemoryError):
                    return None
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                sides = [self._type_of(module, side) for side in (left, right)]
                known = [s for s in sides if s is not None]
                return known[0] if len(known) == 1 else None
            case ast.Subscript(value=ast.Name() | ast.Attribute() as value, slice=inner) if (
                last_name(value) == "Optional"
            ):
                return self._type_of(module, inner)
            case ast.Name() | ast.Attribute():
                meaning = self._program.resolve_dotted(module, dotted_name(node))
                if isinstance(meaning, Class):
                    return meaning.full_name
                if (
                    isinstance(meaning, str)
                    and "." in meaning
                    and meaning.rpartition(".")[2][:1].isupper()
                ):
                    return meaning if not meaning.startswith(("typing.", "collections.")) else None
        return None
