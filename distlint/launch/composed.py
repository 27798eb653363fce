"""What hydra composes of a project's YAML, as far as all of it is there, and the keys that it refuses on a command line.

hydra 1.3.2, _internal/config_loader_impl.py: `_apply_overrides_to_config` raises where a key is not in the configuration;
defaults_list.py: which file stands at which place.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any, Final

from distlint.launch.shell import Command, Word
from distlint.launch.tree import Unreadable
from distlint.launch.yaml_text import read_yaml
from distlint.patterns import pattern
from distlint.records import dataclass

_KEY: Final = pattern(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_ADDS: Final = pattern(r"\+{1,2}([\w.]+)=")
_NAME: Final = pattern(r"[\w./-]+")
_PACKAGE: Final = pattern(r"^#\s*@package\s+(\S+)", re.MULTILINE)
_SUFFIXES: Final = (".yaml", ".yml")
_LAUNCHERS: Final = pattern(r"torch\.distributed\.\w+|accelerate\.|deepspeed\.|torchelastic\.")
_MAX_PARTS: Final = 200
"""Of more files than that no configuration is put together: one that names itself would never end."""


@dataclass(frozen=True, slots=True)
class Start:
    """A program that a command starts, as it is called, and the words behind it."""

    program: Word
    is_module: bool
    given: tuple[Word, ...]


def started(command: Command) -> Start | None:
    """The Python program that a command starts, by a launcher or without."""
    words = command.words
    for at, word in enumerate(words):
        text = word.text or ""
        if text.endswith(".py"):
            return Start(word, False, words[at + 1 :])
        if text == "-m" and at + 1 < len(words):
            module = words[at + 1]
            if module.text and not _LAUNCHERS.match(module.text):
                return Start(module, True, words[at + 2 :])
    return None


@dataclass(frozen=True, slots=True)
class Composed:
    """A configuration, and the groups of which its parts are chosen."""

    values: dict[str, Any]
    groups: frozenset[str]


def refused(config: Composed, given: tuple[Word, ...]) -> Iterator[tuple[str, Word]]:
    """The keys of a command line that a composed configuration does not have, nor other words of it add.

    Where one names another configuration (`--config-name`), or chooses an option of a group, nothing is known.
    """
    keys = {_key_of(word) for word in given}
    if any((word.text or word.option).startswith("-") for word in given) or (
        config.groups
        and ("" in keys or any(key.partition("@")[0] in config.groups for key in keys))
    ):
        return
    added = {found[1] for word in given if (found := _ADDS.match(word.text or "")) is not None}
    for word in given:
        key, equals, _ = (word.text or "").partition("=")
        if (
            equals
            and word.sure
            and _KEY.fullmatch(key)
            and not key.startswith("hydra.")
            and not any(f"{key}.".startswith(f"{each}.") for each in added)
            and _lacks(config.values, key.split("."))
        ):
            yield key, word


def _key_of(word: Word) -> str:
    return word.key or (word.text or "").partition("=")[0].lstrip("+~")


def _lacks(config: Mapping[str, Any], parts: list[str]) -> bool:
    """Whether a mapping lacks what a dotted key leads to: what is no mapping, as `${…}`, may have anything."""
    value: Any = config
    for part in parts:
        if not isinstance(value, dict):
            return False
        if part not in value:
            return True
        value = value[part]
    return False


def compose(texts: Mapping[str, str], folder: str, name: str) -> Composed | None:
    """The configuration of a name in a folder; None where a part of it is not known.

    Args:
        texts: the YAML files of the project that may be of it, by path.
        folder: where its groups are.
    """
    result, groups = dict[str, Any](), set[str]()
    try:
        _merge(_Files(texts, folder, groups), name, "", result)
    except _Unknown:
        return None
    return Composed(result, frozenset(groups))


@dataclass(frozen=True, slots=True)
class _Files:
    """Where the parts of a configuration are, the groups that have been met, and the parts that have been read."""

    texts: Mapping[str, str]
    folder: str
    groups: set[str]
    read: list[str] = field(default_factory=list)

    def named(self, name: str) -> str | None:
        """The text of the file of a name."""
        paths = (
            posixpath.normpath(posixpath.join(self.folder, name + e)) for e in ("", *_SUFFIXES)
        )
        return next((self.texts[path] for path in paths if path in self.texts), None)


class _Unknown(Exception):
    """A part of a configuration that is not in the project, or put together in a way that is not followed."""


def _merge(files: _Files, name: str, package: str, result: dict[str, Any]) -> None:
    """Put the configuration of a name, and those that it names before its own, at a place of the result."""
    text = files.named(name)
    files.read.append(name)
    if text is None or len(files.read) > _MAX_PARTS:
        raise _Unknown
    try:
        values, _ = read_yaml(text)
    except Unreadable:
        raise _Unknown from None
    if not isinstance(values, dict) or "searchpath" in str(values.get("hydra", "")):
        raise _Unknown
    said = _PACKAGE.search(text)
    if said is not None:
        if said[1] not in ("_global_", "_group_"):
            raise _Unknown
        package = "" if said[1] == "_global_" else package
    defaults = values.pop("defaults", None) or []
    if not isinstance(defaults, list):
        raise _Unknown
    for each in defaults:
        for group, option, place in _chosen(each):
            inside = posixpath.join(posixpath.dirname(name), group).rstrip("/")
            files.groups.update({inside} if group else ())
            if option:
                below = ".".join(part for part in (package, place) if part)
                _merge(files, posixpath.join(inside, option), below, result)
    _put(result, package, values)


def _chosen(entry: object) -> Iterator[tuple[str, str, str]]:
    """What an entry of the list of defaults names: a group, the option of it, and its place in what names it."""
    match entry:
        case "_self_":
            return
        case str() if _NAME.fullmatch(entry):
            yield "", entry, ""
            return
        case dict() if len(entry) == 1:
            ((group, options),) = entry.items()
            if not isinstance(group, str) or group.startswith(("override hydra/", "hydra/")):
                return
            path, at, place = group.removeprefix("optional ").partition("@")
            if options is None:
                yield path, "", ""  # nothing is chosen yet
                return
            if not _NAME.fullmatch(path) or place.startswith("_"):
                raise _Unknown
            for option in options if isinstance(options, list) else [options]:
                if not isinstance(option, str) or not _NAME.fullmatch(option):
                    raise _Unknown
                yield path, option, place if at else path.replace("/", ".")
            return
    raise _Unknown


def _put(result: dict[str, Any], package: str, values: dict[str, Any]) -> None:
    """Merge values into a place of the result."""
    at: Any = result
    for part in package.split(".") if package else ():
        at = at.setdefault(part, {})
        if not isinstance(at, dict):
            raise _Unknown
    waiting = [(at, values)]
    while waiting:
        into, more = waiting.pop()
        for key, value in more.items():
            if isinstance(value, dict) and isinstance(into.get(key), dict):
                waiting.append((into[key], value))
            else:
                into[key] = value
