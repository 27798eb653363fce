"""What configurations and commands tell a Trainer of Lightning about devices: whether some run of a program has several.

A Trainer that is made of a section (`Trainer(**cfg.trainer)`, `instantiate(cfg.trainer)`) starts as many processes as that
says. What counts is a run that the project shows: by default, by a command of a script or page, with the files that are
chosen for it (`trainer=ddp`, `--config-name multi_gpu`) and the keys that it overrides (`trainer.devices=4`).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Final

from distlint.knowledge.conventions import CLASS_KEYS, DEVICES, STARTS_RANKS, STARTS_SCRIPTS
from distlint.launch.composed import started
from distlint.launch.sections import classes_in_sections
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
Part = tuple[Keys, dict[str, Any]]
"""A file of a configuration: the keys of its place, and its values."""

_ARGUMENTS: Final = STARTS_RANKS | {"fast_dev_run"}
_OF_ONE: Final = frozenset({"cpu", "mps", "tpu"})
"""Accelerators whose devices are no GPUs."""
_SPAWNS: Final = pattern(r"\w*(?:spawn|fork|notebook)|DDPSpawn")
"""Names of strategies whose processes run the training, and no script."""
_WITHOUT_STRATEGY: Final = frozenset({"devices"})
"""Arguments with which several processes start the script even where no strategy is named: not `gpus`, of Lightning 1, which
spawns them (pytorch-lightning 1.6.5 trainer/connectors/accelerator_connector.py:592)."""
_ALL: Final = frozenset({"auto", "-1", ""})
_CHOOSES: Final = pattern(r"\+{0,2}(?P<key>[A-Za-z_][\w/.@]*)=(?P<value>.*)")
_OPTION: Final = pattern(r"--?(?P<key>[A-Za-z_][\w.-]*)(?:=(?P<value>.*))?")
_NAMES_ROOT: Final = frozenset({"config-name", "config_name", "cn"})
"""Options of hydra that name another configuration (hydra 1.3.2 _internal/utils.py)."""
_SUFFIXES: Final = (".yaml", ".yml")
_CLASS: Final = ("_target_", "class_path", "target", "class")
_DEPTH: Final = 6
_LIST: Final = ""
"""The key of what a file is that is a list."""
_GLOBAL: Final = pattern(r"^#\s*@package\s+_global_", re.MULTILINE)
_NAMES_VALUE: Final = pattern(r"\$\{([\w.]+)\}")
_WATCHES: Final = pattern(r"checkpoint|ckpt|early|stop|callback", re.IGNORECASE)
"""Words of the keys under which a checkpoint or stopper is configured."""


@dataclass(frozen=True)
class Run:
    """A run that the project shows: what it tells its Trainer, and of which files its configuration is composed."""

    told: Told
    top: str
    """The folder of its configurations; "" where that is not known."""
    parts: tuple[Part, ...]
    visible: int = 0
    """How many GPUs its command makes visible; 0 where it leaves that open."""

    @property
    def several(self) -> bool:
        """Whether its Trainer starts several processes."""
        return _is_several(self.told, self.visible)

    @cached_property
    def classes(self) -> frozenset[str]:
        """The classes that its files name."""
        return frozenset(
            name
            for _, values in self.parts
            for _, section in _sections((), values)
            for key in CLASS_KEYS
            if isinstance(name := section.get(key), str)
        )

    @cached_property
    def watched(self) -> frozenset[str]:
        """The names that its checkpoints and stoppers watch."""
        found: dict[Keys, str] = {}
        for around, values in self.parts:
            for keys, section in _sections((), values):
                name = section.get("monitor")
                place = keys if keys[: len(around)] == around else (*around, *keys)
                if any(map(_WATCHES.search, place)) and isinstance(name, str):
                    found[place] = str(self._filled_in(name))
        return frozenset(found.values())

    def _filled_in(self, value: str) -> Any:
        """A value, or the other one of the configuration that it names: `${train.monitor}`."""
        found = _NAMES_VALUE.fullmatch(value)
        if found is None:
            return value
        keys = tuple(found[1].split("."))
        held = (
            _at(values, keys[len(around) :] if keys[: len(around)] == around else keys)
            for around, values in reversed(self.parts)
        )
        return next((each for each in held if each is not None), value)


def runs(
    files: LaunchFiles,
    path: str,
    sections: Set[Keys],
    roots: tuple[str, ...],
    named: tuple[str, ...],
) -> tuple[Run, ...]:
    """The runs of a Python file that the project shows: with what it reads by default, and by each command.

    KGAT_TEST 94cb020 scripts/train_multi_gpu.sh:9: `python src/train.py --config-name config_multi_gpu`.

    Args:
        files: what starts the program.
        path: the Python file.
        sections: those of which it makes Trainers.
        roots: the paths of the configurations with which hydra starts it.
        named: the texts in its code by which it may read others.
    """
    known = _Known(files, sections)
    found: list[Run] = []
    for words, visible in (((), 0), *_commands(files, path)):
        read = known.named(roots, words) or (
            *filter(None, (known.there(root, words) for root in roots)),
            *(each for text in named for each in known.ending(posixpath.normpath(text))),
        )
        found += [replace(known.run(root, words), visible=visible) for root in read or ("",)]
    return tuple(found)


def classes_below(files: LaunchFiles, top: str) -> frozenset[str]:
    """The classes that configurations in a folder, or below, name."""
    return frozenset(
        name
        for file in files.naming
        if not top or file.path.startswith(f"{top}/")
        for _, name in classes_in_sections(file.kind, file.text)
    )


def _commands(files: LaunchFiles, path: str) -> Iterator[tuple[tuple[Word, ...], int]]:
    """What commands of scripts and pages give a Python file, and how many GPUs they make visible."""
    for script in files.scripts:
        for command in script.commands if script.followed else ():
            start = started(command)
            if start is None or not start.program.text:
                continue
            called = start.program.text
            if start.is_module:
                called = f"{called.replace('.', '/')}.py"
            if files.is_surely(called, script, path, below=start.is_module):
                seen = command.environment.get("CUDA_VISIBLE_DEVICES")
                gpus = (seen.text or "").split(",") if seen is not None else ()
                yield start.given, sum(bool(gpu.strip()) for gpu in gpus)


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
    """The configurations of a project, for Trainers that are made of some sections."""

    def __init__(self, files: LaunchFiles, sections: Set[Keys]) -> None:
        naming = {file.path: file.text for file in files.naming if file.path.endswith(_SUFFIXES)}
        self._texts = {**naming, **files.composed, **files.trainers}
        self._sections = sections

    def ending(self, end: str) -> list[str]:
        """The files whose path ends in another one."""
        return sorted(path for path in self._texts if f"/{path}".endswith(f"/{end}"))

    def there(self, root: str, words: tuple[Word, ...]) -> str:
        """The file with which hydra starts: that of its path, or of its name, be it beside the groups of a command's options.

        Empty where it is not known.
        """
        same = [root] if root in self._texts else self.ending(posixpath.basename(root))
        if len(same) > 1:
            tops = {_top_of(group, path) for group, path in self._chosen("", words).items()}
            same = [each for each in same if posixpath.dirname(each) in tops]
        return same[0] if len(same) == 1 else ""

    def named(self, roots: tuple[str, ...], words: tuple[Word, ...]) -> tuple[str, ...]:
        """The configurations that a command names in place of those that are read by default."""
        found: list[str] = []
        for key, value in _given(words):
            if key in _NAMES_ROOT:
                folders = dict.fromkeys(map(posixpath.dirname, roots))
                ends = (posixpath.join(folder, _with_suffix(value)) for folder in folders)
                found += [path for end in ends for path in self.ending(end)]
            elif value.endswith(_SUFFIXES):
                found += self.ending(posixpath.normpath(value))
        return tuple(dict.fromkeys(found))

    def run(self, root: str, words: tuple[Word, ...]) -> Run:
        """What one run tells its Trainer: its configuration with the options of groups that are chosen, then single keys."""
        chosen = self._chosen(root, words)
        parts: dict[str, Part] = {}
        if root:
            self._read(root, "", chosen, parts, _DEPTH)
        for group, path in chosen.items():
            self._read(path, group, chosen, parts, _DEPTH)
        told: Told = {}
        for around, values in parts.values():
            for keys, section in _sections((), values):
                if self._is_of_trainer((*around, *keys), section) or self._is_of_trainer(
                    keys, section
                ):
                    told.update(
                        (key, _filled_in(value, values))
                        for key, value in section.items()
                        if key in _ARGUMENTS
                    )
        for key, value in _given(words):
            keys = tuple(key.split("."))
            if keys[-1] in _ARGUMENTS and self._is_of_trainer(keys[:-1], {}):
                told[keys[-1]] = value
        tops = {_top_of(group, path) for group, path in chosen.items()}
        top = posixpath.dirname(root) if root else tops.pop() if len(tops) == 1 else ""
        return Run(told, top, tuple(parts.values()))

    def _chosen(self, root: str, words: tuple[Word, ...]) -> dict[str, str]:
        """The files of the options that a command chooses, by their groups, and those that an experiment among them does."""
        chosen: dict[str, str] = {}
        for key, value in _given(words):
            group = key.partition("@")[0]
            if "." not in group and (found := self._option(root, group, value)):
                chosen[group] = found
        for path in list(chosen.values()):
            for group, option in _defaults(self._values(path)):
                found = self._option(path, group.lstrip("/"), option)
                if found and group.startswith("/"):
                    chosen.setdefault(group.lstrip("/"), found)
        return chosen

    def _option(self, beside: str, group: str, option: str) -> str:
        """The file of an option of a group, the nearest below a folder around another file; empty where none is known."""
        name = _with_suffix(f"{group}/{option}" if group else option)
        folder = posixpath.dirname(beside)
        while True:
            path = posixpath.normpath(posixpath.join(folder, name))
            if path in self._texts:
                return path
            if not folder:
                break
            folder = posixpath.dirname(folder)
        found = self.ending(name) if group and not beside else []
        return found[0] if len(found) == 1 else ""

    def _values(self, path: str) -> dict[str, Any]:
        return _read(self._texts[path])

    def _read(
        self, path: str, group: str, chosen: Mapping[str, str], parts: dict[str, Part], depth: int
    ) -> None:
        """Add a file to the parts of a configuration, behind those that its list of defaults names."""
        if path in parts or not depth:
            return
        values = self._values(path)
        parts[path] = (), {}  # one that names itself is read once
        for name, option in _defaults(values):
            inside = name.lstrip("/")
            found = chosen.get(inside) or self._option(path, inside, option)
            if found:
                self._read(found, inside or group, chosen, parts, depth - 1)
        del parts[path]
        whole = _GLOBAL.search(self._texts[path]) is not None
        parts[path] = (() if whole or not group else tuple(group.split("/"))), values

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
    return values if isinstance(values, dict) else {_LIST: values}


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


def _sections(keys: Keys, values: Any) -> Iterator[tuple[Keys, Mapping[str, Any]]]:
    """A mapping and those in it, be it in lists, each with the keys that lead to it."""
    waiting: list[tuple[Keys, Any]] = [(keys, values)]
    for above, each in waiting:
        if isinstance(each, dict):
            yield above, each
            waiting += [((*above, str(key)), inner) for key, inner in each.items()]
        elif isinstance(each, list):
            waiting += [((*above, str(at)), inner) for at, inner in enumerate(each)]


def _filled_in(value: Any, values: Mapping[str, Any]) -> Any:
    """A value, where it is the name of another one of the file that one: `gpus: ${devices}`."""
    found = _NAMES_VALUE.fullmatch(value) if isinstance(value, str) else None
    return _at(values, found[1].split(".")) if found else value


def _at(values: Mapping[str, Any], keys: Iterable[str]) -> Any:
    """What keys lead to; None where nothing is there."""
    at: Any = values
    for key in keys:
        at = at.get(key) if isinstance(at, dict) else None
    return at


def _top_of(group: str, path: str) -> str:
    """The folder in which a group lies, by the file of an option of it."""
    return path.removesuffix(f"{group}/{path.rpartition('/')[2]}").rstrip("/")


def _is_several(told: Told, visible: int) -> bool:
    """Whether a Trainer that is told this starts several processes, where so many GPUs are visible.

    `devices: auto` alone is what each example says: who writes it has one GPU or more (pytorch-lightning 2.6.6
    trainer/connectors/accelerator_connector.py:419). DDT 1d1b4d2 README.md:103: `CUDA_VISIBLE_DEVICES=0,1, python main.py
    predict -c configs/repa_improved_ddt_xlen22de6_256.yaml`, which says so.
    """
    if visible == 1 or str(told.get("fast_dev_run", "")) in ("True", "true", "1"):
        return False
    named = [_named(told.get(n)) for n in ("strategy", "accelerator", "distributed_backend")]
    divides = any(map(STARTS_SCRIPTS.match, named))
    if any(map(_SPAWNS.match, named)) or (str(told.get("accelerator")) in _OF_ONE and not divides):
        return False
    machines = _count(told.get("num_nodes"))
    if machines is not None and machines > 1:
        return True
    if not divides and _WITHOUT_STRATEGY.isdisjoint(told):
        return False
    numbers = [told[name] for name in sorted(DEVICES) if told.get(name) is not None]
    counts = [_count(each) for each in numbers]
    return any(each is not None and each > 1 for each in counts) or (
        (divides or visible > 1) and all(str(each) in _ALL for each in numbers)
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
