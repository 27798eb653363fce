"""Launches that end in front of their arguments: what follows is a command that begins with an option."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from distlint.columns import split_lines
from distlint.findings import Place
from distlint.launch.commands import Launch, launches
from distlint.launch.project import Script
from distlint.launch.shell import Command
from distlint.patterns import pattern

_OPTION: Final = pattern(r"--?[A-Za-z]")
_LOST: Final = pattern(r"[ \t]*(?:> )?(?P<word>[^\s\\`<#]+)")
_ALL_GIVEN: Final = pattern(r"[ \t]*(\"\$\{?@\}?\"|\$\{?@\}?)[ \t]*(?:\\[ \t]*)?")
"""A line of nothing but what the script is given, which is no command where a launch ends above it."""
_SPACE_BEHIND: Final = pattern(r"\\[ \t]+$")
_GOES_ON: Final = pattern(r"\\[ \t]*$")
_COMMENT: Final = pattern(r"(?:^|\s)#")


def cut_short(script: Script) -> Iterator[tuple[Launch, str, Place, int]]:
    """The launches that end above arguments which are meant for them.

    A comment or an empty line ends a command even behind a backslash, as a line without one does, or with a space behind
    it. No command is called `--lr`. MiniCPM 0fcc3d0 finetune/sft_finetune.sh:7 has a comment above each of its options.
    ControlAR 87e32e9 scripts/autoregressive/train_t2i_hed_multiscale.sh:15 lacks the backslash above `"$@"`.

    Args:
        script: a shell script; in a page, people put together again what they type: nothing but a space that nobody sees
            ends a command there (vidt a8c48b5 README.md:384).

    Yields:
        The launch, the first word of its arguments that is made a command, where it stands, and how many commands there are.
    """
    lines = split_lines(script.text)
    if script.told:
        yield from _by_a_space(script, lines)
        return
    launch: Launch | None = None
    lost: list[tuple[str, Place]] = []
    for command in script.commands:
        if command.aside:
            continue
        if launch is not None and (word := _argument(launch, command, lines)):
            lost.append((word, command.words[0].place))
            continue
        if launch is not None and lost:
            yield launch, *lost[0], len(lost)
        launch, lost = next(launches([command]), None), []
    if launch is not None and lost:
        yield launch, *lost[0], len(lost)


def _argument(launch: Launch, command: Command, lines: list[str]) -> str:
    """The word that a command begins with, where that is an option and stands so in its line, all that the script is given,
    or what follows a backslash with a space; else empty."""
    if not command.words:
        return ""
    first, line = command.words[0].text, lines[command.line - 1]
    if first is None:
        given = _ALL_GIVEN.fullmatch(line)
        return given[1] if given is not None and _is_meant_to_go_on(launch, command, lines) else ""
    part = lines[launch.place.line - 1 : command.line - 1]
    goes_on = _OPTION.match(first) or (
        bool(part)
        and _SPACE_BEHIND.search(part[-1])
        and all(_GOES_ON.search(each) and not _COMMENT.search(each) for each in part)
    )
    return first if goes_on and line.lstrip().startswith(first.partition("=")[0]) else ""


def _is_meant_to_go_on(launch: Launch, command: Command, lines: list[str]) -> bool:
    """Whether nothing but comments stands between a launch and a command, and one of the lines has a backslash at its end.

    Entry points launch on one line and have `"$@"` on the next, or in the other arm of a test.
    """
    end = _last_line(launch, lines)
    return any(
        each.endswith("\\") for each in lines[launch.place.line - 1 : command.line - 1]
    ) and all(each.lstrip().startswith("#") for each in lines[end : command.line - 1])


def _last_line(launch: Launch, lines: list[str]) -> int:
    """The line in which a launch ends: the first one of it that has no backslash at its end."""
    line = launch.place.line
    while line < len(lines) and lines[line - 1].endswith("\\"):
        line += 1
    return line


def _by_a_space(script: Script, lines: list[str]) -> Iterator[tuple[Launch, str, Place, int]]:
    """The launches of a page that a backslash with a space behind it ends."""
    for launch in script.launches if script.followed else ():
        line = _last_line(launch, lines)
        found = _LOST.match(lines[line]) if line < len(lines) else None
        if (
            found is not None
            and _OPTION.match(found["word"])
            and _SPACE_BEHIND.search(lines[line - 1])
        ):
            start, end = (len(lines[line][:at].encode()) for at in found.span("word"))
            yield launch, found["word"], Place(script.path, line + 1, start, line + 1, end), 1
