"""What the ranks print: handed on in whole lines, each with its rank, and kept in files if wanted."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path
from typing import BinaryIO

_LONGEST = 1 << 20
"""Bytes of one line that are held back at most."""
_PIECE = re.compile(rb"[^\r\n]*(?:\r?\n|\r)")


class RankOutput:
    """One stream (standard output or standard error) of one rank, read from a pipe.

    A carriage return ends a piece as well, so that a progress bar is seen while it moves. Where the
    reader of distlint's own output has left (`| head`), the rest goes to the log alone.
    """

    def __init__(self, pipe: int, rank: int, target: BinaryIO, log: BinaryIO | None) -> None:
        self.pipe = pipe
        self.open = True
        self._prefix = f"[rank {rank}] ".encode()
        self._target: BinaryIO | None = target
        self._log = log
        self._rest = b""
        os.set_blocking(pipe, False)

    def drain(self) -> None:
        """Hand on what the pipe holds. What follows the last end of a line waits for its end."""
        while self.open:
            try:
                data = os.read(self.pipe, 1 << 16)
            except BlockingIOError:
                return
            if not data:
                self.open = False
            self._take(data)

    def close(self) -> None:
        """Hand on the last line, ended or not; then close the pipe."""
        self.drain()
        self.open = False
        if self._rest:
            self._take(b"\n")
        os.close(self.pipe)

    def _take(self, data: bytes) -> None:
        text = self._rest + data
        # A carriage return that comes last may be half of an end of line. To look for an end in what
        # has none would take the square of its length.
        whole = max(text.rfind(b"\n"), text.rfind(b"\r", 0, -1)) + 1
        pieces = _PIECE.findall(text[:whole])
        self._rest = text[whole:]
        if len(self._rest) > _LONGEST:
            pieces.append(self._rest + b"\n")
            self._rest = b""
        if not pieces:
            return
        if self._log is not None:
            self._log.write(b"".join(pieces))
            self._log.flush()
        if self._target is not None:
            try:
                self._target.write(b"".join(self._prefix + piece for piece in pieces))
                self._target.flush()
            except BrokenPipeError:
                self._target = None


class Logs:
    """One file a rank for all that it prints, in the order in which it arrives."""

    def __init__(self, folder: Path | None, ranks: int) -> None:
        """Raises OSError where the folder or a file in it cannot be made."""
        self._files: list[BinaryIO] = []
        self._stack = contextlib.ExitStack()
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            for rank in range(ranks):
                file = (folder / f"rank{rank}.log").open("wb")
                self._files.append(self._stack.enter_context(file))

    def of(self, rank: int) -> BinaryIO | None:
        """The file of a rank; None where none is kept."""
        return self._files[rank] if self._files else None

    def close(self) -> None:
        """Close all files."""
        self._stack.close()
