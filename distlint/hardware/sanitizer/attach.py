"""Puts the recorder into a rank that a launcher has started, before its program begins."""

from __future__ import annotations

import atexit
import json
import os
import socket
import sys
import threading
from types import TracebackType

from distlint.hardware.sanitizer.recorder import Recorder
from distlint.proving.rank_main import die_with_parent


def attach(path: str) -> None:
    """Connect to the supervision at the socket `path`, and tell it all from now on.

    Raises OSError where nobody listens there.
    """
    die_with_parent()
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    # The descriptor is the recorder's, for the whole life of the process.
    pipe = connection.detach()
    rank, ranks = int(os.environ["RANK"]), int(os.environ.get("WORLD_SIZE", "1"))
    os.write(pipe, json.dumps({"rank": rank, "ranks": ranks, "pid": os.getpid()}).encode() + b"\n")
    recorder = Recorder(pipe)
    recorder.install()
    threading.Thread(
        target=recorder.answer_questions, args=(pipe,), name="distlint", daemon=True
    ).start()
    left_by: list[BaseException] = []
    shown = sys.excepthook

    def excepthook(
        kind: type[BaseException], error: BaseException, frames: TracebackType | None
    ) -> None:
        left_by.append(error)
        shown(kind, error, frames)

    def end() -> None:
        if os.getpid() == recorder.process:
            recorder.end(left_by[0] if left_by else None)

    sys.excepthook = excepthook
    atexit.register(end)
