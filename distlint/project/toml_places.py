"""Where the keys and values of a TOML document stand, which `tomllib` does not tell."""

from __future__ import annotations

import re
import sys
from collections import Counter

from distlint.patterns import pattern

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Key = tuple[str | int, ...]
"""The way to a value: keys, and indices in arrays."""

KEY = 0x110000
"""At the end of a way: the key itself, and not its value. No array has this index."""

_BLANK = pattern(r"(?:[\s,]|\#[^\n]*)*")
_BARE = pattern(r"[A-Za-z0-9_-]+")
_STRING = pattern(
    r'"""(?:\\.|[^\\])*?"{3,5}(?!")|' r"'''.*?'{3,5}(?!')|" r'"(?:\\.|[^"\\\n])*"|' r"'[^'\n]*'",
    re.DOTALL,
)
_PLAIN = pattern(r"[^,\]}\#\n]+")


def offset_of(key: Key, text: str) -> int:
    """Where in `text`, which is valid TOML, the value at `key` begins; or its nearest parent's."""
    places = _Reader(text).places
    while key and key not in places:
        key = key[:-1]
    return places.get(key, 0)


class _Reader:
    """Reads valid TOML and notes where what stands."""

    def __init__(self, text: str) -> None:
        self.places: dict[Key, int] = {}
        self._text = text
        self._at = 0
        self._arrays: Counter[Key] = Counter()
        table: Key = ()
        self._blank()
        while self._at < len(text):
            if text[self._at] == "[":
                table = self._header()
            else:
                self._pair(table)
            self._blank()

    def _blank(self) -> None:
        """Pass over white space, commas, comments and line ends."""
        found = _BLANK.match(self._text, self._at)
        assert found is not None
        self._at = found.end()

    def _header(self) -> Key:
        start = self._at
        array = self._text.startswith("[[", start)
        self._at += 2 if array else 1
        table = self._key(())
        self._blank()
        self._at += 2 if array else 1
        self.places.setdefault(table, start)
        if array:
            self._arrays[table] += 1
            table = (*table, self._arrays[table] - 1)
            self.places[table] = start
        return table

    def _pair(self, table: Key) -> None:
        key = self._key(table)
        self._blank()
        self._at += 1  # the equals sign
        self._blank()
        self._value(key)

    def _key(self, table: Key) -> Key:
        """A key with its dots, below `table`."""
        while True:
            self._blank()
            found = _STRING.match(self._text, self._at) or _BARE.match(self._text, self._at)
            assert found is not None
            name = found.group()
            if name[0] in "\"'":
                name = tomllib.loads(f"name = {name}")["name"]
            table = (*table, name)
            self.places.setdefault((*table, KEY), self._at)
            self.places.setdefault(table, self._at)
            self._at = found.end()
            self._blank()
            if not self._text.startswith(".", self._at):
                return table
            self._at += 1

    def _value(self, key: Key) -> None:
        self.places[key] = self._at
        match self._text[self._at]:
            case "[":
                self._at += 1
                self._blank()
                index = 0
                while self._text[self._at] != "]":
                    self._value((*key, index))
                    self._blank()
                    index += 1
                self._at += 1
            case "{":
                self._at += 1
                self._blank()
                while self._text[self._at] != "}":
                    self._pair(key)
                    self._blank()
                self._at += 1
            case '"' | "'":
                found = _STRING.match(self._text, self._at)
                assert found is not None
                self._at = found.end()
            case _:
                found = _PLAIN.match(self._text, self._at)
                assert found is not None
                self._at = found.end()
