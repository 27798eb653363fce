"""What edits mean, said a second time and far more simply: on `ast`, where no layout exists.

The engine's result must have the same tree as this, and besides keep comments and layout.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from spans import span

from distlint.edits import AddImport, Delete, Edit, Insert, Move, Replace, Span, WrapInWith


def expected(source: str, edits: Sequence[Edit]) -> str:
    """The dump of the tree after `edits` (without `prune`), `$name` standing for `name`."""
    tree = ast.parse(source)
    return ast.dump(_Reference(source, tree).carried_out(edits))


def actual(text: str) -> str:
    """The dump of the tree of `text` without the imports from the runtime, and their aliases."""
    tree = ast.parse(text)
    imports = [
        statement
        for statement in tree.body
        if isinstance(statement, ast.ImportFrom) and statement.module == "distlint.runtime"
    ]
    tree.body = [statement for statement in tree.body if statement not in imports]
    written = {alias.asname or alias.name: alias.name for line in imports for alias in line.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = written.get(node.id, node.id)
    return ast.dump(tree)


class _Reference:
    def __init__(self, source: str, tree: ast.Module) -> None:
        self._lines = [line.encode() for line in re.split(r"\r\n|\r|\n", source)]
        self._tree = tree
        self._lists: list[tuple[ast.AST, str, list[ast.stmt]]] = []
        self._statements: dict[Span, ast.stmt] = {}
        self._expressions: dict[Span, tuple[ast.AST, str, int | None]] = {}
        for parent in ast.walk(tree):
            for name, value in ast.iter_fields(parent):
                if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                    self._lists.append((parent, name, value))
                    self._statements.update((span(statement), statement) for statement in value)
                    continue
                for index, child in enumerate(value if isinstance(value, list) else [value]):
                    if isinstance(child, ast.expr):
                        where = (parent, name, index if isinstance(value, list) else None)
                        self._expressions.setdefault(span(child), where)

    def carried_out(self, edits: Sequence[Edit]) -> ast.Module:
        before: dict[ast.stmt, list[ast.stmt]] = {}
        after: dict[ast.stmt, list[ast.stmt]] = {}
        new: dict[ast.stmt, list[ast.stmt]] = {}
        opening: dict[ast.stmt, list[tuple[tuple[int, int], str, ast.stmt]]] = {}
        for edit in edits:
            match edit:
                case Replace(span=where, code=code) if where in self._statements:
                    new[self._statements[where]] = _statements(code)
                case Replace(span=where, code=code):
                    self._put(where, code)
                case Delete(span=where):
                    new[self._statements[where]] = []
                case Insert(span=where, code=code, after=later):
                    (after if later else before).setdefault(self._statements[where], []).extend(
                        _statements(code)
                    )
                case WrapInWith(first=first, last=last, header=header):
                    opening.setdefault(self._statements[first], []).append(
                        ((last.end_line, last.end_column), header, self._statements[last])
                    )
                case Move(span=where, before=other):
                    moved = self._statements[where]
                    new[moved] = []
                    before.setdefault(self._statements[other], []).append(moved)
                case AddImport():
                    raise NotImplementedError("has tests of its own")
        for parent, name, statements in self._lists:
            is_elif = name == "orelse" and self._is_elif(statements[0])
            result = self._block(statements, before, after, new, opening)
            empty_is_fine = isinstance(parent, ast.Module) or is_elif
            setattr(parent, name, result or ([] if empty_is_fine else [ast.Pass()]))
        return self._tree

    def _block(
        self,
        statements: Sequence[ast.stmt],
        before: dict[ast.stmt, list[ast.stmt]],
        after: dict[ast.stmt, list[ast.stmt]],
        new: dict[ast.stmt, list[ast.stmt]],
        opening: dict[ast.stmt, list[tuple[tuple[int, int], str, ast.stmt]]],
    ) -> list[ast.stmt]:
        stack: list[tuple[ast.stmt | None, list[ast.stmt]]] = [(None, [])]
        for statement in statements:
            stack[-1][1].extend(before.get(statement, []))
            for _, header, last in sorted(
                opening.get(statement, []), key=lambda wrap: wrap[0], reverse=True
            ):
                (with_statement,) = _statements(f"with {header}:\n    pass")
                assert isinstance(with_statement, ast.With)
                with_statement.body = []
                stack[-1][1].append(with_statement)
                stack.append((last, with_statement.body))
            stack[-1][1].extend(new.get(statement, [statement]))
            while stack[-1][0] is statement:
                _, body = stack.pop()
                body[:] = body or [ast.Pass()]
            stack[-1][1].extend(after.get(statement, []))
        return stack[0][1]

    def _put(self, where: Span, code: str) -> None:
        parent, name, index = self._expressions[where]
        value = ast.parse(f"({_plain(code)}\n)", mode="eval").body
        if index is None:
            setattr(parent, name, value)
        else:
            getattr(parent, name)[index] = value

    def _is_elif(self, statement: ast.stmt) -> bool:
        line = self._lines[statement.lineno - 1]
        return line[statement.col_offset :].startswith(b"elif")


def _statements(code: str) -> list[ast.stmt]:
    return ast.parse(_plain(code)).body


def _plain(code: str) -> str:
    return code.replace("$", "")
