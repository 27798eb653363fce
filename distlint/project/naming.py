"""How reports name files: on one line, in printable characters, and back."""

from __future__ import annotations

import os
import re

from distlint.patterns import pattern


def shown_as(path: str) -> str:
    """How reports name the absolute `path`: relative to the working directory, `/` between the parts.

    What could steer a terminal, break a line, or is no text at all, is escaped.
    """
    try:
        shown = os.path.relpath(path)
    except ValueError:  # another drive
        shown = path
    return escaped(shown)


def escaped(name: str) -> str:
    r"""A file name on one line, in printable characters; `path_of` takes it back.

    `\x1b` is a control character or, above `\x7f`, a byte that is not UTF-8; `\u202e` is another
    character that is not printed.
    """
    if os.sep != "/":
        name = name.replace(os.sep, "/")
    if name.isprintable() and "\\" not in name:
        return name
    return "".join(map(_escape, name))


def _escape(char: str) -> str:
    code = ord(char)
    if char == "\\":
        return "\\\\"
    if char.isprintable():
        return char
    if code < 0x80:
        return f"\\x{code:02x}"
    if 0xDC80 <= code <= 0xDCFF:  # what `os.fsdecode` makes of a byte
        return f"\\x{code - 0xDC00:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


_ESCAPE = pattern(r"\\(?:(\\)|x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8}))")


def path_of(shown: str) -> str:
    """The path that `escaped` made `shown` of."""
    return _ESCAPE.sub(_unescape, shown) if "\\" in shown else shown


def _unescape(found: re.Match[str]) -> str:
    backslash, byte, short, long = found.groups()
    if backslash:
        return "\\"
    if byte:
        code = int(byte, 16)
        return chr(code if code < 0x80 else 0xDC00 + code)
    return chr(int(short or long, 16))
