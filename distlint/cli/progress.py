"""A progress bar on a terminal, for work that takes longer than a second."""

from __future__ import annotations

import os
import shutil
import time
from types import TracebackType
from typing import TextIO

PATIENCE = 1.0
"""Seconds before the bar appears."""


class ProgressBar:
    """Draws stages of work on a terminal and wipes itself away; does nothing elsewhere."""

    def __init__(self, stream: TextIO, *, enabled: bool = True) -> None:
        self._stream = stream
        self._active = enabled and stream.isatty()
        self._process = os.getpid()
        self._start = time.monotonic()
        self._drawn_at = 0.0

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.clear()

    def clear(self) -> None:
        """Wipe the bar away; the next stage draws it again."""
        if self._drawn_at:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._drawn_at = 0.0

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show that `done` of `total` units of `stage` are finished (`total` 0: unknown)."""
        now = time.monotonic()
        if not self._active or now - self._start < PATIENCE or now - self._drawn_at < 0.1:
            return
        if os.getpid() != self._process:  # forked: there is one bar
            return
        self._drawn_at = now
        width = min(shutil.get_terminal_size().columns - len(stage) - 16, 40)
        line = f"{stage} …"
        if total and width > 8:
            filled = width * done // total
            line = f"{stage:<14} {'━' * filled}{' ' * (width - filled)} {done:>6,}/{total:,}"
        self._stream.write(f"\r\x1b[K{line}")
        self._stream.flush()
