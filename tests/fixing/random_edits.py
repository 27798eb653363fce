"""Chooses edits of a source at random, the way that rules build them: from `ast` ranges."""

from __future__ import annotations

import ast
import random
import re

from spans import span

from distlint.edits import Delete, Edit, Insert, Move, Replace, Span, WrapInWith

EXPRESSIONS = (
    "$zz_call({})",
    "$zz_call(zz_a, {})",
    "zz_a",
    "zz_a or zz_b",
    "zz_a if zz_b else zz_c",
    "lambda: zz_a",
    "not zz_a",
    "-zz_a",
    "zz_a ** zz_b",
    "zz_a, zz_b",
    "{{'zz': zz_a}}",
    "[zz for zz in zz_a]",
    "$zz_call(\n    zz_a,  # why a\n    zz_b,\n)",
)
STATEMENTS = (
    "$zz_call()",
    "zz_a()\nzz_b()",
    "zz_a(); zz_b()",
    "if zz_a:\n    zz_b()  # why b\nelse:\n    pass",
    "with $zz_call():\n    zz_a()",
    "zz_a = '''one\n  two\n'''",
    "# why all of this\nzz_a()",
    "zz_a(\n    zz_b,  # why b\n)",
)
HEADERS = ("$zz_call(zz_a)", "zz_a, zz_b as zz_c")


class Candidates:
    """The nodes of a source that edits may name."""

    def __init__(self, source: str) -> None:
        self.tree = ast.parse(source)
        self._utf8 = source.encode()
        self._starts = [0, *(m.end() for m in re.finditer(rb"\r\n|\r|\n", self._utf8))]
        self.blocks: list[list[ast.stmt]] = []
        self.expressions: list[ast.expr] = []
        stack: list[ast.AST] = [self.tree]
        while stack:
            parent = stack.pop()
            for name, value in ast.iter_fields(parent):
                children = value if isinstance(value, list) else [value]
                if children and isinstance(children[0], ast.stmt):
                    block = [child for child in children if not _fixed_in_place(child)]
                    if block:
                        self.blocks.append(block)
                for child in children:
                    if isinstance(child, ast.expr) and _replaceable(parent, name, child):
                        self.expressions.append(child)
                    if isinstance(child, ast.AST) and not isinstance(child, _CLOSED):
                        stack.append(child)

    def segment(self, where: Span) -> str:
        start = self._starts[where.line - 1] + where.column
        end = self._starts[where.end_line - 1] + where.end_column
        return self._utf8[start:end].decode()


# Patterns take no calls, and before Python 3.12 the ranges inside f-strings are unreliable.
_CLOSED = (ast.pattern, ast.JoinedStr)


def _fixed_in_place(statement: ast.stmt) -> bool:
    match statement:
        case ast.ImportFrom(module="__future__"):
            return True
        case ast.Expr(value=ast.Constant(value=str())):  # may be a docstring
            return True
        case _:
            return False


def _replaceable(parent: ast.AST, name: str, node: ast.expr) -> bool:
    if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return False
    if isinstance(node, ast.Starred | ast.Slice):
        return False
    if isinstance(parent, ast.Subscript) and name == "slice" and isinstance(node, ast.Tuple):
        return False  # no node of its own in LibCST
    if isinstance(parent, ast.Expr):
        return False  # the statement has the same range
    # The target of an annotation or an augmented assignment is no value.
    return not (isinstance(parent, ast.AnnAssign | ast.AugAssign) and name == "target")


def random_edit(candidates: Candidates, choose: random.Random) -> Edit | None:
    """One edit, or None where the source has no place for the kind that was drawn."""
    kind = choose.choice(("expression", "replace", "delete", "insert", "wrap", "move"))
    if kind == "expression":
        if not candidates.expressions:
            return None
        where = span(choose.choice(candidates.expressions))
        code = choose.choice(EXPRESSIONS)
        return Replace(where, code.format(candidates.segment(where)))
    if not candidates.blocks:
        return None
    block = choose.choice(candidates.blocks)
    index = choose.randrange(len(block))
    where = span(block[index])
    match kind:
        case "replace":
            return Replace(where, choose.choice(STATEMENTS))
        case "delete":
            return Delete(where)
        case "insert":
            return Insert(where, choose.choice(STATEMENTS), after=choose.random() < 0.5)
        case "wrap":
            last = span(block[choose.randrange(index, len(block))])
            return WrapInWith(where, last, choose.choice(HEADERS))
        case _:
            other = choose.choice(choose.choice(candidates.blocks))
            if any(node is other or _is_star(node) for node in ast.walk(block[index])):
                return None
            return Move(where, span(other))


def _is_star(node: ast.AST) -> bool:
    """Whether a node imports all names of a module, which no function may do."""
    return isinstance(node, ast.ImportFrom) and node.names[0].name == "*"
