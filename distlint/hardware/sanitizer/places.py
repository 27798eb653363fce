"""Which frames of a stack are the user's own, and how a path is shown."""

from __future__ import annotations

import os
import re
import sysconfig
from functools import lru_cache
from pathlib import Path

from distlint.hardware.sanitizer.events import Frame, Stack

INSTALLED = frozenset({"site-packages", "dist-packages"})
"""Names of the folders that hold installed packages."""


_INTERNAL = re.compile(
    r"^<|[/\\](?:site|dist)-packages[/\\]torch[/\\]|[/\\]lib[/\\]python3[^/\\]*[/\\](?!(?:site|dist)-packages)"
    r"|[/\\]distlint[/\\](?:hardware[/\\]sanitizer|proving|runtime)[/\\]"
)


def is_internal(path: str) -> bool:
    """Whether a file is torch's, the standard library's or distlint's, by its path alone."""
    return _INTERNAL.search(path) is not None


@lru_cache(maxsize=1024)
def is_users(path: str) -> bool:
    """Whether a file is of the user's program: there, and not of an installed package."""
    installed = tuple(sysconfig.get_paths()[key] for key in ("purelib", "platlib", "stdlib"))
    # By name too: a virtual environment may show the packages of another Python.
    if path.startswith((*installed, "<")) or not INSTALLED.isdisjoint(Path(path).parts):
        return False
    return Path(path).is_file()


def users_frame(stack: Stack) -> Frame | None:
    """The innermost call in the user's program; the innermost of all where none is."""
    return next((frame for frame in stack if is_users(frame.path)), stack[0] if stack else None)


def shown_path(path: str) -> str:
    """Relative to the working directory where the file is below it."""
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else Path(relative).as_posix()


def at_text(stack: Stack) -> str:
    """`` at train.py:12``; nothing where the stack is empty."""
    frame = users_frame(stack)
    return f" at {shown_path(frame.path)}:{frame.line}" if frame else ""
