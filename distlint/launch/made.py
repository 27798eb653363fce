"""What the commands of a script may make, and the folders that it changes to."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Set
from typing import Final

from distlint.launch.project import Script
from distlint.launch.shell import Command, Word

MAKES: Final = frozenset(
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
_OF_GIT: Final = frozenset(
    {"add", "commit", "config", "init", "lfs", "log", "push", "reset", "status"}
)
"""Commands of git after which there are no other files of the project."""
_UNPACK: Final = frozenset({"tar", "unzip"})
_FETCH: Final = frozenset({"wget", "curl"})
_PACKED: Final = (".gz", ".tar", ".tgz", ".zip", ".bz2", ".xz", ".7z")


def makes_files(script: Script, made: Set[str] = MAKES) -> bool:
    """Whether a script may make programs or configurations; `tee` into a log is none."""
    return any(
        command.words and command.words[0].text in made and not _writes_log(command)
        for command in script.commands
    )


def _writes_log(command: Command) -> bool:
    """R1-V bbbbe3d src/scripts/run_grpo_vllm_qwen25vl.sh:51: `| tee "${OUTPUT_DIR}/training_log.txt"`."""
    return command.words[0].text == "tee" and all(
        (word.text or "").endswith((".log", ".txt")) or (word.text or "").startswith("-")
        for word in command.words[1:]
    )


def may_put(command: Command, name: str, *, here: bool = True) -> bool:
    """Whether a command may make the file that a launch calls `name`, where it makes any.

    Args:
        command: a command of a script.
        name: the file, with or without a folder. One without is not in what is unpacked.
        here: whether the launch is surely made in this project, and not in another that is cloned.
    """
    tool = command.words[0].text if command.words else None
    if tool not in MAKES or _writes_log(command):
        return False
    words = [word.text for word in command.words[1:] if not (word.text or "").startswith("-")]
    if tool == "git" and words and words[0] in _OF_GIT:
        return False
    if tool in _UNPACK:
        return "/" in name
    if not words or words[-1] is None:
        return True
    if tool == "git":
        made = _base(words[-1]).removesuffix(".git")
        return not here or words[0] != "clone" or made in name.split("/")
    if tool in _FETCH:
        return any(each is None or _may_be(each, name) for each in words)
    return _may_be(words[-1], name)


def _base(path: str) -> str:
    return posixpath.basename(posixpath.normpath(path))


def _may_be(made: str, name: str) -> bool:
    """Whether a file or folder that is made may be a file, or have it inside."""
    base, end = _base(made), posixpath.splitext(made)[1]
    return (end in _PACKED and "/" in name) or base in (".", "..", *name.split("/"))


def where(moves: Iterable[Word], line: int) -> tuple[str, ...]:
    """The folder in which a line of a script is run, seen from where it is started; `moves` are those that it changes to."""
    at: list[str] = []
    for word in moves:
        if word.place.line > line:
            break
        for part in (word.text or f"${word.place.line}").rstrip("/").split("/"):
            if part == ".." and at and at[-1] != "..":
                at.pop()
            elif part != ".":
                at.append(part)
    return tuple(at)


def enters(script: Script) -> Iterator[str]:
    """The folders that a script changes to, wherever in a command that is said; `..` for those not known."""
    return (word.text or ".." for word in script.entered())


def seen_from(script: Script, name: str) -> Iterator[str]:
    """What a file that a script names is called from where it is started, and in each folder that it changes to."""
    return (posixpath.join(folder, name) for folder in ("", *enters(script)))
