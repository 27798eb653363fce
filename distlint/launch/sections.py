"""The classes that configurations name, each with the keys under which its section stands.

YAML is read line by line, by indentation: it is full of what a program fills in before anybody parses it, and of a file
with a class only few lines matter.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from distlint.knowledge.conventions import CLASS_KEYS, REGISTRY_KEYS
from distlint.launch.kinds import Kind
from distlint.patterns import pattern

Section = tuple[str, str]
"""The keys that lead to a section of a configuration, joined by dots, and the class or another text in it."""

_ENTRY: Final = pattern(
    r"""^(?P<indent>[ ]*(?:-[ ]+)*)["']?(?P<key>[\w./@~+-]+)["']?[ ]*:(?:[ ]+(?P<value>.*))?$"""
)
"""A key with what follows it in its line, in a list behind a dash."""
_PLAIN: Final = pattern(r"""["']?([\w./-]+)["']?,?[ ]*(?:\#.*)?""")
_INLINE: Final = pattern(r"""[{,][ ]*["']?(\w+)["']?[ ]*:[ ]*["']?([\w.]+)["']?[ ]*(?=[,}])""")
"""A key in braces: `{_target_: torch.nn.ReLU, inplace: true}`."""
_DOTTED: Final = pattern(r"[A-Za-z_]\w*(?:\.\w+)*\.[A-Za-z_]\w*")
_BARE: Final = pattern(r"[A-Z]\w\w+")


def classes_in_sections(kind: Kind | None, text: str) -> list[Section]:
    """What a configuration has a program make. What is named at its top stands under no key."""
    match kind:
        case Kind.YAML:
            return sorted(set(_in_lines(text)))
        case Kind.JSON:
            try:
                return sorted(set(_in_values(json.loads(text), "")))
            except (ValueError, RecursionError):
                return []
    return []


def values_of(kind: Kind, text: str, key: str) -> list[Section]:
    """The texts that a configuration has under a key, each with the keys that lead to its section."""
    if kind is not Kind.YAML or key not in text:
        return []
    found = (
        (".".join(keys), _PLAIN.fullmatch(value))
        for keys, name, value in _entries(text)
        if name == key
    )
    return sorted({(keys, plain[1]) for keys, plain in found if plain is not None})


def _in_lines(text: str) -> Iterator[Section]:
    for keys, key, value in _entries(text):
        plain = _PLAIN.fullmatch(value)
        if plain is not None and _is_class(key, plain[1]):
            yield ".".join(keys), plain[1]
        elif value.startswith("{"):
            for inner, name in _INLINE.findall(value):
                if _is_class(inner, name):
                    yield ".".join([*keys, key]), name


def _entries(text: str) -> Iterator[tuple[list[str], str, str]]:
    """Each key of the lines of a text, with those that lead to its section, and what stands behind it."""
    above: list[tuple[int, str]] = []
    for line in text.splitlines():
        entry = _ENTRY.match(line)
        if entry is None:
            continue
        indent, key, value = entry["indent"], entry["key"], entry["value"] or ""
        dash = indent.find("-")
        # A list may stand as far to the left as the key that it belongs to.
        while above and (above[-1][0] > dash if dash >= 0 else above[-1][0] >= len(indent)):
            above.pop()
        yield [each for _, each in above], key, value
        above.append((len(indent), key))


def _in_values(value: Any, keys: str) -> Iterator[Section]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if isinstance(inner, str) and _is_class(key, inner):
                yield keys, inner
            else:
                yield from _in_values(inner, f"{keys}.{key}" if keys else key)
    elif isinstance(value, list):
        for inner in value:
            yield from _in_values(inner, keys)


def _is_class(key: str, name: str) -> bool:
    return (key in CLASS_KEYS and _DOTTED.fullmatch(name) is not None) or (
        key in REGISTRY_KEYS and (_BARE.fullmatch(name) or _DOTTED.fullmatch(name)) is not None
    )
