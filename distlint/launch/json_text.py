"""JSON with the place of every key and value; comments and trailing commas, which DeepSpeed takes, too.

The library's parser tells no places. deepspeed 0.19.8 runtime/config.py reads its file with hjson.
"""

from __future__ import annotations

import json
import re
from typing import Any

from distlint.launch.tree import MAX_DEPTH, MAX_VALUES, Keys, Spans, Unreadable
from distlint.patterns import pattern

_SPACE = pattern(r"(?:[ \t\r\n]+|//[^\n]*|#[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRINGS = json.JSONDecoder(strict=False)
_SCALAR = pattern(r"true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?")


def read_json(text: str) -> tuple[Any, Spans]:
    """The value of `text`, and where its keys and values stand. Raises Unreadable."""
    reader = _Reader(text)
    value, end = reader.value(reader.space(0), (), 0)
    if reader.space(end) != len(text):
        raise Unreadable("more text after the value", reader.space(end))
    return value, reader.spans


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.spans: Spans = {}
        self._count = 0

    def space(self, at: int) -> int:
        """Where the next token starts."""
        found = _SPACE.match(self.text, at)
        return found.end() if found else at

    def value(self, at: int, keys: Keys, depth: int) -> tuple[Any, int]:
        self._count += 1
        if depth > MAX_DEPTH or self._count > MAX_VALUES:
            raise Unreadable("nested too deeply, or too long, for a configuration", at)
        match self.text[at : at + 1]:
            case "{":
                return self._mapping(at, keys, depth)
            case "[":
                return self._list(at, keys, depth)
            case '"':
                return self._string(at)
        found = _SCALAR.match(self.text, at)
        if found is None:
            raise Unreadable("no value stands here", at)
        return json.loads(found[0]), found.end()

    def _string(self, at: int) -> tuple[str, int]:
        try:
            text, end = _STRINGS.raw_decode(self.text, at)
        except json.JSONDecodeError as error:
            raise Unreadable("a string without an end", error.pos) from None
        return str(text), end

    def _mapping(self, at: int, keys: Keys, depth: int) -> tuple[dict[str, Any], int]:
        values: dict[str, Any] = {}
        at = self.space(at + 1)
        while self.text[at : at + 1] != "}":
            if self.text[at : at + 1] != '"':
                raise Unreadable("a key in quotes, or }, is missing", at)
            start = at
            key, at = self._string(at)
            named = at
            at = self.space(at)
            if self.text[at : at + 1] != ":":
                raise Unreadable("a colon is missing", at)
            begin = self.space(at + 1)
            path = (*keys, key)
            values[key], at = self.value(begin, path, depth + 1)
            self.spans[path] = (start, named, begin, at)
            at = self._next(at, "}")
        return values, at + 1

    def _list(self, at: int, keys: Keys, depth: int) -> tuple[list[Any], int]:
        values: list[Any] = []
        at = self.space(at + 1)
        while self.text[at : at + 1] != "]":
            value, at = self.value(at, (*keys, ""), depth + 1)
            values.append(value)
            at = self._next(at, "]")
        return values, at + 1

    def _next(self, at: int, closing: str) -> int:
        """Past the comma after a member, or to what closes them."""
        at = self.space(at)
        if self.text[at : at + 1] == ",":
            return self.space(at + 1)
        if self.text[at : at + 1] != closing:
            raise Unreadable(f"a comma or {closing} is missing", at)
        return at
