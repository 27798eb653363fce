"""What a shell calculates: whole numbers, with the four operations, the rest and brackets."""

from __future__ import annotations

import ast
import re
from typing import Final

from distlint.patterns import pattern

_WRITTEN: Final = pattern(r"[0-9+\-*/%() \t]{1,200}")
_LARGEST: Final = 2**31


def calculated(text: str) -> int | None:
    """The number that an expression of numbers comes to; None where it is another one, or the shell would fail."""
    if _WRITTEN.fullmatch(text) is None or "**" in text or re.search(r"\b0\d", text):
        return None
    try:
        return _value(ast.parse(text.strip().replace("/", "//"), mode="eval").body)
    except (SyntaxError, RecursionError, ZeroDivisionError, ValueError):
        return None


def _value(node: ast.expr) -> int:
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.BinOp(left=left, op=op, right=right):
            first, second = _value(left), _value(right)
            match op:
                case ast.Add():
                    found = first + second
                case ast.Sub():
                    found = first - second
                case ast.Mult():
                    found = first * second
                case ast.FloorDiv() | ast.Mod() if first >= 0 and second > 0:
                    found = first // second if isinstance(op, ast.FloorDiv) else first % second
                case _:
                    raise ValueError("not calculated")
            if abs(found) < _LARGEST:
                return found
    raise ValueError("not calculated")
