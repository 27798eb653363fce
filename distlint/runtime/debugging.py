"""A breakpoint that several ranks can pass: one stops, the others wait for it."""

from __future__ import annotations

import builtins
import multiprocessing
import os
import pdb
import sys
import warnings
from bdb import BdbQuit
from pathlib import Path
from types import FrameType
from typing import TextIO

from .callsite import call_site, caller_frame
from .channel import Meeting, open_meeting
from .identity import rank as this_rank
from .identity import world_size


def breakpoint(rank: int = 0, *, header: str | None = None, timeout: float = 3600.0) -> None:
    """Stops one rank in the debugger, in the caller's frame; the others wait for its ``continue``.

    Collective: every rank must call it. The others wait on the store, so that no timeout of a
    process group is touched. ``n`` and ``s`` step on while the others wait: stepping into a
    collective waits for them in turn; ``continue`` first. ``q`` and the end of input end the wait
    of the others too.

    Without a process group it is the builtin. Where that rank has no terminal it warns once, with
    the place, and everyone goes on. ``PYTHONBREAKPOINT=0`` turns it off.

    Args:
        rank: the rank that stops.
        header: a line to show before the first prompt.
        timeout: seconds that the others wait.

    Raises:
        bdb.BdbQuit: on the rank that stopped: the user quit.
        RankError, MainProcessError: on the others: the user quit, or that rank is gone.
        DesyncError, RankTimeoutError: on the others: that rank is elsewhere, or takes longer.
        ValueError: `rank` is not a rank of the group.
    """
    if os.environ.get("PYTHONBREAKPOINT") == "0":
        return
    if not 0 <= rank < max(world_size(), 1):
        raise ValueError(f"breakpoint(rank={rank}): the ranks are 0 to {world_size() - 1}")
    frame = caller_frame()
    operation = f"breakpoint(rank={rank})"
    meeting = open_meeting(operation, of_all=False, timeout=timeout, leaders=(rank,))
    if meeting is None:
        _stop_alone(frame, header)
        return
    if this_rank() != rank:
        meeting.follow(rank)
        return
    meeting.announce()
    terminal = _terminal()
    if terminal is None:
        meeting.publish()
        warnings.warn(
            f"breakpoint() at {call_site()} is passed: rank {rank} has no terminal to stop on",
            RuntimeWarning,
            stacklevel=2,
        )
        return
    debugger = _RankDebugger(meeting, *terminal)
    if header is not None:
        debugger.message(header)
    debugger.message(f"rank {rank} stops; the other ranks wait for 'continue'")
    debugger.set_trace(frame)


def _stop_alone(frame: FrameType, header: str | None) -> None:
    if header is not None:
        print(header)
    if sys.breakpointhook is sys.__breakpointhook__ and not os.environ.get("PYTHONBREAKPOINT"):
        # The builtin would stop in this module.
        pdb.Pdb().set_trace(frame)
    else:
        builtins.breakpoint()


def _terminal() -> tuple[TextIO, TextIO] | None:
    """Where this process can talk to the user; None where nobody is there."""
    if sys.stdin is not None and sys.stdin.isatty():
        return sys.stdin, sys.stdout
    # A child of multiprocessing has /dev/null for its input, though a terminal may be there.
    tty = Path("/dev/tty")
    if multiprocessing.parent_process() is None or not tty.exists():
        return None
    try:
        return tty.open(), tty.open("w")
    except OSError:
        # There is no controlling terminal: a batch job.
        return None


class _RankDebugger(pdb.Pdb):
    """A debugger that lets the other ranks go when the user does."""

    def __init__(self, meeting: Meeting, stdin: TextIO, stdout: TextIO) -> None:
        super().__init__(stdin=stdin, stdout=stdout, nosigint=True)
        self._meeting: Meeting | None = meeting

    def set_continue(self) -> None:
        super().set_continue()
        self._release(None)

    def set_quit(self) -> None:
        super().set_quit()
        self._release(BdbQuit("the user quit the debugger"))

    def _release(self, error: BaseException | None) -> None:
        if self._meeting is not None:
            meeting, self._meeting = self._meeting, None
            meeting.publish(error=error)
