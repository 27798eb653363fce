"""Where in the user's program the runtime was called from."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

_PACKAGE = __name__.rpartition(".")[0]
# A section that the user entered through ExitStack or a decorator of contextlib was not called
# there but one frame further out.
_TRANSPARENT = frozenset({"contextlib", "functools"})


@dataclass(frozen=True, slots=True)
class CallSite:
    """A line of the user's program, as all ranks name it.

    Machines may keep the same program under different folders, so that ranks compare the last
    folder and the file name only.
    """

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def caller_frame() -> FrameType:
    """The innermost frame that does not belong to the runtime. Not collective."""
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_transparent(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
    return frame


def call_site() -> CallSite:
    """The line of the user's program that is calling the runtime. Not collective."""
    frame = caller_frame()
    return CallSite("/".join(Path(frame.f_code.co_filename).parts[-2:]), frame.f_lineno)


def _is_transparent(module: object) -> bool:
    name = str(module)
    return name in _TRANSPARENT or name == _PACKAGE or name.startswith(_PACKAGE + ".")
