"""The nodes of a decision graph: event, if(symbol), loop, call, and the ends."""

from __future__ import annotations

import ast
import enum
from collections.abc import Callable, Hashable, Iterable
from itertools import count
from typing import Final

from distlint.analysis.interpreter.ir import CallStep, Event, Guard, Loop
from distlint.analysis.interpreter.values import Value, Variance

_STABLE_KINDS: Final = frozenset({"file", "network", "process"})

OPAQUE = "opaque"
"""Starts the `op` of events that stand for unknown code: what ranks do there is not compared."""


class Node:
    """A point in what a run may do next. Compared by identity; equal futures share a node."""

    __slots__ = ("number",)

    def __init__(self) -> None:
        self.number = next(_NUMBERS)
        """The order in which nodes were made, which is the same in every run of distlint."""


_NUMBERS: Final = count()


class EndKind(enum.Enum):
    """How a path ends."""

    RETURN = enum.auto()
    STOP = enum.auto()
    """The normal end of a rank's path by `sys.exit` or a raise that its rank takes."""
    RAISE = enum.auto()
    """An exception that nobody here catches."""


class End(Node):
    """No more events: the function returned, the process ended, or an exception ends the path."""

    __slots__ = ("kind",)

    def __init__(self, kind: EndKind) -> None:
        super().__init__()
        self.kind = kind


RETURN = End(EndKind.RETURN)
STOP = End(EndKind.STOP)
RAISE = End(EndKind.RAISE)
REFUSED = End(EndKind.RAISE)
"""An assertion on the rank that does not hold: the condition around it is one under which these ranks do not come."""


class Failed(End):
    """The end of a path by an exception that a handler raises where `guard` lets some ranks alone come."""

    __slots__ = ("guard",)

    def __init__(self, guard: Guard) -> None:
        super().__init__(EndKind.RAISE)
        self.guard = guard


class EventNode(Node):
    """An event, then `next`. `via` are the `with` and `for` statements over generators around it."""

    __slots__ = ("event", "next", "via")

    def __init__(self, event: Event, next_: Node, via: tuple[ast.AST, ...] = ()) -> None:
        super().__init__()
        self.event = event
        self.next = next_
        self.via = via


class BranchNode(Node):
    """A decision on a symbol. `local` is the value where each rank decides for itself."""

    __slots__ = ("local", "node", "orelse", "symbol", "then", "value")

    def __init__(
        self, symbol: Hashable, then: Node, orelse: Node, node: ast.AST, value: Value | None
    ) -> None:
        super().__init__()
        self.symbol = symbol
        self.then = then
        self.orelse = orelse
        self.node = node
        self.value = value


class LoopNode(Node):
    """The head of a loop: again through `body`, or on to `exit` (None for an endless loop)."""

    __slots__ = ("body", "exit", "loop")

    def __init__(self, loop: Loop) -> None:
        super().__init__()
        self.loop = loop
        self.body: Node = RETURN
        self.exit: Node | None = None


class CallNode(Node):
    """A call of a project function that has events; expanded where the comparison needs it."""

    __slots__ = ("known", "next", "node", "passed", "summary", "via")

    def __init__(self, step: CallStep, next_: Node, via: tuple[ast.AST, ...] = ()) -> None:
        super().__init__()
        self.summary = step.summary
        self.node = step.node
        self.known = step.known
        self.passed = step.passed
        self.next = next_
        self.via = via


def is_local(value: Value) -> bool:
    """Whether ranks may answer a condition differently, in a way that happens.

    Tests of the file system are left out: ranks see one and the same shared file nearly always, and of 8
    places in real packages none was a bug unless one class of ranks writes that file.
    """
    if "failure" in value.tags:
        return True
    return value.variance is Variance.RANK_LOCAL and (
        value.origin is None or value.origin.kind not in _STABLE_KINDS
    )


def fails(node: BranchNode) -> bool:
    """Whether a decision is one between what fails, and goes to a handler, and what does not."""
    return node.value is not None and "failure" in node.value.tags


def ways_on(node: Node) -> tuple[Node, ...]:
    """The nodes that may follow in a function's own graph."""
    match node:
        case EventNode() | CallNode():
            return (node.next,)
        case BranchNode():
            return node.then, node.orelse
        case LoopNode():
            return (node.body,) if node.exit is None else (node.body, node.exit)
    return ()


def reachable(root: Node, following: Callable[[Node], Iterable[Node]]) -> list[Node]:
    """A node and all that come after it, each once; of those that follow one node, the last goes first."""
    seen: dict[Node, None] = {}
    stack = [root]
    while stack:
        node = stack.pop()
        if node not in seen:
            seen[node] = None
            stack += following(node)
    return list(seen)


def own_nodes(root: Node) -> list[Node]:
    """The nodes of a function's own graph, not of the functions it calls."""
    return reachable(root, lambda node: reversed(ways_on(node)))


__all__ = [
    "OPAQUE",
    "RAISE",
    "REFUSED",
    "RETURN",
    "STOP",
    "BranchNode",
    "CallNode",
    "End",
    "EndKind",
    "EventNode",
    "Failed",
    "LoopNode",
    "Node",
    "fails",
    "is_local",
    "own_nodes",
    "reachable",
    "ways_on",
]
