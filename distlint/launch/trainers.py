"""What configurations and commands tell a Trainer of Lightning about devices: whether some run of a program has several.

A Trainer that is made of a section (`Trainer(**cfg.trainer)`, `instantiate(cfg.trainer)`) starts as many processes as that
says. What counts is a run that the project shows: by default, by a command of a script or page, with the files that are
chosen for it (`trainer=ddp`, `--config-name multi_gpu`) and the keys that it overrides (`trainer.devices=4`).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Set
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from distlint.knowledge.conventions import DEVICES, STARTS_RANKS
from distlint.launch.composed import started
from distlint.launch.tree import Unreadable
from distlint.launch.yaml_text import read_yaml
from distlint.patterns import pattern
from distlint.records import dataclass

if TYPE_CHECKING:
    from distlint.launch.project import LaunchFiles
    from distlint.launch.shell import Word

Keys = tuple[str, ...]
"""The last keys of the section that a Trainer is made of; none for options of a command line."""
Told = dict[str, Any]
"""What a Trainer is told, by its arguments."""

_ARGUMENTS: Final = STARTS_RANKS | {"fast_dev_run"}
_DIVIDES: Final = pattern(r"ddp|fsdp|deepspeed|DDP|FSDP|DeepSpeed")
"""Names of strategies that work on several processes."""
_OF_ONE: Final = frozenset({"cpu", "mps", "tpu"})
"""Accelerators whose devices are no GPUs."""
_ALL: Final = frozenset({"auto", "-1", ""})
_CHOOSES: Final = pattern(r"\+{0,2}(?P<key>[A-Za-z_][\w/.@]*)=(?P<value>.*)")
_OPTION: Final = pattern(r"--?(?P<key>[A-Za-z_][\w.-]*)(?:=(?P<value>.*))?")
_NAMES_ROOT: Final = frozenset({"config-name", "config_name", "cn"})
"""Options of hydra that name another configuration (hydra 1.3.2 _internal/utils.py)."""
_SUFFIXES: Final = (".yaml", ".yml")
_CLASS: Final = ("_target_", "class_path", "target", "class")
_DEPTH: Final = 6


@dataclass(frozen=True, slots=True)
class Made:
    """How a program makes Trainers: of which sections, and of which configurations where nobody names another.

    `roots` are the paths of these, `named` the texts in the code by which it may read them.
    """

    sections: Set[Keys]
    roots: tuple[str, ...]
    named: tuple[str, ...]


def on_several_devices(files: LaunchFiles, path: str, made: Made) -> bool:
    """Whether some run of the Python file `path` that the project shows tells its Trainer of several devices.

    KGAT_TEST 9a1d8a8 scripts/train_multi_gpu.sh:9: `python src/train.py --config-name config_multi_gpu`.
    """
    known = _Known(files, made.sections)
    roots = [*(_there(files, each) for each in made.roots), *_read_by(files, made.named)]
    known_roots = tuple(root for root in roots if root)
    return any(
        _is_several(known.run(root, words))
        for words in ((), *_commands(files, path))
        for root in (_roots_named(files, known_roots, words) or known_roots or ("",))
    )


def _there(files: LaunchFiles, root: str) -> str:
    """The file of a configuration that hydra starts with, or the only one of its name; empty where it is not known."""
    if root in files.trainers or root in files.composed:
        return root
    same = _ending(files, posixpath.basename(root))
    return same[0] if len(same) == 1 else ""


def _read_by(files: LaunchFiles, named: tuple[str, ...]) -> Iterator[str]:
    """The configurations that a program calls by a text in its code."""
    for each in named:
        yield from _ending(files, posixpath.normpath(each))


def _commands(files: LaunchFiles, path: str) -> Iterator[tuple[Word, ...]]:
    """What commands of scripts and pages give a Python file."""
    for script in files.scripts:
        for command in script.commands if script.followed else ():
            start = started(command)
            if start is None or not start.program.text:
                continue
            called = start.program.text
            if start.is_module:
                called = f"{called.replace('.', '/')}.py"
            if files.is_surely(called, script, path, below=start.is_module):
                yield start.given


def _roots_named(
    files: LaunchFiles, roots: tuple[str, ...], words: tuple[Word, ...]
) -> tuple[str, ...]:
    """The configurations that a command names in place of those that are read by default."""
    found: list[str] = []
    for key, value in _given(words):
        if key in _NAMES_ROOT:
            ends = [_with_suffix(value)]
            folders = {posixpath.dirname(root) for root in roots}
            found += [p for f in folders for p in _ending(files, posixpath.join(f, ends[0]))]
        elif value.endswith(_SUFFIXES):
            found += _ending(files, posixpath.normpath(value))
    return tuple(dict.fromkeys(found))


def _ending(files: LaunchFiles, end: str) -> list[str]:
    """The YAML files whose path ends in another one."""
    return [path for path in _yaml(files) if f"/{path}".endswith(f"/{end}")]


def _yaml(files: LaunchFiles) -> list[str]:
    return sorted({*files.trainers, *files.composed})


def _with_suffix(name: str) -> str:
    return name if name.endswith(_SUFFIXES) else f"{name}.yaml"


def _given(words: tuple[Word, ...]) -> Iterator[tuple[str, str]]:
    """The keys and values of a command line, as hydra, jsonargparse and argparse read them; bare words have no key."""
    texts = [word.text for word in words]
    for at, text in enumerate(texts):
        if text is None:
            continue
        if (found := _OPTION.fullmatch(text)) is not None:
            following = texts[at + 1] if at + 1 < len(texts) else None
            value = found["value"] if found["value"] is not None else following
            if value is not None and not value.startswith("--"):
                yield found["key"], value
        elif (found := _CHOOSES.fullmatch(text)) is not None:
            yield found["key"], found["value"]


class _Known:
    """What the configurations of a project say of Trainers that are made of some sections."""

    def __init__(self, files: LaunchFiles, sections: Set[Keys]) -> None:
        self._files = files
        self._sections = sections

    def run(self, root: str, words: tuple[Word, ...]) -> Told:
        """What one run tells its Trainer: its configuration with the options of groups that are chosen, then single keys."""
        given = list(_given(words))
        chosen: dict[str, str] = {}
        for key, value in given:
            group = key.partition("@")[0]
            if "." not in group and (found := self._option(root, group, value)):
                chosen[group] = found
        for path in list(chosen.values()):  # what an experiment says of other groups
            for group, option in _defaults(self._values(path)):
                found = self._option(path, group.lstrip("/"), option)
                if found and group.startswith("/"):
                    chosen.setdefault(group.lstrip("/"), found)
        told: Told = {}
        met: set[str] = set()
        if root:
            self._add(told, root, "", chosen, met, _DEPTH)
        for group, path in chosen.items():
            if path not in met:
                self._add(told, path, group, chosen, met, _DEPTH)
        for key, value in given:
            keys = tuple(key.split("."))
            if keys[-1] in _ARGUMENTS and self._is_of_trainer(keys[:-1], {}):
                told[keys[-1]] = value
        return told

    def _option(self, beside: str, group: str, option: str) -> str:
        """The file of an option of a group, the nearest below a folder around another file; empty where none is known."""
        name = _with_suffix(f"{group}/{option}") if group else _with_suffix(option)
        folder = posixpath.dirname(beside)
        while True:
            path = posixpath.normpath(posixpath.join(folder, name))
            if path in self._files.trainers or path in self._files.composed:
                return path
            if not folder:
                break
            folder = posixpath.dirname(folder)
        found = _ending(self._files, name) if group and not beside else []
        return found[0] if len(found) == 1 else ""

    def _values(self, path: str) -> dict[str, Any]:
        text = self._files.trainers.get(path) or self._files.composed.get(path, "")
        return _read(text)

    def _add(
        self,
        told: Told,
        path: str,
        group: str,
        chosen: Mapping[str, str],
        met: set[str],
        depth: int,
    ) -> None:
        """Put what a file says, and the files that its list of defaults names, into what a Trainer is told."""
        if path in met or not depth:
            return
        met.add(path)
        values = self._values(path)
        for name, option in _defaults(values):
            inside = name.lstrip("/")
            found = chosen.get(inside) or self._option(path, inside, option)
            if found:
                self._add(told, found, inside or group, chosen, met, depth - 1)
        around = tuple(group.split("/")) if group else ()
        for keys, section in _sections((), values):
            if self._is_of_trainer((*around, *keys), section) or self._is_of_trainer(keys, section):
                told.update(
                    (key, _filled_in(value, values))
                    for key, value in section.items()
                    if key in _ARGUMENTS
                )

    def _is_of_trainer(self, keys: Keys, section: Mapping[str, Any]) -> bool:
        """Whether a section is one that a Trainer is made of, by the keys that lead to it or the class that it names."""
        target = str(section.get("_target_", ""))
        if target.endswith(".Trainer") and "lightning" in target.partition(".")[0]:
            return True
        return any(keys[-len(each) :] == each if each else not keys for each in self._sections)


@lru_cache(maxsize=512)
def _read(text: str) -> dict[str, Any]:
    """The values of a YAML file; none where it cannot be read."""
    try:
        values, _ = read_yaml(text)
    except Unreadable:
        return {}
    return values if isinstance(values, dict) else {}


def _defaults(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The groups of a list of defaults, from the top with a slash, each with its option; of a file beside, no group."""
    entries = values.get("defaults")
    for entry in entries if isinstance(entries, list) else ():
        match entry:
            case str() if entry != "_self_":
                yield "", entry
            case dict():
                for key, options in entry.items():
                    name = re.sub(r"^(?:(?:override|optional) )+", "", str(key)).partition("@")[0]
                    for option in options if isinstance(options, list) else [options]:
                        if isinstance(option, str):
                            yield name, option


