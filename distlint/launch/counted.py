"""How many arguments a shell script takes, by its own test of `$#`, and who starts it with another number."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from typing import Final

from distlint.findings import Place
from distlint.launch.commands import script_started
from distlint.launch.kinds import is_readme
from distlint.launch.project import LaunchFiles, Script

_TEST: Final = re.compile(
    r"""\bif\s+\[\[?\s*["']?\$\{?\#\}?["']?\s+-(?P<sign>lt|le|ne|gt|ge)\s+["']?(?P<number>\d+)["']?\s*\]\]?\s*(?:;|\n)\s*then\b
    (?P<body>(?:(?!\b(?:if|shift)\b).)*?)\bfi\b""",
    re.DOTALL | re.VERBOSE,
)
_ENDS: Final = re.compile(r"(?:^|[;\s])exit\b")
_OTHERWISE: Final = re.compile(r"\(\)|\bfunction\b|\bshift\b|\bset\s+--|\bgetopts?\b")
"""In front of a test: it may be of a function, or of what is left."""
_SIGNS: Final[dict[str, Callable[[int, int], bool]]] = {
    "lt": operator.lt,
    "le": operator.le,
    "ne": operator.ne,
    "gt": operator.gt,
    "ge": operator.ge,
}
_PLAIN: Final = re.compile(r"[^\[\]{}<>*?]*(?<!\.\.\.)")
"""A word that stands for itself alone, and is no place to fill something in."""


def miscounted(files: LaunchFiles) -> Iterator[tuple[str, int, Place, Place]]:
    """The commands of scripts and READMEs that start a shell script with a number of arguments on which it exits.

    terapipe 1a17aa2 README.md:38 gives mpirun_terapipe.sh 8; it begins with `if [ "$#" -lt 9 ]; then …; exit -1; fi`.

    Yields:
        The name of the script, how many arguments it is given, where, and where it counts them.
    """
    counting = {each.path: tests for each in files.scripts if (tests := list(_tests_of(each)))}
    for script in files.scripts if counting else ():
        if script.told and not is_readme(script.path):
            continue
        for command in script.commands:
            found = script_started(command)
            if found is None:
                continue
            program, given = found
            if not all(_PLAIN.fullmatch(w.text or "\n...") for w in given):
                continue
            path = files.script_called(program.text or "", script.path)
            for refuses, number, place in counting.get(path, ()):
                if refuses(len(given), number):
                    yield program.text or "", len(given), program.place, place
                    break


def _tests_of(script: Script) -> Iterator[tuple[Callable[[int, int], bool], int, Place]]:
    """The tests of a script that end it: what they refuse beside a number, and where they stand."""
    for found in () if script.told else _TEST.finditer(script.text):
        if not _ENDS.search(found["body"]) or _OTHERWISE.search(script.text[: found.start()]):
            continue
        line = script.text.count("\n", 0, found.start()) + 1
        place = Place(script.path, line, 0, line, 0)
        yield _SIGNS[found["sign"]], int(found["number"]), place
