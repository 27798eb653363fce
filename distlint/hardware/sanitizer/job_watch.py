"""The ranks of a job on any number of machines, in the launcher's place: see `job_store`.

A thread carries between the store and a socket for each rank, over which the supervision hears and asks it as
if it were below a launcher of ours.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import socket
import threading
import time

from distlint.hardware.sanitizer.events import Stack
from distlint.hardware.sanitizer.job_store import Meeting, WatcherSide, Word
from distlint.hardware.sanitizer.ranks import Child, attached

_PAUSE = 0.001
"""Seconds between two looks at all ranks, for each rank."""
_FAREWELL = 5.0
"""Seconds without a word after which a rank has ended, where rank 0 has: the launcher ends them all."""
_SILENCE = 120.0
"""The same where rank 0 is there: a rank that holds the interpreter says nothing either."""


class Job:
    """A job that runs already; `expected` ranks are to come in."""

    def __init__(self, meeting: Meeting, ranks: int) -> None:
        """Raises RuntimeError where the job's store is gone, or no port is free."""
        self.expected = ranks
        self.lost = False
        """Whether rank 0, which has started this process, has gone without an end."""
        self._side = WatcherSide(ranks)
        self._parent = os.getppid()
        self._heard = dict.fromkeys(range(ranks), time.monotonic())
        self._shared: dict[Stack, Stack] = {}
        self._ends: dict[int, socket.socket] = {}
        self._waiting: queue.SimpleQueue[Child] = queue.SimpleQueue()
        self._words: queue.SimpleQueue[Word] = queue.SimpleQueue()
        self._left = False
        self.door, self._bell = socket.socketpair()
        self._carrier = threading.Thread(target=self._carry, name="distlint", daemon=True)
        self._carrier.start()
        meeting.publish(self._side.store)

    @property
    def ended(self) -> bool:
        """Whether no rank will tell any more."""
        return not self._carrier.is_alive()

    def accept(self, _: set[int]) -> Child | None:
        """The rank that has come in; each comes once."""
        self.door.recv(1)
        return self._waiting.get()

    def wait(self) -> None:
        """Nothing to wait for: what ends the job is not ours."""

    def end(self) -> int | None:
        """Nothing to end yet, see `leave`; nobody knows the launcher's exit status."""
        return None

    def leave(self, diverged: bool) -> None:
        """Have the ranks end themselves where they have diverged, else fall silent."""
        self._words.put(Word.END if diverged else Word.STOP)
        self._carrier.join(1.0)
        # The store goes with this process: a rank that has not heard by then would wait for the others for ever.
        deadline = time.monotonic() + _FAREWELL
        while (
            diverged
            and time.monotonic() < deadline
            and not all(self._side.ends(rank) for rank in list(self._heard))
        ):
            time.sleep(0.05)

    def _carry(self) -> None:
        while self._heard and not self._left:
            carried = [self._take(rank) for rank in sorted(self._heard)]
            self._say_words()
            self._give_up()
            if not any(carried):
                time.sleep(min(max(0.01, _PAUSE * self.expected), 0.2))
        for end in self._ends.values():
            end.close()

    def _give_up(self) -> None:
        """Let go of ranks that have not been heard of for long, which have ended without a word."""
        self.lost = self.lost or (0 in self._heard and os.getppid() != self._parent)
        patience = _FAREWELL if self.lost else _SILENCE
        for rank, heard in list(self._heard.items()):
            if time.monotonic() - heard > patience:
                self._let_go(rank)

    def _let_go(self, rank: int) -> None:
        del self._heard[rank]
        if rank in self._ends:
            self._ends.pop(rank).close()

    def _take(self, rank: int) -> bool:
        """Hand on what a rank has told next; whether there was anything."""
        lines = self._side.take(rank)
        if lines is None:
            return False
        self._heard[rank] = time.monotonic()
        if not lines:
            self._let_go(rank)
        elif rank not in self._ends:
            self._let_in(rank, lines)
        else:
            # Whoever has seen enough has closed the other end.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                self._ends[rank].sendall(lines)
        return True

    def _let_in(self, rank: int, lines: bytes) -> None:
        greeting, _, more = lines.partition(b"\n")
        self._ends[rank], pipe = socket.socketpair()
        self._waiting.put(attached(json.loads(greeting), pipe.detach(), self._shared, far=True))
        self._ends[rank].sendall(more)
        self._bell.send(b"!")

    def _say_words(self) -> None:
        # All are heard before it is said: one word asks every rank.
        asked = [rank for rank, end in self._ends.items() if _asks(end)]
        words = [Word.WHERE] if asked else []
        while not self._words.empty():
            words.append(self._words.get())
        for word in words:
            self._side.say(word)
            self._left = self._left or word is not Word.WHERE


def _asks(end: socket.socket) -> bool:
    """Whether the supervision asks a rank where it is."""
    try:
        return bool(end.recv(64, socket.MSG_DONTWAIT))
    except (BlockingIOError, ConnectionResetError):
        return False
