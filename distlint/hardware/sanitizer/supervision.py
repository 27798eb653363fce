"""Reads what the ranks tell, and decides when the run has gone wrong."""

from __future__ import annotations

import contextlib
import dataclasses
import selectors
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from distlint.hardware.sanitizer import ranks
from distlint.hardware.sanitizer.branches import are_alternatives, calls_of
from distlint.hardware.sanitizer.comparison import Comparison, Divergence, Kind
from distlint.hardware.sanitizer.events import (
    Collective,
    End,
    Event,
    Group,
    Idle,
    PointToPoint,
    Replica,
    Start,
    Whereabouts,
)
from distlint.hardware.sanitizer.output import Logs, RankOutput
from distlint.hardware.sanitizer.ranks import Child, Plan, RankState

_LOOK = 0.2
_LAST_WORDS = 2.0
"""Seconds that the other ranks get after one has failed, to tell what they saw."""
_LAST_STEPS = 1.0
"""Seconds that the other ranks get after a divergence, to come to where it is."""
_AGAIN = 1.0
"""Seconds between two questions where ranks are, while none waits."""
_ANSWER = 5.0
"""Seconds that a rank has to say where it is."""


@dataclass(slots=True)
class Listener:
    """Whom a run tells what it sees meanwhile, and who may ask it for the stacks of all ranks.

    `waiting` hears after how many seconds some rank waits, `stacks` where all ranks are when
    `wants_stacks` has been set.
    """

    waiting: Callable[[Sequence[RankState], float], None]
    stacks: Callable[[Sequence[RankState]], None]
    wants_stacks: bool = False


class Launching(Protocol):
    """What starts ranks, or knows of ranks that have been started: `Launcher`, `Job`."""

    expected: int
    """How many ranks there are, as far as known."""
    lost: bool
    """Whether it can no longer hear of ranks that have not ended."""
    door: socket.socket
    """Readable where a rank has come in."""

    @property
    def ended(self) -> bool:
        """Whether no rank will come in or tell anything any more."""

    def accept(self, known: set[int], /) -> Child | None:
        """The rank that has come in; None for one of `known`, which is not compared again."""

    def wait(self) -> None:
        """Give it the time to end the other ranks and to say why."""

    def end(self) -> int | None:
        """End it if it still runs; its own exit status, None where there is none."""


@dataclass(frozen=True, slots=True)
class Result:
    """How a run ended. At most one of `divergence` and `failed` (a rank) is set."""

    divergence: Divergence | None
    failed: int | None
    ranks: tuple[RankState, ...]
    seconds: float
    launcher_status: int | None = None
    """The exit status of the launcher that started the ranks, where it ended by itself."""
    lost: bool = False
    """Whether ranks were ended from outside, and none has told why."""

    @property
    def failed_state(self) -> RankState:
        """The state of the rank that failed."""
        return next(state for state in self.ranks if state.rank == self.failed)


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
        children = ranks.start(plan, logs)
        try:
            divergence, failed = _watched(_Supervision(plan, children, listener))
        finally:
            ranks.end(children)
    states = tuple(child.state for child in children)
    return Result(divergence, failed, states, time.monotonic() - began)


def run_launched(plan: Plan, launcher: Launching, listener: Listener) -> Result:
    """The same for ranks that somebody else starts. Raises KeyboardInterrupt as `run`."""
    began = time.monotonic()
    children: list[Child] = []
    try:
        divergence, failed = _watched(_Supervision(plan, children, listener, launcher))
        if divergence is None:
            launcher.wait()
    finally:
        status = launcher.end()
        ranks.end(children)
    states = tuple(sorted((child.state for child in children), key=lambda state: state.rank))
    result = Result(divergence, failed, states, time.monotonic() - began, status)
    if launcher.lost and failed is not None and result.failed_state.end is None:
        # Ended all together: which of them was the first cannot be told.
        return dataclasses.replace(result, failed=None, lost=True)
    return result


def _watched(supervision: _Supervision) -> tuple[Divergence | None, int | None]:
    try:
        return supervision.watch()
    except KeyboardInterrupt:
        supervision.tell_stacks()
        raise


