"""What a rank tells: collectives, point-to-point operations, stacks; and their form on the pipe."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Frame:
    """One call of the user's program: a file, a line in it, the function."""

    path: str
    line: int
    function: str


Stack = tuple[Frame, ...]
"""Innermost call first; without the frames of torch, of the standard library and of distlint."""


@dataclass(frozen=True, slots=True)
class Group:
    """A process group: its name (equal on all members), description and global ranks."""

    name: str
    description: str
    ranks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Collective:
    """One collective (or `new_group`) that a rank has entered.

    `agreed` is what must be the same on all members: element counts and dtypes where the collective
    wants them equal, the root, the ranks of a new group. `shown` is for people: shapes and dtypes.
    """

    name: str
    group: str
    agreed: tuple[str, ...]
    shown: str
    stack: Stack

    @property
    def signature(self) -> tuple[str, ...]:
        """The name and what must agree."""
        return (self.name, *self.agreed)

    @property
    def text(self) -> str:
        """As a call: ``all_reduce(float32[4])``."""
        return f"{self.name}({self.shown})"


@dataclass(frozen=True, slots=True)
class PointToPoint:
    """One `send` or `recv` (`isend`, `irecv`, batched ones too). Ranks are global.

    `source` is None for a receive from any rank.
    """

    name: str
    group: str
    source: int | None
    destination: int
    tag: int
    agreed: tuple[str, ...]
    shown: str
    stack: Stack

    @property
    def text(self) -> str:
        """As a call, with the partner: ``send(float32[4], to rank 1)``."""
        if self.name == "send":
            return f"send({self.shown}, to rank {self.destination})"
        partner = "any rank" if self.source is None else f"rank {self.source}"
        return f"recv({self.shown}, from {partner})"


@dataclass(frozen=True, slots=True)
class End:
    """The script's end on a rank: the exception that left it, or None."""

    exception: str | None
    message: str
    stack: Stack


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """Answer to a question: where the main thread is, and whether it waits inside torch."""

    stack: Stack
    waits: bool


Event = Group | Collective | PointToPoint | End | Whereabouts


class Decoder:
    """Turns the lines of one rank's pipe into events; stacks are sent once and then by number."""

    def __init__(self, shared: dict[Stack, Stack]) -> None:
        """`shared` holds one copy of each stack for all ranks: they are many, and mostly alike."""
        self._stacks: dict[int, Stack] = {}
        self._shared = shared

    def decode(self, line: bytes) -> Event | None:
        """The event of a line; None for a line that only defines a stack.

        Raises ValueError, KeyError, TypeError for a line that no rank of this version writes.
        """
        data: dict[str, Any] = json.loads(line)
        match data["kind"]:
            case "stack":
                frames = tuple(Frame(path, at, name) for path, at, name in data["frames"])
                self._stacks[data["id"]] = self._shared.setdefault(frames, frames)
                return None
            case "group":
                return Group(data["name"], data["description"], tuple(data["ranks"]))
            case "collective":
                stack = self._stacks[data["stack"]]
                agreed = tuple(data["agreed"])
                return Collective(data["name"], data["group"], agreed, data["shown"], stack)
            case "point-to-point":
                return PointToPoint(
                    data["name"],
                    data["group"],
                    data["source"],
                    data["destination"],
                    data["tag"],
                    tuple(data["agreed"]),
                    data["shown"],
                    self._stacks[data["stack"]],
                )
            case "end":
                return End(data["exception"], data["message"], self._stacks[data["stack"]])
            case "whereabouts":
                return Whereabouts(self._stacks[data["stack"]], data["waits"])
            case other:
                raise ValueError(f"unknown event {other!r}")
