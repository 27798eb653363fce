"""Starts the ranks, reads what they tell, and decides when the run has gone wrong."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from distlint.hardware.sanitizer.branches import are_alternatives, calls_of
from distlint.hardware.sanitizer.comparison import Comparison, Divergence, Kind
from distlint.hardware.sanitizer.events import (
    Collective,
    Decoder,
    End,
    Group,
    PointToPoint,
    Stack,
    Whereabouts,
)
from distlint.hardware.sanitizer.output import Logs, RankOutput
from distlint.proving import launch
from distlint.proving.waiting import PARTNER_LOST, IdleWatch

_LOOK = 0.2
_LAST_WORDS = 2.0
"""Seconds that the other ranks get after one has failed, to tell what they saw."""
_LAST_STEPS = 1.0
"""Seconds that the other ranks get after a divergence, to come to where it is."""
_ANSWER = 5.0
"""Seconds that a rank has to say where it is."""
_SEES_IDLE = Path("/proc/self/stat").exists()
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
    logs: Path | None = None
    """A folder that receives what each rank prints, one file a rank."""


@dataclass(slots=True)
class Listener:
    """Whom a run tells what it sees meanwhile, and who may ask it for the stacks of all ranks.

    `waiting` hears after how many seconds some rank waits, `stacks` where all ranks are when
    `wants_stacks` has been set.
    """

    waiting: Callable[[Sequence[RankState], float], None]
    stacks: Callable[[Sequence[RankState]], None]
    wants_stacks: bool = False


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
    lacks: bool = False
    """Whether others have not entered its latest operation."""
    idle: bool = False
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


@dataclass(frozen=True, slots=True)
class Result:
    """How a run ended. At most one of `divergence` and `failed` (a rank) is set."""

    divergence: Divergence | None
    failed: int | None
    ranks: tuple[RankState, ...]
    seconds: float


@dataclass(slots=True)
class _Child:
    process: launch.RankProcess
    state: RankState
    events: int
    questions: int
    decoder: Decoder
    outputs: tuple[RankOutput, RankOutput]
    heard: float
    """When it last told an event by itself."""
    idle: IdleWatch = field(default_factory=IdleWatch)
    rest: bytes = b""
    open: bool = True


def run(plan: Plan, listener: Listener) -> Result:
    """Run the script on all ranks until they end, diverge, stall or fail. None is left behind.

    A stall is: no rank has entered a collective for `plan.stall` seconds, all that run are idle, and
    each waits inside torch or the runtime. Where a rank computes, reads or sleeps meanwhile, others
    may well wait for it: that counts as a stall after `plan.patience` seconds only.

    Raises:
        OSError: a process could not be started.
        KeyboardInterrupt: as received; `listener` has heard the stacks, the ranks are gone by then.
    """
    began = time.monotonic()
    with contextlib.closing(Logs(plan.logs, plan.ranks)) as logs:
        children = _start(plan, logs)
        supervision = _Supervision(plan, children, listener)
        try:
            divergence, failed = supervision.watch()
        except KeyboardInterrupt:
            listener.stacks(supervision.whereabouts())
            raise
        finally:
            _end(children)
    states = tuple(child.state for child in children)
    return Result(divergence, failed, states, time.monotonic() - began)


def _start(plan: Plan, logs: Logs) -> list[_Child]:
    base = launch.one_machine_environment(os.environ)
    base.setdefault("PYTHONUNBUFFERED", "1")
    port = launch.free_port()
    shared: dict[Stack, Stack] = {}
    children: list[_Child] = []
    try:
        for rank in range(plan.ranks):
            env = launch.rank_environment(base, rank, plan.ranks, port)
            children.append(_start_rank(plan, rank, env, logs.of(rank), shared))
    except OSError:
        _end(children)
        raise
    return children


def _start_rank(
    plan: Plan, rank: int, env: dict[str, str], log: BinaryIO | None, shared: dict[Stack, Stack]
) -> _Child:
    events, tell = os.pipe()
    listen, questions = os.pipe()
    out, to_out = os.pipe()
    err, to_err = os.pipe()
    main = [sys.executable, "-m", "distlint.hardware.sanitizer.rank_main"]
    command = [*main, str(tell), str(listen), plan.backend or "-", *plan.command]
    try:
        process = launch.start(
            command, rank, env, Path.cwd(), output=(to_out, to_err), pass_fds=(tell, listen)
        )
    except OSError:
        for descriptor in (events, questions, out, err):
            os.close(descriptor)
        raise
    finally:
        for descriptor in (tell, listen, to_out, to_err):
            os.close(descriptor)
    os.set_blocking(events, False)
    printed = sys.stderr if plan.output_to_stderr else sys.stdout
    outputs = (
        RankOutput(out, rank, printed.buffer, log),
        RankOutput(err, rank, sys.stderr.buffer, log),
    )
    state = RankState(rank, process.process.pid)
    decoder = Decoder(shared)
    return _Child(process, state, events, questions, decoder, outputs, time.monotonic())


def _end(children: list[_Child]) -> None:
    launch.end([child.process for child in children], grace=_GRACE)
    for child in children:
        for output in child.outputs:
            output.close()
        os.close(child.events)
        os.close(child.questions)


class _Supervision:
    """The loop over one run."""

    def __init__(self, plan: Plan, children: list[_Child], listener: Listener) -> None:
        self._plan = plan
        self._listener = listener
        self._pause = plan.notice
        self._next_notice = 0.0
        self._children = children
        self._comparison = Comparison(are_alternatives, calls_of)
        self._selector = selectors.DefaultSelector()
        self._heard = time.monotonic()
        self._found: Divergence | None = None
        for child in children:
            self._selector.register(child.events, selectors.EVENT_READ, child)
            for output in child.outputs:
                self._selector.register(output.pipe, selectors.EVENT_READ, output)

    def watch(self) -> tuple[Divergence | None, int | None]:
        """Read until the run is over; the divergence, or the rank that failed, or neither."""
        divergence, failed = self._watch()
        if divergence is not None:
            divergence = self._completed(divergence)
        if divergence is not None or failed is not None:
            self.whereabouts()
        self._note_latest()
        return divergence, failed

    def whereabouts(self) -> list[RankState]:
        """Where each rank is, as it says now, and what it did last."""
        self._ask()
        self._note_latest()
        return [child.state for child in self._children]

    def _note_latest(self) -> None:
        for child in self._children:
            rank = child.state.rank
            child.state.operations = self._comparison.counts.get(rank, 0)
            child.state.latest = self._comparison.latest.get(rank)
            child.state.lacks = self._comparison.lacks(rank)

    def _completed(self, found: Divergence) -> Divergence:
        """The divergence with what those do there that had not come when it showed."""
        deadline = time.monotonic() + _LAST_STEPS
        while True:
            found = self._comparison.complete(found)
            absent = {rank for rank, operation in found.operations.items() if operation is None}
            running = {child.state.rank for child in self._poll()}
            if found.kind is Kind.MISSING or not absent & running or time.monotonic() > deadline:
                return found
            self._read(_LOOK)

    def _watch(self) -> tuple[Divergence | None, int | None]:
        looked = 0.0
        while True:
            self._read(_LOOK)
            # Ranks that talk much keep waking this loop: the rest of it need not run each time.
            if self._found is None and time.monotonic() - looked < _LOOK:
                continue
            looked = time.monotonic()
            running = self._poll()
            if self._found is not None:
                return self._found, None
            if any(child.state.status and not child.state.finished for child in self._children):
                return self._after_failure()
            # Ended regularly: whatever the others have entered beyond that, they wait in vain.
            ended = self._finished()
            if ended and (found := self._comparison.missing(ended, ended)):
                return found, None
            if not running:
                return None, self._failed_after_the_end()
            if found := self._stalled(running):
                return found, None
            self._notice(running)
            if self._listener.wants_stacks:
                self._listener.wants_stacks = False
                self._listener.stacks(self.whereabouts())

    def _notice(self, running: list[_Child]) -> None:
        """Tell who waits where, once some rank has for long enough; then ever more rarely."""
        now = time.monotonic()
        silent = [c for c in running if now - c.heard >= self._plan.notice]
        silent = [c for c in silent if c.state.idle or self._comparison.lacks(c.state.rank)]
        if not silent:
            self._pause, self._next_notice = self._plan.notice, 0.0
            return
        if now < self._next_notice:
            return
        states = self.whereabouts()
        if any(child.state.lacks or child.state.waits for child in silent):
            self._listener.waiting(states, now - min(child.heard for child in silent))
        self._pause *= 2
        self._next_notice = now + self._pause

    def _after_failure(self) -> tuple[Divergence | None, int | None]:
        """A rank has failed: by itself, or because the others did something else?"""
        deadline = time.monotonic() + _LAST_WORDS
        while time.monotonic() < deadline and self._poll() and self._found is None:
            self._read(_LOOK)
        self._read(0)
        if self._found is not None:
            return self._found, None
        failed = [
            child.state
            for child in self._children
            if child.state.status and not child.state.finished
        ]
        by_itself = [state for state in failed if not state.lost_partner]
        if by_itself and not all(state.aborted for state in by_itself):
            return None, by_itself[0].rank
        found = self._missing_or_stall()
        if by_itself and found.kind is Kind.STALL:
            return None, by_itself[0].rank
        return found, None

    def _missing_or_stall(self) -> Divergence:
        everybody = {child.state.rank for child in self._children}
        missing = self._comparison.missing(everybody, self._finished())
        return missing or Divergence(Kind.STALL, None, 0, {})

    def _finished(self) -> set[int]:
        return {child.state.rank for child in self._children if child.state.finished}

    def _failed_after_the_end(self) -> int | None:
        """The first rank whose process failed after its script's end, but for gloo's abort."""
        states = [child.state for child in self._children]
        return next((s.rank for s in states if s.status and not s.torn_down), None)

    def _stalled(self, running: list[_Child]) -> Divergence | None:
        for child in running:
            child.state.idle = child.idle.idle([child.state.pid])
        idle = all(child.state.idle for child in running)
        silence = time.monotonic() - self._heard
        if silence < self._plan.stall or not (idle or silence >= self._plan.patience):
            return None
        self._ask()
        waits = all(child.state.where is not None and child.state.where.waits for child in running)
        if not waits and silence < self._plan.patience:
            return None
        return self._missing_or_stall()

    def _ask(self) -> None:
        """Ask the running ranks where they are; those that hold the interpreter do not answer."""
        asked = [child for child in self._children if child.state.status is None and child.open]
        for child in asked:
            child.state.where = None
            with contextlib.suppress(BrokenPipeError):
                os.write(child.questions, b"?")
        deadline = time.monotonic() + _ANSWER
        while time.monotonic() < deadline and any(c.open and c.state.where is None for c in asked):
            self._read(0.05)

    def _poll(self) -> list[_Child]:
        """The children that still run; notes the status of the others."""
        for child in self._children:
            status = child.process.process.poll()
            if status is not None and child.state.status is None:
                # What it wrote last is still in the pipe.
                self._drain(child)
                child.state.status = status
        return [child for child in self._children if child.state.status is None]

    def _read(self, timeout: float) -> None:
        for key, _ in self._selector.select(timeout):
            if isinstance(key.data, RankOutput):
                key.data.drain()
                if not key.data.open:
                    self._selector.unregister(key.data.pipe)
            else:
                self._drain(key.data)

    def _drain(self, child: _Child) -> None:
        """Take what the pipe holds."""
        while child.open:
            try:
                data = os.read(child.events, 1 << 16)
            except BlockingIOError:
                return
            if not data:
                self._selector.unregister(child.events)
                child.open = False
                return
            *lines, rest = (child.rest + data).split(b"\n")
            child.rest = rest
            for line in lines:
                self._take(child, line)

    def _take(self, child: _Child, line: bytes) -> None:
        """Take one line; the first divergence is kept, what comes after it is its consequence."""
        event = child.decoder.decode(line)
        found: Divergence | None = None
        match event:
            case Group():
                self._comparison.add_group(event)
            case Collective():
                found = self._comparison.add(child.state.rank, event)
            case PointToPoint():
                found = self._comparison.add_point_to_point(child.state.rank, event)
            case End():
                child.state.end = event
            case Whereabouts():
                child.state.where = event
        if not isinstance(event, Whereabouts):
            self._heard = child.heard = time.monotonic()
        self._found = self._found or found
