"""Options of hydra's groups that launches and configurations choose, and that the project lacks."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final

from distlint.findings import Place
from distlint.launch.commands import launches, starts_ranks
from distlint.launch.composed import started
from distlint.launch.places import Lines
from distlint.launch.project import LaunchFiles, Script
from distlint.launch.shell import Command
from distlint.launch.tree import Spans, Unreadable
from distlint.launch.yaml_text import read_yaml
from distlint.patterns import pattern

_CHOOSES: Final = pattern(r"\+?(?P<group>[A-Za-z_][\w/]*)=(?P<option>[\w./-]+)")
_FROM_THE_TOP: Final = pattern(r"(?:override )?/(?P<group>[\w/]+)")
_OPTION: Final = pattern(r"[\w./-]+")
_OF_RANKS: Final = pattern(r"deepspeed|fsdp|\bddp|\bnum_nodes\b|\bdevices\b")
_DEFAULTS: Final = "defaults:"


def missing_options(files: LaunchFiles) -> Iterator[tuple[Script | None, str, Place]]:
    """The YAML files of options that are chosen and not there, though the folder is there and holds others.

    dplm 8b3425b README.md:437: `experiment=dplm/dplm_650m_invfold`; configs/experiment/dplm/dplm_30b_ds.yaml:7: `/datamodule:
    uniref50_hf_hf`. Silent where code registers options, or a configuration has hydra look in other places.

    Yields:
        The script that launches with it (None for a configuration), the file, and where it is chosen.
    """
    if files.composed_in_code or any("searchpath" in text for text in files.composed.values()):
        return
    lists = {path: read for path, text in files.composed.items() if (read := _defaults(text))}
    groups = defaultdict[str, set[str]](set)
    for path, (entries, _) in lists.items():
        for entry in entries:
            if isinstance(entry, dict) and len(entry) == 1:
                groups[str(next(iter(entry))).rpartition(" ")[2]].add(posixpath.dirname(path))
    for script in files.scripts if groups else ():
        for command in script.commands if script.followed else ():
            for name, place in _given(files, script, command, groups):
                yield script, name, place
    for path, (entries, spans) in lists.items():
        for name, place in _by_default(files, path, entries, spans):
            yield None, name, place


def _defaults(text: str) -> tuple[list[Any], Spans] | None:
    """The list of defaults of a configuration, and where its entries stand."""
    if _DEFAULTS not in text:
        return None
    try:
        values, spans = read_yaml(text)
    except Unreadable:
        return None
    entries = values.get("defaults") if isinstance(values, dict) else None
    return (entries, spans) if isinstance(entries, list) else None


def _given(
    files: LaunchFiles, script: Script, command: Command, groups: dict[str, set[str]]
) -> Iterator[tuple[str, Place]]:
    """What a command of several processes chooses for a group."""
    start = started(command)
    visible = command.environment.get("CUDA_VISIBLE_DEVICES")
    if (
        start is None
        or start.is_module
        or not files.called(start.program.text or "", script.path)
        or not (
            any(launches([command]))
            or starts_ranks(command)
            or (visible is not None and "," in (visible.text or ""))
        )
    ):
        return
    for word in start.given:
        found = _CHOOSES.fullmatch(word.text or "") if word.sure else None
        if found is not None:
            tops = groups.get(found["group"], ())
            paths = [_file_of(top, found["group"], found["option"]) for top in sorted(tops)]
            if _is_missing(files, paths):
                yield next(filter(files.lacks, paths)), word.place


def _by_default(
    files: LaunchFiles, path: str, entries: list[Any], spans: Spans
) -> Iterator[tuple[str, Place]]:
    """What a configuration of several processes names from the top, where no launch of it chooses another."""
    text = files.composed[path]
    for entry in entries if _OF_RANKS.search(text) else ():
        if not isinstance(entry, dict) or len(entry) != 1:
            continue
        key, option = next(iter(entry.items()))
        found = _FROM_THE_TOP.fullmatch(str(key))
        if (
            found is None
            or not isinstance(option, str)
            or not _OPTION.fullmatch(option)
            or found["group"].startswith("hydra/")
        ):
            continue
        paths = [_file_of(top, found["group"], option) for top in _above(path)]
        span = spans.get(("defaults", "", key))
        if span and _is_missing(files, paths) and not _is_overridden(files, path, found["group"]):
            name = next(filter(files.lacks, paths))
            yield name, Lines(path, text).place(span[0], span[3])


def _file_of(top: str, group: str, option: str) -> str:
    name = posixpath.join(top, group, option)
    return name if name.endswith((".yaml", ".yml")) else f"{name}.yaml"


def _above(path: str) -> Iterator[str]:
    """The folders above that of a file."""
    folder = posixpath.dirname(path)
    while folder:
        folder = posixpath.dirname(folder)
        yield folder


def _is_missing(files: LaunchFiles, paths: list[str]) -> bool:
    """Whether none of the places of an option has it, one holds others, and no other place of the project may be meant."""
    return (
        any(map(files.lacks, paths))
        and not any(
            files.has(each) or files.has(f"{each.removesuffix('.yaml')}.yml") for each in paths
        )
        and not files.has_name(posixpath.basename(paths[0]))
    )


def _is_overridden(files: LaunchFiles, path: str, group: str) -> bool:
    """Whether a command that chooses a configuration chooses another option of a group as well."""
    stem = posixpath.splitext(posixpath.basename(path))[0]
    return any(
        any((word.text or "").endswith(stem) for word in command.words)
        and any((word.text or f"{word.key}=").startswith(f"{group}=") for word in command.words)
        for script in files.scripts
        for command in script.commands
    )
