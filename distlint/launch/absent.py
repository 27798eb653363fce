"""Programs and configurations that a launch names, and that are not in the project."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import Final

from distlint.findings import Place
from distlint.launch.commands import Launch
from distlint.launch.project import LaunchFiles, Script

_CONFIGURATIONS: Final = frozenset(
    {"config", "cfg", "config_file", "config_path", "deepspeed", "deepspeed_config", "ds_config"}
)
"""Options by which programs are told a file to read."""
_READ: Final = (".json", ".yaml", ".yml")
_MAKES: Final = frozenset(
    {
        "git",
        "wget",
        "curl",
        "cp",
        "mv",
        "ln",
        "rsync",
        "tar",
        "unzip",
        "scp",
        "gsutil",
        "aws",
        "tee",
    }
)
"""Commands after which there may be other files than those of the project."""
_WRITTEN_OUT: Final = re.compile(r"[\w./@+-]+")


def missing(files: LaunchFiles, script: Script, launch: Launch) -> Iterator[tuple[str, Place]]:
    """The files that a launch names and the project lacks, though it has the folder that each would stand in."""
    if _makes_files(script):
        return
    for name, place in _named(launch):
        if _is_nowhere(files, name, script) and files.has_beside(name, script.path):
            yield name, place


def is_dead(files: LaunchFiles, script: Script, launch: Launch) -> bool:
    """Whether a launch cannot start as it stands: its program, or a file that it names, is not in the project.

    UniControl 472c6cd annotator/uniformer/exp/upernet_global_small/run.sh: `tools/train.py` was not copied along.
    """
    if _makes_files(script):
        return False
    program = launch.script
    return (
        program is not None
        and program.sure
        and (program.text or "").endswith(".py")
        and not any(enters(script))
        and _is_nowhere(files, program.text or "", script)
    ) or any(missing(files, script, launch))


def is_written_out(name: str) -> bool:
    """Whether the name of a file has nothing in it that stands for something else, nor leads up."""
    return _WRITTEN_OUT.fullmatch(name) is not None and ".." not in name.split("/")


def _named(launch: Launch) -> Iterator[tuple[str, Place]]:
    """The files that a launch names, where nothing outside of the script has a say in it."""
    program = launch.script
    if program is not None and program.text and program.sure and program.text.endswith(".py"):
        yield program.text, program.place
    for option in (*launch.options.values(), *launch.arguments.values()):
        value = option.value
        name = option.name.rpartition(".")[2]  # `--training_arguments.deepspeed`
        if name in _CONFIGURATIONS and option.sure and value and value.endswith(_READ):
            yield value, option.place


def _makes_files(script: Script) -> bool:
    words = {each.words[0].text for each in script.commands if each.words}
    return not _MAKES.isdisjoint(words)


def enters(script: Script) -> Iterator[str]:
    """The folders that a script changes to, wherever in a command that is said; `..` for those not known."""
    for command in script.commands:
        texts = [word.text for word in command.words]
        for place, text in enumerate(texts):
            if (text or "").rpartition("/")[2] in ("cd", "pushd"):
                yield (texts[place + 1 : place + 2] or [".."])[0] or ".."


def _is_nowhere(files: LaunchFiles, name: str, script: Script) -> bool:
    """Whether a file is in no folder that the script may be started in, or changes to."""
    meant = [name, *(posixpath.join(each, name) for each in enters(script))]
    return all(is_written_out(each) and files.is_absent(each, script.path) for each in meant)