class _Supervision:
    """The loop over one run."""

    def __init__(
        self,
        plan: Plan,
        children: list[Child],
        listener: Listener,
        launcher: Launching | None = None,
    ) -> None:
        """`children` are the ranks; those that `launcher` starts are added when they come."""
        self._plan = plan
        self._listener = listener
        self._launcher = launcher
        self._pause = plan.notice
        self._next_notice = 0.0
        self._children = children
        self._comparison = Comparison(are_alternatives, calls_of)
        self._selector = selectors.DefaultSelector()
        self._heard = time.monotonic()
        self._found: Divergence | None = None
        for child in children:
            self._register(child)
        if launcher is not None:
            self._selector.register(launcher.door, selectors.EVENT_READ, launcher)

    def _register(self, child: Child) -> None:
        self._selector.register(child.events, selectors.EVENT_READ, child)
        for output in child.outputs:
            self._selector.register(output.pipe, selectors.EVENT_READ, output)

    def tell_stacks(self) -> None:
        """Tell the listener where all ranks are."""
        self._listener.stacks(self.whereabouts())

    def watch(self) -> tuple[Divergence | None, int | None]:
        """Read until the run is over; the divergence, or the rank that failed, or neither."""
        divergence, failed = self._watch()
        if divergence is not None:
            divergence = self._completed(divergence)
        if divergence is not None or failed is not None:
            self.whereabouts()
        if divergence is not None:
            # Asking takes time, in which a rank may have come.
            divergence = self._comparison.complete(divergence)
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
            child.state.group = self._comparison.group_of(rank)
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
            if not running and (self._launcher is None or self._launcher.ended):
                return None, self._failed_after_the_end()
            if found := self._stalled(running):
                return found, None
            self._notice(running)
            if self._listener.wants_stacks:
                self._listener.wants_stacks = False
                self.tell_stacks()

    def _notice(self, running: list[Child]) -> None:
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
        if not any(child.state.lacks or child.state.waits for child in silent):
            # A rank that sleeps has been silent first; those that wait for it soon are, too.
            self._next_notice = now + _AGAIN
            return
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
        # The first: a launcher ends the others, which have not told of an end then.
        failed.sort(key=lambda state: (state.attached and state.end is None, state.ended))
        by_itself = [state for state in failed if not state.lost_partner]
        if by_itself and not all(state.aborted for state in by_itself):
            return None, by_itself[0].rank
        found = self._missing_or_stall()
        if found.kind is Kind.STALL and (by_itself or self._finished()):
            return None, (by_itself or failed)[0].rank
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

    def _stalled(self, running: list[Child]) -> Divergence | None:
        if not all(child.started for child in running):
            self._heard = time.monotonic()  # The others wait for those that still load torch.
        for child in running:
            child.state.idle = child.is_idle()
        idle = all(child.state.idle for child in running)
        silence = time.monotonic() - self._heard
        if (
            not running
            or silence < self._plan.stall
            or not (idle or silence >= self._plan.patience)
        ):
            return None
        self._ask()
        if self._launcher is not None and len(self._children) < self._launcher.expected:
            return None  # They wait for one another to start.
        waits = all(child.state.where is not None and child.state.where.waits for child in running)
        if not waits and silence < self._plan.patience:
            return None
        return self._missing_or_stall()

    def _ask(self) -> None:
        """Ask the running ranks where they are."""
        asked = [child for child in self._children if child.ask()]
        deadline = time.monotonic() + _ANSWER
        while time.monotonic() < deadline and any(c.open and c.state.where is None for c in asked):
            self._read(0.05)
        for child in asked:
            if child.open and child.state.where is None and child.exit_status() is None:
                child.dump()

    def _poll(self) -> list[Child]:
        """The children that still run; notes the status of the others."""
        for child in self._children:
            if child.state.status is None and (status := child.exit_status()) is not None:
                # What it wrote last is still in the pipe.
                self._drain(child)
                child.state.status, child.state.ended = status, time.monotonic()
        return [child for child in self._children if child.state.status is None]

    def _read(self, timeout: float) -> None:
        for key, _ in self._selector.select(timeout):
            match key.data:
                case RankOutput() as output:
                    output.drain()
                    if not output.open:
                        self._selector.unregister(output.pipe)
                case Child() as child:
                    self._drain(child)
                case launcher:
                    self._admit(launcher)

    def _admit(self, launcher: Launching) -> None:
        """Take in a rank that the launcher has started."""
        child = launcher.accept({child.state.rank for child in self._children})
        if child is not None:
            self._children.append(child)
            self._register(child)

    def _drain(self, child: Child) -> None:
        was_open = child.open
        for event in child.drain():
            self._take(child, event)
        if was_open and not child.open:
            self._selector.unregister(child.events)

    def _take(self, child: Child, event: Event) -> None:
        """Take one event; the first divergence is kept, what comes after it is its consequence."""
        found: Divergence | None = None
        match event:
            case Group():
                self._comparison.add_group(event)
            case Collective():
                found = self._comparison.add(child.state.rank, event)
            case PointToPoint():
                found = self._comparison.add_point_to_point(child.state.rank, event)
            case Replica():
                found = self._comparison.add_replica(child.state.rank, event)
            case Start():
                child.started = True
            case End():
                child.state.end = event
            case Whereabouts():
                child.state.where = event
            case Idle():
                child.told_idle = event.idle
        if not isinstance(event, Whereabouts | Idle):
            self._heard = child.heard = time.monotonic()
        self._found = self._found or found
