"""Scripts that are given a number of GPUs, and start one process."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from distlint.findings import Place
from distlint.launch.commands import plain, script_started
from distlint.launch.places import Lines
from distlint.launch.project import RENUMBERED, LaunchFiles, Script
from distlint.patterns import pattern

_COMMENT: Final = pattern(r"(?:^|(?<=[ \t]))#.*$", re.MULTILINE)
_NUMBER: Final = pattern(
    r"^[ \t]*(?P<name>N?GPUS?|NUM_GPUS?|GPUS?_NUM|N_GPUS?|GPUS_PER_NODE|NPROC_PER_NODE)="
    r"[\"']?\$\{?(?P<given>[1-9])\}?[\"']?[ \t]*$",
    re.MULTILINE,
)
"""How scripts call the number of GPUs that they are given."""
_PORT: Final = pattern(r"^[ \t]*(?P<name>(?:MASTER_)?PORT)=", re.MULTILINE)
"""A place to meet: what the script starts was to be several processes."""


def numbers_idle(files: LaunchFiles) -> Iterator[tuple[int, str, Place, Place]]:
    """The scripts that take a number of GPUs and a port for ranks, do nothing with either, and start a program by Python alone.

    AnimalPose d942c06 tools/dist_train.sh:5: `GPUS=$2`, `PORT=${PORT:-29500}`, and `python …/train.py $CONFIG ${@:3}`;
    docs/en/getting_started.md:207 gives it 8.

    Yields:
        The number that somebody gives, the program, where it is taken, and where it is given.
    """
    for script in files.scripts:
        text = _COMMENT.sub("", script.text)
        taken = _NUMBER.search(text) if not (script.told or script.starts_ranks) else None
        port = _PORT.search(text) if taken is not None else None
        if (
            taken is None
            or port is None
            or RENUMBERED.search(text)
            or any(
                len(re.findall(rf"\b{each['name']}\b", text)) > _uses(each)
                for each in (taken, port)
            )
            or re.search(r"\$\{?[@*]\}?(?!:)", text)
        ):
            continue
        started = [each for command in script.commands if (each := plain(command)) is not None]
        given = _given(files, script, int(taken["given"]))
        if len(started) == 1 and given is not None:
            place = Lines(script.path, text).place(*taken.span())
            yield given[0], started[0].script.text or "", place, given[1]


def _uses(assigned: re.Match[str]) -> int:
    """How often a name stands in an assignment: twice in `PORT=${PORT:-29500}`."""
    line = assigned.string[assigned.start() :].split("\n", 1)[0]
    return len(re.findall(rf"\b{assigned['name']}\b", line))


def _given(files: LaunchFiles, script: Script, number: int) -> tuple[int, Place] | None:
    """The number above 1 that a page or script gives a script as one of its arguments, and where."""
    for other in files.scripts:
        for command in other.commands:
            found = script_started(command)
            if found is None or len(found[1]) < number:
                continue
            text = found[1][number - 1].text or ""
            if (
                text.isdecimal()
                and int(text) > 1
                and files.script_meant(found[0].text or "", other.path) == script.path
            ):
                return int(text), found[1][number - 1].place
    return None
