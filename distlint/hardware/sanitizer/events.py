"""What a rank tells: collectives, point-to-point operations, stacks; and their form on the pipe."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Frame:
    """One call of the user's program: a file, a line in it, the function."""

    path: str
    line: int
    function: str


Stack = tuple[Frame, ...]
"""Innermost call first; without the frames of torch, of the standard library and of distlint."""


Agreed = tuple[tuple[str, str], ...]
"""What ranks must have alike: pairs of a name (``root``) and a value (``rank 0``)."""


@dataclass(frozen=True, slots=True)
class Group:
    """A process group: its name (equal on all members), description and global ranks."""

    name: str
    description: str
    ranks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Collective:
    """One collective (or `new_group`) that a rank has entered.

    `agreed` is what must be the same on all members, each with its name: element counts and dtypes
    where the collective wants them equal, the root, the reduce op, the ranks of a new group. `shapes`
    are those of its tensors where they should be alike too, `exchange` the element counts that an
    all_to_all sends to each member and expects from it, `forward` the number of the forward pass whose
    gradients DDP reduces. `shown` is for people: shapes and dtypes.
    """

    name: str
    group: str
    agreed: Agreed
    shown: str
    stack: Stack
    shapes: tuple[tuple[int, ...], ...] = field(default=(), compare=False)
    exchange: tuple[tuple[int, ...], tuple[int, ...]] | None = field(default=None, compare=False)
    forward: int | None = field(default=None, compare=False)

    @property
    def signature(self) -> tuple[str, Agreed]:
        """The name and what must agree."""
        return (self.name, self.agreed)

    @property
    def text(self) -> str:
        """As a call: ``all_reduce(float32[4], op max)``. A sum goes without saying."""
        shown = [self.shown] if self.shown else []
        for name, value in self.agreed:
            if name == "root":
                shown.append(f"root {value}")
            elif name == "reduce op" and value != "sum":
                shown.append(f"op {value}")
        return f"{self.name}({', '.join(shown)})"


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
    agreed: Agreed
    shown: str
    stack: Stack

    @property
    def pair(self) -> tuple[str, int, int, int]:
        """What a send and its receive have alike; -1 stands for any source."""
        source = -1 if self.source is None else self.source
        return (self.group, source, self.destination, self.tag)

    @property
    def text(self) -> str:
        """As a call, with the partner: ``send(float32[4], to rank 1, tag 0)``."""
        if self.name == "send":
            return f"send({self.shown}, to rank {self.destination}, tag {self.tag})"
        partner = "any rank" if self.source is None else f"rank {self.source}"
        return f"recv({self.shown}, from {partner}, tag {self.tag})"


@dataclass(frozen=True, slots=True)
class Replica:
    """The parameters of a module that DDP wraps, after some optimizer step: a sum for each name."""

    group: str
    module: str
    step: int
    sums: tuple[tuple[str, int], ...]
    stack: Stack

    @property
    def text(self) -> str:
        """When: ``optimizer step 3 of Linear number 1``."""
        when = f"optimizer step {self.step}" if self.step else "the first forward pass"
        return f"{when} of {self.module}"


@dataclass(frozen=True, slots=True)
class Start:
    """The recorder is in place, and the script begins."""


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


@dataclass(frozen=True, slots=True)
class Idle:
    """Whether the process does nothing: told by a rank that nobody here can look at."""

    idle: bool


Event = Group | Collective | PointToPoint | Replica | Start | End | Whereabouts | Idle


def _agreed(data: dict[str, Any]) -> Agreed:
    return tuple((name, value) for name, value in data["agreed"])


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
                shapes = tuple(tuple(shape) for shape in data.get("shapes", ()))
                exchange = data.get("exchange")
                return Collective(
                    data["name"],
                    data["group"],
                    _agreed(data),
                    data["shown"],
                    stack,
                    shapes,
                    (tuple(exchange[0]), tuple(exchange[1])) if exchange else None,
                    data.get("forward"),
                )
            case "point-to-point":
                return PointToPoint(
                    data["name"],
                    data["group"],
                    data["source"],
                    data["destination"],
                    data["tag"],
                    _agreed(data),
                    data["shown"],
                    self._stacks[data["stack"]],
                )
            case "replica":
                sums = tuple((name, value) for name, value in data["sums"])
                stack = self._stacks[data["stack"]]
                return Replica(data["group"], data["module"], data["step"], sums, stack)
            case "start":
                return Start()
            case "end":
                return End(data["exception"], data["message"], self._stacks[data["stack"]])
            case "whereabouts":
                return Whereabouts(self._stacks[data["stack"]], data["waits"])
            case "idle":
                return Idle(data["idle"])
            case other:
                raise ValueError(f"unknown event {other!r}")
