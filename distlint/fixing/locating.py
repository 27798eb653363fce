"""From ranges in `ast` coordinates to LibCST nodes and what is above them.

`ast` counts columns in UTF-8 bytes. LibCST can report byte offsets in UTF-8 too, so the two meet in
offsets from the start of the text and no column is ever converted to code points here.
"""

from __future__ import annotations

import bisect
import dataclasses
import functools
from collections.abc import Iterator

import libcst as cst
from libcst.metadata import ByteSpanPositionProvider, MetadataWrapper

from distlint.edits import Span
from distlint.patterns import pattern
from distlint.records import dataclass

Statement = cst.BaseSmallStatement | cst.BaseCompoundStatement
Block = cst.Module | cst.IndentedBlock | cst.SimpleStatementSuite
Line = cst.SimpleStatementLine | cst.SimpleStatementSuite

_SEMICOLON = pattern(rb"(?:[ \t\f]|\\(?:\r\n|\r|\n))*;")
_LINE_END = pattern(rb"\r\n|\r|\n")


class Refused(Exception):
    """Why an edit cannot be carried out, as half a sentence."""


@dataclass(frozen=True, slots=True)
class Range:
    """Offsets into the UTF-8 text, end exclusive."""

    start: int
    end: int

    def contains(self, other: Range) -> bool:
        return self.start <= other.start and other.end <= self.end

    def overlaps(self, other: Range) -> bool:
        return self.start < other.end and other.start < self.end


