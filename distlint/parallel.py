"""Work that forked processes share. Each has all that this process had when it was forked; results come back pickled.

What a child does not bring back is done here: where it was killed, or its results cannot be pickled, all that is
lost is time. Where there is no `fork`, everything is done here.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from typing import Final, Generic, NoReturn, TypeVar

Result = TypeVar("Result")

MOST: Final = 8
"""Processes where nobody says how many: each may come to need as much memory as one alone."""

_MOST_PARCELS: Final = 255
"""A parcel is drawn as one byte: of a pipe that several read, no other number comes out whole in any case."""
_BLOCK: Final = 1 << 20
_NO_PARENT: Final = 1


def cores() -> int:
    """How many processes can run at once, and at most MOST; 1 where none can be forked."""
    if not hasattr(os, "fork"):
        return 1
    if hasattr(os, "sched_getaffinity"):
        return min(len(os.sched_getaffinity(0)), MOST)
    return min(os.cpu_count() or 1, MOST)


def shared(
    tasks: Sequence[Callable[[], Result]], processes: int, *, own: Sequence[int] = ()
) -> list[Result]:
    """What `tasks` give, in their order.

    Args:
        tasks: what is to be done. The first are begun first; none may depend on what another leaves behind.
        processes: how many there are, this one included.
        own: the places of those tasks that this process does itself, before it takes others.

    Raises:
        Whatever a task raises that this process does, or does again.
    """
    rest = [place for place in range(len(tasks)) if place not in set(own)]
    children = min(processes - 1, len(rest) - (not own))
    if children < 1 or not hasattr(os, "fork"):
        return [task() for task in tasks]
    parcels = [rest[n::_MOST_PARCELS] for n in range(min(len(rest), _MOST_PARCELS))]
    found: dict[int, Result] = {}
    with _Crew(tasks, parcels) as crew:
        for _ in range(children):
            crew.hire()
        found.update((place, tasks[place]()) for place in own)
        for parcel in crew.parcels():
            found.update((place, tasks[place]()) for place in parcel)
        found.update(crew.results())
    return [found[place] if place in found else tasks[place]() for place in range(len(tasks))]


class _Crew(Generic[Result]):
    """Children that draw parcels of tasks until none are left. However it is left, none of them lives on."""

    def __init__(
        self, tasks: Sequence[Callable[[], Result]], parcels: Sequence[Sequence[int]]
    ) -> None:
        self._tasks = tasks
        self._parcels = parcels
        self._children: dict[int, int] = {}
        self._lots, begin = os.pipe()
        os.write(begin, bytes(range(len(parcels))))
        os.close(begin)

    def __enter__(self) -> _Crew[Result]:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._lots)
        for child, pipe in self._children.items():
            os.close(pipe)
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(child, 0)

    def hire(self) -> None:
        """Fork one more child, where the machine has room for it."""
        pipe, end = os.pipe()
        parent = os.getpid()
        # Ctrl-C waits until the child has its own way with it, and the parent knows the child.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            child = os.fork()
            if not child:
                self._work(end, parent)
            self._children[child] = pipe
        except OSError:  # no more processes, or no memory: the others do the work
            os.close(pipe)
        finally:
            os.close(end)
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def parcels(self) -> Iterator[Sequence[int]]:
        """What is drawn, until nothing is left."""
        while lot := os.read(self._lots, 1):
            yield self._parcels[lot[0]]

    def results(self) -> dict[int, Result]:
        """What the children found, by the place of the task."""
        found: dict[int, Result] = {}
        for pipe in self._children.values():
            blocks = []
            while block := os.read(pipe, _BLOCK):
                blocks.append(block)
            # A child that was killed has sent nothing, or not all of it.
            with contextlib.suppress(Exception):
                import pickle  # 2 ms that one process saves

                found.update(pickle.loads(b"".join(blocks)))
        return found

    def _work(self, end: int, parent: int) -> NoReturn:
        """Do what a child does, and end it: nothing of it is printed, whatever happens."""
        try:
            for number in (signal.SIGINT, signal.SIGTERM):  # the parent says what there is to say
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
            found: dict[int, Result] = {}
            for parcel in self.parcels():
                for place in parcel:
                    if os.getppid() != parent:
                        os._exit(_NO_PARENT)
                    with contextlib.suppress(Exception):  # the parent meets it, too
                        found[place] = self._tasks[place]()
            import pickle

            rest = memoryview(pickle.dumps(found, pickle.HIGHEST_PROTOCOL))
            while rest:
                rest = rest[os.write(end, rest) :]
            os._exit(0)
        finally:
            os._exit(1)
