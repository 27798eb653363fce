"""Launches of several processes of a program in which nothing joins them."""

from __future__ import annotations

from collections.abc import Iterator

from distlint.findings import Place
from distlint.knowledge.configuration.launchers import Launcher
from distlint.launch.commands import Launch
from distlint.launch.engines import starts_of_several
from distlint.launch.project import LaunchFiles, Script
from distlint.records import dataclass


@dataclass(frozen=True, slots=True)
class Apart:
    """A program, the launches that start several processes of it, and where it goes backward."""

    path: str
    places: tuple[Place, ...]
    backward: Place


def started_apart(files: LaunchFiles) -> Iterator[Apart]:
    """The programs that train by themselves in each process of a launch, those of scripts before those of pages."""
    for path, (file, line) in sorted(files.apart.items()):
        found = [
            (not script.reported, script.told, launch.place)
            for script, launch in starts_of_several(files, path)
            if script.followed and _runs(files, script, launch) and not _may_be_one(launch)
        ]
        found += [(False, False, place) for place in files.tasks_of(path)]
        found.sort(key=lambda each: (*each[:2], each[2].path, each[2].line))
        if found:
            places = tuple(place for *_, place in found)
            yield Apart(path, places, Place(file, line, 0, line, 0))


def _runs(files: LaunchFiles, script: Script, launch: Launch) -> bool:
    """Whether the program takes what the launcher passes to it, a local rank among its arguments."""
    match launch.launcher:
        case Launcher.TORCH_LAUNCH if "use_env" not in launch.options:
            return files.takes_any_rank(script, launch)
        case Launcher.DEEPSPEED if "no_local_rank" not in launch.options:
            return files.takes_any_rank(script, launch)
    return True


def _may_be_one(launch: Launch) -> bool:
    """Whether a launch starts one process on one machine where nobody says another number: `${1:-1}`."""
    numbers = [launch.options.get(name) for name in (*launch.row.processes, launch.row.machines)]
    return any(each is not None for each in numbers[:-1]) and all(
        each is None or each.value == "1" for each in numbers
    )
