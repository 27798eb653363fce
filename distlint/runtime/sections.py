"""Sections in which one rank goes first or alone, and the barrier. Errors reach every rank."""

from __future__ import annotations

import contextvars
import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, Literal, ParamSpec, TypeVar, overload

from .callsite import call_site
from .channel import (
    DEFAULT_TIMEOUT,
    Meeting,
    machines,
    open_meeting,
    running_ahead,
    runs_alone,
    shared_fate,
)
from .identity import local_rank, rank, world_size

P = ParamSpec("P")
T = TypeVar("T")


# This rank runs the body of `main_process_first`, be it first or in its turn: the end of the
# outermost one is where all meet.
_in_turn: contextvars.ContextVar[bool] = contextvars.ContextVar(
    "distlint_runtime_in_turn", default=False
)


@contextmanager
def main_process_first(*, local: bool = False, timeout: float = DEFAULT_TIMEOUT) -> Iterator[None]:
    """Runs the body on the main process first; the others wait, then run it too.

    For downloads and caches that one process fills and the others read. Collective: every rank
    must enter, and all leave together: an error of any rank, in its turn, reaches all. A section
    inside the body is fine where it only needs main (`run_on_main`); one that needs every rank
    (`barrier`, `save`) raises RuntimeError. On one process, or uninitialised, the body just runs.

    Args:
        local: the first rank of each machine goes first, instead of rank 0: for files on local
            disks. The first use in a process group is also a barrier.
        timeout: seconds that the others wait for main to arrive, again for it to finish, and all
            for the last to finish its turn.

    Raises:
        MainProcessError: on the others, at the ``with``: main's body raised, called ``sys.exit``,
            or main is gone; carries main's traceback and place. The rank that failed raises its
            own exception.
        RankError: at the end of the ``with``: another rank's body raised in its turn; with `local`
            also at its start, where the rank that went first is not rank 0.
        DesyncError: on the others: main is in another section.
        RankTimeoutError: a rank did not arrive or finish in time.
    """
    operation = f"main_process_first({'local=True' if local else ''})"
    leaders, leader = _leaders(operation, timeout, local=local)
    meeting = open_meeting(operation, of_all=False, timeout=timeout, leaders=leaders)
    if meeting is None:
        yield
        return
    with _all_leave(operation, timeout):
        if rank() != leader:
            meeting.follow(leader)
            yield
            return
        with _leading(meeting, operation, alone=False):
            yield
        meeting.publish()


def _leaders(operation: str, timeout: float, *, local: bool) -> tuple[tuple[int, ...], int]:
    """The ranks that go first, and the one of them that this rank follows."""
    if not local:
        return (0,), 0
    groups = machines(operation, timeout)
    return (
        tuple(group[0] for group in groups),
        next(group[0] for group in groups if rank() in group),
    )


@contextmanager
def _leading(meeting: Meeting, operation: str, *, alone: bool) -> Iterator[None]:
    """Runs the body ahead of those that wait for it; they learn where it is, and of its failure."""
    meeting.announce()
    try:
        with running_ahead(operation, alone=alone):
            yield
    except BaseException as error:
        meeting.publish(error=error)
        raise


@contextmanager
def _all_leave(operation: str, timeout: float) -> Iterator[None]:
    """All ranks leave the body together, or with the error of the one that failed.

    Inside a turn of `main_process_first` the others are not there yet: its end does this.
    """
    if _in_turn.get():
        yield
        return
    # A body may be left at several lines; the ranks meet at the one where they entered.
    site = call_site()
    with shared_fate(operation, timeout, site):
        token = _in_turn.set(True)
        try:
            yield
        finally:
            _in_turn.reset(token)


