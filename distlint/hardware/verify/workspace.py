"""The folder in which a verification makes all others, removed however the command ends.

A command that is asked to stop (SIGTERM, SIGHUP, Ctrl-C) ends its ranks and removes the folder. One
that is killed outright (SIGKILL, out of memory) cannot: the next one removes what it left. A lock
that the system holds for as long as the process lives tells a folder in use from one left behind,
also across containers that share the temporary folder.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from distlint.proving import launch

_PREFIX = "distlint-verify-"
_LOCK = "in-use"


@contextmanager
def workspace() -> Iterator[Path]:
    """Every temporary folder of the body, and of the processes that it starts, lies in this one."""
    base = Path(tempfile.gettempdir())
    _remove_left_behind(base)
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    lock = os.open(folder / _LOCK, os.O_CREAT | os.O_RDWR)
    before, variable = tempfile.tempdir, os.environ.get("TMPDIR")
    signals = {
        number: signal.signal(number, _asked_to_stop) for number in (signal.SIGTERM, signal.SIGHUP)
    }
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        tempfile.tempdir, os.environ["TMPDIR"] = str(folder), str(folder)
        yield folder
    finally:
        for number, handler in signals.items():
            signal.signal(number, handler)
        tempfile.tempdir = before
        if variable is None:
            del os.environ["TMPDIR"]
        else:
            os.environ["TMPDIR"] = variable
        launch.end_all()
        # A thread may be writing its last file; what it makes after this is in no folder any more.
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)
        shutil.rmtree(folder, ignore_errors=True)


def _asked_to_stop(number: int, _: FrameType | None) -> None:
    raise SystemExit(128 + number)


def _remove_left_behind(base: Path) -> None:
    """Folders of verifications that were killed: whose lock nobody holds."""
    for folder in base.glob(f"{_PREFIX}*"):
        try:
            lock = os.open(folder / _LOCK, os.O_RDWR)
        except OSError:  # another user's, or from before its lock was made
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:  # in use
            continue
        else:
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(lock)