class Tree:
    """A parsed file whose nodes are found by `ast` ranges.

    `shifts` says for a line (from 1) how many bytes at its start were taken away before parsing
    (form feeds, which LibCST loses): `ast` columns on that line count them.
    """

    def __init__(self, module: cst.Module, text: str, shifts: dict[int, int]) -> None:
        self.module = module
        self.utf8 = text.encode("utf-8", "surrogatepass")
        self._shifts = shifts
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(self.utf8))]
        wrapper = MetadataWrapper(module, unsafe_skip_copy=True)
        self._spans = wrapper.resolve(ByteSpanPositionProvider)
        self._parents = _parents(module)
        self._statements: dict[Range, Statement] = {}
        self._expressions: dict[Range, cst.BaseExpression | cst.Arg] = {}
        for node, place in self._spans.items():
            where = Range(place.start, place.start + place.length)
            if isinstance(node, cst.BaseSmallStatement | cst.BaseCompoundStatement):
                self._statements[where] = node
                # `ast` ends a block behind a semicolon that closes its last line.
                if isinstance(node, cst.BaseCompoundStatement) and (
                    closing := _SEMICOLON.match(self.utf8, where.end)
                ):
                    self._statements[Range(where.start, closing.end())] = node
            elif isinstance(node, cst.BaseExpression):
                # Of nodes with one range the outermost is the `ast` node: `a` in the pattern or
                # string part of the same extent comes before the node that holds it.
                self._expressions[self._ast_range(node, where)] = node
            elif isinstance(node, cst.Arg) and (node.keyword is not None or node.star):
                self._expressions[where] = node

    def _ast_range(self, node: cst.BaseExpression, where: Range) -> Range:
        """The range `ast` gives a node: tuples and generators own their parentheses there."""
        if not isinstance(node, cst.Tuple | cst.GeneratorExp):
            return where
        if node.lpar:
            left, right = self._spans[node.lpar[-1]], self._spans[node.rpar[0]]
            # The right parenthesis' own range starts with the white space before it.
            closing = self.utf8.rindex(b")", right.start, right.start + right.length)
            return Range(left.start, closing + 1)
        if isinstance(node, cst.GeneratorExp):  # the only argument shares the call's parentheses
            opening = self.utf8.rfind(b"(", 0, where.start)
            closing = self.utf8.find(b")", where.end)
            return Range(opening, closing + 1)
        return where

    def range_of(self, span: Span) -> Range:
        """Raises Refused where the span lies outside the file."""
        return Range(
            self._offset(span.line, span.column), self._offset(span.end_line, span.end_column)
        )

    def _offset(self, line: int, column: int) -> int:
        if not 1 <= line <= len(self._starts) or column < 0:
            raise Refused(f"line {line} is not in the file")
        offset = self._starts[line - 1] + max(column - self._shifts.get(line, 0), 0)
        if offset > len(self.utf8):
            raise Refused(f"column {column} is not in line {line}")
        return offset

    def extent(self, node: cst.CSTNode) -> Range:
        """The node's own range: without decorators, comments above, parentheses around."""
        place = self._spans[node]
        return Range(place.start, place.start + place.length)

    def statement(self, span: Span) -> Statement:
        """The statement at exactly this range. Raises Refused where there is none."""
        found = self._statements.get(self.range_of(span))
        if found is None:
            raise Refused(f"no statement stands at {_place(span)}")
        return found

    def target(self, span: Span) -> Statement | cst.BaseExpression | cst.Arg:
        """The statement, else the expression or argument, at this range. Raises Refused."""
        where = self.range_of(span)
        found = self._statements.get(where) or self._expressions.get(where)
        if found is None:
            raise Refused(f"no statement or expression stands at {_place(span)}")
        return found

    def parent(self, node: cst.CSTNode) -> cst.CSTNode:
        return self._parents[node]

    def ancestors(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """From the node's parent up to the module."""
        while not isinstance(node, cst.Module):
            node = self._parents[node]
            yield node

    def line_of(self, statement: Statement) -> Line | cst.BaseCompoundStatement:
        """The line that holds a small statement; a compound statement itself."""
        if isinstance(statement, cst.BaseCompoundStatement):
            return statement
        line = self._parents[statement]
        assert isinstance(line, cst.SimpleStatementLine | cst.SimpleStatementSuite)
        return line

    def block_of(self, statement: Statement) -> Block | cst.If:
        """The block that holds a statement; for an `elif`, the `if` that it continues."""
        line = self.line_of(statement)
        if isinstance(line, cst.SimpleStatementSuite):
            return line
        parent = self._parents[line]
        assert isinstance(parent, cst.Module | cst.IndentedBlock | cst.If)
        return parent

    def expression_range(self, node: cst.BaseExpression) -> Range:
        """The range that `ast` gives the expression."""
        return self._ast_range(node, self.extent(node))

    def indentation_at(self, offset: int) -> str:
        """The white space at the start of the line that holds an offset."""
        start = self._starts[bisect.bisect_right(self._starts, offset) - 1]
        line = self.utf8[start:offset]
        return line[: len(line) - len(line.lstrip(b" \t"))].decode()

    def text_around(self, where: Range) -> tuple[str, str]:
        """The character before and the one after a range; empty at the ends of the file."""
        before = self.utf8[: where.start].decode("utf-8", "ignore")[-1:] if where.start else ""
        return before, self.utf8[where.end : where.end + 4].decode("utf-8", "ignore")[:1]


@functools.cache
def _fields(kind: type[cst.CSTNode]) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind))


def _parents(module: cst.Module) -> dict[cst.CSTNode, cst.CSTNode]:
    """The parent of every node. A visitor such as LibCST's own provider takes ten times as long."""
    parents: dict[cst.CSTNode, cst.CSTNode] = {}
    stack: list[cst.CSTNode] = [module]
    while stack:
        node = stack.pop()
        for name in _fields(type(node)):
            value = getattr(node, name)
            for child in value if isinstance(value, list | tuple) else (value,):
                if isinstance(child, cst.CSTNode):
                    parents[child] = node
                    stack.append(child)
    return parents


def statements_of(block: Block) -> list[Statement]:
    """The statements of a block in order, those that share a line each by itself."""
    statements: list[Statement] = []
    for item in block.body:
        if isinstance(item, cst.SimpleStatementLine):
            statements.extend(item.body)
        elif isinstance(item, cst.BaseSmallStatement | cst.BaseCompoundStatement):
            statements.append(item)
    return statements


def comments_in(node: cst.CSTNode) -> list[cst.Comment]:
    """Every comment of a subtree, in the order of the text."""
    found: list[cst.Comment] = []
    stack: list[cst.CSTNode] = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, cst.Comment):
            found.append(current)
        else:
            stack.extend(reversed(current.children))
    return found


def _place(span: Span) -> str:
    return f"{span.line}:{span.column}-{span.end_line}:{span.end_column}"
