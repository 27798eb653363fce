"""Edits of a call's arguments. Pure data, from syntax alone."""

from __future__ import annotations

import ast
import re

from distlint.analysis.program.places import span_of
from distlint.edits import Replace
from distlint.repairs.guarding import source

_WIDTH = 88
"""So long a line every formatter lets pass by default that lets any pass (black 23 to 26, ruff 0.15)."""


def with_keyword(text: str, call: ast.Call, keyword: str) -> Replace | None:
    """`f(a, b)` becomes `f(a, b, keyword)`; comments and line breaks between the arguments stay.

    Where the last argument has a line of its own, so has the new one. Where the call has the keyword, it gets
    the new value.

    Args:
        text: the file.
        call: the call.
        keyword: the argument as it is written, for instance ``map_location="cpu"``.

    Returns:
        The edit; None where the only argument is a bare generator, which allows no other.
    """
    name, _, value = keyword.partition("=")
    for given in call.keywords:
        if given.arg == name:
            return Replace(span_of(given.value), value)
    values = [*call.args, *(k.value for k in call.keywords)]
    if any(k.arg is None for k in call.keywords):
        return None
    if not values:
        return Replace(span_of(call), f"{source(text, call.func)}({keyword})")
    last = max(values, key=lambda v: (v.end_lineno or 0, v.end_col_offset or 0))
    if isinstance(last, ast.GeneratorExp | ast.Starred):
        return None
    whole = source(text, call)
    rest = len(whole.encode()) - _bytes_between(text, call, last)
    after = whole.encode()[-rest:].decode()
    while after.lstrip().startswith(")") and after.count(")") > 1:
        # Brackets around the value belong to it.
        cut = after.index(")") + 1
        if "#" in after[:cut]:
            return None
        after = after[cut:]
    before = whole[: len(whole) - len(after)]
    own_line = re.match(r"(?P<comma>,?)(?P<comment>[ \t]*(?:#[^\n]*)?)\n", after)
    indent = re.search(r"\n([ \t]*)(?:\w+\s*=\s*)?$", _line_up_to(text, last))
    if own_line and indent and last.lineno > call.lineno:
        ending = f"{keyword}{own_line['comma']}\n{after[own_line.end() :]}"
        return Replace(span_of(call), f"{before},{own_line['comment']}\n{indent[1]}{ending}")
    return Replace(
        span_of(call), _broken(text, call, last, keyword, after) or f"{before}, {keyword}{after}"
    )


def _broken(text: str, call: ast.Call, last: ast.expr, keyword: str, after: str) -> str | None:
    """The call with its arguments on a line of their own, where its line would be the longest of the file by far.

    OpenRLHF-M 2bf6337 openrlhf/utils/deepspeed/deepspeed.py:287: 115 signs of 119 that its formatter lets pass.
    """
    lines = text.split("\n")
    line = lines[call.lineno - 1]
    size = len(line) + len(keyword) + 2
    if call.lineno != last.end_lineno or after != ")":
        return None
    if size <= max(_WIDTH, max(map(len, lines))) or "\t" in line or "#" in line:
        return None
    behind = line.encode()[call.end_col_offset or 0 :].decode()
    if any(bracket in behind for bracket in ")]}"):
        return None  # formatters break what is around it first
    indent = line[: len(line) - len(line.lstrip())]
    whole, function = source(text, call), source(text, call.func)
    if not whole.startswith(f"{function}("):
        return None
    given = whole[len(function) + 1 : -1].strip()
    return f"{function}(\n{indent}    {given}, {keyword}\n{indent})"


def with_first(text: str, call: ast.Call, argument: str) -> Replace:
    """`f(a, b)` becomes `f(argument, a, b)`; what stands between the arguments stays.

    Where the first argument has a line of its own, so has the new one.

    Args:
        text: the file.
        call: the call, which has a positional argument.
        argument: as it is written.
    """
    first = source(text, call.args[0])
    whole, function = source(text, call), source(text, call.func)
    at = whole.index(first, len(function))
    between = " "
    if call.args[0].lineno > call.lineno and re.match(r",[ \t]*\n", whole[at + len(first) :]):
        between = _line_up_to(text, call.args[0])
    return Replace(span_of(call), f"{whole[:at]}{argument},{between}{whole[at:]}")


def _line_up_to(text: str, node: ast.expr) -> str:
    """The line break in front of a node's line, and the line up to the node."""
    line = text.split("\n")[node.lineno - 1]
    return "\n" + line.encode()[: node.col_offset].decode()


def _bytes_between(text: str, call: ast.Call, last: ast.expr) -> int:
    """The length of the source from the start of a call to the end of one of its arguments, in UTF-8."""
    lines = text.split("\n")[call.lineno - 1 : last.end_lineno]
    size = sum(len(line.encode()) + 1 for line in lines[:-1])
    return size + (last.end_col_offset or 0) - call.col_offset
