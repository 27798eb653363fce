"""YAML of simple values, written as `yaml.safe_dump` writes it, with comments; needs no PyYAML.

Mappings of strings to scalars, lists of scalars and mappings: all that an accelerate
configuration holds. What YAML 1.1 would read as another type is quoted ('no' is a boolean there).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

Scalar: TypeAlias = str | int | float | bool | None
Value: TypeAlias = Scalar | Sequence[Scalar] | Mapping[str, Any]

# A plain scalar must begin with a letter and go on with characters that have no meaning in YAML.
_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_.,/+-]*(?: [A-Za-z0-9_.,/+-]+)*")

# YAML 1.1 types: https://yaml.org/type/bool.html, null.html, float.html; PyYAML 6.0.4 resolver.py.
_OTHER_TYPES = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})


def scalar(value: Scalar) -> str:
    """One value as YAML text on one line."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _float(value)
    if _PLAIN.fullmatch(value) and value.lower() not in _OTHER_TYPES:
        return value
    if value.isprintable() and value.isascii():
        return "'" + value.replace("'", "''") + "'"
    return '"' + "".join(map(_escaped, value)) + '"'


def document(values: Mapping[str, Value], comments: Mapping[str, str], head: str = "") -> str:
    """A mapping as a YAML document, keys sorted, each comment above its key.

    Args:
        values: the mapping; nested mappings are indented by two.
        comments: text by key, a nested key as `outer.inner`; lines are kept.
        head: text of the comment at the top.
    """
    lines = [f"# {line}".rstrip() for line in head.splitlines()]
    _mapping(values, comments, "", "", lines)
    return "\n".join(lines) + "\n"


def _mapping(
    values: Mapping[str, Value],
    comments: Mapping[str, str],
    path: str,
    indent: str,
    lines: list[str],
) -> None:
    for key in sorted(values):
        value = values[key]
        lines += [f"{indent}# {line}" for line in comments.get(path + key, "").splitlines()]
        name = f"{indent}{scalar(key)}:"
        if isinstance(value, Mapping) and value:
            lines.append(name)
            _mapping(value, comments, f"{path}{key}.", indent + "  ", lines)
        elif isinstance(value, Mapping):
            lines.append(f"{name} {{}}")
        elif isinstance(value, Sequence) and not isinstance(value, str):
            if value:
                lines.append(name)
                lines += [f"{indent}- {scalar(item)}" for item in value]
            else:
                lines.append(f"{name} []")
        else:
            lines.append(f"{name} {scalar(value)}")


def _float(value: float) -> str:
    if value != value:
        return ".nan"
    if value in (float("inf"), float("-inf")):
        return ".inf" if value > 0 else "-.inf"
    text = repr(value)
    # YAML 1.1 reads 1e-05 as a string: the mantissa needs its point.
    return text.replace("e", ".0e", 1) if "e" in text and "." not in text else text


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if character.isascii() and character.isprintable():
        return character
    code = ord(character)
    if code > 0xFFFF:
        return f"\\U{code:08x}"
    return f"\\u{code:04x}"
