"""How many arguments a shell script takes, and who starts it with another number."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Iterator
from typing import Final

from distlint.findings import Place
from distlint.knowledge.configuration.launchers import NUMBERS
from distlint.launch.commands import Option, script_started
from distlint.launch.project import RENUMBERED, LaunchFiles, Script
from distlint.launch.shell import Word
from distlint.patterns import pattern

_TEST: Final = pattern(
    r"""\bif\s+\[\[?\s*["']?\$\{?\#\}?["']?\s+-(?P<sign>lt|le|ne|gt|ge)\s+["']?(?P<number>\d+)["']?\s*\]\]?\s*(?:;|\n)\s*then\b
    (?P<body>(?:(?!\b(?:if|shift)\b).)*?)\bfi\b""",
    re.DOTALL | re.VERBOSE,
)
_ENDS: Final = pattern(r"(?:^|[;\s])exit\b")
_OTHERWISE: Final = pattern(r"\(\)|\bfunction\b|\bshift\b|\bset\s+--|\bgetopts?\b")
"""In front of a test: it may be of a function, or of what is left."""
_SIGNS: Final[dict[str, Callable[[int, int], bool]]] = {
    "lt": operator.lt,
    "le": operator.le,
    "ne": operator.ne,
    "gt": operator.gt,
    "ge": operator.ge,
}
_COUNTED: Final = pattern(r"[ \t]#\w\S*\s*$")
"""A number to fill in, though a shell would read a comment: Sparsebit f473aef examples/quantization_aware_training/nuscenes/bevdet/README.md:16,
`./tools/dist_qat_train.sh … #gpu`."""
_PLAIN: Final = pattern(r"[^\[\]{}<>*?]*(?<!\.\.\.)")
"""A word that stands for itself alone, and is no place to fill something in."""


def miscounted(files: LaunchFiles) -> Iterator[tuple[str, int, Place, Place]]:
    """The commands of scripts and READMEs that start a shell script with a number of arguments on which it exits.

    terapipe 1a17aa2 README.md:38 gives mpirun_terapipe.sh 8; it begins with `if [ "$#" -lt 9 ]; then …; exit -1; fi`.

    Yields:
        The name of the script, how many arguments it is given, where, and where it counts them.
    """
    counting = {each.path: tests for each in files.scripts if (tests := list(_tests_of(each)))}
    for program, given, path in _started(files, counting) if counting else ():
        for refuses, number, place in counting[path]:
            if refuses(given, number):
                yield program.text or "", given, program.place, place
                break


def left_out(files: LaunchFiles) -> Iterator[tuple[Word, int, Option, int]]:
    """The commands of scripts and READMEs that start a shell script without the argument which is a number of its launch.

    DiffuLLaMA c17e897 DiffuLLaMA-training/README.md:23: `bash run_distributed.sh`, which has `--machine_rank $NODEID`, and that
    is `$1`.

    Yields:
        The name of the script, how many arguments it is given, the option, and the number of its argument.
    """
    taking = {each.path: taken for each in files.scripts if (taken := list(_numbers_of(each)))}
    for program, given, path in _started(files, taking) if taking else ():
        lost = [each for each in taking[path] if each[1] > given]
        if lost:
            yield program, given, *lost[0]


def _numbers_of(script: Script) -> Iterator[tuple[Option, int]]:
    """The options of a script's launches whose number is one of its arguments, each with which one that is."""
    if script.told or RENUMBERED.search(script.text) or "$#" in script.text:
        return
    for launch in script.launches:
        for option in launch.options.values() if not launch.tested else ():
            if option.word is not None and option.word.given and option.name in NUMBERS:
                yield option, option.word.given


def _started(files: LaunchFiles, asked: Collection[str]) -> Iterator[tuple[Word, int, str]]:
    """Where scripts and READMEs start shell scripts that are asked for, each with how many arguments it is given, and its path."""
    for script in files.scripts:
        for command in script.commands if script.followed else ():
            found = script_started(command)
            if found is None or not all(_PLAIN.fullmatch(w.text or "\n...") for w in found[1]):
                continue
            path = files.script_meant(found[0].text or "", script.path)
            if path in asked and not _COUNTED.search(script.command_at(found[0].place.line)):
                yield found[0], len(found[1]), path


def _tests_of(script: Script) -> Iterator[tuple[Callable[[int, int], bool], int, Place]]:
    """The tests of a script that end it: what they refuse beside a number, and where they stand."""
    for found in () if script.told else _TEST.finditer(script.text):
        if not _ENDS.search(found["body"]) or _OTHERWISE.search(script.text[: found.start()]):
            continue
        line = script.text.count("\n", 0, found.start()) + 1
        place = Place(script.path, line, 0, line, 0)
        yield _SIGNS[found["sign"]], int(found["number"]), place
