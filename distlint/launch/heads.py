"""The launches at the head of a Python file, in its docstring and the comments above its code."""

from __future__ import annotations

import re
from typing import Final

from distlint.launch.kinds import HEAD_SIZE
from distlint.patterns import pattern

_DOCSTRING: Final = pattern(
    r"""\A(?:[ \t]*(?:\#[^\n]*)?\n)*[rRuU]?(?P<quotes>\"{3}|'{3})(?P<text>.*?)(?P=quotes)""",
    re.DOTALL | re.VERBOSE,
)
_COMMENT: Final = pattern(r"^[ \t]*#[#!]*")
_CODE: Final = pattern(r"(?:async|class|def|for|if|try|while|with)\b|@")
"""What the comments in and behind it are about."""
_LABEL: Final = pattern(
    r"^\s*(?:[-*] |>>> )?(?:[^`'\"\n:]{0,60}:[ \t]+)?(?=(?:\w+=\S* +)*(?:python[\d.]* +-m +torch\.distributed\.|torchrun +-"
    r"|accelerate +launch +|deepspeed +))"
)
"""What stands in front of a launch: `Launch with: torchrun --nproc_per_node=4 src/train_ddp.py`."""


def head_of(text: str) -> str:
    """What a Python file says at its head, at its places, with blanks for its code and what marks a comment.

    train.py of nanoGPT says `$ torchrun --standalone --nproc_per_node=4 train.py` (llm-logic 1195386 train.py:9).
    """
    lines = text[:HEAD_SIZE].split("\n")[:-1] if len(text) > HEAD_SIZE else text.split("\n")
    told = range(0)
    if (found := _DOCSTRING.match(text)) is not None:
        first = text.count("\n", 0, found.start("text"))
        told = range(first, text.count("\n", 0, found.end("text")) + 1)
    kept: list[str] = []
    above = True
    for number, line in enumerate(lines):
        above = above and (number in told or not _CODE.match(line))
        mark = _COMMENT.match(line) if above else None
        if number in told:
            line = line.replace('"""', "   ").replace("'''", "   ")
        elif mark is not None:
            line = " " * mark.end() + line[mark.end() :]
        else:
            line = ""
        label = _LABEL.match(line)
        kept.append(line if label is None else " " * label.end() + line[label.end() :])
    return "\n".join(kept).rstrip()