def _sections(keys: Keys, values: Mapping[str, Any]) -> Iterator[tuple[Keys, Mapping[str, Any]]]:
    """A mapping and those in it, each with the keys that lead to it."""
    waiting: list[tuple[Keys, Mapping[str, Any]]] = [(keys, values)]
    while waiting:
        above, each = waiting.pop(0)
        yield above, each
        waiting += [((*above, str(k)), v) for k, v in each.items() if isinstance(v, dict)]


def _filled_in(value: Any, values: Mapping[str, Any]) -> Any:
    """A value, where it is the name of another one of the file that one: `gpus: ${devices}`."""
    found = re.fullmatch(r"\$\{([\w.]+)\}", value) if isinstance(value, str) else None
    at: Any = values
    for key in found[1].split(".") if found else ():
        at = at.get(key) if isinstance(at, dict) else None
    return at if found else value


def _is_several(told: Told) -> bool:
    """Whether a Trainer that is told this starts several processes.

    `devices: auto` alone is what each example says: who writes it has one GPU or more (pytorch-lightning 2.6.6
    trainer/connectors/accelerator_connector.py:419).
    """
    if str(told.get("fast_dev_run", "")) in ("True", "true", "1"):
        return False
    divides = any(
        _DIVIDES.match(_named(told.get(name)))
        for name in ("strategy", "accelerator", "distributed_backend")
    )
    if str(told.get("accelerator")) in _OF_ONE and not divides:
        return False
    machines = _count(told.get("num_nodes"))
    if machines is not None and machines > 1:
        return True
    numbers = [told[name] for name in sorted(DEVICES) if told.get(name) is not None]
    counts = [_count(each) for each in numbers]
    return any(each is not None and each > 1 for each in counts) or (
        divides and all(str(each) in _ALL for each in numbers)
    )


def _named(value: Any) -> str:
    """The name of a strategy: a text, or the class of a section."""
    if isinstance(value, dict):
        value = next((value[key] for key in _CLASS if key in value), "")
    return str(value).rpartition(".")[2]


def _count(value: Any) -> int | None:
    """How many devices a value means: a number, a list of them, also as text (`0,1`); None where that is not known."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, list):
        return len(value)
    if isinstance(value, str):
        text = value.strip("[] ")
        if text.isdecimal() and not value.startswith("["):
            return int(text)
        parts = [part.strip() for part in text.split(",")]
        if all(part.isdecimal() or not part for part in parts):
            return len([part for part in parts if part]) or None
    return None
