"""Numbered meetings of the ranks, held in the key-value store of the process group.

A collective cannot carry the news that a rank failed: the others already wait inside it. The
store can, and a wait there outlasts the timeout of collectives and touches no GPU.

All ranks count their meetings. In meeting *n* a *leader* (rank 0, or the first rank of a machine)
announces where in the program it is, and later publishes a result. In a *call of the roll* every
rank posts its own status first, and rank 0 publishes what follows from all of them. Each rank that
is done adds one to a counter; the last one deletes the meeting's keys.

Facts about torch's stores that this relies on (torch 2.13.0, TCPStore and FileStore, measured):
- the default group's store is a PrefixStore; with the MPI backend there is none;
- `wait` that runs out writes C++ log lines to stderr, and holds the lock of the store's client,
  which other threads of the process need. So: `check`, with pauses that grow with the time waited;
- the server lives in rank 0 (under torchrun in its agent) and stops when rank 0 ends or destroys
  the group, also where others have not read yet. So rank 0 keeps the store until they have, and
  waits for them, for at most `EXIT_GRACE` seconds, before it exits;
- when the server is gone `check` raises DistNetworkError, a RuntimeError, at once;
- one value may have 8 MiB at most. So: longer ones are cut into parts;
- groups that are destroyed and made again under one agent see each other's keys. So: rank 0 takes
  back what a missing rank never read, before it first speaks in the new group.
"""

from __future__ import annotations

import contextvars
import os
import pickle
import platform
import sys
import threading
import time
import traceback
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from multiprocessing import util as multiprocessing_util
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .callsite import CallSite, call_site
from .errors import DesyncError, MainProcessError, RankError, RankTimeoutError
from .identity import is_initialized, rank, size_variable, world_size

if TYPE_CHECKING:
    from torch._C._distributed_c10d import Store

DEFAULT_TIMEOUT = 7200.0
"""Seconds that a rank waits for another: longer than any collective's, for downloads and saves."""

EXIT_GRACE = 10.0
"""Seconds that rank 0, which hosts the store, waits at its end for ranks that have yet to read."""

