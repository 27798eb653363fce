"""Edits that let one rank do what all ranks do. Pure data, from syntax alone."""

from __future__ import annotations

import ast
import re

from distlint.analysis.program.places import span_of
from distlint.columns import segment
from distlint.edits import Replace

LEAVES = (ast.Return, ast.Break, ast.Continue, ast.Yield, ast.YieldFrom, ast.Await)
"""What leaves a block, or hands over to somebody else in it."""

_LINES_OF_A_WRITE = 8
"""A statement of more lines does something else besides."""


def source(text: str, node: ast.AST) -> str:
    """A node as written."""
    return segment(text, node) or ast.unparse(node)


def dedented(text: str, statement: ast.stmt) -> str | None:
    """A statement from column 0; None where a comment or a text of several lines in it would not stay."""
    lines = source(text, statement).split("\n")
    if len(lines) > 1 and (any("#" in line for line in lines) or has_long_text(statement)):
        return None
    return "\n".join([lines[0], *(line[statement.col_offset :] for line in lines[1:])])


def comment_behind(text: str, statement: ast.stmt) -> str:
    """The comment on the last line of a statement, with the spaces before it."""
    line = text.split("\n")[(statement.end_lineno or statement.lineno) - 1]
    comment = re.match(r"[ \t]*#.*", line.encode()[statement.end_col_offset or 0 :].decode())
    return comment[0] if comment else ""


def has_long_text(statement: ast.stmt) -> bool:
    """Whether a statement holds a text of several lines, which other indentation would change."""
    return any(
        isinstance(node, ast.Constant | ast.JoinedStr) and node.end_lineno != node.lineno
        for node in ast.walk(statement)
    )


def call_on_main(text: str, call: ast.Call, *, broadcast: bool = False) -> Replace | None:
    """`f(a, b)` becomes `run_on_main(f, a, b)`: rank 0 calls, the others wait for it.

    Args:
        text: the file.
        call: the call.
        broadcast: the other ranks get rank 0's value.

    Returns:
        The edit; None where the call has a keyword that `run_on_main` takes for itself.
    """
    if any(keyword.arg in ("broadcast", "timeout") for keyword in call.keywords):
        return None
    function, whole = source(text, call.func), source(text, call)
    rest = whole[len(function) :].lstrip()[1:]
    if not call.args and not call.keywords:
        value = ", broadcast=True" if broadcast else ""
        return Replace(span_of(call), f"$run_on_main({function}{value})")
    if broadcast:
        rest = re.sub(r",?\s*\)$", ", broadcast=True)", rest)
    own_line = re.match(r"([ \t]*(?:#[^\n]*)?\n)([ \t]*)", rest)
    opening = f"{own_line[1]}{own_line[2]}{function},\n" if own_line else f"{function}, "
    if own_line:
        rest = rest[len(own_line[1]) :]
    return Replace(span_of(call), f"$run_on_main({opening}{rest}")


def statement_on_main(text: str, statement: ast.stmt, test: str) -> Replace | None:
    """A statement goes under `if test:`; the other ranks go on without waiting.

    Args:
        text: the file.
        statement: a statement that stands on lines of its own.
        test: the test of rank 0.

    Returns:
        The edit; None where the statement leaves its block, holds a text of several lines that indenting
        would change, or does more than to write: what a loop hands over one by one may be each rank's share
        (wenet wenet/bin/alignment.py:229).
    """
    if (statement.end_lineno or 0) - statement.lineno >= _LINES_OF_A_WRITE:
        return None
    forbidden = (*LEAVES, ast.For, ast.AsyncFor, ast.While)
    if has_long_text(statement) or any(isinstance(n, forbidden) for n in ast.walk(statement)):
        return None
    lines = (source(text, statement) + comment_behind(text, statement)).split("\n")
    first, rest = lines[0], [line[statement.col_offset :] for line in lines[1:]]
    body = "\n".join(f"    {line}" if line.strip() else line for line in (first, *rest))
    return Replace(span_of(statement), f"if {test}:\n{body}")


def names_bound(statement: ast.stmt) -> set[str]:
    """The names that a statement binds."""
    return {
        node.id
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def names_read_after(block: ast.AST, statement: ast.stmt) -> set[str]:
    """The names that are read in `block` in a line below a statement, or anywhere in a nested function.

    Not what a `with` statement below gives a value again for what stands in it: `with open(path) as file:`.
    """
    last = statement.end_lineno or statement.lineno
    own = {
        read
        for opened in ast.walk(block)
        if isinstance(opened, ast.With) and opened.lineno > last
        for item in opened.items
        if isinstance(item.optional_vars, ast.Name)
        for inside in opened.body
        for read in ast.walk(inside)
        if isinstance(read, ast.Name) and read.id == item.optional_vars.id
    }
    return {
        node.id
        for node in ast.walk(block)
        if isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Load)
        and node.lineno > last
        and node not in own
    }


def written_after(block: ast.AST, statement: ast.stmt, node: ast.expr) -> bool:
    """Whether an expression is written in `block` again, in a line below a statement."""
    last, same = statement.end_lineno or statement.lineno, ast.unparse(node)
    return any(
        isinstance(other, type(node)) and other.lineno > last and ast.unparse(other) == same
        for other in ast.walk(block)
    )
