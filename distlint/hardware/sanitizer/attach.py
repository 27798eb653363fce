"""Puts the recorder into a rank that somebody else has started.

Below `distlint run --launcher`, before the rank's program begins; where DISTLINT_RUN is set, or the ranks
are on several machines, when the rank has joined its process group.
"""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Mapping

from distlint.hardware.sanitizer import joining
from distlint.hardware.sanitizer.startup import SOCKET, VARIABLE
from distlint.proving.rank_main import die_with_parent


def begin() -> None:
    """Attach the recorder as the environment asks; what a rank starts itself is left alone."""
    if SOCKET in os.environ and "RANK" not in os.environ:
        return
    if SOCKET in os.environ and _is_on_one_machine(os.environ):
        os.environ.pop(VARIABLE, None)
        _attach(os.environ.pop(SOCKET))
    elif os.environ.get(VARIABLE, "0") not in {"", "0"}:
        joining.when_joined()


def _is_on_one_machine(env: Mapping[str, str]) -> bool:
    """torchrun and accelerate set LOCAL_WORLD_SIZE, deepspeed LOCAL_SIZE."""
    ranks = env.get("WORLD_SIZE", "1")
    return env.get("LOCAL_WORLD_SIZE", env.get("LOCAL_SIZE", ranks)) == ranks


def _attach(path: str) -> None:
    """Connect to the supervision at the socket `path`, and tell it all from now on.

    Raises OSError where nobody listens there.
    """
    from distlint.hardware.sanitizer.recorder import Recorder

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
    recorder.tell_end_at_exit()