@overload
def run_on_main(
    fn: Callable[..., T],
    /,
    *args: Any,
    broadcast: Literal[True],
    local: bool = ...,
    timeout: float = ...,
    **kwargs: Any,
) -> T: ...
@overload
def run_on_main(
    fn: Callable[..., T],
    /,
    *args: Any,
    broadcast: bool = ...,
    local: bool = ...,
    timeout: float = ...,
    **kwargs: Any,
) -> T | None: ...
def run_on_main(
    fn: Callable[..., T],
    /,
    *args: Any,
    broadcast: bool = False,
    local: bool = False,
    timeout: float = DEFAULT_TIMEOUT,
    **kwargs: Any,
) -> T | None:
    """Calls ``fn(*args, **kwargs)`` on rank 0 only; the others wait until it is done.

    Collective: every rank must call it. `run_on_main` inside `fn` just calls; what needs every
    rank (`barrier`, `save`) raises RuntimeError there. On one process it is a plain call. With
    ``WORLD_SIZE`` above 1 and no process group rank 0 calls, with a warning, and nobody waits.

    Args:
        fn: what to call. Its own keywords `broadcast`, `local` and `timeout` go through
            functools.partial.
        broadcast: every rank returns main's value, which is pickled: for paths, numbers and small
            objects, on the CPU.
        local: the first rank of each machine calls, instead of rank 0, and the value is that of
            the own machine: for files on local disks. All ranks leave together; the first use in
            a process group is also a barrier.
        timeout: seconds that the others wait for main to arrive, and again for it to finish.

    Returns:
        The value of `fn` on rank 0; elsewhere None, or with `broadcast` a copy of that value.

    Raises:
        MainProcessError: on the others: `fn` raised, called ``sys.exit``, or main is gone; carries
            main's traceback and place. Main raises its own exception. RankError with `local`, where
            the rank that called is not rank 0.
        DesyncError: on the others: main is in another section.
        RankTimeoutError: on the others: main did not arrive or finish in time.
        RuntimeError: with `broadcast`, on the others: there is no process group to send it.
    """
    operation = f"run_on_main({'local=True' if local else ''})"
    if runs_alone():
        return fn(*args, **kwargs)
    leaders, leader = _leaders(operation, timeout, local=local)
    meeting = open_meeting(operation, of_all=False, timeout=timeout, leaders=leaders)
    if meeting is None:
        if world_size() == 1 or (local_rank() if local else rank()) == 0:
            return fn(*args, **kwargs)
        if broadcast:
            raise RuntimeError(
                "run_on_main(broadcast=True) cannot receive main's value without a process group: "
                "call init_process_group (or create the Accelerator) first"
            )
        return None
    # Rank 0 does not wait for those that follow it; of several machines' first ranks each must
    # hear of the others' failures.
    with _all_leave(operation, timeout) if local else nullcontext():
        if rank() != leader:
            value: T | None = meeting.follow(leader)
            return value
        with _leading(meeting, operation, alone=True):
            value = fn(*args, **kwargs)
        meeting.publish(value if broadcast else None)
        return value


def on_main_process(fn: Callable[P, T]) -> Callable[P, T | None]:
    """Decorator: a call of `fn` becomes ``run_on_main(fn, ...)``, with its contract.

    Calls are collective: every rank makes them. Whether this is main is decided at each call, so
    that a decorator evaluated at import, before the process group exists, is right too
    (accelerate 1.15.0 decides when it decorates, state.py).

    Returns:
        The function; it returns `fn`'s value on rank 0 and None elsewhere.
    """

    @functools.wraps(fn)
    def call(*args: P.args, **kwargs: P.kwargs) -> T | None:
        return run_on_main(functools.partial(fn, *args, **kwargs))

    return call


def barrier(*, name: str | None = None, timeout: float = DEFAULT_TIMEOUT) -> None:
    """Waits until every rank has come here. Also exported as `wait_for_everyone`.

    Collective. Orders what the processes do on the host; it does not wait for kernels queued on a
    GPU, and uses none. Does nothing on one process; with ``WORLD_SIZE`` above 1 and no process
    group it warns and does not wait.

    Args:
        name: ranks that meet on purpose from different lines (matched branches) all pass it.
        timeout: seconds to wait for the last rank.

    Raises:
        DesyncError: on all: some rank is at another place of the program.
        RankTimeoutError: on all that came: some rank did not, and which one.
        MainProcessError: rank 0 has ended.
        RuntimeError: called where only one rank is (inside `run_on_main`).
    """
    meeting = open_meeting("barrier()", of_all=True, timeout=timeout, name=name)
    if meeting is not None:
        meeting.call_roll()
