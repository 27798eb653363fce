"""A rank of a job that any launcher has started, and that is watched through the job's own store.

Rank 0 starts the watcher, `distlint watch-job`, beside itself; all ranks talk with it through the store,
so that they may be on several machines, and nothing listens that did not before.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import select
import shlex
import subprocess
import sys
import threading
import time
from typing import NoReturn

import torch.distributed as dist
from torch._C._distributed_c10d import Store
from torch.distributed import distributed_c10d as c10d

from distlint.hardware.sanitizer.job_store import Meeting, RankSide, Word, meeting_in
from distlint.hardware.sanitizer.recorder import Recorder
from distlint.hardware.sanitizer.startup import REPLICAS
from distlint.proving.waiting import IdleWatch

_PAUSE = 0.2
"""Seconds between two looks for a word of the watcher."""
_BEHIND = 0.02
"""Seconds between two looks whether the watcher has come nearer."""
_KEEPS_UP = 1.0
"""Seconds that a collective of the CPU waits at most until the others can know of it."""
_START = 60.0
"""Seconds that ranks wait for the watcher, which has to load torch."""
_BEAT = 1.0
"""Seconds between two times that a rank says whether it is idle."""
_LAST_WORDS = 10.0
"""Seconds that a rank which has ended waits for its last words to be in the store."""
_ENDED = 3
"""Exit status of a rank that ends because the ranks have diverged."""


def join(options: str) -> None:
    """Tell the watcher all from now on; `options` are those of `distlint run`.

    Raises OSError, RuntimeError or ValueError where the store cannot be used, or `options` not be read.
    """
    rank, ranks = dist.get_rank(), dist.get_world_size()
    if ranks == 1:
        return
    job = c10d._get_default_store()
    # A launcher that restarts ranks keeps the store: each try has a watcher of its own.
    meeting = meeting_in(job, f"distlint/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}")
    if meeting is None:
        raise ValueError(
            "the process group has no TCP store (its init_method is no env:// or tcp://)"
        )
    listed = [] if options == "1" else shlex.split(options)
    watcher = _start_watcher(meeting, ranks, listed) if rank == 0 else None
    store = meeting.watcher(_START)
    if store is None:
        return
    if "--replicas" in listed:
        os.environ[REPLICAS] = "1"
    events, tell = os.pipe()
    listen, ask = os.pipe()
    greeting = json.dumps({"rank": rank, "ranks": ranks, "pid": os.getpid()}).encode() + b"\n"
    teller = _Teller(RankSide(store, rank), events, ask, watcher, len(greeting))
    recorder = Recorder(tell, teller.wait_for)
    os.write(tell, greeting)
    recorder.install()
    teller.start()
    threading.Thread(
        target=recorder.answer_questions, args=(listen,), name="distlint", daemon=True
    ).start()
    recorder.tell_end_at_exit(functools.partial(_leave, recorder, teller, job))


def _start_watcher(meeting: Meeting, ranks: int, options: list[str]) -> subprocess.Popen[bytes]:
    """Start the watcher; returns when it listens, or has left: what goes wrong at once is to be seen."""
    where = [meeting.host, str(meeting.port), meeting.prefix, str(ranks)]
    # In a session of its own: what ends the ranks must not end it before it has said why.
    watcher = subprocess.Popen(
        [sys.executable, "-m", "distlint", "watch-job", *options, *where],
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        # Where the job's store goes first, torch would write its own stack about that.
        env=os.environ | {"TORCH_CPP_LOG_LEVEL": "ERROR"},
    )
    while not meeting.decided and watcher.poll() is None:
        time.sleep(0.05)
    if not meeting.decided:
        meeting.decline()
    return watcher


def _leave(recorder: Recorder, teller: _Teller, _job: Store) -> None:
    """Rank 0 keeps the store `_job`, where no agent does: the others and the watcher still need it."""
    recorder.close()
    teller.join(_LAST_WORDS)
    teller.let_the_watcher_end()


class _Teller(threading.Thread):
    """Puts what the recorder tells into the store, and does what the watcher says."""

    def __init__(
        self,
        side: RankSide,
        events: int,
        ask: int,
        watcher: subprocess.Popen[bytes] | None,
        greeting: int,
    ) -> None:
        """The first `greeting` bytes of what can be read at `events` are not the recorder's."""
        super().__init__(name="distlint", daemon=True)
        self._handed_on = -greeting
        self._progress = threading.Condition()
        self._side = side
        self._events = events
        self._ask = ask
        self._watcher = watcher
        self._idle = IdleWatch()
        self._said_idle = 0.0
        self._rest = b""
        self._over = False

    def run(self) -> None:
        """Until the recorder has told its end, the watcher wants no more, or the store is gone."""
        # The watcher's store may go; the program goes on without.
        with contextlib.suppress(RuntimeError):
            while not self._over:
                self._step()
        # The recorder falls silent then, and the program goes on.
        os.close(self._events)
        with self._progress:
            self._over = True
            self._progress.notify_all()

    def wait_for(self, written: int) -> None:
        """Wait until so many bytes of the recorder are in the store, for as long as this keeps up."""
        with self._progress:
            self._progress.wait_for(lambda: self._over or self._handed_on >= written, _KEEPS_UP)

    def let_the_watcher_end(self) -> None:
        """Give the watcher, if this rank started it, time for the other ranks and for its report."""
        if self._watcher is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._watcher.wait(_LAST_WORDS)

    def _step(self) -> None:
        ready, _, _ = select.select([self._events], [], [], _PAUSE)
        if ready and self._side.may_tell:
            # Without waiting for more: the process may be gone in a moment.
            self._tell(os.read(self._events, 1 << 20))
        elif ready:
            time.sleep(_BEHIND)
        if not self._over:
            self._tell_idle()
            self._obey()

    def _tell(self, data: bytes) -> None:
        whole, end, self._rest = (self._rest + data).rpartition(b"\n")
        if whole:
            self._side.tell((whole + end).decode())
        with self._progress:
            self._handed_on += len(data)
            self._progress.notify_all()
        if not data:
            self._side.tell("")
            self._over = True

    def _tell_idle(self) -> None:
        """Also that the process is there at all: the watcher counts on hearing this."""
        idle = self._idle.idle([os.getpid()])  # It wants to be asked often.
        if (now := time.monotonic()) - self._said_idle >= _BEAT:
            self._said_idle = now
            self._side.tell(json.dumps({"kind": "idle", "idle": idle}) + "\n")

    def _obey(self) -> None:
        match self._side.hear():
            case Word.WHERE:
                os.write(self._ask, b"?")
            case Word.STOP:
                self._over = True
            case Word.END:
                self._end()

    def _end(self) -> NoReturn:
        self.let_the_watcher_end()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(_ENDED)