_PACKAGE = __name__.rpartition(".")[0]
_POLL_SHORTEST = 0.0001
_POLL_LONGEST = 0.1
# Checks per second that all ranks together may ask of the store's one server.
_POLL_BUDGET = 10_000.0
_PART = 4 << 20
_LONGEST_TRACEBACK = 100_000


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a rank cannot go on, as it travels to the others.

    kind: ``error``, ``desync`` or ``timeout``; which exception the others raise.
    """

    kind: str
    rank: int
    place: str
    text: str
    traceback: str = ""

    @classmethod
    def of(cls, error: BaseException, operation: str, site: CallSite) -> Failure:
        """The failure that `error` is, on this rank, which runs `operation` at `site`."""
        if isinstance(error, (DesyncError, RankTimeoutError)):
            kind = "desync" if isinstance(error, DesyncError) else "timeout"
            return cls(kind, rank(), str(site), str(error))
        summary = "".join(traceback.format_exception_only(type(error), error)).strip()
        who = "main process" if rank() == 0 else f"rank {rank()}"
        return cls(
            "error",
            rank(),
            str(site),
            f"{who} failed in {operation} at {site}: {summary[:_LONGEST_TRACEBACK]}",
            "".join(traceback.format_exception(error))[-_LONGEST_TRACEBACK:].rstrip(),
        )

    def to_exception(self) -> Exception:
        """What the ranks that wait for the failed one raise."""
        if self.kind == "desync":
            return DesyncError(self.text)
        if self.kind == "timeout":
            return RankTimeoutError(self.text)
        message = self.text
        if self.traceback:
            message += f"\n\n--- traceback of rank {self.rank} ---\n{self.traceback}"
        kind = MainProcessError if self.rank == 0 else RankError
        return kind(message, rank=self.rank, place=self.place, remote_traceback=self.traceback)


@dataclass(frozen=True, slots=True)
class _Message:
    operation: str
    site: CallSite
    failure: Failure | None = None
    value: Any = None

    def is_from_elsewhere(self, other: _Message) -> bool:
        return (self.operation, self.site) != (other.operation, other.site)

    def __str__(self) -> str:
        return f"at {self.site} in {self.operation}"


@dataclass(slots=True)
class _Session:
    """The meetings held in one store by one process."""

    store: weakref.ref[Store]
    process: int
    meetings: int = 0
    machines: tuple[tuple[int, ...], ...] | None = None


class Meeting:
    """One numbered meeting, in which every rank of the group takes part in the same order."""

    def __init__(
        self,
        store: Store,
        number: int,
        operation: str,
        site: CallSite,
        timeout: float,
        leaders: tuple[int, ...],
    ) -> None:
        self._store = store
        # A vendored copy in the same process counts its own meetings.
        self._prefix = f"{_PACKAGE}/{number}"
        self._mine = _Message(operation, site)
        self._timeout = timeout
        self._leaders = leaders
        self._rank = rank()
        self._world = world_size()

    def announce(self) -> None:
        """A leader arrives: says where in the program it is."""
        self._write(f"at/{self._rank}", self._mine)

    def publish(self, value: object = None, *, error: BaseException | None = None) -> None:
        """A leader is done: hands a value, or the news of its failure, to those that follow.

        Raises:
            Exception: `value` cannot be pickled. The others have been told.
        """
        self._publish(value, self.failure_of(error))

    def follow(self, leader: int) -> Any:
        """Waits for what `leader` publishes, and returns the value.

        Raises:
            MainProcessError, RankError: the leader failed, or is gone.
            DesyncError: the leader is at another place of the program.
            RankTimeoutError: the leader did not arrive, or did not finish, in time.
        """
        try:
            self._meet(leader)
        except DesyncError:
            # The leader may be calling the roll: it must learn of this too, instead of waiting.
            self._write(f"post/{self._rank}", self._mine)
            raise
        return self._receive(leader)

    def call_roll(
        self,
        status: object = None,
        *,
        decide: Callable[[list[Any]], object] = lambda statuses: None,
    ) -> Any:
        """Every rank posts its status; rank 0 decides from all of them; all return the decision.

        Args:
            status: what this rank has to say; pickled.
            decide: called on rank 0 with the statuses in the order of the ranks.

        Raises:
            MainProcessError, RankError: a rank withdrew; the lowest such rank's error is raised.
            DesyncError: some rank is at another place of the program; raised on all.
            RankTimeoutError: some rank did not arrive in time; raised on all that did.
        """
        mine = _Message(self._mine.operation, self._mine.site, value=status)
        if self._rank != 0:
            self._write(f"post/{self._rank}", mine)
            self._meet(0)
            # Main may itself be waiting for a third rank, and says so when it gives up.
            return self._receive(0, grace=2 + 0.05 * self._timeout)
        self.announce()
        value: object = None
        try:
            posts = [mine, *(self._collect(other) for other in range(1, self._world))]
            problem = self._problem(posts)
            if problem is None:
                value = decide([post.value for post in posts])
        except BaseException as own:
            self.publish(error=own)
            raise
        self._publish(value, problem)
        if problem is not None:
            raise problem.to_exception()
        return value

    def withdraw(self, error: BaseException) -> None:
        """Instead of `call_roll`: this rank cannot go on; every other rank raises. Waits for none.

        The caller raises `error` itself.
        """
        if self._rank == 0:
            self.announce()
            self.publish(error=error)
            return
        failure = self.failure_of(error)
        self._write(f"post/{self._rank}", _Message(self._mine.operation, self._mine.site, failure))
        self._leave(failed=True)

    def failure_of(self, error: BaseException | None) -> Failure | None:
        """`error` in the form in which the others learn of it."""
        if error is None:
            return None
        return Failure.of(error, self._mine.operation, self._mine.site)

    def _problem(self, posts: list[_Message]) -> Failure | None:
        for other, post in enumerate(posts):
            if post.is_from_elsewhere(posts[0]):
                text = f"rank {other} is {post} but main process is {posts[0]}"
                return Failure("desync", other, str(post.site), text)
        return next((post.failure for post in posts if post.failure is not None), None)

    def _collect(self, other: int) -> _Message:
        post = self._await(f"post/{other}", other, "arrive")
        self._delete(f"post/{other}")
        return post

    def _meet(self, leader: int) -> None:
        at = self._await(f"at/{leader}", leader, "arrive")
        if not at.is_from_elsewhere(self._mine):
            return
        self._leave(failed=True)
        who = "main process" if leader == 0 else f"rank {leader}, which goes first,"
        raise DesyncError(f"rank {self._rank} is {self._mine} but {who} is {at}")

    def _receive(self, leader: int, grace: float = 0.0) -> Any:
        result = self._await(f"result/{leader}", leader, "finish", grace)
        # The news has been read; that rank 0 ends at this moment changes nothing any more.
        with suppress(RuntimeError):
            self._leave(failed=result.failure is not None)
        if result.failure is not None:
            raise result.failure.to_exception()
        return result.value

    def _publish(self, value: object, failure: Failure | None) -> None:
        message = _Message(self._mine.operation, self._mine.site, failure, value)
        try:
            self._write(f"result/{self._rank}", message)
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            told = _Message(self._mine.operation, self._mine.site, self.failure_of(error))
            self._write(f"result/{self._rank}", told)
            raise
        finally:
            self._leave(failed=failure is not None)

    def _await(self, key: str, whom: int, what: str, grace: float = 0.0) -> _Message:
        longest = max(_POLL_LONGEST, self._world / _POLL_BUDGET)
        start = time.monotonic()
        try:
            while not self._store.check([f"{self._prefix}/{key}"]):
                waited = time.monotonic() - start
                if waited > self._timeout + grace:
                    who = "main process" if whom == 0 else f"rank {whom}"
                    raise RankTimeoutError(
                        f"{who} did not {what} within {self._timeout:g} s: "
                        f"rank {self._rank} waits {self._mine}"
                    )
                time.sleep(min(max(waited / 50, _POLL_SHORTEST), longest))
            return self._read(key)
        except RuntimeError as error:
            raise MainProcessError(
                "the connection to the process group's store is lost, because rank 0, which "
                f"hosts it, has ended: rank {self._rank} waited {self._mine}",
                rank=0,
                place="unknown",
            ) from error

    def _leave(self, *, failed: bool) -> None:
        counter = f"{self._prefix}/left"
        if self._store.add(counter, 1) < self._world:
            if self._rank == 0:
                _unread.append((self._store, self._prefix))
            return
        for leader in self._leaders:
            self._delete(f"at/{leader}")
            self._delete(f"result/{leader}")
        for other in range(1, self._world if failed else 1):
            # Main collects these, unless it raised first.
            self._delete(f"post/{other}")
        self._store.delete_key(counter)

    def _write(self, key: str, message: _Message) -> None:
        data = pickle.dumps(message)
        parts = [data[start : start + _PART] for start in range(0, len(data), _PART)]
        # The head comes last: whoever sees it may read the rest.
        for index, part in reversed(list(enumerate(parts))):
            head = len(parts).to_bytes(4, "big") if index == 0 else b""
            self._store.set(self._part(key, index), head + part)  # type: ignore[arg-type]

    def _read(self, key: str) -> _Message:
        data = self._store.get(self._part(key, 0))
        count = int.from_bytes(data[:4], "big")
        rest = (self._store.get(self._part(key, index)) for index in range(1, count))
        message: _Message = pickle.loads(b"".join((data[4:], *rest)))
        return message

    def _delete(self, key: str) -> None:
        # `get` waits for a key that is not there.
        if not self._store.check([self._part(key, 0)]):
            return
        count = int.from_bytes(self._store.get(self._part(key, 0))[:4], "big")
        for index in range(count):
            self._store.delete_key(self._part(key, index))

    def _part(self, key: str, index: int) -> str:
        return f"{self._prefix}/{key}" + (f"/{index}" if index else "")


@dataclass(frozen=True, slots=True)
class _Ahead:
    """This rank runs a section that the others do not (yet) run.

    alone: they never will, so that a section inside this one concerns nobody else.
    """

    operation: str
    alone: bool


_ahead: contextvars.ContextVar[_Ahead | None] = contextvars.ContextVar(
    "distlint_runtime_ahead", default=None
)
_lock = threading.Lock()
_session: _Session | None = None
_agent_store: Store | None = None
# What others have yet to read: the store, kept alive until then, and the keys' prefix.
_unread: list[tuple[Store, str]] = []


@contextmanager
def running_ahead(operation: str, *, alone: bool) -> Iterator[None]:
    """Marks what this rank runs while the others wait for it in `operation`."""
    token = _ahead.set(_Ahead(operation, alone))
    try:
        yield
    finally:
        _ahead.reset(token)


def runs_alone() -> bool:
    """Whether this rank runs what the others never will: a section in it concerns nobody else."""
    ahead = _ahead.get()
    return ahead is not None and ahead.alone


def forbid_ahead(operation: str) -> None:
    """Raises RuntimeError where `operation`, which needs every rank, runs ahead of the others."""
    ahead = _ahead.get()
    if ahead is not None and world_size() > 1:
        raise RuntimeError(
            f"{operation} at {call_site()} inside {ahead.operation}: it needs every rank, and the "
            "others wait for this one to leave the section; move it out of the section"
        )


def open_meeting(
    operation: str,
    *,
    of_all: bool,
    timeout: float = DEFAULT_TIMEOUT,
    name: str | None = None,
    site: CallSite | None = None,
    leaders: tuple[int, ...] = (0,),
) -> Meeting | None:
    """The next meeting of all ranks; None where there is nobody to meet.

    Nobody: one process; a section inside `run_on_main`; or, with a warning, ``WORLD_SIZE`` above 1
    without a process group (under torchrun its agent's store serves instead).

    Args:
        operation: the public name of what the ranks do, for messages.
        of_all: every rank has to come, as opposed to some that wait for a leader.
        timeout: seconds.
        name: ranks that give the same name meet from different lines.
        site: where the ranks are, if that is not the line that is running.
        leaders: the ranks that publish.

    Raises:
        RuntimeError: `of_all` inside a section that only one rank runs, where the others never
            come; a process group without a store; a forked child of a rank.
    """
    if of_all:
        forbid_ahead(operation)
    if runs_alone() or world_size() == 1:
        return None
    with _lock:
        store = _find_store()
        if store is None:
            warnings.warn(
                f"{size_variable()} is {world_size()} but there is no process group: {operation} at "
                f"{call_site()} waits for nobody; call init_process_group (or create the "
                "Accelerator) first, or unset the launcher's variables",
                RuntimeWarning,
                stacklevel=4,
            )
            return None
        session = _current_session(store)
        session.meetings += 1
        number = session.meetings
        _forget_what_was_read()
    if site is None:
        site = call_site() if name is None else CallSite(name, 0)
    return Meeting(store, number, operation, site, timeout, leaders)


@contextmanager
def shared_fate(operation: str, timeout: float, site: CallSite | None = None) -> Iterator[None]:
    """Runs the body; then all ranks go on together, or, where some rank's body raised, none does.

    Collective (a meeting at the end of the body). The rank that failed raises its own exception, the
    others RankError or MainProcessError.
    """
    try:
        yield
    except BaseException as error:
        meeting = open_meeting(operation, of_all=True, timeout=timeout, site=site)
        if meeting is not None:
            # Where the store is gone nobody is left who could be told; `error` counts.
            with suppress(RuntimeError):
                meeting.withdraw(error)
        raise
    meeting = open_meeting(operation, of_all=True, timeout=timeout, site=site)
    if meeting is not None:
        meeting.call_roll()


def machines(operation: str, timeout: float) -> tuple[tuple[int, ...], ...]:
    """The ranks of each machine, by lowest rank. Collective (a meeting) on first use in a group.

    Machines are told apart by what the ranks say of theirs, not by arithmetic on ranks, which is
    wrong where the launcher deals ranks out by turns. Ranks in different containers of one machine,
    which share no files, count as different machines.
    """
    if (session := _session_here()) is not None and session.machines is not None:
        return session.machines
    meeting = open_meeting(f"{operation} (its first use)", of_all=True, timeout=timeout)
    if meeting is None:
        return ((rank(),),)
    found: tuple[tuple[int, ...], ...] = meeting.call_roll(_machine_name(), decide=_grouped)
    if (session := _session_here()) is not None:
        session.machines = found
    return found


def _machine_name() -> str:
    boot = Path("/proc/sys/kernel/random/boot_id")
    # GROUP_RANK: torchrun's number of the node; two "nodes" of a test may share a machine.
    group = os.environ.get("GROUP_RANK", "")
    return f"{platform.node()} {boot.read_text().strip() if boot.exists() else ''} {group}"


def _grouped(names: list[str]) -> tuple[tuple[int, ...], ...]:
    ranks: dict[str, list[int]] = {}
    for number, name in enumerate(names):
        ranks.setdefault(name, []).append(number)
    return tuple(tuple(group) for group in ranks.values())


def _session_here() -> _Session | None:
    store = _find_store()
    return None if store is None else _current_session(store)


def _current_session(store: Store) -> _Session:
    global _session
    if _session is None or _session.store() is not store:
        if _session is None or _session.process != os.getpid():
            # Unlike atexit, this also runs at the end of a forked multiprocessing child.
            multiprocessing_util.Finalize(None, _wait_for_readers, exitpriority=100)
        _forget_what_was_read()
        while _unread:
            _take_back(*_unread.pop())
        _session = _Session(weakref.ref(store), os.getpid())
    elif _session.process != os.getpid():
        raise RuntimeError(
            "a forked child of a rank (a data loader's worker?) cannot meet the other ranks: "
            "call this in the process that initialised the process group"
        )
    return _session


def _find_store() -> Store | None:
    global _agent_store
    if is_initialized():
        distributed_c10d = sys.modules["torch.distributed.distributed_c10d"]
        store: Store | None = distributed_c10d._get_default_store()
        if store is None:
            raise RuntimeError(
                "the process group has no key-value store (backend mpi): initialise it with gloo "
                "or nccl, which mpirun can start as well"
            )
        return store
    if not _has_agent_store():
        return None
    if _agent_store is None:
        from torch.distributed import (  # type: ignore[attr-defined]
            PrefixStore,
            TCPStore,
        )

        agent = TCPStore(
            os.environ["MASTER_ADDR"],
            int(os.environ["MASTER_PORT"]),
            is_master=False,
            wait_for_workers=False,
            timeout=timedelta(seconds=60),
        )
        attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        _agent_store = PrefixStore(f"{_PACKAGE}/attempt_{attempt}", agent)
    return _agent_store


def _has_agent_store() -> bool:
    # torch/distributed/rendezvous.py (2.13.0): torchrun's agent hosts the store, and workers
    # connect to it as clients.
    return os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"


def _forget_what_was_read() -> None:
    _unread[:] = [one for one in _unread if _is_there(one[0], f"{one[1]}/left")]


def _take_back(store: Store, prefix: str) -> None:
    """Deletes what rank 0 said in a meeting of an earlier group that some rank never came to."""
    for key in ("at/0", "result/0", "left"):
        # The earlier group's server may be gone, and the keys with it.
        with suppress(RuntimeError):
            store.delete_key(f"{prefix}/{key}")


def _is_there(store: Store, key: str) -> bool:
    try:
        return store.check([key])
    except RuntimeError:
        # The server is gone, so nobody will read this any more.
        return False


def _wait_for_readers() -> None:
    if _session is None or _session.process != os.getpid() or _has_agent_store():
        return
    deadline = time.monotonic() + EXIT_GRACE
    while _unread and time.monotonic() < deadline:
        _forget_what_was_read()
        time.sleep(0.005)
    _unread.clear()
