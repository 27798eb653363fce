"""Launches that end in front of their arguments: what follows is a command that begins with an option."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from distlint.columns import split_lines
from distlint.launch.commands import Launch, launches
from distlint.launch.project import Script
from distlint.launch.shell import Command

_OPTION: Final = re.compile(r"--?[A-Za-z]")


def cut_short(script: Script) -> Iterator[tuple[Launch, Command, int]]:
    """The launches that end above arguments which are meant for them.

    A comment or an empty line ends a command even behind a backslash, as a line without one does, or with a space behind
    it. No command is called `--lr`. MiniCPM 0fcc3d0 finetune/sft_finetune.sh:7 has a comment above each of its options.

    Args:
        script: a shell script; in a page, people put together again what they type.

    Yields:
        The launch, the first command that is made of its arguments, and how many there are.
    """
    lines = split_lines(script.text)
    launch: Launch | None = None
    lost: list[Command] = []
    for command in script.commands:
        if command.aside:
            continue
        if launch is not None and _is_argument(command, lines):
            lost.append(command)
            continue
        if launch is not None and lost:
            yield launch, lost[0], len(lost)
        launch, lost = next(launches([command]), None), []
    if launch is not None and lost:
        yield launch, lost[0], len(lost)


def _is_argument(command: Command, lines: list[str]) -> bool:
    """Whether a command is an option, and stands so in its line."""
    first = command.words[0].text if command.words else None
    return (
        first is not None
        and _OPTION.match(first) is not None
        and lines[command.line - 1].lstrip().startswith(first.partition("=")[0])
    )
