"""The ranks of a run as processes: starting them, what is known of each, and ending them."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from distlint.hardware.sanitizer.events import (
    Collective,
    Decoder,
    End,
    Event,
    Frame,
    Group,
    PointToPoint,
    Stack,
    Whereabouts,
)
from distlint.hardware.sanitizer.output import Logs, RankOutput
from distlint.hardware.sanitizer.places import is_internal
from distlint.hardware.sanitizer.startup import REPLICAS, STACK_SIGNAL, TRAINING
from distlint.proving import launch
from distlint.proving.waiting import PARTNER_LOST, IdleWatch

_SEES_IDLE = Path("/proc/self/stat").exists()
_DUMP = 2.0
"""Seconds that a rank has to write its stack."""
_FRAME = re.compile(r'  File "(?P<path>.+)", line (?P<line>\d+) in (?P<function>.+)')
_GRACE = 5.0
"""Seconds between SIGTERM and SIGKILL."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run. `stall` and `patience` are seconds: see `run`."""

    command: tuple[str, ...]
    """`script NAME ARGS…` or `module NAME ARGS…`."""
    ranks: int
    backend: str | None
    stall: float
    patience: float
    output_to_stderr: bool
    notice: float = 5.0
    """Seconds of waiting after which `tell` hears of it; then after twice as many, and so on."""
    replicas: bool = False
    """Whether the parameters of DDP's modules are compared too."""
    logs: Path | None = None
    """A folder that receives what each rank prints, one file a rank."""
    training: Path | None = None
    """A folder that receives what each rank notes of its training."""


@dataclass(slots=True)
class RankState:
    """What is known of one rank. `status` is its exit status once it has ended by itself."""

    rank: int
    pid: int
    status: int | None = None
    end: End | None = None
    where: Whereabouts | None = None
    operations: int = 0
    latest: Collective | PointToPoint | None = None
    group: Group | None = None
    """The group of its latest operation."""
    lacks: bool = False
    """Whether others have not entered its latest operation."""
    idle: bool = False
    ended: float = 0.0
    """When the process was found to have ended: `time.monotonic()`."""
    attached: bool = False
    """Whether a launcher started it: its exit status is not known then, and is 1 for any failure."""
    holds: bool = False
    """Whether it did not let go of the interpreter when it was asked."""
    recorded: bool = False
    """Whether all this is from a dump, made while the rank still ran."""

    @property
    def stack(self) -> Stack:
        """Where the rank is, or where its script ended, as far as known."""
        if self.end is not None:
            return self.end.stack
        return self.where.stack if self.where is not None else ()

    @property
    def waits(self) -> bool:
        """Whether it waits inside torch or the runtime, and does not compute there."""
        told = self.idle or self.recorded or not _SEES_IDLE
        return told and self.where is not None and self.where.waits

    @property
    def finished(self) -> bool:
        """Whether the process is gone, and its script had come to its regular end before.

        How the process ended then is another matter: threads of gloo that meet the end of the
        interpreter abort it now and then (torch 2.13, "terminate called without an active exception").
        """
        if self.status is None:
            return False
        return self.end.exception is None if self.end is not None else self.status == 0

    @property
    def torn_down(self) -> bool:
        """Whether the process aborted after its script's regular end."""
        return self.finished and self.status == -signal.SIGABRT

    @property
    def aborted(self) -> bool:
        """Whether the process aborted without the script's end, as NCCL's watchdog has it do."""
        return self.end is None and self.status == -signal.SIGABRT

    @property
    def lost_partner(self) -> bool:
        """Whether the rank failed only because another did not come, or had left."""
        end = self.end
        return (
            end is not None and end.exception is not None and bool(PARTNER_LOST.search(end.message))
        )


