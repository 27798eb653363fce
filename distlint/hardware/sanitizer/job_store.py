"""The words between the ranks of a job and its watcher, kept in a store that the watcher has.

The job's own store only says where that is: it may go with rank 0, and then it matters most what the others
have told. Rank R puts that under `R/0`, `R/1`, …, whole lines each, and an empty value at last; the watcher
takes them away. What the watcher says to all ranks is under `word/0`, `word/1`, …
"""

from __future__ import annotations

import contextlib
import enum
import ipaddress
import json
import socket
from datetime import timedelta

from torch._C._distributed_c10d import PrefixStore, Store, TCPStore

_SECONDS = timedelta(seconds=60)
_AHEAD = 64
"""How many values of a rank may lie in the store before the rank waits for the watcher."""
_WATCHER = "watcher"
"""Where the job's store has the watcher's address; empty where there is no watcher."""


class Word(enum.Enum):
    """What the watcher says to the ranks."""

    WHERE = "where"
    """Tell where you are."""
    STOP = "stop"
    """Tell nothing more; the program goes on."""
    END = "end"
    """End yourself: the ranks have diverged."""


class Meeting:
    """Where the ranks and the watcher meet in a job's own store."""

    def __init__(self, host: str, port: int, prefix: str) -> None:
        """Connects to the store; raises RuntimeError where nobody answers."""
        self.host, self.port, self.prefix = host, port, prefix
        # A connection of its own: one that waits would keep the program's waiting too.
        self._store = PrefixStore(prefix, _connect(host, port))

    def publish(self, store: TCPStore) -> None:
        """Say where the watcher's store is."""
        address = {"host": _own_address(self.host, self.port), "port": store.port}
        self._store.set(_WATCHER, json.dumps(address))

    def decline(self) -> None:
        """Say that there will be no watcher."""
        self._store.set(_WATCHER, "")

    @property
    def decided(self) -> bool:
        """Whether one or the other has been said."""
        return self._store.check([_WATCHER])

    def watcher(self, seconds: float) -> Store | None:
        """Wait for the watcher, and connect to its store; None where there is none.

        Raises RuntimeError where it does not come.
        """
        self._store.wait([_WATCHER], timedelta(seconds=seconds))
        said = self._store.get(_WATCHER)
        if not said:
            return None
        address = json.loads(said)
        return _connect(address["host"] or self.host, address["port"])


def meeting_in(store: Store, prefix: str) -> Meeting | None:
    """Where ranks of a process group with this store meet; None where it is no TCP store."""
    while isinstance(store, PrefixStore):
        store = store.underlying_store
    return Meeting(store.host, store.port, prefix) if isinstance(store, TCPStore) else None


def _connect(host: str, port: int) -> TCPStore:
    return TCPStore(host, port, is_master=False, wait_for_workers=False, timeout=_SECONDS)


def _own_address(host: str, port: int) -> str:
    """This machine's address as the job's store sees it; empty where the store is on this machine."""
    with contextlib.suppress(OSError):
        for family, kind, protocol, _, target in socket.getaddrinfo(
            host, port, type=socket.SOCK_DGRAM
        ):
            with socket.socket(family, kind, protocol) as probe:
                probe.connect(target)
                own = str(probe.getsockname()[0])
                return "" if ipaddress.ip_address(own).is_loopback or own == target[0] else own
    return ""


class RankSide:
    """One rank's connection. Every call raises RuntimeError where the watcher is gone."""

    def __init__(self, store: Store, rank: int) -> None:
        self._store = store
        self._rank = rank
        self._told = 0
        self._heard = 0

    @property
    def may_tell(self) -> bool:
        """Whether the watcher has come near enough behind."""
        return self._told < _AHEAD or not self._store.check([self._key(self._told - _AHEAD)])

    def tell(self, lines: str) -> None:
        """Put whole lines into the store; no line says that no more will come."""
        self._store.set(self._key(self._told), lines)
        self._told += 1

    def hear(self) -> Word | None:
        """The watcher's next word, if there is one."""
        if not self._store.check([f"word/{self._heard}"]):
            return None
        self._heard += 1
        word = Word(self._store.get(f"word/{self._heard - 1}").decode())
        if word is Word.END:
            self._store.set(f"ends/{self._rank}", "")
        return word

    def _key(self, number: int) -> str:
        return f"{self._rank}/{number}"


class WatcherSide:
    """The watcher's store."""

    def __init__(self, ranks: int) -> None:
        """Raises RuntimeError where no port is free."""
        self.store = TCPStore("0.0.0.0", 0, is_master=True, wait_for_workers=False)
        self._taken = [0] * ranks
        self._said = 0

    def take(self, rank: int) -> bytes | None:
        """What a rank has told next; None where nothing is there."""
        key = f"{rank}/{self._taken[rank]}"
        if not self.store.check([key]):
            return None
        lines: bytes = self.store.get(key)
        self.store.delete_key(key)
        self._taken[rank] += 1
        return lines

    def ends(self, rank: int) -> bool:
        """Whether a rank has heard that it is to end itself."""
        return bool(self.store.check([f"ends/{rank}"]))

    def say(self, word: Word) -> None:
        """Say a word to all ranks."""
        self.store.set(f"word/{self._said}", word.value)
        self._said += 1