@dataclass(slots=True)
class Child:
    """One rank that is told of: its state, its pipe of events, and the pipe to ask it.

    `process` is None for a rank that a launcher started.
    """

    process: launch.RankProcess | None
    state: RankState
    events: int
    questions: int
    decoder: Decoder
    outputs: tuple[RankOutput, ...]
    heard: float
    """When it last told an event by itself."""
    idle: IdleWatch = field(default_factory=IdleWatch)
    started: bool = False
    """Whether torch is loaded and the script has begun."""
    rest: bytes = b""
    stack: int | None = None
    """The pipe that gets the stack of a rank which holds the interpreter."""
    open: bool = True
    told_idle: bool | None = None
    """Whether it is idle, as it says itself; None for a rank of this machine, which is looked at."""

    def is_idle(self) -> bool:
        """Whether its process has done nothing for a while."""
        return self.idle.idle([self.state.pid]) if self.told_idle is None else self.told_idle

    def drain(self) -> list[Event]:
        """The events that the pipe holds."""
        events: list[Event] = []
        while self.open:
            try:
                data = os.read(self.events, 1 << 16)
            except BlockingIOError:
                break
            except ConnectionResetError:
                data = b""
            self.open = bool(data)
            *lines, self.rest = (self.rest + data).split(b"\n")
            events += [event for line in lines if (event := self.decoder.decode(line))]
        return events

    def exit_status(self) -> int | None:
        """How the process ended; None while it runs."""
        if self.process is not None:
            return self.process.process.poll()
        if self.open:
            return None
        return 0 if self.state.end is not None and self.state.end.exception is None else 1

    def ask(self) -> bool:
        """Ask the rank where it is; False where it cannot be asked any more."""
        if self.state.status is not None or not self.open:
            return False
        self.state.where, self.state.holds = None, False
        try:
            os.write(self.questions, b"?")
        except BrokenPipeError:
            return False
        return True

    def dump(self) -> None:
        """Have the rank's main thread write its stack without the interpreter, and take it as an answer.

        That is how a rank is seen which is in C code that does not let go of the interpreter.
        """
        if self.process is None or self.stack is None or STACK_SIGNAL is None:
            return
        os.kill(self.state.pid, STACK_SIGNAL)
        text, deadline = b"", time.monotonic() + _DUMP
        while time.monotonic() < deadline:
            ready, _, _ = select.select([self.stack], [], [], _DUMP if not text else 0.1)
            if not ready:
                break
            text += os.read(self.stack, 1 << 16)
        frames = [
            Frame(match["path"], int(match["line"]), match["function"])
            for match in _FRAME.finditer(text.decode(errors="replace"))
            if not is_internal(match["path"])
        ]
        if text:
            self.state.where = Whereabouts(tuple(frames), waits=False)
            self.state.holds = True


def attached(
    greeting: dict[str, Any], pipe: int, shared: dict[Stack, Stack], *, far: bool = False
) -> Child:
    """A rank that a launcher has started: it tells, and is asked, over `pipe`.

    `far`: through the job's store, perhaps from another machine.
    """
    os.set_blocking(pipe, False)
    state = RankState(greeting["rank"], greeting["pid"], attached=True)
    heard, idle = time.monotonic(), False if far else None
    return Child(None, state, pipe, pipe, Decoder(shared), (), heard, told_idle=idle)


def start(plan: Plan, logs: Logs) -> list[Child]:
    """Start all ranks of a plan.

    Raises OSError where one could not be started; none is left then.
    """
    base = launch.one_machine_environment(os.environ)
    base.setdefault("PYTHONUNBUFFERED", "1")
    if plan.replicas:
        base[REPLICAS] = "1"
    if plan.training is not None:
        base[TRAINING] = str(plan.training)
    port = launch.free_port()
    shared: dict[Stack, Stack] = {}
    children: list[Child] = []
    try:
        for rank in range(plan.ranks):
            env = launch.rank_environment(base, rank, plan.ranks, port)
            children.append(_start_rank(plan, rank, env, logs.of(rank), shared))
    except OSError:
        end(children)
        raise
    return children


def _start_rank(
    plan: Plan, rank: int, env: dict[str, str], log: BinaryIO | None, shared: dict[Stack, Stack]
) -> Child:
    events, tell = os.pipe()
    listen, questions = os.pipe()
    out, to_out = os.pipe()
    err, to_err = os.pipe()
    stack, to_stack = os.pipe()
    main = [sys.executable, "-m", "distlint.hardware.sanitizer.rank_main"]
    command = [*main, str(tell), str(listen), str(to_stack), plan.backend or "-", *plan.command]
    try:
        process = launch.start(
            command,
            rank,
            env,
            Path.cwd(),
            output=(to_out, to_err),
            pass_fds=(tell, listen, to_stack),
        )
    except OSError:
        for descriptor in (events, questions, out, err, stack):
            os.close(descriptor)
        raise
    finally:
        for descriptor in (tell, listen, to_out, to_err, to_stack):
            os.close(descriptor)
    os.set_blocking(events, False)
    printed = sys.stderr if plan.output_to_stderr else sys.stdout
    outputs = (
        RankOutput(out, rank, printed.buffer, log),
        RankOutput(err, rank, sys.stderr.buffer, log),
    )
    state = RankState(rank, process.process.pid)
    decoder = Decoder(shared)
    heard = time.monotonic()
    return Child(process, state, events, questions, decoder, outputs, heard, stack=stack)


def end(children: Sequence[Child]) -> None:
    """End the processes and close what leads to them; returns when they are gone."""
    launch.end([child.process for child in children if child.process], grace=_GRACE)
    for child in children:
        if child.process is None and child.open and child.told_idle is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child.state.pid, signal.SIGKILL)
        for output in child.outputs:
            output.close()
        os.close(child.events)
        if child.questions != child.events:
            os.close(child.questions)
        if child.stack is not None:
            os.close(child.stack)
